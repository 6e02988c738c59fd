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
var (
	EventDelegationCreated = op.DeclareEvent[Delegation](Contract, "projects.delegation.created", "A user delegated permissions to another user.")
	EventDelegationRevoked = op.DeclareEvent[Delegation](Contract, "projects.delegation.revoked", "A delegation was revoked.")
)

// Delegation lets one user act on behalf of another.
type Delegation struct {
	ID            op.UUID       `json:"id" doc:"The delegation's id."`
	DelegatorID   op.UUID       `json:"delegator" doc:"The user whose permissions are delegated."`
	DelegatorUser *op.Reference `json:"delegatorUser,omitempty" doc:"The name of the record that delegator identifies."`
	DelegateID    op.UUID       `json:"delegate" doc:"The user who acts on the delegator's behalf."`
	DelegateUser  *op.Reference `json:"delegateUser,omitempty" doc:"The name of the record that delegate identifies."`
	Scope         string        `json:"scope" enum:"TENANT|PROJECT|INITIATIVE" doc:"Where the delegation applies: the tenant, one project, or one initiative with its current projects."`
	ProjectID     op.UUID       `json:"projectId,omitempty" doc:"The project, for the scope PROJECT."`
	Project       *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	InitiativeID  op.UUID       `json:"initiativeId,omitempty" doc:"The initiative, for the scope INITIATIVE."`
	Initiative    *op.Reference `json:"initiative,omitempty" doc:"The name of the record that initiativeId identifies."`
	Permissions   []string      `json:"permissions" doc:"The names of the delegated permissions. One that the delegator loses no longer applies."`
	From          time.Time     `json:"from" doc:"When the delegation starts."`
	Until         time.Time     `json:"until" doc:"When the delegation expires."`
	State         string        `json:"state" enum:"SCHEDULED|ACTIVE|EXPIRED|REVOKED" doc:"SCHEDULED: not started yet. ACTIVE: can be used now. EXPIRED: past its end. REVOKED: ended early."`
	CreatedBy     op.UUID       `json:"createdBy" doc:"The user who created the delegation: the delegator or an administrator."`
	CreatedByUser *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt     time.Time     `json:"createdAt" doc:"When the delegation was created."`
	RevokedAt     *time.Time    `json:"revokedAt,omitempty" doc:"When the delegation was revoked."`
	RevokedBy     op.UUID       `json:"revokedBy,omitempty" doc:"The user who revoked the delegation."`
	RevokedByUser *op.Reference `json:"revokedByUser,omitempty" doc:"The name of the record that revokedBy identifies."`
}

// ListDelegationsIn is the input of ListDelegations.
type ListDelegationsIn struct {
	Delegator op.UUID `query:"delegator" format:"uuid" doc:"Only delegations by this user."`
	Delegate  op.UUID `query:"delegate" format:"uuid" doc:"Only delegations to this user."`
	State     string  `query:"state" enum:"SCHEDULED|ACTIVE|EXPIRED|REVOKED" doc:"Only delegations in this state."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of delegations to return."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListDelegations lists delegations, newest first.
var ListDelegations = op.Declare[ListDelegationsIn, op.Page[Delegation]](Contract, op.Spec{
	Name: "list-delegations", Method: "GET", Path: "/api/delegations", Permission: PermDelegationsRead, Effect: op.Read,
	Summary:     "List delegations: who acts on whose behalf.",
	Description: "Newest first. A caller who may not read all delegations gets those where the caller is the delegator or the delegate.",
})

// DelegationIn identifies a delegation.
type DelegationIn struct {
	DelegationID op.UUID `path:"delegationId" format:"uuid" doc:"The delegation's id."`
}

// GetDelegation returns a delegation.
var GetDelegation = op.Declare[DelegationIn, Delegation](Contract, op.Spec{
	Name: "get-delegation", Method: "GET", Path: "/api/delegations/{delegationId}", Permission: PermDelegationsRead, Effect: op.Read,
	Summary: "Get a delegation.",
})

// CreateDelegationIn is the input of CreateDelegation.
type CreateDelegationIn struct {
	Delegator    op.UUID  `json:"delegator" format:"uuid" doc:"The user whose permissions are delegated. Another user than the caller requires delegation.create. Default: the caller."`
	Delegate     op.UUID  `json:"delegate" required:"true" format:"uuid" doc:"The user who acts on the delegator's behalf: an active member of the tenant, a person or an agent."`
	Scope        string   `json:"scope" enum:"TENANT|PROJECT|INITIATIVE" default:"TENANT" doc:"Where the delegation applies: the tenant, one project, or one initiative with its current projects."`
	ProjectID    op.UUID  `json:"projectId" format:"uuid" doc:"The project, for the scope PROJECT."`
	InitiativeID op.UUID  `json:"initiativeId" format:"uuid" doc:"The initiative, for the scope INITIATIVE."`
	Permissions  []string `json:"permissions" required:"true" minLength:"1" maxLength:"200" doc:"The tracker permissions to delegate, for example task.update. Delegator and caller must both have them in the delegation's scope."`
	From         string   `json:"from" format:"date-time" doc:"When the delegation starts. Default: immediately."`
	Until        string   `json:"until" required:"true" format:"date-time" doc:"When the delegation expires: in the future, at most 366 days after its start."`
}

// CreateDelegation creates a delegation.
var CreateDelegation = op.Declare[CreateDelegationIn, Delegation](Contract, op.Spec{
	Name: "create-delegation", Method: "POST", Path: "/api/delegations", Permission: PermDelegationCreate, Effect: op.Write, Status: 201,
	Summary: "Let another user act on a user's behalf.",
	Description: "While the delegation is active, the delegate can use the delegated permissions within the scope, as far as the delegator still has them. The lower clearance of the two " +
		"and the delegate's own caveats apply. The delegation ends when it expires, when it is revoked, when the delegator loses the permission, or when either user is suspended.",
})

// RevokeDelegation ends a delegation early.
var RevokeDelegation = op.Declare[DelegationIn, Delegation](Contract, op.Spec{
	Name: "revoke-delegation", Method: "DELETE", Path: "/api/delegations/{delegationId}", Permission: PermDelegationRevoke, Effect: op.Destroy,
	Summary:     "End a delegation early.",
	Description: "The delegation ends immediately. One that is already revoked is returned unchanged.",
})

// ReceivedDelegation is a delegation to a user that is scheduled or active:
// neither revoked nor expired.
type ReceivedDelegation struct {
	ID          op.UUID
	Permissions []string
	// Scope is TENANT, PROJECT or INITIATIVE; ProjectID is set for PROJECT.
	Scope     string
	ProjectID op.UUID
	Delegator op.UUID
	// From and Until limit the time in which the delegation is active.
	From, Until time.Time
}

// Delegations lets other modules read the delegations to a user.
type Delegations interface {
	// Received lists the scheduled and active delegations to the user in the
	// tenant, ordered by id.
	Received(ctx context.Context, tenant, user op.UUID) ([]ReceivedDelegation, error)
}
