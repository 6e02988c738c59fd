package identity

import (
	"context"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// holdingRow is what a user holds in one tenant, with the caller's membership in it.
type holdingRow struct {
	TenantID         op.UUID
	Revision         int64
	Membership       string
	Clearance        string
	CallerMembership string
	Roles            []holdingRole
	Keys             []holdingKey
}

// holdingKey contains the clearance and roles of an active API key, with what the roles
// grant now.
type holdingKey struct {
	Clearance string        `json:"clearance"`
	Roles     []holdingRole `json:"roles"`
}

// holdingRole is a role assignment with the permissions that its role grants now.
type holdingRole struct {
	Scope  string   `json:"scope"`
	ID     string   `json:"id"`
	Grants []string `json:"grants"`
}

const holdingsSQL = `
SELECT m.tenant_id, t.grants_revision AS revision, m.status AS membership, coalesce(m.clearance, '') AS clearance,
       coalesce(c.status, '') AS caller_membership,
       coalesce((SELECT json_agg(json_build_object(
                     'scope', a.scope, 'id', coalesce(a.scope_id::text, ''),
                     'grants', ARRAY(SELECT g.permission FROM identity.role_grants g
                                     WHERE g.tenant_id = a.tenant_id AND g.role_id = a.role_id ORDER BY g.permission))
                     ORDER BY a.id)
                 FROM identity.role_assignments a
                 WHERE a.tenant_id = m.tenant_id AND a.user_id = m.user_id), '[]') AS roles,
       coalesce((SELECT json_agg(json_build_object(
                     'clearance', CASE WHEN k.roles IS NULL THEN 'SECRET' ELSE coalesce(k.clearance, '') END,
                     'roles', coalesce((
                         SELECT json_agg(json_build_object(
                             'scope', s.scope, 'id', s.id,
                             'grants', ARRAY(SELECT g.permission FROM identity.role_grants g
                                             WHERE g.tenant_id = r.tenant_id AND g.role_id = r.id ORDER BY g.permission)))
                         FROM identity.roles r
                         CROSS JOIN LATERAL (
                             SELECT x.scope, x.id FROM json_to_recordset(k.roles) AS x (role text, scope text, id text) WHERE x.role = r.name
                             UNION ALL
                             SELECT 'tenant', '' WHERE k.roles IS NULL AND r.kind = 'STANDARD') s
                         WHERE r.tenant_id = k.tenant_id), '[]')))
                 FROM identity.api_keys k
                 WHERE k.tenant_id = m.tenant_id AND k.owner_id = m.user_id AND k.revoked_at IS NULL AND k.expires_at > now()), '[]') AS keys
FROM identity.memberships m
JOIN identity.tenants t ON t.id = m.tenant_id
LEFT JOIN identity.memberships c ON c.tenant_id = m.tenant_id AND c.user_id = nullif(@caller, '')::uuid
WHERE m.user_id = @user
ORDER BY m.tenant_id`

// readHoldings reads what a user holds in every tenant. q must connect as parapet_auth.
func readHoldings(ctx context.Context, q postgres.Querier, user, caller op.UUID) ([]holdingRow, error) {
	return postgres.Collect[holdingRow](ctx, q, holdingsSQL, postgres.Args{"user": user, "caller": caller})
}

// accountState is the state of an account that the policies check before changing it.
type accountState struct {
	ID               op.UUID
	HomeTenantID     op.UUID
	PrincipalKind    string
	Email            string
	Status           string
	HasPassword      bool
	AddressConfirmed bool
}

const accountStateSQL = `
SELECT u.id, u.home_tenant_id, u.principal_kind, u.email, u.status, u.has_password, u.address_confirmed
FROM identity.users u
WHERE u.id = @user`

// lockAccountSQL finds the account only in its home tenant, because no other may lock it.
const lockAccountSQL = `
SELECT u.id, u.home_tenant_id, u.principal_kind, u.email, u.status, u.has_password, u.address_confirmed
FROM identity.users u
WHERE u.id = @user AND u.home_tenant_id = @tenant
FOR NO KEY UPDATE`

func readAccount(ctx context.Context, q postgres.Querier, user op.UUID) (accountState, error) {
	return postgres.One[accountState](ctx, q, accountStateSQL, postgres.Args{"user": user})
}

func lockAccount(ctx context.Context, q postgres.Querier, home, user op.UUID) (accountState, error) {
	return postgres.One[accountState](ctx, q, lockAccountSQL, postgres.Args{"user": user, "tenant": home})
}
