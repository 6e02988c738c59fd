package identity

import (
	"time"

	"parapet/internal/op"
)

// User actions and events.
const (
	ActionUserCreated          = "user.created"
	ActionUserUpdated          = "user.updated"
	ActionUserClearanceChanged = "user.clearance_changed"
	ActionUserSuspended        = "user.suspended"
	ActionUserActivated        = "user.activated"
	ActionUserDeleted          = "user.deleted"

	EventUserCreated   = "directory.user.created"
	EventUserUpdated   = "directory.user.updated"
	EventUserSuspended = "directory.user.suspended"
	EventUserActivated = "directory.user.activated"
	EventUserDeleted   = "directory.user.deleted"
)

// The kinds of a principal.
const (
	KindHuman   = "HUMAN"
	KindService = "SERVICE"
	KindAgent   = "AGENT"
)

// The statuses of a user.
const (
	UserActive    = "ACTIVE"
	UserSuspended = "SUSPENDED"
	UserDeleted   = "DELETED"
)

// User is a person, an integration's principal or a synthetic agent, as a
// member of the tenant.
type User struct {
	ID               op.UUID        `json:"id" doc:"The user's id."`
	HomeTenantID     op.UUID        `json:"homeTenantId" doc:"The tenant that administers the user's record."`
	PrincipalKind    string         `json:"principalKind" enum:"HUMAN|SERVICE|AGENT" doc:"A person, an integration or a synthetic agent."`
	IntegrationKey   string         `json:"integrationKey,omitempty" doc:"The integration that a SERVICE principal stands for; nothing can write it."`
	Email            string         `json:"email" doc:"The address; display-only for a SERVICE principal."`
	DisplayName      string         `json:"displayName" doc:"The name that is shown: untrusted text."`
	Status           string         `json:"status" enum:"ACTIVE|SUSPENDED|DELETED" doc:"The user's status, the same in every tenant."`
	Clearance        string         `json:"clearance,omitempty" doc:"The highest tier that the user may read in this tenant; absent means UNCLASSIFIED."`
	OrganisationID   op.UUID        `json:"organisationId,omitempty" doc:"The organisation that the user belongs to in this tenant."`
	MembershipStatus string         `json:"membershipStatus" enum:"ACTIVE|SUSPENDED|REMOVED" doc:"The status of the user's membership in this tenant."`
	Roles            []AssignedRole `json:"roles" doc:"The roles that the user holds in this tenant, with their scopes."`
	CreatedAt        time.Time      `json:"createdAt" doc:"When the user was created."`
	UpdatedAt        time.Time      `json:"updatedAt" doc:"When the user last changed."`
}

// AssignedRole is a role as a user holds it.
type AssignedRole struct {
	AssignmentID op.UUID `json:"assignmentId" doc:"The assignment's id."`
	RoleID       op.UUID `json:"roleId" doc:"The role's id."`
	Role         string  `json:"role" doc:"The role's name."`
	Scope        string  `json:"scope" enum:"tenant|organisation|project" doc:"Where it holds."`
	ScopeID      op.UUID `json:"scopeId,omitempty" doc:"The organisation or the project that it holds in."`
}

// ListUsersIn selects users.
type ListUsersIn struct {
	Search         string  `query:"search" maxLength:"200" empty:"true" doc:"Part of the name or of the address."`
	PrincipalKind  string  `query:"principalKind" enum:"HUMAN|SERVICE|AGENT" doc:"Of this kind only."`
	Status         string  `query:"status" enum:"ACTIVE|SUSPENDED|DELETED" doc:"With this status only."`
	OrganisationID op.UUID `query:"organisationId" doc:"Of this organisation only."`
	Limit          int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many at most."`
	Cursor         string  `query:"cursor" maxLength:"1024" doc:"Where the page starts."`
}

// ListUsers lists the tenant's users.
var ListUsers = op.New[ListUsersIn, op.Page[User]](op.Spec{
	Name: "list-users", Module: Module, Method: "GET", Path: "/api/users", Permission: "user.read", Effect: op.Read,
	Summary:     "List the tenant's users",
	Description: "People, service principals and agents, with every membership status. Ordered by address.",
})

// UserIn names a user.
type UserIn struct {
	UserID op.UUID `path:"userId" doc:"The user's id."`
}

// GetUser shows a user.
var GetUser = op.New[UserIn, User](op.Spec{
	Name: "get-user", Module: Module, Method: "GET", Path: "/api/users/{userId}", Permission: "user.read", Effect: op.Read,
	Summary: "Show a user",
})

// CreateUserIn is a new person or agent.
type CreateUserIn struct {
	PrincipalKind  string   `json:"principalKind" default:"HUMAN" doc:"HUMAN or AGENT. Service principals are provisioned, not created here."`
	Email          string   `json:"email" required:"true" format:"email" minLength:"3" maxLength:"254" doc:"The address, unique in the tenant; agent+<class>@<domain> for an agent and for nobody else."`
	DisplayName    string   `json:"displayName" required:"true" maxLength:"200" doc:"The name that is shown."`
	Password       string   `json:"password" maxLength:"256" doc:"A first password of 12 characters or more, for a person; without it there is no login by password."`
	OrganisationID op.UUID  `json:"organisationId" doc:"The organisation that the user belongs to; none unless told."`
	Clearance      string   `json:"clearance" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The highest tier that the user may read."`
	Roles          []string `json:"roles" required:"true" minLength:"1" maxLength:"20" doc:"The names of the roles that the user holds in the whole tenant: at least one."`
}

