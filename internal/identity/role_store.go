package identity

import (
	"context"
	"time"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// grantingRole is a role with the permissions that it grants.
type grantingRole struct {
	ID          op.UUID
	Name        string
	Kind        string
	Description string
	Permissions []string
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

func roleIDs(roles []grantingRole) []string {
	ids := make([]string, len(roles))
	for i, r := range roles {
		ids[i] = string(r.ID)
	}
	return ids
}

const selectRoleSQL = `
SELECT r.id, r.name, r.kind, r.description,
       ARRAY(SELECT g.permission FROM identity.role_grants g
             WHERE g.tenant_id = r.tenant_id AND g.role_id = r.id ORDER BY g.permission) AS permissions,
       r.created_at, r.updated_at
FROM identity.roles r
WHERE r.tenant_id = @tenant`

func selectRole(ctx context.Context, q postgres.Querier, tenant, id op.UUID, lock bool) (grantingRole, error) {
	sql := selectRoleSQL + ` AND r.id = @id`
	if lock {
		sql += ` FOR UPDATE OF r`
	}
	r, err := postgres.One[grantingRole](ctx, q, sql, postgres.Args{"tenant": tenant, "id": id})
	if postgres.IsNoRows(err) {
		return r, fault.NotFound("role")
	}
	return r, err
}

const rolesAfterSQL = `
  AND (@after_id = '' OR (r.name, r.id) > (@after, nullif(@after_id, '')::uuid))
  AND `

func selectRoles(ctx context.Context, q postgres.Querier, tenant op.UUID, limit int, after string, afterID op.UUID, f authz.Filter) ([]grantingRole, error) {
	rows, err := postgres.Collect[grantingRole](ctx, q, selectRoleSQL+rolesAfterSQL+f.SQL()+` ORDER BY r.name, r.id LIMIT @limit`,
		withFilterArgs(postgres.Args{"tenant": tenant, "after": after, "after_id": afterID, "limit": limit}, f))
	return rows, err
}

// selectRolesByName returns the tenant's roles with these names. Unknown names are ignored.
func selectRolesByName(ctx context.Context, q postgres.Querier, tenant op.UUID, names []string) ([]grantingRole, error) {
	return postgres.Collect[grantingRole](ctx, q, selectRoleSQL+` AND r.name = ANY (@names::text[]) ORDER BY r.name`,
		postgres.Args{"tenant": tenant, "names": names})
}

const insertRoleSQL = `
INSERT INTO identity.roles (tenant_id, id, name, kind, description, created_at, updated_at)
VALUES (@tenant, @id, @name, @kind, @description, @now, @now)`

func insertRole(ctx context.Context, q postgres.Querier, tenant op.UUID, r grantingRole) error {
	_, err := q.Exec(ctx, insertRoleSQL, postgres.Args{
		"tenant": tenant, "id": r.ID, "name": r.Name, "kind": r.Kind, "description": r.Description, "now": r.CreatedAt,
	})
	if err != nil {
		return postgres.MapError(err, constraints)
	}
	for _, p := range r.Permissions {
		if _, err := insertGrant(ctx, q, tenant, r.ID, p, r.CreatedAt); err != nil {
			return err
		}
	}
	return nil
}

const writeRoleSQL = `
UPDATE identity.roles SET name = @name, description = @description, updated_at = @now
WHERE tenant_id = @tenant AND id = @id`

func writeRole(ctx context.Context, q postgres.Querier, tenant op.UUID, r grantingRole) error {
	_, err := q.Exec(ctx, writeRoleSQL, postgres.Args{
		"tenant": tenant, "id": r.ID, "name": r.Name, "description": r.Description, "now": r.UpdatedAt,
	})
	return postgres.MapError(err, constraints)
}

const deleteRoleSQL = `DELETE FROM identity.roles WHERE tenant_id = @tenant AND id = @id`

func deleteRoleRow(ctx context.Context, q postgres.Querier, tenant, id op.UUID) error {
	_, err := q.Exec(ctx, deleteRoleSQL, postgres.Args{"tenant": tenant, "id": id})
	return postgres.MapError(err, constraints)
}

const insertGrantSQL = `
INSERT INTO identity.role_grants (tenant_id, role_id, permission, created_at)
VALUES (@tenant, @role, @permission, @now)
ON CONFLICT DO NOTHING`

// insertGrant adds a permission to a role. It reports false if the role has the permission already.
func insertGrant(ctx context.Context, q postgres.Querier, tenant, role op.UUID, permission string, now time.Time) (added bool, err error) {
	tag, err := q.Exec(ctx, insertGrantSQL, postgres.Args{"tenant": tenant, "role": role, "permission": permission, "now": now})
	return tag.RowsAffected() == 1, postgres.MapError(err, constraints)
}

const deleteGrantSQL = `
DELETE FROM identity.role_grants WHERE tenant_id = @tenant AND role_id = @role AND permission = @permission`

func deleteGrant(ctx context.Context, q postgres.Querier, tenant, role op.UUID, permission string) error {
	_, err := q.Exec(ctx, deleteGrantSQL, postgres.Args{"tenant": tenant, "role": role, "permission": permission})
	return err
}
