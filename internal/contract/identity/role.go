package identity

import (
	"time"

	"parapet/internal/op"
)

// Role actions and events.
const (
	ActionRoleCreated       = "role.created"
	ActionRoleUpdated       = "role.updated"
	ActionRoleDeleted       = "role.deleted"
	ActionPermissionGranted = "role.permission_granted"
	ActionPermissionRevoked = "role.permission_revoked"
	ActionRoleAssigned      = "role.assigned"
	ActionRoleUnassigned    = "role.unassigned"

	EventRoleCreated    = "directory.role.created"
	EventRoleUpdated    = "directory.role.updated"
	EventRoleDeleted    = "directory.role.deleted"
	EventRoleAssigned   = "directory.role.assigned"
	EventRoleUnassigned = "directory.role.unassigned"
)

// The kinds of a role. A GLOBAL role is for a service principal alone.
const (
	RoleStandard = "STANDARD"
	RoleGlobal   = "GLOBAL"
)

// The scopes of an assignment.
const (
	ScopeTenant       = "tenant"
	ScopeOrganisation = "organisation"
	ScopeProject      = "project"
)

// Role is a named bundle of permissions.
type Role struct {
	ID          op.UUID   `json:"id" doc:"The role's id."`
	Name        string    `json:"name" doc:"The role's name, unique in the tenant; tokens carry it."`
	Kind        string    `json:"kind" enum:"STANDARD|GLOBAL" doc:"A GLOBAL role is for a service principal alone."`
	Description string    `json:"description" doc:"What the role is for: untrusted text."`
	Permissions []string  `json:"permissions" doc:"The permissions that the role grants, by name."`
	Default     bool      `json:"default" doc:"Whether every tenant starts with a role of this name."`
	CreatedAt   time.Time `json:"createdAt" doc:"When the role was created."`
	UpdatedAt   time.Time `json:"updatedAt" doc:"When the role's name or description last changed."`
}

// RoleAssignment is a role that a user holds in a scope.
type RoleAssignment struct {
	ID        op.UUID   `json:"id" doc:"The assignment's id."`
	RoleID    op.UUID   `json:"roleId" doc:"The role's id."`
	Role      string    `json:"role" doc:"The role's name."`
	UserID    op.UUID   `json:"userId" doc:"The user who holds it."`
	Scope     string    `json:"scope" enum:"tenant|organisation|project" doc:"Where it holds."`
	ScopeID   op.UUID   `json:"scopeId,omitempty" doc:"The organisation or the project that it holds in."`
	CreatedAt time.Time `json:"createdAt" doc:"When the role was assigned."`
}

// ListRolesIn selects roles.
type ListRolesIn struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many at most."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"Where the page starts."`
}

// ListRoles lists the tenant's roles.
var ListRoles = op.New[ListRolesIn, op.Page[Role]](op.Spec{
	Name: "list-roles", Module: Module, Method: "GET", Path: "/api/roles", Permission: "role.read", Effect: op.Read,
	Summary:     "List the tenant's roles with what they grant",
	Description: "Ordered by name.",
})

// RoleIn names a role.
type RoleIn struct {
	RoleID op.UUID `path:"roleId" doc:"The role's id."`
}

// GetRole shows a role.
var GetRole = op.New[RoleIn, Role](op.Spec{
	Name: "get-role", Module: Module, Method: "GET", Path: "/api/roles/{roleId}", Permission: "role.read", Effect: op.Read,
	Summary: "Show a role with what it grants",
})

// CreateRoleIn is a new role.
type CreateRoleIn struct {
	Name        string   `json:"name" required:"true" maxLength:"100" doc:"The name, unique in the tenant."`
	Description string   `json:"description" maxLength:"500" doc:"What the role is for."`
	Permissions []string `json:"permissions" maxLength:"200" doc:"The names of the permissions that it grants; see list-permissions."`
}

// CreateRole makes a role.
var CreateRole = op.New[CreateRoleIn, Role](op.Spec{
	Name: "create-role", Module: Module, Method: "POST", Path: "/api/roles", Permission: "role.create", Effect: op.Write, Status: 201,
	Summary:     "Create a role",
	Description: "Always a STANDARD one. It grants no permission that its creator does not hold in the whole tenant.",
})

// UpdateRoleIn changes what a role is called.
type UpdateRoleIn struct {
	RoleID      op.UUID        `path:"roleId" doc:"The role's id."`
	Name        op.Opt[string] `json:"name" minLength:"1" maxLength:"100" doc:"The name, unique in the tenant. Tokens that carry the old one lose the role."`
	Description op.Opt[string] `json:"description" maxLength:"500" doc:"What the role is for."`
}

// UpdateRole changes a role's name or description.
var UpdateRole = op.New[UpdateRoleIn, Role](op.Spec{
	Name: "update-role", Module: Module, Method: "PATCH", Path: "/api/roles/{roleId}", Permission: "role.update", Effect: op.Write,
	Summary:     "Change a role's name or description",
	Description: "A default or GLOBAL role keeps its name.",
})

