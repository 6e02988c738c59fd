package identity

import (
	"context"

	"parapet/internal/op"
)

// Directory is what other modules may ask of the directory. The identity module
// implements it; answers are live.
type Directory interface {
	// Assignable tells whether work on a record of this classification can be
	// given to the user: an ACTIVE member of the tenant, not a Guest Customer,
	// with clearance for the classification, and, for an agent, in a tenant that
	// may run agents. The reason is one of the constants; NotAssignableMember
	// also stands for a user that does not exist.
	Assignable(ctx context.Context, tenant, user op.UUID, classification string) (Assignability, error)
	// OrganisationExists tells whether the tenant has this organisation.
	OrganisationExists(ctx context.Context, tenant, organisation op.UUID) (bool, error)
}

// Assignability answers Assignable.
type Assignability struct {
	OK bool
	// Reason is empty where OK is true.
	Reason string
}

// Why a user can't be given work.
const (
	NotAssignableMember    = "NOT_AN_ACTIVE_MEMBER"
	NotAssignableGuest     = "GUEST_CUSTOMER"
	NotAssignableClearance = "CLEARANCE"
	NotAssignableAgent     = "AGENT_NOT_ALLOWED"
	NotAssignableService   = "SERVICE_PRINCIPAL"
)
