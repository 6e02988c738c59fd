package identity

import (
	"time"

	"parapet/internal/op"
)

// Membership actions and events.
const (
	ActionMembershipCreated = "membership.created"
	ActionMembershipUpdated = "membership.updated"

	EventMembershipCreated = "directory.membership.created"
	EventMembershipUpdated = "directory.membership.updated"
)

// The statuses of a membership.
const (
	MembershipActive    = "ACTIVE"
	MembershipSuspended = "SUSPENDED"
	MembershipRemoved   = "REMOVED"
)

// Membership binds a user to a tenant, in one of its organisations or none.
type Membership struct {
	TenantID       op.UUID   `json:"tenantId" doc:"The tenant."`
	UserID         op.UUID   `json:"userId" doc:"The user."`
	OrganisationID op.UUID   `json:"organisationId,omitempty" doc:"The organisation that the user belongs to in the tenant."`
	Status         string    `json:"status" enum:"ACTIVE|SUSPENDED|REMOVED" doc:"Only an ACTIVE member can act in the tenant."`
	Clearance      string    `json:"clearance,omitempty" doc:"The highest tier that the user may read in the tenant; absent means UNCLASSIFIED."`
	CreatedAt      time.Time `json:"createdAt" doc:"When the user joined."`
	UpdatedAt      time.Time `json:"updatedAt" doc:"When the membership last changed."`
}

// ListMembershipsIn selects memberships.
type ListMembershipsIn struct {
	OrganisationID op.UUID `query:"organisationId" doc:"Of this organisation only."`
	Status         string  `query:"status" enum:"ACTIVE|SUSPENDED|REMOVED" doc:"With this status only."`
	Limit          int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many at most."`
	Cursor         string  `query:"cursor" maxLength:"1024" doc:"Where the page starts."`
}

// ListMemberships lists the tenant's memberships.
var ListMemberships = op.New[ListMembershipsIn, op.Page[Membership]](op.Spec{
	Name: "list-memberships", Module: Module, Method: "GET", Path: "/api/memberships", Permission: "membership.read", Effect: op.Read,
	Summary:     "List the tenant's memberships",
	Description: "Oldest first.",
})

// CreateMembershipIn makes a user a member of a tenant.
type CreateMembershipIn struct {
	UserID         op.UUID  `json:"userId" required:"true" doc:"The user."`
	TenantID       op.UUID  `json:"tenantId" doc:"The tenant to join; the acting one unless told. Another one must be administered by the acting programme office."`
	UserTenantID   op.UUID  `json:"userTenantId" doc:"A tenant that the user is a member of and that the acting programme office administers, where the user is no member of the acting one."`
	OrganisationID op.UUID  `json:"organisationId" doc:"The organisation in the tenant to join; none unless told."`
	Clearance      string   `json:"clearance" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The highest tier that the user may read there."`
	Roles          []string `json:"roles" required:"true" minLength:"1" maxLength:"20" doc:"The names of the roles that the user holds in the whole tenant to join: at least one."`
}

// CreateMembership makes a user a member of a further tenant.
var CreateMembership = op.New[CreateMembershipIn, Membership](op.Spec{
	Name: "create-membership", Module: Module, Method: "POST", Path: "/api/memberships", Permission: "membership.update", Effect: op.Write, Status: 201,
	Summary: "Make a user a member of a tenant",
	Description: "By an administrator of the PROGRAMME_OFFICE tenant that administers the tenant to join and the user's own (needs tenant.list and role.assign as well, " +
		"and every permission that the roles grant). A service principal is bound to its own tenant. A removed member is restored by update-membership.",
})

// UpdateMembershipIn changes a membership.
type UpdateMembershipIn struct {
	UserID         op.UUID         `path:"userId" doc:"The user."`
	OrganisationID op.Opt[op.UUID] `json:"organisationId" doc:"The organisation that the user belongs to; null for none."`
	Status         op.Opt[string]  `json:"status" enum:"ACTIVE|SUSPENDED|REMOVED" doc:"The status. The user's sessions in the tenant end when it is not ACTIVE; keys work again when it is."`
	Clearance      op.Opt[string]  `json:"clearance" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The highest tier that the user may read; null for none."`
	Reason         string          `json:"reason" maxLength:"500" doc:"Why, for the audit log."`
}

// UpdateMembership changes a membership of the tenant.
var UpdateMembership = op.New[UpdateMembershipIn, Membership](op.Spec{
	Name: "update-membership", Module: Module, Method: "PATCH", Path: "/api/memberships/{userId}", Permission: "membership.update", Effect: op.Write,
	Summary:     "Change, suspend, restore or remove a membership",
	Description: "Also of a user whose record another tenant administers. A user belongs to at most one organisation of the tenant.",
})
