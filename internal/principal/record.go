package principal

import (
	"context"
	"time"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/token"
)

// liveRecord is what the principal check looks at: the credential's record and
// the state of its owner in the credential's tenant.
type liveRecord struct {
	Kind           token.Kind `db:"-"`
	Owner          op.UUID
	Tenant         op.UUID
	Revoked        bool
	ExpiresAt      time.Time
	PrincipalKind  string
	IntegrationKey string
	Email          string
	DisplayName    string
	UserStatus     string
	Membership     string
	TenantEnabled  bool
}

// verdict tells why the record does not admit its bearer, or nil. The conditions
// come in the specification's order: a session that ended because its owner was
// suspended says that, and not merely that it has ended.
func (r liveRecord) verdict(now time.Time) error {
	switch {
	case r.Membership != "ACTIVE" || r.UserStatus == "DELETED":
		return fault.Unauthorized().WithReason(ReasonNotInTenant)
	case !r.TenantEnabled:
		return fault.Unauthorized().WithReason(ReasonTenantDisabled)
	case r.UserStatus != "ACTIVE":
		return fault.Unauthorized().WithReason(ReasonSuspended)
	case r.Revoked || !now.Before(r.ExpiresAt):
		return fault.Unauthorized()
	}
	return nil
}

// belongsTo holds a remembered record against the claims of this very token:
// the record names the same owner and tenant, and has not expired meanwhile.
func (r liveRecord) belongsTo(claims token.Claims, now time.Time) error {
	if r.Kind != claims.Kind || r.Owner != claims.Subject || r.Tenant != claims.Tenant || r.PrincipalKind != claims.PrincipalKind || !now.Before(r.ExpiresAt) {
		return fault.Unauthorized()
	}
	return nil
}

const keyRecordSQL = `
SELECT r.owner_id AS owner, r.tenant_id AS tenant, r.revoked_at IS NOT NULL AS revoked, r.expires_at,
       u.principal_kind, coalesce(u.integration_key, '') AS integration_key, u.email, u.display_name,
       u.status AS user_status, m.status AS membership, t.disabled_at IS NULL AS tenant_enabled
FROM identity.api_keys r
JOIN identity.users u ON u.id = r.owner_id
JOIN identity.memberships m ON m.tenant_id = r.tenant_id AND m.user_id = r.owner_id
JOIN identity.tenants t ON t.id = r.tenant_id
WHERE r.tenant_id = @tenant AND r.jti = @jti`

const sessionRecordSQL = `
SELECT r.user_id AS owner, r.tenant_id AS tenant, r.revoked_at IS NOT NULL AS revoked, r.expires_at,
       u.principal_kind, coalesce(u.integration_key, '') AS integration_key, u.email, u.display_name,
       u.status AS user_status, m.status AS membership, t.disabled_at IS NULL AS tenant_enabled
FROM identity.sessions r
JOIN identity.users u ON u.id = r.user_id
JOIN identity.memberships m ON m.tenant_id = r.tenant_id AND m.user_id = r.user_id
JOIN identity.tenants t ON t.id = r.tenant_id
WHERE r.tenant_id = @tenant AND r.jti = @jti`

func readRecord(ctx context.Context, q postgres.Querier, claims token.Claims) (liveRecord, error) {
	sql := keyRecordSQL
	if claims.Kind == token.Session {
		sql = sessionRecordSQL
	}
	r, err := postgres.One[liveRecord](ctx, q, sql, postgres.Args{"tenant": claims.Tenant, "jti": claims.ID})
	if postgres.IsNoRows(err) {
		return liveRecord{}, fault.Unauthorized()
	}
	r.Kind = claims.Kind
	return r, err
}

const targetSQL = `
SELECT m.tenant_id
FROM identity.memberships m
LEFT JOIN identity.organisations o ON o.tenant_id = m.tenant_id AND o.id = @selector
WHERE m.user_id = @user AND (m.tenant_id = @selector OR o.id IS NOT NULL)
ORDER BY m.tenant_id = @selector DESC, m.tenant_id
LIMIT 1`

func readTarget(ctx context.Context, q postgres.Querier, user, selector op.UUID) (op.UUID, error) {
	var tenant op.UUID
	err := q.QueryRow(ctx, targetSQL, postgres.Args{"user": user, "selector": selector}).Scan(&tenant)
	if postgres.IsNoRows(err) {
		return "", fault.ForbiddenTenant()
	}
	return tenant, err
}

// storedState is what the target tenant has on record for the user, all of one
// revision because one statement read it.
type storedState struct {
	Revision     int64
	TenantType   string
	Organisation string
	Clearance    string
	Assignments  []assignment
	Roles        map[string][]string
}

type assignment struct {
	Role  string `json:"role"`
	Scope string `json:"scope"`
	ID    string `json:"id"`
}

func assignments(stored []assignment) []authz.Assignment {
	list := make([]authz.Assignment, len(stored))
	for i, a := range stored {
		list[i] = authz.Assignment{Role: a.Role, Scope: a.Scope, ID: a.ID}
	}
	return list
}

// Only the roles that can matter are read: those of the token and those stored.
const storedSQL = `
SELECT t.grants_revision AS revision, t.type AS tenant_type,
       coalesce(m.organisation_id::text, '') AS organisation, coalesce(m.clearance, '') AS clearance,
       (SELECT coalesce(json_agg(json_build_object('role', r.name, 'scope', a.scope, 'id', coalesce(a.scope_id::text, ''))
                                 ORDER BY r.name, a.scope, a.scope_id), '[]')
        FROM identity.role_assignments a
        JOIN identity.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
        WHERE a.tenant_id = m.tenant_id AND a.user_id = m.user_id) AS assignments,
       (SELECT coalesce(json_object_agg(g.name, g.permissions), '{}')
        FROM (SELECT r.name, coalesce(json_agg(g.permission ORDER BY g.permission) FILTER (WHERE g.permission IS NOT NULL), '[]') AS permissions
              FROM identity.roles r
              LEFT JOIN identity.role_grants g ON g.tenant_id = r.tenant_id AND g.role_id = r.id
              WHERE r.tenant_id = m.tenant_id
                AND (r.name = ANY (@roles) OR r.id IN (
                     SELECT a.role_id FROM identity.role_assignments a WHERE a.tenant_id = m.tenant_id AND a.user_id = m.user_id))
              GROUP BY r.name) g) AS roles
FROM identity.memberships m
JOIN identity.tenants t ON t.id = m.tenant_id
WHERE m.tenant_id = @tenant AND m.user_id = @user`

func readStored(ctx context.Context, q postgres.Querier, target op.UUID, claims token.Claims) (storedState, error) {
	roles := claims.Roles
	if target != claims.Tenant {
		// The snapshot says nothing about another tenant's roles of the same name.
		roles = nil
	}
	s, err := postgres.One[storedState](ctx, q, storedSQL, postgres.Args{"tenant": target, "user": claims.Subject, "roles": roles})
	if postgres.IsNoRows(err) {
		return storedState{}, fault.ForbiddenTenant()
	}
	return s, err
}
