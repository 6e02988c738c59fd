package identity

import (
	"time"

	"parapet/internal/op"
)

// Audit actions of users.
const (
	ActionUserCreated          = "user.created"
	ActionUserUpdated          = "user.updated"
	ActionUserClearanceChanged = "user.clearance_changed"
	ActionUserSuspended        = "user.suspended"
	ActionUserActivated        = "user.activated"
	ActionUserDeleted          = "user.deleted"
)

// Event types of users.
var (
	EventUserCreated   = op.DeclareEvent[User](Contract, "directory.user.created", "A user was created.")
	EventUserUpdated   = op.DeclareEvent[User](Contract, "directory.user.updated", "The name, address or clearance of a user changed.")
	EventUserSuspended = op.DeclareEvent[User](Contract, "directory.user.suspended", "A user was suspended: their sessions ended and they cannot log in.")
	EventUserActivated = op.DeclareEvent[User](Contract, "directory.user.activated", "A suspended user was activated again.")
	EventUserDeleted   = op.DeclareEvent[User](Contract, "directory.user.deleted", "A user was deleted.")
)

// Values of User.PrincipalKind.
const (
	KindHuman   = "HUMAN"
	KindService = "SERVICE"
	KindAgent   = "AGENT"
)

// Values of User.Status.
const (
	UserActive    = "ACTIVE"
	UserSuspended = "SUSPENDED"
	UserDeleted   = "DELETED"
)

// User is a person, an integration's service principal or a synthetic agent, as a
// member of the tenant.
type User struct {
	ID               op.UUID        `json:"id" doc:"The user's id."`
	HomeTenantID     op.UUID        `json:"homeTenantId" doc:"The tenant that administers the user's record."`
	HomeTenant       *op.Reference  `json:"homeTenant,omitempty" db:"-" doc:"The name of the record that homeTenantId identifies."`
	PrincipalKind    string         `json:"principalKind" enum:"HUMAN|SERVICE|AGENT" doc:"A person, an integration or a synthetic agent."`
	IntegrationKey   string         `json:"integrationKey,omitempty" doc:"The integration that a SERVICE principal represents. No operation can change it."`
	Email            string         `json:"email" doc:"The e-mail address; for display only if the user is a SERVICE principal."`
	EmailVerified    bool           `json:"emailVerified" doc:"Whether the address identifies the user: another user set it, or the user reset the password with a link that was sent to it. False after users change their own address."`
	DisplayName      string         `json:"displayName" doc:"The display name: user-generated, untrusted text."`
	Status           string         `json:"status" enum:"ACTIVE|SUSPENDED|DELETED" doc:"The user's status, the same in every tenant."`
	Clearance        string         `json:"clearance,omitempty" doc:"The highest classification that the user may read in this tenant; absent means UNCLASSIFIED."`
	OrganisationID   op.UUID        `json:"organisationId,omitempty" doc:"The organisation that the user belongs to in this tenant."`
	Organisation     *op.Reference  `json:"organisation,omitempty" db:"-" doc:"The name of the record that organisationId identifies."`
	MembershipStatus string         `json:"membershipStatus" enum:"ACTIVE|SUSPENDED|REMOVED" doc:"The status of the user's membership in this tenant."`
	Roles            []AssignedRole `json:"roles" doc:"The roles that the user holds in this tenant, with their scopes."`
	CreatedAt        time.Time      `json:"createdAt" doc:"When the user was created."`
	UpdatedAt        time.Time      `json:"updatedAt" doc:"When the user last changed."`
}

// AssignedRole is a role that a user holds in a scope.
type AssignedRole struct {
	AssignmentID op.UUID       `json:"assignmentId" doc:"The assignment's id."`
	RoleID       op.UUID       `json:"roleId" doc:"The role's id."`
	Role         string        `json:"role" doc:"The role's name."`
	Scope        string        `json:"scope" enum:"tenant|organisation|project" doc:"The kind of scope that the role is held in."`
	ScopeID      op.UUID       `json:"scopeId,omitempty" doc:"The id of the organisation or the project; absent for the scope tenant."`
	ScopeRecord  *op.Reference `json:"scopeRecord,omitempty" db:"-" doc:"The name of the record that scopeId identifies."`
	CreatedAt    time.Time     `json:"createdAt" doc:"When the role was assigned."`
}

