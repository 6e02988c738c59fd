package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/token"
)

// keyRow is an API key with the kind of its owner.
type keyRow struct {
	JTI          op.UUID
	TenantID     op.UUID
	Label        string
	OwnerID      op.UUID
	OwnerKind    string
	Kind         string
	ExpiresAt    time.Time
	CreatedBy    op.UUID
	CreatedAt    time.Time
	RevokedAt    *time.Time
	RevokedBy    *op.UUID
	RevokeReason string
	LastUsedAt   *time.Time
}

func (r keyRow) toContract() contract.Key {
	k := contract.Key{
		ID: r.JTI, JTI: r.JTI, Label: r.Label, Owner: r.OwnerID, TenantID: r.TenantID, Kind: r.Kind, Expiry: r.ExpiresAt,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, RevokedAt: r.RevokedAt, RevokeReason: r.RevokeReason, LastUsedAt: r.LastUsedAt,
	}
	if r.RevokedBy != nil {
		k.RevokedBy = *r.RevokedBy
	}
	return k
}

// lockGrantsSQL prevents changes of the tenant's roles, grants, assignments and memberships
// until the transaction ends: each such change updates the tenant's revision and waits for
// this lock.
const lockGrantsSQL = `SELECT grants_revision FROM identity.tenants WHERE id = @tenant FOR SHARE`

func lockGrants(ctx context.Context, q postgres.Querier, tenant op.UUID) error {
	var revision int64
	return q.QueryRow(ctx, lockGrantsSQL, postgres.Args{"tenant": tenant}).Scan(&revision)
}

// principalRow is a user of a tenant with the fields that key issuance needs.
type principalRow struct {
	ID             op.UUID
	Kind           string
	IntegrationKey string
	Email          string
	Status         string
	Membership     string
	Clearance      string
}

const principalSQL = `
SELECT u.id, u.principal_kind AS kind, coalesce(u.integration_key, '') AS integration_key, u.email, u.status,
       m.status AS membership, coalesce(m.clearance, '') AS clearance
FROM identity.memberships m
JOIN identity.users u ON u.id = m.user_id
WHERE m.tenant_id = @tenant AND m.user_id = @user`

// readPrincipal returns a user of the tenant with its roles, or ErrNoRows. A SERVICE
// principal is only found in its home tenant.
func readPrincipal(ctx context.Context, q postgres.Querier, tenant, user op.UUID) (principalRow, []heldRole, error) {
	p, err := postgres.One[principalRow](ctx, q, principalSQL, postgres.Args{"tenant": tenant, "user": user})
	if err != nil {
		return principalRow{}, nil, err
	}
	held, err := readHeldRoles(ctx, q, tenant, user)
	return p, held, err
}

// servicePrincipal returns the service principal as the policies see it.
func servicePrincipal(tenant op.UUID, p principalRow, held []heldRole) authz.ServicePrincipal {
	t := authz.ServicePrincipal{
		ID: string(p.ID), Tenant: string(tenant), Kind: p.Kind, Status: p.Status, Membership: p.Membership, IntegrationKey: p.IntegrationKey,
	}
	for _, h := range held {
		t.Roles = append(t.Roles, authz.HeldRole{Name: h.Name, Kind: h.Kind, Scope: h.Scope, Grants: h.Grants})
	}
	return t
}

// lockOwnerSQL serializes the issuing of keys for one user, so that each count includes the
// keys issued before.
const lockOwnerSQL = `
SELECT user_id::text FROM identity.memberships WHERE tenant_id = @tenant AND user_id = @user FOR NO KEY UPDATE`

const countActiveKeysSQL = `
SELECT count(*) FROM identity.api_keys
WHERE tenant_id = @tenant AND owner_id = @user AND kind = 'PERSONAL' AND revoked_at IS NULL AND expires_at > @now`

// countActiveKeys counts the personal keys of a user that are neither revoked nor expired.
// It locks the count for this user until the transaction ends.
func countActiveKeys(ctx context.Context, q postgres.Querier, tenant, user op.UUID, now time.Time) (int, error) {
	var id string
	if err := q.QueryRow(ctx, lockOwnerSQL, postgres.Args{"tenant": tenant, "user": user}).Scan(&id); err != nil {
		return 0, err
	}
	var n int
	err := q.QueryRow(ctx, countActiveKeysSQL, postgres.Args{"tenant": tenant, "user": user, "now": now}).Scan(&n)
	return n, err
}

