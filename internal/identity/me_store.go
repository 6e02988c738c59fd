package identity

import (
	"context"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// callerRow is the state of the caller with its tenant.
type callerRow struct {
	Status    string
	Clearance string
	Slug      string
	Name      string
	Type      string
}

const callerSQL = `
SELECT u.status, coalesce(m.clearance, '') AS clearance, t.slug, t.name, t.type
FROM identity.memberships m
JOIN identity.users u ON u.id = m.user_id
JOIN identity.tenants t ON t.id = m.tenant_id
WHERE m.tenant_id = @tenant AND m.user_id = @user`

func readCaller(ctx context.Context, q postgres.Querier, tenant, user op.UUID) (callerRow, error) {
	return postgres.One[callerRow](ctx, q, callerSQL, postgres.Args{"tenant": tenant, "user": user})
}

// organisationChoiceRow is an organisation that a user can act in, or a tenant without one.
type organisationChoiceRow struct {
	TenantID       op.UUID
	TenantSlug     string
	TenantName     string
	OrganisationID *op.UUID
	Name           string
}

// A member of an organisation can act in that organisation. A member of none can act in
// every organisation of the tenant, or in the tenant itself if it has none.
const organisationChoicesSQL = `
SELECT m.tenant_id, t.slug AS tenant_slug, t.name AS tenant_name, o.id AS organisation_id, coalesce(o.name, t.name) AS name
FROM identity.memberships m
JOIN identity.tenants t ON t.id = m.tenant_id
LEFT JOIN identity.organisations o ON o.tenant_id = m.tenant_id AND (m.organisation_id IS NULL OR o.id = m.organisation_id)
WHERE m.user_id = @user AND m.status = 'ACTIVE' AND t.disabled_at IS NULL
ORDER BY m.tenant_id = @home DESC, t.slug, o.created_at, o.id
LIMIT 500`

func readOrganisationChoices(ctx context.Context, q postgres.Querier, user, home op.UUID) ([]organisationChoiceRow, error) {
	return postgres.Collect[organisationChoiceRow](ctx, q, organisationChoicesSQL, postgres.Args{"user": user, "home": home})
}
