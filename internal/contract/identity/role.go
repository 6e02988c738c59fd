package identity

import (
	"time"

	"parapet/internal/op"
)

// Audit actions of roles, their grants and their assignments.
const (
	ActionRoleCreated       = "role.created"
	ActionRoleUpdated       = "role.updated"
	ActionRoleDeleted       = "role.deleted"
	ActionPermissionGranted = "role.permission_granted"
	ActionPermissionRevoked = "role.permission_revoked"
	ActionRoleAssigned      = "role.assigned"
	ActionRoleUnassigned    = "role.unassigned"
)

// Event types of roles.
var (
	EventRoleCreated    = op.DeclareEvent[Role](Contract, "directory.role.created", "A role was created.")
	EventRoleUpdated    = op.DeclareEvent[Role](Contract, "directory.role.updated", "The name, description or permissions of a role changed.")
	EventRoleDeleted    = op.DeclareEvent[Role](Contract, "directory.role.deleted", "A role was deleted.")
	EventRoleAssigned   = op.DeclareEvent[RoleAssignment](Contract, "directory.role.assigned", "A role was assigned to a user.")
	EventRoleUnassigned = op.DeclareEvent[RoleAssignment](Contract, "directory.role.unassigned", "A role was unassigned from a user.")
)

// Values of Role.Kind. A GLOBAL role can be assigned to service principals only.
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
	Name        string    `json:"name" doc:"The role's name, unique in the tenant. Tokens contain it."`
	Kind        string    `json:"kind" enum:"STANDARD|GLOBAL" doc:"A GLOBAL role can be assigned to service principals only."`
	Description string    `json:"description" doc:"What the role is for: user-generated, untrusted text."`
	Permissions []string  `json:"permissions" doc:"The permissions that the role grants, by name."`
	Default     bool      `json:"default" doc:"Whether every new tenant gets a role with this name."`
	CreatedAt   time.Time `json:"createdAt" doc:"When the role was created."`
	UpdatedAt   time.Time `json:"updatedAt" doc:"When the role's name or description last changed."`
}

// RoleAssignment is a role that a user holds in a scope.
type RoleAssignment struct {
	ID          op.UUID       `json:"id" doc:"The assignment's id."`
	RoleID      op.UUID       `json:"roleId" doc:"The role's id."`
	Role        string        `json:"role" doc:"The role's name."`
	UserID      op.UUID       `json:"userId" doc:"The user who holds the role."`
	User        *op.Reference `json:"user,omitempty" db:"-" doc:"The name of the record that userId identifies."`
	Scope       string        `json:"scope" enum:"tenant|organisation|project" doc:"The kind of scope that the role is held in."`
	ScopeID     op.UUID       `json:"scopeId,omitempty" doc:"The id of the organisation or the project; absent for the scope tenant."`
	ScopeRecord *op.Reference `json:"scopeRecord,omitempty" db:"-" doc:"The name of the record that scopeId identifies."`
	CreatedAt   time.Time     `json:"createdAt" doc:"When the role was assigned."`
}

// ListRolesIn selects a page of roles.
type ListRolesIn struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListRoles lists the tenant's roles.
var ListRoles = op.Declare[ListRolesIn, op.Page[Role]](Contract, op.Spec{
	Name: "list-roles", Method: "GET", Path: "/api/roles", Permission: "role.read", Effect: op.Read,
	Summary:     "List the tenant's roles with their permissions",
	Description: "Ordered by name.",
})

// RoleIn is the input of GetRole and DeleteRole.
type RoleIn struct {
	RoleID op.UUID `path:"roleId" doc:"The role."`
}

// GetRole returns a role.
var GetRole = op.Declare[RoleIn, Role](Contract, op.Spec{
	Name: "get-role", Method: "GET", Path: "/api/roles/{roleId}", Permission: "role.read", Effect: op.Read,
	Summary: "Show a role with its permissions",
})

// CreateRoleIn is the input of CreateRole.
type CreateRoleIn struct {
	Name        string   `json:"name" required:"true" maxLength:"100" doc:"The name, unique in the tenant."`
	Description string   `json:"description" maxLength:"500" doc:"What the role is for."`
	Permissions []string `json:"permissions" maxLength:"200" doc:"The names of the permissions that the role grants; list-permissions lists them."`
}

// CreateRole creates a role.
var CreateRole = op.Declare[CreateRoleIn, Role](Contract, op.Spec{
	Name: "create-role", Method: "POST", Path: "/api/roles", Permission: "role.create", Effect: op.Write, Status: 201,
	Summary:     "Create a role",
	Description: "Creates a STANDARD role. It can grant only permissions that the caller holds in the whole tenant.",
})

// UpdateRoleIn is the input of UpdateRole.
type UpdateRoleIn struct {
	RoleID      op.UUID        `path:"roleId" doc:"The role."`
	Name        op.Opt[string] `json:"name" minLength:"1" maxLength:"100" doc:"The name, unique in the tenant. Tokens that contain the old name lose the role."`
	Description op.Opt[string] `json:"description" maxLength:"500" doc:"What the role is for."`
}

// UpdateRole changes a role's name or description.
var UpdateRole = op.Declare[UpdateRoleIn, Role](Contract, op.Spec{
	Name: "update-role", Method: "PATCH", Path: "/api/roles/{roleId}", Permission: "role.update", Effect: op.Write,
	Summary:     "Change a role's name or description",
	Description: "A default or GLOBAL role cannot be renamed.",
})

