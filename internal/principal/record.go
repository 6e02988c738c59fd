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

// credentialRecord is the stored record of a credential with the state of its owner in
// the credential's tenant.
type credentialRecord struct {
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

// validate returns an error if the record does not authorize its bearer. The conditions
// are checked in the specification's order: a session that was revoked because its owner
// was suspended reports the suspension.
func (r credentialRecord) validate(now time.Time) error {
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

// validateClaims checks that the record matches the token's owner, tenant and kind, and
// has not expired since it was cached.
func (r credentialRecord) validateClaims(claims token.Claims, now time.Time) error {
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

func readRecord(ctx context.Context, q postgres.Querier, claims token.Claims) (credentialRecord, error) {
	sql := keyRecordSQL
	if claims.Kind == token.Session {
		sql = sessionRecordSQL
	}
	r, err := postgres.One[credentialRecord](ctx, q, sql, postgres.Args{"tenant": claims.Tenant, "jti": claims.ID})
	if postgres.IsNoRows(err) {
		return credentialRecord{}, fault.Unauthorized()
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

const targetBySlugSQL = `
SELECT m.tenant_id
FROM identity.tenants t
JOIN identity.memberships m ON m.tenant_id = t.id AND m.user_id = @user
WHERE t.slug = @selector`

// readTarget returns the tenant that the user selects with an id or, if the selector is no
// id, with a slug.
func readTarget(ctx context.Context, q postgres.Querier, user op.UUID, selector string) (op.UUID, error) {
	sql := targetSQL
	if _, err := op.ParseUUID(selector); err != nil {
		sql = targetBySlugSQL
	}
	var tenant op.UUID
	err := q.QueryRow(ctx, sql, postgres.Args{"user": user, "selector": selector}).Scan(&tenant)
	if postgres.IsNoRows(err) {
		return "", fault.ForbiddenTenant()
	}
	return tenant, err
}

// storedState is what the target tenant stores about the user. One statement reads all
// of it, so it has a single revision.
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

func policyAssignments(stored []assignment) []authz.Assignment {
	list := make([]authz.Assignment, len(stored))
	for i, a := range stored {
		list[i] = authz.Assignment{Role: a.Role, Scope: a.Scope, ID: a.ID}
	}
	return list
}

// Only relevant roles are read: those in the token and those that are assigned.
const storedStateSQL = `
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

func readStoredState(ctx context.Context, q postgres.Querier, target op.UUID, claims token.Claims) (storedState, error) {
	roles := claims.Roles
	if target != claims.Tenant {
		// The token's roles belong to its own tenant, even if the target has roles of the same name.
		roles = nil
	}
	s, err := postgres.One[storedState](ctx, q, storedStateSQL, postgres.Args{"tenant": target, "user": claims.Subject, "roles": roles})
	if postgres.IsNoRows(err) {
		return storedState{}, fault.ForbiddenTenant()
	}
	return s, err
}
