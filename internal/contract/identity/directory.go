package identity

import (
	"context"

	"parapet/internal/op"
)

// Directory is what other modules may ask of the directory. The identity module
// implements it; answers are live.
type Directory interface {
	// Candidate gives what the directory knows of a user whom work is to be given
	// to, or who is to be spoken for: by id, any member of the tenant; by e-mail
	// address, one at home in it. The zero Candidate is nobody, and stands for
	// another tenant's as well.
	Candidate(ctx context.Context, tenant op.UUID, idOrEmail string) (Candidate, error)
	// OrganisationExists tells whether the tenant has this organisation.
	OrganisationExists(ctx context.Context, tenant, organisation op.UUID) (bool, error)
}

// Candidate is a member of a tenant, whatever its state: the policies decide what
// fits.
type Candidate struct {
	ID       op.UUID
	TenantID op.UUID
	Kind     string
	// Status is the user's, Membership that of its membership in the tenant.
	Status     string
	Membership string
	// Clearance is the membership's; empty when there is none.
	Clearance string
	// Roles are all that the user holds in the tenant, in any scope.
	Roles []CandidateRole
	// AgentsAllowed tells whether the tenant runs agents.
	AgentsAllowed bool
}

// CandidateRole is a role that a candidate holds, with what it grants now.
type CandidateRole struct {
	Name string
	Kind string
	// Scope is tenant, organisation or project; ScopeID names the latter two.
	Scope   string
	ScopeID string
	Grants  []string
}
