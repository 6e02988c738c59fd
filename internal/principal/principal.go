// Package principal authenticates callers: it checks a credential against its record,
// determines the tenant that the request acts in, and caches the caller's authority.
//
// Guarantees:
//
//   - A credential is accepted only while its record, its owner, the owner's membership
//     and the tenant are active. A success is cached for a bounded time (30 s by
//     default, at most 60), a failure never. A notification from the database drops the
//     affected entries immediately.
//   - Cache keys contain the credential's id, never its text.
//   - The caller's authority (its Subject) is bound to the revision of the tenant's roles
//     and memberships and to the revision of the policies. The executor reads the
//     tenant's revision on each request and calls Refresh when it has changed.
//
// This package does not decide what a caller may do; package authz evaluates the policies.
package principal

import (
	"context"
	"time"

	"parapet/internal/authz"
	"parapet/internal/op"
	"parapet/internal/token"
)

// Principal is the caller in one target tenant. It is immutable; Refresh returns a new one.
type Principal struct {
	// UserID is the owner of the credential.
	UserID op.UUID
	// Kind is HUMAN, SERVICE or AGENT.
	Kind string
	// IntegrationKey is the integration that a SERVICE principal represents.
	IntegrationKey string
	// Email is for display only; it is not used for authorization.
	Email       string
	DisplayName string

	// Tenant is the tenant that the request acts in; TokenTenant is the tenant that the
	// credential is bound to. They differ only when the request has x-act-as-org.
	Tenant      op.UUID
	TokenTenant op.UUID
	TenantType  string
	// Organisation is the user's organisation in Tenant, or empty.
	Organisation op.UUID

	// TokenKind is session or api_key.
	TokenKind string
	JTI       op.UUID
	ExpiresAt time.Time

	// Subject is the caller as the policies see it in Tenant. Revision is the revision of
	// the tenant's roles and memberships that it was built with.
	Subject  *authz.Subject
	Revision int64
	// DelegationFingerprint identifies the delegations that Subject was built with; empty
	// if there are none.
	DelegationFingerprint string
	// delegatorIDs are the users on whose behalf Subject may also act.
	delegatorIDs []op.UUID

	// claims are the token's claims, which are needed to build a new Subject.
	claims token.Claims
}

// Credential returns the kind and id of the session or API key of the request, for the
// audit log and the decision log.
func (p *Principal) Credential() authz.CredentialID {
	return authz.CredentialID{Kind: p.TokenKind, ID: string(p.JTI)}
}

// Clearance returns the effective clearance in the target tenant.
func (p *Principal) Clearance() string {
	if p.Subject == nil {
		return ""
	}
	return p.Subject.Clearance()
}

// LiveState is the current state that a Subject must have been built with. The executor
// reads it on each request.
type LiveState struct {
	// Revision is the revision of the tenant's roles and memberships.
	Revision int64
	// Delegations are the active delegations that the caller received.
	Delegations Delegations
}

// Delegations are the active delegations that one user received in one tenant.
type Delegations struct {
	// Fingerprint is equal for equal delegations; empty if there are none.
	Fingerprint string
	Active      []Delegation
}

// Delegation is an active delegation with the projects that its scope contains now.
type Delegation struct {
	ID          op.UUID  `json:"id"`
	Delegator   op.UUID  `json:"delegator"`
	Scope       string   `json:"scope"`
	Projects    []string `json:"projects"`
	Initiatives []string `json:"initiatives"`
	Permissions []string `json:"permissions"`
}

// Credential is the credential of a request with its target.
type Credential struct {
	Token string
	// ActAs is the value of the header x-act-as-org: the id of an organisation, or the id
	// or the slug of a tenant.
	// HasActAs distinguishes an empty header from an absent one.
	ActAs    string
	HasActAs bool
	// Module is the module of the requested operation.
	Module string
	// Bearer reports whether the Authorization header contains the token. A request
	// without it may have been sent by a browser without the user's intent.
	Bearer bool
	// Cookie reports whether the session cookie contains the token, alone or in addition
	// to the header. Only sessions are accepted from a cookie.
	Cookie bool
}

type contextKey struct{}

// NewContext returns a context with the principal.
func NewContext(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the principal of the request, or nil if it is not authenticated.
func FromContext(ctx context.Context) *Principal {
	p, _ := ctx.Value(contextKey{}).(*Principal)
	return p
}
