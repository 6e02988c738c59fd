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

const selectAssignmentsSQL = `
SELECT a.id, a.role_id, r.name AS role, a.user_id, a.scope, coalesce(a.scope_id::text, '') AS scope_id, a.created_at
FROM identity.role_assignments a
JOIN identity.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
WHERE a.tenant_id = @tenant AND a.role_id = @role
  AND (@after_id = '' OR (a.created_at, a.id) > (@after::timestamptz, nullif(@after_id, '')::uuid))
  AND `

func selectAssignments(
	ctx context.Context, q postgres.Querier, tenant op.UUID, in *contract.ListAssignmentsIn, after time.Time, afterID op.UUID, f authz.Filter,
) ([]contract.RoleAssignment, error) {
	items, err := postgres.Collect[contract.RoleAssignment](ctx, q, selectAssignmentsSQL+f.SQL()+` ORDER BY a.created_at, a.id LIMIT @limit`,
		withFilterArgs(postgres.Args{"tenant": tenant, "role": in.RoleID, "after": after, "after_id": afterID, "limit": in.Limit + 1}, f))
	return items, err
}

const selectAssignmentSQL = `
SELECT a.id, a.role_id, r.name AS role, a.user_id, a.scope, coalesce(a.scope_id::text, '') AS scope_id, a.created_at, u.principal_kind
FROM identity.role_assignments a
JOIN identity.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
JOIN identity.users u ON u.id = a.user_id
WHERE a.tenant_id = @tenant AND a.role_id = @role AND a.id = @id`

func selectAssignment(ctx context.Context, q postgres.Querier, tenant, role, id op.UUID) (loadedAssignment, error) {
	a, err := postgres.One[loadedAssignment](ctx, q, selectAssignmentSQL, postgres.Args{"tenant": tenant, "role": role, "id": id})
	if postgres.IsNoRows(err) {
		return a, fault.NotFound("assignment")
	}
	return a, err
}

const insertAssignmentSQL = `
INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope, scope_id, created_at)
VALUES (@tenant, @id, @user, @role, @scope, nullif(@scope_id, '')::uuid, @now)`

func insertAssignment(ctx context.Context, q postgres.Querier, tenant op.UUID, a contract.RoleAssignment) error {
	_, err := q.Exec(ctx, insertAssignmentSQL, postgres.Args{
		"tenant": tenant, "id": a.ID, "user": a.UserID, "role": a.RoleID, "scope": a.Scope, "scope_id": a.ScopeID, "now": a.CreatedAt,
	})
	return postgres.MapError(err, constraints)
}

const deleteAssignmentSQL = `DELETE FROM identity.role_assignments WHERE tenant_id = @tenant AND id = @id`

func deleteAssignment(ctx context.Context, q postgres.Querier, tenant, id op.UUID) error {
	_, err := q.Exec(ctx, deleteAssignmentSQL, postgres.Args{"tenant": tenant, "id": id})
	return err
}