// ListUsersIn filters the users.
type ListUsersIn struct {
	Search         string  `query:"search" maxLength:"200" empty:"true" doc:"Only users whose name or address contains this text."`
	PrincipalKind  string  `query:"principalKind" enum:"HUMAN|SERVICE|AGENT" doc:"Only users of this kind."`
	Status         string  `query:"status" enum:"ACTIVE|SUSPENDED|DELETED" doc:"Only users with this status."`
	OrganisationID op.UUID `query:"organisationId" doc:"Only users of this organisation."`
	Limit          int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor         string  `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListUsers lists the tenant's users.
var ListUsers = op.Declare[ListUsersIn, op.Page[User]](Contract, op.Spec{
	Name: "list-users", Method: "GET", Path: "/api/users", Permission: "user.read", Effect: op.Read,
	Summary:     "List the tenant's users",
	Description: "Lists people, service principals and agents with any membership status, ordered by address.",
})

// UserIn is the input of the operations on one user.
type UserIn struct {
	UserID op.UUID `path:"userId" doc:"The user."`
}

// GetUser returns a user.
var GetUser = op.Declare[UserIn, User](Contract, op.Spec{
	Name: "get-user", Method: "GET", Path: "/api/users/{userId}", Permission: "user.read", Effect: op.Read,
	Summary: "Show a user",
})

// CreateUserIn is the input of CreateUser.
type CreateUserIn struct {
	PrincipalKind  string   `json:"principalKind" default:"HUMAN" doc:"HUMAN or AGENT. Service principals are created by provisioning."`
	Email          string   `json:"email" required:"true" format:"email" minLength:"3" maxLength:"254" doc:"The address, unique in the tenant. An agent's address has the form agent+<class>@<domain>, which nobody else may use."`
	DisplayName    string   `json:"displayName" required:"true" maxLength:"200" doc:"The display name."`
	Password       string   `json:"password" maxLength:"256" doc:"A first password of at least 12 characters, for a person only. Without it the person cannot log in with a password."`
	OrganisationID op.UUID  `json:"organisationId" doc:"The organisation that the user belongs to. Default: none."`
	Clearance      string   `json:"clearance" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The highest classification that the user may read."`
	Roles          []string `json:"roles" required:"true" minLength:"1" maxLength:"20" doc:"The names of the roles that the user gets for the whole tenant: at least one."`
}

// CreateUser creates a user whose home tenant is the current one, with its membership.
var CreateUser = op.Declare[CreateUserIn, User](Contract, op.Spec{
	Name: "create-user", Method: "POST", Path: "/api/users", Permission: "user.create", Effect: op.Write, Status: 201,
	Summary:     "Create a user",
	Description: "Creates a person or a synthetic agent with a membership in the tenant and its roles. Also requires role.assign and every permission that the roles grant.",
})

// UpdateUserIn is the input of UpdateUser.
type UpdateUserIn struct {
	UserID      op.UUID        `path:"userId" doc:"The user."`
	Email       op.Opt[string] `json:"email" format:"email" minLength:"3" maxLength:"254" doc:"The address. Only the home tenant can change it."`
	DisplayName op.Opt[string] `json:"displayName" minLength:"1" maxLength:"200" doc:"The display name. Only the home tenant can change it."`
	Password    op.Opt[string] `json:"password" maxLength:"256" doc:"Not accepted: only the user can set the password. Use reset-user-password to send a reset link."`
	Clearance   op.Opt[string] `json:"clearance" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The highest classification that the user may read in this tenant; null removes the clearance."`
}

// UpdateUser changes a user's name, address or clearance.
var UpdateUser = op.Declare[UpdateUserIn, User](Contract, op.Spec{
	Name: "update-user", Method: "PATCH", Path: "/api/users/{userId}", Permission: "user.update", Effect: op.Write,
	Summary: "Change a user's name, address or clearance",
	Description: "Name and address are part of the user's record, which only the home tenant can change; the clearance is part of the membership in this tenant. " +
		"To change an address, the caller must hold everything that the account holds, in every tenant and by delegation. The new address is unconfirmed: " +
		"no reset link is sent to it until the user confirms it. An address that somebody else sets is verified, also if it is the present one. " +
		"Nobody can raise their own clearance.",
})