const insertKeySQL = `
INSERT INTO identity.api_keys (tenant_id, jti, label, owner_id, kind, expires_at, created_by, created_at, roles, clearance)
VALUES (@tenant, @jti, @label, @owner, @kind, @expires, @by, @now, @roles, nullif(@clearance, ''))`

// insertKey stores a key with the roles and the clearance of its claims.
func insertKey(ctx context.Context, q postgres.Querier, k contract.Key, claims token.Claims) error {
	roles, err := json.Marshal(keyRoles(claims))
	if err != nil {
		return fmt.Errorf("identity: marshal the roles of a key: %w", err)
	}
	_, err = q.Exec(ctx, insertKeySQL, postgres.Args{
		"tenant": k.TenantID, "jti": k.JTI, "label": k.Label, "owner": k.Owner, "kind": k.Kind, "expires": k.Expiry, "by": k.CreatedBy, "now": k.CreatedAt,
		"roles": roles, "clearance": claims.Clearance,
	})
	return err
}

// keyRole is a role in a key's token, in one scope.
type keyRole struct {
	Role  string `json:"role"`
	Scope string `json:"scope"`
	ID    string `json:"id"`
}

// keyRoles returns the roles of a token with their scopes. A role without scopes is held in
// the whole tenant.
func keyRoles(claims token.Claims) []keyRole {
	roles := []keyRole{}
	for _, name := range claims.Roles {
		scopes, narrowed := claims.RoleScopes[name]
		if !narrowed {
			roles = append(roles, keyRole{Role: name, Scope: authz.ScopeTenant})
		}
		for _, s := range scopes {
			scope, id, _ := strings.Cut(s, ":")
			roles = append(roles, keyRole{Role: name, Scope: scope, ID: id})
		}
	}
	return roles
}

const listKeysSQL = `
SELECT k.jti, k.tenant_id, k.label, k.owner_id, u.principal_kind AS owner_kind, k.kind, k.expires_at, k.created_by, k.created_at,
       k.revoked_at, k.revoked_by, coalesce(k.revoke_reason, '') AS revoke_reason, k.last_used_at
FROM identity.api_keys k
JOIN identity.users u ON u.id = k.owner_id
WHERE k.tenant_id = @tenant AND k.owner_id = @owner
  AND (@start::boolean OR (k.created_at, k.jti) < (@before_at::timestamptz, @before_jti::uuid))
ORDER BY k.created_at DESC, k.jti DESC
LIMIT @most`

func readKeys(ctx context.Context, q postgres.Querier, tenant, owner op.UUID, after *op.TimeCursor, most int) ([]keyRow, error) {
	args := postgres.Args{"tenant": tenant, "owner": owner, "start": after == nil, "before_at": nil, "before_jti": nil, "most": most}
	if after != nil {
		args["before_at"], args["before_jti"] = after.At, after.ID
	}
	return postgres.Collect[keyRow](ctx, q, listKeysSQL, args)
}

const lockKeySQL = `
SELECT k.jti, k.tenant_id, k.label, k.owner_id, u.principal_kind AS owner_kind, k.kind, k.expires_at, k.created_by, k.created_at,
       k.revoked_at, k.revoked_by, coalesce(k.revoke_reason, '') AS revoke_reason, k.last_used_at
FROM identity.api_keys k
JOIN identity.users u ON u.id = k.owner_id
WHERE k.tenant_id = @tenant AND k.jti = @jti
FOR UPDATE OF k`

func lockKey(ctx context.Context, q postgres.Querier, tenant, jti op.UUID) (keyRow, error) {
	return postgres.One[keyRow](ctx, q, lockKeySQL, postgres.Args{"tenant": tenant, "jti": jti})
}

const revokeKeySQL = `
UPDATE identity.api_keys SET revoked_at = @now, revoked_by = @by, revoke_reason = nullif(@reason, '')
WHERE tenant_id = @tenant AND jti = @jti AND revoked_at IS NULL`

func revokeKeyRow(ctx context.Context, q postgres.Querier, tenant, jti, by op.UUID, reason string, now time.Time) error {
	_, err := q.Exec(ctx, revokeKeySQL, postgres.Args{"tenant": tenant, "jti": jti, "by": by, "reason": reason, "now": now})
	return err
}