// DeleteRole deletes a role.
var DeleteRole = op.Declare[RoleIn, op.None](Contract, op.Spec{
	Name: "delete-role", Method: "DELETE", Path: "/api/roles/{roleId}", Permission: "role.delete", Effect: op.Destroy, Status: 204,
	Summary:     "Delete a role that nobody holds",
	Description: "A default or GLOBAL role cannot be deleted.",
})

// GrantPermissionIn is the input of GrantPermission.
type GrantPermissionIn struct {
	RoleID     op.UUID `path:"roleId" doc:"The role."`
	Permission string  `json:"permission" required:"true" maxLength:"100" doc:"The permission's name; list-permissions lists them."`
}

// GrantPermission adds a permission to a role.
var GrantPermission = op.Declare[GrantPermissionIn, Role](Contract, op.Spec{
	Name: "grant-permission", Method: "POST", Path: "/api/roles/{roleId}/permissions", Permission: "role.update", Effect: op.Write,
	Summary: "Add a permission to a role",
	Description: "The caller must hold the permission in the whole tenant, or the policies must register it for this GLOBAL role. " +
		"The change takes effect immediately for everybody who holds the role. While a service role's grants differ from its registered profile, no key can be issued for it. " +
		"Granting a permission that the role already grants changes nothing.",
})

// RevokePermissionIn is the input of RevokePermission.
type RevokePermissionIn struct {
	RoleID     op.UUID `path:"roleId" doc:"The role."`
	Permission string  `path:"permission" maxLength:"100" doc:"The permission's name."`
}

// RevokePermission removes a permission from a role.
var RevokePermission = op.Declare[RevokePermissionIn, Role](Contract, op.Spec{
	Name: "revoke-permission", Method: "DELETE", Path: "/api/roles/{roleId}/permissions/{permission}", Permission: "role.update", Effect: op.Destroy,
	Summary:     "Remove a permission from a role",
	Description: "The change takes effect immediately for everybody who holds the role. role.assign and role.update cannot be removed from the role Admin.",
})

// ListAssignmentsIn selects a role and a page of its assignments.
type ListAssignmentsIn struct {
	RoleID op.UUID `path:"roleId" doc:"The role."`
	Limit  int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor string  `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListAssignments lists the assignments of a role.
var ListAssignments = op.Declare[ListAssignmentsIn, op.Page[RoleAssignment]](Contract, op.Spec{
	Name: "list-assignments", Method: "GET", Path: "/api/roles/{roleId}/assignments", Permission: "role.read", Effect: op.Read,
	Summary:     "List the users who hold a role, with the scopes",
	Description: "Oldest first.",
})

// AssignRoleIn is the input of AssignRole.
type AssignRoleIn struct {
	RoleID  op.UUID `path:"roleId" doc:"The role."`
	UserID  op.UUID `json:"userId" required:"true" doc:"The user, a member of the tenant."`
	Scope   string  `json:"scope" default:"tenant" enum:"tenant|organisation|project" doc:"The kind of scope to assign the role in."`
	ScopeID op.UUID `json:"scopeId" doc:"The organisation or the project. Omit it for the scope tenant."`
}

// AssignRole assigns a role to a user in a scope.
var AssignRole = op.Declare[AssignRoleIn, RoleAssignment](Contract, op.Spec{
	Name: "assign-role", Method: "POST", Path: "/api/roles/{roleId}/assignments", Permission: "role.assign", Effect: op.Write, Status: 201,
	Summary:     "Assign a role to a user in a scope",
	Description: "The caller must hold every permission that the role grants in that scope. A service principal holds exactly one role, a GLOBAL one. A GLOBAL role cannot be assigned to anybody else.",
})

// UnassignRoleIn is the input of UnassignRole.
type UnassignRoleIn struct {
	RoleID       op.UUID `path:"roleId" doc:"The role."`
	AssignmentID op.UUID `path:"assignmentId" doc:"The assignment's id."`
}

// UnassignRole removes a role from a user.
var UnassignRole = op.Declare[UnassignRoleIn, op.None](Contract, op.Spec{
	Name: "unassign-role", Method: "DELETE", Path: "/api/roles/{roleId}/assignments/{assignmentId}", Permission: "role.assign", Effect: op.Destroy, Status: 204,
	Summary:     "Remove a role from a user",
	Description: "The tenant's last administrator cannot lose the administrator role, nor a service principal its GLOBAL role.",
})

// Permission is an entry of the permission catalogue.
type Permission struct {
	Name        string `json:"name" doc:"The permission's name. The suffix .own limits it to records that the subject created or owns."`
	Module      string `json:"module" doc:"The module that checks the permission."`
	Effect      string `json:"effect" enum:"read|write" doc:"read: the permission allows no changes. write: it allows changes."`
	Description string `json:"description" doc:"What the permission allows."`
	Platform    bool   `json:"platform" doc:"Whether only members of a PROGRAMME_OFFICE tenant can use the permission."`
}

// ListPermissionsIn is empty: the list has one page.
type ListPermissionsIn struct{}

// ListPermissions lists the permission catalogue.
var ListPermissions = op.Declare[ListPermissionsIn, op.Page[Permission]](Contract, op.Spec{
	Name: "list-permissions", Method: "GET", Path: "/api/permissions", Permission: "role.read", Effect: op.Read,
	Summary:     "List every permission that a role can grant",
	Description: "Returns the complete permission catalogue of the loaded policies, ordered by name.",
})
