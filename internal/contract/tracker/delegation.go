package tracker

import (
	"context"
	"time"

	"parapet/internal/op"
)

// The scopes of a delegation.
const (
	DelegationTenant     = "TENANT"
	DelegationProject    = "PROJECT"
	DelegationInitiative = "INITIATIVE"
)

// The states of a delegation.
const (
	DelegationScheduled = "SCHEDULED"
	DelegationActive    = "ACTIVE"
	DelegationExpired   = "EXPIRED"
	DelegationRevoked   = "REVOKED"
)

// The events of delegations. The payload is a Delegation.
const (
	EventDelegationCreated = "projects.delegation.created"
	EventDelegationRevoked = "projects.delegation.revoked"
)

// Delegation lets one person act on another's behalf.
type Delegation struct {
	ID           op.UUID    `json:"id" doc:"The delegation's id."`
	DelegatorID  op.UUID    `json:"delegator" doc:"The user on whose behalf is acted."`
	DelegateID   op.UUID    `json:"delegate" doc:"The user who acts."`
	Scope        string     `json:"scope" enum:"TENANT|PROJECT|INITIATIVE" doc:"Where: the whole organisation, one project, or one initiative with the projects that belong to it at the moment."`
	ProjectID    op.UUID    `json:"projectId,omitempty" doc:"The project, for the scope PROJECT."`
	InitiativeID op.UUID    `json:"initiativeId,omitempty" doc:"The initiative, for the scope INITIATIVE."`
	Permissions  []string   `json:"permissions" doc:"What the delegate may do, for as long as the delegator holds it: names of permissions."`
	From         time.Time  `json:"from" doc:"When it begins."`
	Until        time.Time  `json:"until" doc:"When it ends by itself."`
	State        string     `json:"state" enum:"SCHEDULED|ACTIVE|EXPIRED|REVOKED" doc:"SCHEDULED: has not begun. ACTIVE: can be used now. EXPIRED: its time is over. REVOKED: was ended early."`
	CreatedBy    op.UUID    `json:"createdBy" doc:"The user who made it: the delegator or an administrator."`
	CreatedAt    time.Time  `json:"createdAt" doc:"When it was made."`
	RevokedAt    *time.Time `json:"revokedAt,omitempty" doc:"When it was ended early."`
	RevokedBy    op.UUID    `json:"revokedBy,omitempty" doc:"The user who ended it early."`
}

// ListDelegationsIn asks for delegations.
type ListDelegationsIn struct {
	Delegator op.UUID `query:"delegator" format:"uuid" doc:"Only delegations that this user gave."`
	Delegate  op.UUID `query:"delegate" format:"uuid" doc:"Only delegations that this user received."`
	State     string  `query:"state" enum:"SCHEDULED|ACTIVE|EXPIRED|REVOKED" doc:"Only delegations in this state."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many delegations to return at most."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListDelegations lists delegations, the newest first.
var ListDelegations = op.New[ListDelegationsIn, op.Page[Delegation]](op.Spec{
	Name: "list-delegations", Module: Module, Method: "GET", Path: "/api/delegations", Permission: PermDelegationsRead, Effect: op.Read,
	Summary:     "List delegations: who acts on whose behalf.",
	Description: "The newest comes first. Whoever may not see all of them sees those that it gave or received.",
})

// DelegationIn names a delegation.
type DelegationIn struct {
	DelegationID op.UUID `path:"delegationId" format:"uuid" doc:"The delegation's id."`
}

// GetDelegation gives a delegation.
var GetDelegation = op.New[DelegationIn, Delegation](op.Spec{
	Name: "get-delegation", Module: Module, Method: "GET", Path: "/api/delegations/{delegationId}", Permission: PermDelegationsRead, Effect: op.Read,
	Summary: "Get a delegation.",
})

// CreateDelegationIn describes a delegation to be.
type CreateDelegationIn struct {
	Delegator    op.UUID  `json:"delegator" format:"uuid" doc:"The user on whose behalf is acted; the caller when absent. Another's needs delegation.create."`
	Delegate     op.UUID  `json:"delegate" required:"true" format:"uuid" doc:"The user who acts: an active member of the organisation, a person or an agent."`
	Scope        string   `json:"scope" enum:"TENANT|PROJECT|INITIATIVE" default:"TENANT" doc:"Where: the whole organisation, one project, or one initiative with the projects that belong to it at the moment."`
	ProjectID    op.UUID  `json:"projectId" format:"uuid" doc:"The project, for the scope PROJECT."`
	InitiativeID op.UUID  `json:"initiativeId" format:"uuid" doc:"The initiative, for the scope INITIATIVE."`
	Permissions  []string `json:"permissions" required:"true" minLength:"1" maxLength:"200" doc:"What the delegate may do: permissions of the tracker that the delegator holds there now, such as task.update. The caller must hold them there too."`
	From         string   `json:"from" format:"date-time" doc:"When it begins; at once when absent."`
	Until        string   `json:"until" required:"true" format:"date-time" doc:"When it ends by itself: in the future, at most 366 days after it begins."`
}

// CreateDelegation makes a delegation.
var CreateDelegation = op.New[CreateDelegationIn, Delegation](op.Spec{
	Name: "create-delegation", Module: Module, Method: "POST", Path: "/api/delegations", Permission: PermDelegationCreate, Effect: op.Write, Status: 201,
	Summary: "Let another person act on one's behalf.",
	Description: "While it is active, the delegate may do what the delegator may, within the scope and the permissions. The lower clearance of the two " +
		"counts, and the delegate's own caveats hold. It ends with its time, when it is revoked, when the delegator loses the permission, and when either is suspended.",
})

// RevokeDelegation ends a delegation early.
var RevokeDelegation = op.New[DelegationIn, Delegation](op.Spec{
	Name: "revoke-delegation", Module: Module, Method: "DELETE", Path: "/api/delegations/{delegationId}", Permission: PermDelegationRevoke, Effect: op.Destroy,
	Summary:     "End a delegation early.",
	Description: "It ends at once. One that was revoked before is returned as it is.",
})

// ReceivedDelegation is a delegation that a user can act by now or later: it is
// neither revoked nor past its end.
type ReceivedDelegation struct {
	ID          op.UUID
	Permissions []string
	// Scope is TENANT, PROJECT or INITIATIVE; ProjectID is set for PROJECT.
	Scope     string
	ProjectID op.UUID
}

// Delegations tells other modules what was delegated to a user.
type Delegations interface {
	// Received lists the delegations that the user received in the tenant and that
	// have not ended, ordered by id.
	Received(ctx context.Context, tenant, user op.UUID) ([]ReceivedDelegation, error)
}
