package identity

import (
	"context"

	"parapet/internal/op"
)

// Directory is the interface through which other modules read the directory. The
// identity module implements it. Every call queries the database; nothing is cached.
type Directory interface {
	// Candidate returns a user to whom work may be assigned or whose authority may be
	// delegated. An id finds any member of the tenant. An e-mail address finds only a
	// user whose home tenant it is. The zero Candidate means that there is no such user
	// or that it belongs to another tenant.
	Candidate(ctx context.Context, tenant op.UUID, idOrEmail string) (Candidate, error)
	// OrganisationExists reports whether the organisation exists in the tenant.
	OrganisationExists(ctx context.Context, tenant, organisation op.UUID) (bool, error)
}

// Candidate is a member of a tenant in any status. The policies decide whether it is
// eligible.
type Candidate struct {
	ID       op.UUID
	TenantID op.UUID
	Kind     string
	// Status is the user's status; Membership is the status of its membership in the tenant.
	Status     string
	Membership string
	// Clearance is that of the membership; empty when it has none.
	Clearance string
	// Roles are all roles that the user holds in the tenant, in any scope.
	Roles []CandidateRole
	// AgentsAllowed reports whether agents may run in the tenant.
	AgentsAllowed bool
}

// CandidateRole is a role that a candidate holds, with the permissions that it grants now.
type CandidateRole struct {
	Name string
	Kind string
	// Scope is tenant, organisation or project. ScopeID is the id of the organisation or
	// the project; empty for the scope tenant.
	Scope   string
	ScopeID string
	Grants  []string
}
