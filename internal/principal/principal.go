// Package principal finds out who is calling and whether that is still so: the
// principal check behind every token, the tenant that a request is meant for,
// and what the caller may do there.
//
// It promises that a success of the check is believed for 30 seconds by default
// and never for more than a minute, that a change in the database is heard of
// at once where the notice arrives, and that every failure is an answer that
// tells a stranger nothing.
package principal

import (
	"context"

	"parapet/internal/authz"
	"parapet/internal/op"
)

// Principal is an authenticated caller in the tenant that the request is meant
// for. It is immutable: Refresh gives a new one.
type Principal struct {
	UserID op.UUID
	// Tenant is the target of the request, TokenTenant the one that the token was
	// issued in. They differ only by x-act-as-org.
	Tenant      op.UUID
	TokenTenant op.UUID
	TenantType  string
	// Organisation is the user's organisation in the target tenant, or empty.
	Organisation op.UUID
	// Kind is HUMAN, SERVICE or AGENT; TokenKind is authz.TokenSession or one of
	// its fellows.
	Kind           string
	TokenKind      string
	JTI            op.UUID
	Email          string
	IntegrationKey string
	Clearance      string
	Roles          []string
	Caveats        []string
	// Subject is the caller as the policies see it, made at Revision of the
	// tenant's grants. internal/gate compares Revision with the live one in every
	// request.
	Subject  *authz.Subject
	Revision int64
}

type contextKey struct{}

// With puts the principal into the context of its request.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From gives the principal of the request, or nil where nobody is known.
func From(ctx context.Context) *Principal {
	p, _ := ctx.Value(contextKey{}).(*Principal)
	return p
}
