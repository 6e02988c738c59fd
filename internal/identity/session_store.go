package identity

import (
	"context"
	"time"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// loginTenant is a membership of an account, with the data that a session token needs.
type loginTenant struct {
	UserID        op.UUID
	TenantID      op.UUID
	Membership    string
	TenantEnabled bool
	Clearance     string
}

const loginTenantsSQL = `
SELECT m.user_id, m.tenant_id, m.status AS membership, t.disabled_at IS NULL AS tenant_enabled,
       coalesce(m.clearance, '') AS clearance
FROM identity.memberships m
JOIN identity.users u ON u.id = m.user_id
JOIN identity.tenants t ON t.id = m.tenant_id
WHERE m.user_id = ANY (@users::uuid[])
ORDER BY u.home_tenant_id = m.tenant_id DESC, m.created_at, m.tenant_id`

func readLoginTenants(ctx context.Context, q postgres.Querier, users []op.UUID) ([]loginTenant, error) {
	return postgres.Collect[loginTenant](ctx, q, loginTenantsSQL, postgres.Args{"users": users})
}

// heldRole is a role that a user holds in a scope, with its grants.
type heldRole struct {
	Name    string
	Kind    string
	Scope   string
	ScopeID string
	Grants  []string
}

const heldRolesSQL = `
SELECT r.name, r.kind, a.scope, coalesce(a.scope_id::text, '') AS scope_id,
       ARRAY(SELECT g.permission FROM identity.role_grants g
             WHERE g.tenant_id = r.tenant_id AND g.role_id = r.id ORDER BY g.permission) AS grants
FROM identity.role_assignments a
JOIN identity.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
WHERE a.tenant_id = @tenant AND a.user_id = @user
ORDER BY r.name, a.scope, a.scope_id`

func readHeldRoles(ctx context.Context, q postgres.Querier, tenant, user op.UUID) ([]heldRole, error) {
	return postgres.Collect[heldRole](ctx, q, heldRolesSQL, postgres.Args{"tenant": tenant, "user": user})
}

const insertSessionSQL = `
INSERT INTO identity.sessions (tenant_id, jti, user_id, created_at, expires_at)
VALUES (@tenant, @jti, @user, @now, @expires)`

func insertSession(ctx context.Context, q postgres.Querier, tenant, jti, user op.UUID, now, expires time.Time) error {
	_, err := q.Exec(ctx, insertSessionSQL, postgres.Args{"tenant": tenant, "jti": jti, "user": user, "now": now, "expires": expires})
	return err
}

const revokeSessionSQL = `
UPDATE identity.sessions SET revoked_at = @now
WHERE tenant_id = @tenant AND jti = @jti AND user_id = @user AND revoked_at IS NULL`

func revokeSession(ctx context.Context, q postgres.Querier, tenant, jti, user op.UUID, now time.Time) error {
	_, err := q.Exec(ctx, revokeSessionSQL, postgres.Args{"tenant": tenant, "jti": jti, "user": user, "now": now})
	return err
}

const revokeOtherSessionsSQL = `
UPDATE identity.sessions SET revoked_at = @now
WHERE tenant_id = @tenant AND user_id = @user AND jti <> @kept AND revoked_at IS NULL AND expires_at > @now`

// revokeOtherSessions revokes a user's sessions in one tenant except one.
func revokeOtherSessions(ctx context.Context, q postgres.Querier, tenant, user, kept op.UUID, now time.Time) error {
	_, err := q.Exec(ctx, revokeOtherSessionsSQL, postgres.Args{"tenant": tenant, "user": user, "kept": kept, "now": now})
	return err
}

const revokeOtherTenantSessionsSQL = `
UPDATE identity.sessions SET revoked_at = @now
WHERE user_id = @user AND tenant_id <> @home AND revoked_at IS NULL AND expires_at > @now
  AND tenant_id IN (SELECT m.tenant_id FROM identity.memberships m WHERE m.user_id = @user)`

// revokeOtherTenantSessions revokes a user's sessions in every tenant except home. q must
// connect as parapet_auth.
func revokeOtherTenantSessions(ctx context.Context, q postgres.Querier, home, user op.UUID, now time.Time) error {
	_, err := q.Exec(ctx, revokeOtherTenantSessionsSQL, postgres.Args{"home": home, "user": user, "now": now})
	return err
}

const storedHashSQL = `
SELECT coalesce(password_hash, '') FROM identity.users WHERE id = @user AND home_tenant_id = @home`

// readPasswordHash reads the stored hash. q must connect as parapet_auth: parapet_identity
// may write hashes but not read them.
func readPasswordHash(ctx context.Context, q postgres.Querier, home, user op.UUID) (string, error) {
	var hash string
	err := q.QueryRow(ctx, storedHashSQL, postgres.Args{"user": user, "home": home}).Scan(&hash)
	return hash, err
}

const setPasswordSQL = `
UPDATE identity.users SET password_hash = @hash, updated_at = @now
WHERE id = @user AND home_tenant_id = @tenant`

func setPassword(ctx context.Context, q postgres.Querier, home, user op.UUID, hash string, now time.Time) error {
	tag, err := q.Exec(ctx, setPasswordSQL, postgres.Args{"tenant": home, "user": user, "hash": hash, "now": now})
	if err == nil && tag.RowsAffected() != 1 {
		return postgres.ErrNoRows
	}
	return err
}
