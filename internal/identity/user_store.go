package identity

import (
	"context"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// nilUUID is the nil UUID, which identifies no record.
const nilUUID op.UUID = "00000000-0000-0000-0000-000000000000"

const selectUserSQL = `
SELECT u.id, u.home_tenant_id, u.principal_kind, coalesce(u.integration_key, '') AS integration_key, u.email, u.address_verified AS email_verified,
       u.display_name, u.status,
       coalesce(m.clearance, '') AS clearance, coalesce(m.organisation_id::text, '') AS organisation_id, m.status AS membership_status,
       coalesce((SELECT json_agg(json_strip_nulls(json_build_object(
                     'assignmentId', a.id, 'roleId', r.id, 'role', r.name, 'scope', a.scope, 'scopeId', a.scope_id, 'createdAt', a.created_at))
                     ORDER BY r.name, a.scope, a.id)
                 FROM identity.role_assignments a
                 JOIN identity.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
                 WHERE a.tenant_id = m.tenant_id AND a.user_id = m.user_id), '[]') AS roles,
       u.created_at, u.updated_at
FROM identity.memberships m
JOIN identity.users u ON u.id = m.user_id
WHERE m.tenant_id = @tenant`

// selectUser returns a user of the tenant. It locks the membership and not the user, because
// a tenant cannot lock users of another home tenant.
func selectUser(ctx context.Context, q postgres.Querier, tenant, id op.UUID, lock bool) (contract.User, error) {
	sql := selectUserSQL + ` AND m.user_id = @id`
	if lock {
		sql += ` FOR NO KEY UPDATE OF m`
	}
	u, err := postgres.One[contract.User](ctx, q, sql, postgres.Args{"tenant": tenant, "id": id})
	if postgres.IsNoRows(err) {
		return u, fault.NotFound("user")
	}
	return u, err
}

// membersWithTextSQL selects the members with a text in their address or name. As an array,
// their ids become an index condition.
const membersWithTextSQL = `
  AND m.user_id = ANY (ARRAY(SELECT identity.find_members(@tenant, @search)))`

// withSearch adds the condition for a search text to a statement, unless the text is empty.
func withSearch(sql string, args postgres.Args, search string) string {
	if search == "" {
		return sql
	}
	args["search"] = search
	return sql + membersWithTextSQL
}

const usersWhereSQL = `
  AND (@kind = '' OR u.principal_kind = @kind)
  AND (@status = '' OR u.status = @status)
  AND (@organisation = '' OR m.organisation_id = nullif(@organisation, '')::uuid)
  AND (@after_id = '' OR (lower(left(u.email, 60)), u.id) > (lower(@after), nullif(@after_id, '')::uuid))
  AND `

func selectUsers(
	ctx context.Context, q postgres.Querier, tenant op.UUID, in *contract.ListUsersIn, after string, afterID op.UUID, f authz.Filter,
) ([]contract.User, error) {
	args := postgres.Args{
		"tenant": tenant, "kind": in.PrincipalKind, "status": in.Status, "organisation": in.OrganisationID,
		"after": after, "after_id": afterID, "limit": in.Limit + 1,
	}
	sql := withSearch(selectUserSQL, args, in.Search) + usersWhereSQL + f.SQL() + ` ORDER BY lower(left(u.email, 60)), u.id LIMIT @limit`
	return postgres.Collect[contract.User](ctx, q, sql, withFilterArgs(args, f))
}

const selectPeopleSQL = `
SELECT u.id, u.display_name, u.email, u.address_verified AS email_verified, u.principal_kind, coalesce(m.organisation_id::text, '') AS organisation_id
FROM identity.memberships m
JOIN identity.users u ON u.id = m.user_id
WHERE m.tenant_id = @tenant AND m.status = 'ACTIVE' AND u.status = 'ACTIVE' AND u.principal_kind IN ('HUMAN', 'AGENT')`

const peopleWhereSQL = `
  AND (@organisation = '' OR m.organisation_id = nullif(@organisation, '')::uuid)
  AND (@after_id = '' OR (lower(left(u.display_name, 60)), u.id) > (lower(@after), nullif(@after_id, '')::uuid))
  AND `

func selectPeople(
	ctx context.Context, q postgres.Querier, tenant, organisation op.UUID, in *contract.ListPeopleIn, after string, afterID op.UUID, f authz.Filter,
) ([]contract.Colleague, error) {
	args := postgres.Args{"tenant": tenant, "organisation": organisation, "after": after, "after_id": afterID, "limit": in.Limit + 1}
	sql := withSearch(selectPeopleSQL, args, in.Search) + peopleWhereSQL + f.SQL() + ` ORDER BY lower(left(u.display_name, 60)), u.id LIMIT @limit`
	return postgres.Collect[contract.Colleague](ctx, q, sql, withFilterArgs(args, f))
}

const insertUserSQL = `
INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, password_hash, status)
VALUES (@id, @tenant, @kind, @email, @name, nullif(@hash, ''), 'ACTIVE')`

const insertMembershipSQL = `
INSERT INTO identity.memberships (tenant_id, user_id, organisation_id, status, clearance, created_at, updated_at)
VALUES (@tenant, @user, nullif(@organisation, '')::uuid, 'ACTIVE', nullif(@clearance, ''), @now, @now)`

const insertAssignmentsSQL = `
INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope, scope_id, created_at)
SELECT @tenant, a.id, @user, a.role_id, 'tenant', NULL, @now
FROM unnest(@ids::uuid[], @roles::uuid[]) AS a (id, role_id)`

// insertUser inserts a user with its membership and tenant-wide roles, and returns it.
func insertUser(ctx context.Context, q postgres.Querier, n newUser, roles []grantingRole) (contract.User, error) {
	_, err := q.Exec(ctx, insertUserSQL, postgres.Args{
		"id": n.id, "tenant": n.tenant, "kind": n.kind, "email": n.email, "name": n.displayName, "hash": n.passwordHash,
	})
	if err != nil {
		return contract.User{}, postgres.MapError(err, constraints)
	}
	if err := insertMembership(ctx, q, n.tenant, n.id, n.organisation, n.clearance, roles, n.now); err != nil {
		return contract.User{}, err
	}
	return selectUser(ctx, q, n.tenant, n.id, false)
}

// insertMembership inserts a membership with its first roles.
func insertMembership(
	ctx context.Context, q postgres.Querier, tenant, user, organisation op.UUID, clearance string, roles []grantingRole, now time.Time,
) error {
	_, err := q.Exec(ctx, insertMembershipSQL, postgres.Args{
		"tenant": tenant, "user": user, "organisation": organisation, "clearance": clearance, "now": now,
	})
	if err != nil {
		return postgres.MapError(err, constraints)
	}
	ids := make([]string, len(roles))
	for i := range ids {
		ids[i] = string(uid.New())
	}
	_, err = q.Exec(ctx, insertAssignmentsSQL, postgres.Args{"tenant": tenant, "user": user, "ids": ids, "roles": roleIDs(roles), "now": now})
	return postgres.MapError(err, constraints)
}

const writeUserSQL = `
UPDATE identity.users SET email = @email, display_name = @name, updated_at = @now
WHERE id = @id AND home_tenant_id = @tenant`

const verifyAddressSQL = `UPDATE identity.users SET address_verified = true WHERE id = @user AND home_tenant_id = @home AND NOT address_verified`

// writeUser writes the name and the address. A trigger marks each changed address as
// unverified, so u.EmailVerified is written afterwards.
func writeUser(ctx context.Context, q postgres.Querier, tenant op.UUID, u contract.User, now time.Time) error {
	_, err := q.Exec(ctx, writeUserSQL, postgres.Args{"tenant": tenant, "id": u.ID, "email": u.Email, "name": u.DisplayName, "now": now})
	if err == nil && u.EmailVerified {
		err = verifyAddress(ctx, q, tenant, u.ID)
	}
	return postgres.MapError(err, constraints)
}

func verifyAddress(ctx context.Context, q postgres.Querier, home, user op.UUID) error {
	_, err := q.Exec(ctx, verifyAddressSQL, postgres.Args{"home": home, "user": user})
	return err
}

const writeUserStatusSQL = `
UPDATE identity.users SET status = @status, updated_at = @now
WHERE id = @id AND home_tenant_id = @tenant`

func writeUserStatus(ctx context.Context, q postgres.Querier, tenant op.UUID, u contract.User) error {
	_, err := q.Exec(ctx, writeUserStatusSQL, postgres.Args{"tenant": tenant, "id": u.ID, "status": u.Status, "now": u.UpdatedAt})
	return err
}
