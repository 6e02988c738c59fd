package identity

import (
	"time"

	"parapet/internal/op"
)

// The values of PermissionOrigin.Kind.
const (
	OriginRole       = "role"
	OriginDelegation = "delegation"
)

// Access is what a user may do in the tenant, and why.
type Access struct {
	User        User                 `json:"user" doc:"The user with its roles, clearance and membership."`
	Active      bool                 `json:"active" doc:"Whether the account and the membership are active. An inactive user can do nothing."`
	Permissions []AccessPermission   `json:"permissions" doc:"The effective permissions, ordered by name, as the policies compute them from the records of the tenant. The caveats and the roles of a single API key or session can narrow them."`
	Delegations []ReceivedDelegation `json:"delegations,omitempty" doc:"The scheduled and active delegations to the user; absent without delegations.read in the whole tenant, except for the caller itself."`
}

// AccessPermission is an effective permission with its origins.
type AccessPermission struct {
	Name        string             `json:"name" doc:"The permission's name. The suffix .own limits it to records that the user created or owns."`
	Description string             `json:"description" doc:"What the permission allows."`
	Origins     []PermissionOrigin `json:"origins" doc:"The role assignments and delegations that grant the permission."`
}

// PermissionOrigin is a role assignment or a delegation that grants a permission.
type PermissionOrigin struct {
	Kind          string        `json:"kind" enum:"role|delegation" doc:"What grants the permission."`
	Role          string        `json:"role,omitempty" doc:"The name of the role; absent for a delegation."`
	Scope         string        `json:"scope" enum:"tenant|organisation|project|initiative" doc:"The kind of scope in which the permission applies."`
	ScopeID       op.UUID       `json:"scopeId,omitempty" doc:"The id of the organisation or project; absent for the scopes tenant and initiative."`
	ScopeRecord   *op.Reference `json:"scopeRecord,omitempty" doc:"The name of the record that scopeId identifies."`
	DelegationID  op.UUID       `json:"delegationId,omitempty" doc:"The delegation's id; absent for a role, and where delegations are absent."`
	Delegator     op.UUID       `json:"delegator,omitempty" doc:"The user who delegated the permission; absent for a role, and where delegations are absent."`
	DelegatorUser *op.Reference `json:"delegatorUser,omitempty" doc:"The name of the record that delegator identifies."`
}

// ReceivedDelegation is a delegation to the user.
type ReceivedDelegation struct {
	ID            op.UUID       `json:"id" doc:"The delegation's id. get-delegation shows it."`
	Delegator     op.UUID       `json:"delegator" doc:"The user on whose behalf the user may act."`
	DelegatorUser *op.Reference `json:"delegatorUser,omitempty" doc:"The name of the record that delegator identifies."`
	Scope         string        `json:"scope" enum:"tenant|project|initiative" doc:"The kind of scope of the delegation."`
	ScopeID       op.UUID       `json:"scopeId,omitempty" doc:"The id of the project; absent for the scopes tenant and initiative."`
	ScopeRecord   *op.Reference `json:"scopeRecord,omitempty" doc:"The name of the record that scopeId identifies."`
	Permissions   []string      `json:"permissions" doc:"The permissions that the delegation lists."`
	From          time.Time     `json:"from" doc:"When the delegation starts."`
	Until         time.Time     `json:"until" doc:"When the delegation ends."`
}

// GetAccess returns what a user may do.
var GetAccess = op.Declare[UserIn, Access](Contract, op.Spec{
	Name: "get-access", Method: "GET", Path: "/api/users/{userId}/access", Permission: "user.read", Effect: op.Read,
	Summary:     "Show what a user may do, and why",
	Description: "Everybody may ask about themselves. For another user, the caller also needs role.read in the whole tenant. Shows each effective permission with the role assignments and delegations that grant it.",
})
