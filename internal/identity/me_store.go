package identity

import (
	"context"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// meRow is what the caller's record and tenant say.
type meRow struct {
	Status    string
	Clearance string
	Slug      string
	Name      string
	Type      string
}

const meSQL = `
SELECT u.status, coalesce(m.clearance, '') AS clearance, t.slug, t.name, t.type
FROM identity.memberships m
JOIN identity.users u ON u.id = m.user_id
JOIN identity.tenants t ON t.id = m.tenant_id
WHERE m.tenant_id = @tenant AND m.user_id = @user`

func readMe(ctx context.Context, q postgres.Querier, tenant, user op.UUID) (meRow, error) {
	return postgres.One[meRow](ctx, q, meSQL, postgres.Args{"tenant": tenant, "user": user})
}

// choiceRow is one place where a user can act.
type choiceRow struct {
	TenantID       op.UUID
	TenantSlug     string
	TenantName     string
	OrganisationID *op.UUID
	Name           string
}

// A member of an organisation acts in that one; a member of none in any of the
// tenant's, or in the tenant where it has none.
const choicesSQL = `
SELECT m.tenant_id, t.slug AS tenant_slug, t.name AS tenant_name, o.id AS organisation_id, coalesce(o.name, t.name) AS name
FROM identity.memberships m
JOIN identity.tenants t ON t.id = m.tenant_id
LEFT JOIN identity.organisations o ON o.tenant_id = m.tenant_id AND (m.organisation_id IS NULL OR o.id = m.organisation_id)
WHERE m.user_id = @user AND m.status = 'ACTIVE' AND t.disabled_at IS NULL
ORDER BY m.tenant_id = @home DESC, t.slug, o.created_at, o.id
LIMIT 500`

func readChoices(ctx context.Context, q postgres.Querier, user, home op.UUID) ([]choiceRow, error) {
	return postgres.Collect[choiceRow](ctx, q, choicesSQL, postgres.Args{"user": user, "home": home})
}