// DeleteRole removes a role.
var DeleteRole = op.New[RoleIn, op.None](op.Spec{
	Name: "delete-role", Module: Module, Method: "DELETE", Path: "/api/roles/{roleId}", Permission: "role.delete", Effect: op.Destroy, Status: 204,
	Summary:     "Delete a role that nobody holds",
	Description: "A default or GLOBAL role stays.",
})

// GrantPermissionIn names a role and a permission.
type GrantPermissionIn struct {
	RoleID     op.UUID `path:"roleId" doc:"The role's id."`
	Permission string  `json:"permission" required:"true" maxLength:"100" doc:"The permission's name; see list-permissions."`
}

// GrantPermission adds a permission to what a role grants.
var GrantPermission = op.New[GrantPermissionIn, Role](op.Spec{
	Name: "grant-permission", Module: Module, Method: "POST", Path: "/api/roles/{roleId}/permissions", Permission: "role.update", Effect: op.Write,
	Summary: "Add a permission to a role",
	Description: "One that the caller holds in the whole tenant, or that the policies register for this GLOBAL role. " +
		"It acts at once for everybody who holds the role; a service role with other grants than its profile's blocks the next issuance of a key. " +
		"Granting what is granted changes nothing.",
})

// RevokePermissionIn names a role and a permission.
type RevokePermissionIn struct {
	RoleID     op.UUID `path:"roleId" doc:"The role's id."`
	Permission string  `path:"permission" maxLength:"100" doc:"The permission's name."`
}

// RevokePermission takes a permission away from what a role grants.
var RevokePermission = op.New[RevokePermissionIn, Role](op.Spec{
	Name: "revoke-permission", Module: Module, Method: "DELETE", Path: "/api/roles/{roleId}/permissions/{permission}", Permission: "role.update", Effect: op.Destroy,
	Summary:     "Take a permission away from a role",
	Description: "It acts at once for everybody who holds the role. The role Admin keeps role.assign and role.update.",
})

// ListAssignmentsIn selects who holds a role.
type ListAssignmentsIn struct {
	RoleID op.UUID `path:"roleId" doc:"The role's id."`
	Limit  int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many at most."`
	Cursor string  `query:"cursor" maxLength:"1024" doc:"Where the page starts."`
}

// ListAssignments lists who holds a role.
var ListAssignments = op.New[ListAssignmentsIn, op.Page[RoleAssignment]](op.Spec{
	Name: "list-assignments", Module: Module, Method: "GET", Path: "/api/roles/{roleId}/assignments", Permission: "role.read", Effect: op.Read,
	Summary:     "List who holds a role, and in which scopes",
	Description: "Oldest first.",
})

// AssignRoleIn gives a role to a user.
type AssignRoleIn struct {
	RoleID  op.UUID `path:"roleId" doc:"The role's id."`
	UserID  op.UUID `json:"userId" required:"true" doc:"The user, a member of the tenant."`
	Scope   string  `json:"scope" default:"tenant" enum:"tenant|organisation|project" doc:"Where the role holds."`
	ScopeID op.UUID `json:"scopeId" doc:"The organisation's or the project's id; absent for the scope tenant."`
}

// AssignRole gives a role to a user in a scope.
var AssignRole = op.New[AssignRoleIn, RoleAssignment](op.Spec{
	Name: "assign-role", Module: Module, Method: "POST", Path: "/api/roles/{roleId}/assignments", Permission: "role.assign", Effect: op.Write, Status: 201,
	Summary:     "Give a role to a user in a scope",
	Description: "The caller must hold, in that scope, every permission that the role grants. A service principal holds exactly one GLOBAL role and gets no other; nobody else gets a GLOBAL one.",
})

// UnassignRoleIn names an assignment.
type UnassignRoleIn struct {
	RoleID       op.UUID `path:"roleId" doc:"The role's id."`
	AssignmentID op.UUID `path:"assignmentId" doc:"The assignment's id."`
}

// UnassignRole takes a role away from a user.
var UnassignRole = op.New[UnassignRoleIn, op.None](op.Spec{
	Name: "unassign-role", Module: Module, Method: "DELETE", Path: "/api/roles/{roleId}/assignments/{assignmentId}", Permission: "role.assign", Effect: op.Destroy, Status: 204,
	Summary:     "Take a role away from a user",
	Description: "The tenant's last administrator stays one, and a service principal keeps its one GLOBAL role.",
})

// Permission is a named capability that a role can grant.
type Permission struct {
	Name        string `json:"name" doc:"The permission's name. The suffix .own limits it to what the actor created or owns."`
	Module      string `json:"module" doc:"The module that asks for it."`
	Effect      string `json:"effect" enum:"read|write" doc:"Whether it lets its holder change anything."`
	Description string `json:"description" doc:"What it allows."`
	Platform    bool   `json:"platform" doc:"Whether only people of a PROGRAMME_OFFICE tenant can use it."`
}

// ListPermissionsIn is empty: the catalogue is short.
type ListPermissionsIn struct{}

// ListPermissions lists the permission catalogue.
var ListPermissions = op.New[ListPermissionsIn, op.Page[Permission]](op.Spec{
	Name: "list-permissions", Module: Module, Method: "GET", Path: "/api/permissions", Permission: "role.read", Effect: op.Read,
	Summary:     "List every permission that a role can grant",
	Description: "The catalogue of the policies in use, whole and ordered by name.",
})
