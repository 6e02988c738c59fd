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

// constraints maps violated constraints of the directory to errors for the caller.
var constraints = postgres.Constraints{
	"tenants_slug_key":                           fault.Conflict("The slug is already in use. Choose another one.").WithDetails(map[string]any{"field": "slug"}),
	"organisations_name_once":                    fault.Conflict("The tenant already has an organisation with this name."),
	"users_email_once":                           fault.Conflict("The tenant already has a user with this address."),
	"memberships_pkey":                           fault.Conflict("The user already has a membership in the tenant. Change it with update-membership."),
	"memberships_tenant_id_organisation_id_fkey": fault.Validation("organisationId", "There is no such organisation in the tenant."),
	"roles_tenant_id_name_key":                   fault.Conflict("The tenant already has a role with this name."),
	"role_assignments_once":                      fault.Conflict("The user already holds the role in this scope."),
	"role_assignments_tenant_id_role_id_fkey":    fault.Conflict("The role is assigned to at least one user. Unassign it first."),
}

const tenantColumnsSQL = `
t.id, t.slug, t.name, t.type, t.default_locale, t.enabled_locales, t.time_zone, t.currency,
t.disabled_at IS NULL AS enabled, t.disabled_at, coalesce(t.office_id::text, '') AS office_id, t.created_at, t.updated_at`

const selectTenantSQL = `
SELECT ` + tenantColumnsSQL + `
FROM identity.tenants t
WHERE t.id = @id AND (t.id = @tenant OR t.office_id = @tenant)`

// selectTenant returns the current tenant or one that it administers.
func selectTenant(ctx context.Context, q postgres.Querier, tenant, id op.UUID, lock bool) (contract.Tenant, error) {
	sql := selectTenantSQL
	if lock {
		sql += ` FOR UPDATE OF t`
	}
	t, err := postgres.One[contract.Tenant](ctx, q, sql, postgres.Args{"tenant": tenant, "id": id})
	if postgres.IsNoRows(err) {
		return t, fault.NotFound("tenant")
	}
	return t, err
}

const selectTenantsSQL = `
SELECT ` + tenantColumnsSQL + `
FROM identity.tenants t
WHERE (t.id = @tenant OR t.office_id = @tenant)
  AND (@search = '' OR position(lower(@search) IN lower(t.name)) > 0 OR position(lower(@search) IN t.slug) > 0)
  AND (@after_id = '' OR (t.slug, t.id) > (@after, nullif(@after_id, '')::uuid))
  AND `

func selectTenants(
	ctx context.Context, q postgres.Querier, tenant op.UUID, in *contract.ListTenantsIn, after string, afterID op.UUID, f authz.Filter,
) ([]contract.Tenant, error) {
	items, err := postgres.Collect[contract.Tenant](ctx, q, selectTenantsSQL+f.SQL()+` ORDER BY t.slug, t.id LIMIT @limit`,
		withFilterArgs(postgres.Args{"tenant": tenant, "search": in.Search, "after": after, "after_id": afterID, "limit": in.Limit + 1}, f))
	return items, err
}

const insertTenantSQL = `
INSERT INTO identity.tenants
	(id, office_id, slug, name, type, default_locale, enabled_locales, time_zone, currency, created_at, updated_at)
VALUES (@id, @office, @slug, @name, @type, @default_locale, @enabled_locales, @time_zone, @currency, @now, @now)`

func insertTenant(ctx context.Context, q postgres.Querier, t contract.Tenant) error {
	_, err := q.Exec(ctx, insertTenantSQL, postgres.Args{
		"id": t.ID, "office": t.OfficeID, "slug": t.Slug, "name": t.Name, "type": t.Type, "default_locale": t.DefaultLocale,
		"enabled_locales": t.EnabledLocales, "time_zone": t.TimeZone, "currency": t.Currency, "now": t.CreatedAt,
	})
	return postgres.MapError(err, constraints)
}

const writeTenantSettingsSQL = `
UPDATE identity.tenants
SET name = @name, default_locale = @default_locale, enabled_locales = @enabled_locales, time_zone = @time_zone,
    currency = @currency, updated_at = @now
WHERE id = @id`

func writeTenantSettings(ctx context.Context, q postgres.Querier, t contract.Tenant) error {
	_, err := q.Exec(ctx, writeTenantSettingsSQL, postgres.Args{
		"id": t.ID, "name": t.Name, "default_locale": t.DefaultLocale, "enabled_locales": t.EnabledLocales,
		"time_zone": t.TimeZone, "currency": t.Currency, "now": t.UpdatedAt,
	})
	return postgres.MapError(err, constraints)
}

const writeTenantStatusSQL = `
UPDATE identity.tenants SET disabled_at = @disabled, updated_at = @now
WHERE id = @id AND office_id = @office`

func writeTenantStatus(ctx context.Context, q postgres.Querier, office op.UUID, t contract.Tenant) error {
	_, err := q.Exec(ctx, writeTenantStatusSQL, postgres.Args{"id": t.ID, "office": office, "disabled": t.DisabledAt, "now": t.UpdatedAt})
	return err
}

const insertDefaultRolesSQL = `
INSERT INTO identity.roles (tenant_id, id, name, kind, description, created_at, updated_at)
SELECT @tenant, r.id, r.name, r.kind, r.description, @now, @now
FROM unnest(@ids::uuid[], @names::text[], @kinds::text[], @descriptions::text[]) AS r (id, name, kind, description)`

const insertGrantsSQL = `
INSERT INTO identity.role_grants (tenant_id, role_id, permission, created_at)
SELECT @tenant, g.role_id, g.permission, @now
FROM unnest(@roles::uuid[], @permissions::text[]) AS g (role_id, permission)
ON CONFLICT DO NOTHING`

// insertDefaultRoles creates the default roles of the policy data with their grants in a new
// tenant.
func insertDefaultRoles(ctx context.Context, q postgres.Querier, tenant op.UUID, roles []authz.DefaultRole, now time.Time) error {
	var ids, names, kinds, descriptions, granted, permissions []string
	for _, r := range roles {
		id := string(uid.New())
		ids, names, kinds, descriptions = append(ids, id), append(names, r.Name), append(kinds, r.Kind), append(descriptions, r.Description)
		for _, p := range r.Grants {
			granted, permissions = append(granted, id), append(permissions, p)
		}
	}
	_, err := q.Exec(ctx, insertDefaultRolesSQL, postgres.Args{
		"tenant": tenant, "ids": ids, "names": names, "kinds": kinds, "descriptions": descriptions, "now": now,
	})
	if err != nil {
		return postgres.MapError(err, constraints)
	}
	_, err = q.Exec(ctx, insertGrantsSQL, postgres.Args{"tenant": tenant, "roles": granted, "permissions": permissions, "now": now})
	return err
}