// CreateUser makes a user at home in the tenant, with its membership.
var CreateUser = op.New[CreateUserIn, User](op.Spec{
	Name: "create-user", Module: Module, Method: "POST", Path: "/api/users", Permission: "user.create", Effect: op.Write, Status: 201,
	Summary:     "Create a user",
	Description: "A person or a synthetic agent, with a membership in the tenant and its roles (needs role.assign as well, and every permission that they grant).",
})

// UpdateUserIn changes a user.
type UpdateUserIn struct {
	UserID      op.UUID        `path:"userId" doc:"The user's id."`
	Email       op.Opt[string] `json:"email" format:"email" minLength:"3" maxLength:"254" doc:"The address; by the home tenant only."`
	DisplayName op.Opt[string] `json:"displayName" minLength:"1" maxLength:"200" doc:"The name that is shown; by the home tenant only."`
	Password    op.Opt[string] `json:"password" maxLength:"256" doc:"Not accepted: only the holder sets the password of an account. Use reset-user-password."`
	Clearance   op.Opt[string] `json:"clearance" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The highest tier that the user may read in this tenant; null for none."`
}

// UpdateUser changes a user.
var UpdateUser = op.New[UpdateUserIn, User](op.Spec{
	Name: "update-user", Module: Module, Method: "PATCH", Path: "/api/users/{userId}", Permission: "user.update", Effect: op.Write,
	Summary: "Change a user's name, address or clearance",
	Description: "Name and address belong to the user's record, which the home tenant administers; the clearance to the membership in this tenant. " +
		"Changing an address needs everything that the account holds, in every tenant and by delegation, and leaves the address unconfirmed: " +
		"no reset link goes to it before the holder has confirmed it with change-email. Nobody raises their own clearance.",
})

// PasswordResetStarted says what happens next.
type PasswordResetStarted struct {
	UserID    op.UUID   `json:"userId" doc:"The user."`
	Email     string    `json:"email" doc:"The address that the link goes to."`
	ExpiresAt time.Time `json:"expiresAt" doc:"When the attempt to send the link is given up. The link itself is good for 30 minutes after it was sent."`
}

// ResetUserPassword sends a user a link to set a new password.
var ResetUserPassword = op.New[UserIn, PasswordResetStarted](op.Spec{
	Name: "reset-user-password", Module: Module, Method: "POST", Path: "/api/users/{userId}/password-reset", Permission: "user.update", Effect: op.Write, Status: 202,
	Summary: "Send a user a link to set a new password",
	Description: "By the home tenant, to the account's own address. Nobody but its reader learns the link. It is rejected while an address that an administrator has set " +
		"is not confirmed by the holder. The present password stays good until the link is used.",
})

// SwitchUserIn names a user and says why.
type SwitchUserIn struct {
	UserID op.UUID `path:"userId" doc:"The user's id."`
	Reason string  `json:"reason" maxLength:"500" doc:"Why, for the audit log."`
}

// SuspendUser stops a user in every tenant.
var SuspendUser = op.New[SwitchUserIn, User](op.Spec{
	Name: "suspend-user", Module: Module, Method: "POST", Path: "/api/users/{userId}/suspend", Permission: "user.update", Effect: op.Write,
	Summary:     "Suspend a user",
	Description: "By the home tenant. The user's sessions end; keys are rejected until the user is active again.",
})

// ActivateUser lets a suspended user act again.
var ActivateUser = op.New[SwitchUserIn, User](op.Spec{
	Name: "activate-user", Module: Module, Method: "POST", Path: "/api/users/{userId}/activate", Permission: "user.update", Effect: op.Write,
	Summary:     "Activate a suspended user",
	Description: "By the home tenant. It restores what the user holds, so it needs all of that, in every tenant and by delegation. A deleted agent stays deleted.",
})

// DeleteUser takes a synthetic agent out of use.
var DeleteUser = op.New[UserIn, User](op.Spec{
	Name: "delete-user", Module: Module, Method: "DELETE", Path: "/api/users/{userId}", Permission: "user.update", Effect: op.Destroy,
	Summary:     "Delete a synthetic agent",
	Description: "For good, but its record stays. People are suspended, or their membership removed; they are not deleted.",
})

// ListPeopleIn selects people.
type ListPeopleIn struct {
	Search         string  `query:"search" maxLength:"200" empty:"true" doc:"Part of the name or of the address."`
	OrganisationID op.UUID `query:"organisationId" doc:"The organisation; the caller's own unless told, and the whole tenant for a caller who belongs to none."`
	Limit          int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many at most."`
	Cursor         string  `query:"cursor" maxLength:"1024" doc:"Where the page starts."`
}

// Colleague is a member as everybody may see them.
type Colleague struct {
	ID             op.UUID `json:"id" doc:"The user's id."`
	DisplayName    string  `json:"displayName" doc:"The name that is shown: untrusted text."`
	Email          string  `json:"email" doc:"The address."`
	PrincipalKind  string  `json:"principalKind" enum:"HUMAN|AGENT" doc:"A person or a synthetic agent."`
	OrganisationID op.UUID `json:"organisationId,omitempty" doc:"The organisation that the person belongs to in this tenant."`
}

// ListPeople lists the people of the acting organisation.
var ListPeople = op.New[ListPeopleIn, op.Page[Colleague]](op.Spec{
	Name: "list-people", Module: Module, Method: "GET", Path: "/api/people", Permission: "user.read", Effect: op.Read,
	Summary:     "List the people of the acting organisation",
	Description: "ACTIVE members of the caller's organisation (of the tenant, for a caller who belongs to none), agents included. Ordered by name.",
})
