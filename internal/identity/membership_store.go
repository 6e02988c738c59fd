package identity

import (
	"context"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const selectMembershipSQL = `
SELECT m.tenant_id, m.user_id, coalesce(m.organisation_id::text, '') AS organisation_id, m.status, coalesce(m.clearance, '') AS clearance,
       m.created_at, m.updated_at
FROM identity.memberships m
WHERE m.tenant_id = @tenant`

func selectMembership(ctx context.Context, q postgres.Querier, tenant, user op.UUID, lock bool) (contract.Membership, error) {
	sql := selectMembershipSQL + ` AND m.user_id = @user`
	if lock {
		sql += ` FOR NO KEY UPDATE`
	}
	m, err := postgres.One[contract.Membership](ctx, q, sql, postgres.Args{"tenant": tenant, "user": user})
	if postgres.IsNoRows(err) {
		return m, fault.NotFound("membership")
	}
	return m, err
}

const membershipsWhereSQL = `
  AND (@organisation = '' OR m.organisation_id = nullif(@organisation, '')::uuid)
  AND (@status = '' OR m.status = @status)
  AND (@after_id = '' OR (m.created_at, m.user_id) > (@after::timestamptz, nullif(@after_id, '')::uuid))
  AND `

func selectMemberships(
	ctx context.Context, q postgres.Querier, tenant op.UUID, in *contract.ListMembershipsIn, after time.Time, afterID op.UUID, f authz.Filter,
) ([]contract.Membership, error) {
	items, err := postgres.Collect[contract.Membership](ctx, q,
		selectMembershipSQL+membershipsWhereSQL+f.SQL()+` ORDER BY m.created_at, m.user_id LIMIT @limit`,
		withFilterArgs(postgres.Args{
			"tenant": tenant, "organisation": in.OrganisationID, "status": in.Status, "after": after, "after_id": afterID, "limit": in.Limit + 1,
		}, f))
	return items, err
}

const writeMembershipSQL = `
UPDATE identity.memberships SET organisation_id = nullif(@organisation, '')::uuid, status = @status, updated_at = @now
WHERE tenant_id = @tenant AND user_id = @user`

func writeMembership(ctx context.Context, q postgres.Querier, m contract.Membership) error {
	_, err := q.Exec(ctx, writeMembershipSQL, postgres.Args{
		"tenant": m.TenantID, "user": m.UserID, "organisation": m.OrganisationID, "status": m.Status, "now": m.UpdatedAt,
	})
	return postgres.MapError(err, constraints)
}

const writeClearanceSQL = `
UPDATE identity.memberships SET clearance = nullif(@clearance, ''), updated_at = @now
WHERE tenant_id = @tenant AND user_id = @user`

func writeClearance(ctx context.Context, q postgres.Querier, tenant, user op.UUID, clearance string, now time.Time) error {
	_, err := q.Exec(ctx, writeClearanceSQL, postgres.Args{"tenant": tenant, "user": user, "clearance": clearance, "now": now})
	return err
}

const lockTenantSQL = `SELECT id::text FROM identity.tenants WHERE id = @tenant FOR NO KEY UPDATE`

// lockTenant prevents changes of the tenant's roles, grants, assignments and memberships
// until the transaction ends: each such change updates this row.
func lockTenant(ctx context.Context, q postgres.Querier, tenant op.UUID) error {
	var id string
	return q.QueryRow(ctx, lockTenantSQL, postgres.Args{"tenant": tenant}).Scan(&id)
}

const countAdministratorsSQL = `
SELECT count(*)
FROM identity.role_assignments a
JOIN identity.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
JOIN identity.memberships m ON m.tenant_id = a.tenant_id AND m.user_id = a.user_id
JOIN identity.users u ON u.id = a.user_id
WHERE a.tenant_id = @tenant AND r.name = @role AND a.scope = 'tenant' AND a.user_id <> @besides
  AND m.status = 'ACTIVE' AND u.status = 'ACTIVE' AND u.principal_kind = 'HUMAN'`

// countAdministrators counts the active people who hold the role in the whole tenant. It
// does not count the excluded person.
func countAdministrators(ctx context.Context, q postgres.Querier, tenant, excluded op.UUID, role string) (int, error) {
	var n int
	err := q.QueryRow(ctx, countAdministratorsSQL, postgres.Args{"tenant": tenant, "besides": excluded, "role": role}).Scan(&n)
	return n, err
}
