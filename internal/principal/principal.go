// Package principal answers who is calling: it checks a credential against its
// live record, finds the tenant that a request is meant for, and keeps the
// caller's authority, as the policies see it, for as long as it is the same.
//
// What it promises:
//
//   - A credential is accepted only while its record, its owner, the owner's
//     membership and the tenant are live. A success is remembered for a bounded
//     time (30 s, never more than 60), a failure never; a change notice from the
//     database drops what it concerns at once.
//   - What is remembered is keyed by the credential's id and never by its text.
//   - The authority of a caller (its Subject) is bound to the revision of the
//     tenant's roles and memberships and to that of the policies. Whoever serves
//     a request reads the tenant's revision live and asks for Refresh when it is
//     another one.
//
// Who may do what is not decided here: package authz asks the policies.
package principal

import (
	"context"
	"time"

	"parapet/internal/authz"
	"parapet/internal/op"
	"parapet/internal/token"
)

// Principal is who is calling, for one target tenant. It is immutable: Refresh
// gives another one.
type Principal struct {
	// UserID is the owner of the credential.
	UserID op.UUID
	// Kind is HUMAN, SERVICE or AGENT.
	Kind string
	// IntegrationKey names the integration that a SERVICE principal stands for.
	IntegrationKey string
	// Email is for display; nothing is decided by it.
	Email       string
	DisplayName string

	// Tenant is the tenant that the request is meant for, TokenTenant the one
	// that the credential is bound to. They differ only under x-act-as-org.
	Tenant      op.UUID
	TokenTenant op.UUID
	TenantType  string
	// Organisation is the one that the user belongs to in Tenant, or empty.
	Organisation op.UUID

	// TokenKind is session or api_key.
	TokenKind string
	JTI       op.UUID
	ExpiresAt time.Time

	// Subject is the caller as the policies see it in Tenant, made for Revision
	// of the tenant's roles and memberships.
	Subject  *authz.Subject
	Revision int64
	// DelegationFingerprint is the fingerprint of the delegations that Subject was made with; empty
	// is none.
	DelegationFingerprint string
	// delegatorIDs are the users on whose behalf Subject acts as well.
	delegatorIDs []op.UUID

	// claims are what the token said when it was signed; a new Subject needs them.
	claims token.Claims
}

// Credential identifies the session or the API key that the request was made
// with, for the audit log and the decision log.
func (p *Principal) Credential() authz.CredentialID {
	return authz.CredentialID{Kind: p.TokenKind, ID: string(p.JTI)}
}

// Clearance is the effective clearance in the target tenant.
func (p *Principal) Clearance() string {
	if p.Subject == nil {
		return ""
	}
	return p.Subject.Clearance()
}

// Live is what whoever serves a request finds to be so at its moment: what a
// Subject must have been made with.
type Live struct {
	// Revision is that of the tenant's roles and memberships.
	Revision int64
	// Delegations are those that the caller received and that are in force.
	Delegations Delegations
}

// Delegations are those of one user in one tenant at one moment.
type Delegations struct {
	// Fingerprint is the same for the same delegations; empty is none.
	Fingerprint string
	Active      []Delegation
}

// Delegation is one in force, with the projects that its scope holds now.
type Delegation struct {
	ID          op.UUID  `json:"id"`
	Delegator   op.UUID  `json:"delegator"`
	Scope       string   `json:"scope"`
	Projects    []string `json:"projects"`
	Initiatives []string `json:"initiatives"`
	Permissions []string `json:"permissions"`
}

// Credential is what a request presents.
type Credential struct {
	Token string
	// ActAs is the value of x-act-as-org, an organisation id or a tenant id;
	// HasActAs tells an empty header from none.
	ActAs    string
	HasActAs bool
	// Module is the module whose operation is asked for.
	Module string
	// Bearer says that the Authorization header holds the token. A request without
	// it may have been sent by a browser on its own.
	Bearer bool
	// Cookie says that the session cookie holds the token, alone or beside the
	// header. Only a session is accepted there.
	Cookie bool
}

type contextKey struct{}

// With puts the principal into the context.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From gives the principal of the request, or nil outside an authenticated one.
func From(ctx context.Context) *Principal {
	p, _ := ctx.Value(contextKey{}).(*Principal)
	return p
}