// PasswordResetStarted is the output of ResetUserPassword.
type PasswordResetStarted struct {
	UserID    op.UUID       `json:"userId" doc:"The user."`
	User      *op.Reference `json:"user,omitempty" db:"-" doc:"The name of the record that userId identifies."`
	Email     string        `json:"email" doc:"The address that the link is sent to."`
	ExpiresAt time.Time     `json:"expiresAt" doc:"When the server stops trying to send the link. The link itself expires 30 minutes after it was sent."`
}

// ResetUserPassword sends a user a link to set a new password.
var ResetUserPassword = op.Declare[UserIn, PasswordResetStarted](Contract, op.Spec{
	Name: "reset-user-password", Method: "POST", Path: "/api/users/{userId}/password-reset", Permission: "user.update", Effect: op.Write, Status: 202,
	Summary: "Send a user a link to set a new password",
	Description: "Requires the user's home tenant. The link is sent to the account's address and is not returned. The request is rejected while the address was set by an " +
		"administrator and the user has not confirmed it. The current password works until the link is used.",
})

// SwitchUserIn is the input of SuspendUser and ActivateUser.
type SwitchUserIn struct {
	UserID op.UUID `path:"userId" doc:"The user."`
	Reason string  `json:"reason" maxLength:"500" doc:"Why the user is suspended or activated, for the audit log."`
}

// SuspendUser suspends a user in every tenant.
var SuspendUser = op.Declare[SwitchUserIn, User](Contract, op.Spec{
	Name: "suspend-user", Method: "POST", Path: "/api/users/{userId}/suspend", Permission: "user.update", Effect: op.Write,
	Summary:     "Suspend a user",
	Description: "Requires the user's home tenant. Revokes the user's sessions. Its keys are rejected until the user is active again.",
})

// ActivateUser activates a suspended user.
var ActivateUser = op.Declare[SwitchUserIn, User](Contract, op.Spec{
	Name: "activate-user", Method: "POST", Path: "/api/users/{userId}/activate", Permission: "user.update", Effect: op.Write,
	Summary:     "Activate a suspended user",
	Description: "Requires the user's home tenant. The caller must hold everything that the user holds, in every tenant and by delegation. A deleted agent cannot be activated.",
})

// DeleteUser permanently disables a synthetic agent.
var DeleteUser = op.Declare[UserIn, User](Contract, op.Spec{
	Name: "delete-user", Method: "DELETE", Path: "/api/users/{userId}", Permission: "user.update", Effect: op.Destroy,
	Summary:     "Delete a synthetic agent",
	Description: "Disables the agent permanently; its record is kept. People cannot be deleted: suspend them or remove their membership.",
})

// ListPeopleIn filters the people.
type ListPeopleIn struct {
	Search         string  `query:"search" maxLength:"200" empty:"true" doc:"Only people whose name or address contains this text."`
	OrganisationID op.UUID `query:"organisationId" doc:"Only people of this organisation. Default: the caller's own organisation, or the whole tenant if the caller belongs to none."`
	Limit          int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor         string  `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// Colleague is a member of the tenant with the fields that every member may read.
type Colleague struct {
	ID             op.UUID       `json:"id" doc:"The user's id."`
	DisplayName    string        `json:"displayName" doc:"The display name: user-generated, untrusted text."`
	Email          string        `json:"email" doc:"The address."`
	EmailVerified  bool          `json:"emailVerified" doc:"Whether the address identifies the person. If not, the person has set it and it may belong to somebody else."`
	PrincipalKind  string        `json:"principalKind" enum:"HUMAN|AGENT" doc:"A person or a synthetic agent."`
	OrganisationID op.UUID       `json:"organisationId,omitempty" doc:"The organisation that the person belongs to in this tenant."`
	Organisation   *op.Reference `json:"organisation,omitempty" db:"-" doc:"The name of the record that organisationId identifies."`
}

// ListPeople lists the people of the caller's organisation.
var ListPeople = op.Declare[ListPeopleIn, op.Page[Colleague]](Contract, op.Spec{
	Name: "list-people", Method: "GET", Path: "/api/people", Permission: "user.read", Effect: op.Read,
	Summary:     "List the people of the caller's organisation",
	Description: "Lists the active members, agents included. Ordered by name. A person is identified by the email address if it is verified; me is the caller.",
})
