package identity

import (
	"time"

	"parapet/internal/op"
)

// Audit actions of memberships.
const (
	ActionMembershipCreated = "membership.created"
	ActionMembershipUpdated = "membership.updated"
)

// Event types of memberships.
var (
	EventMembershipCreated = op.DeclareEvent[Membership](Contract, "directory.membership.created", "A user became a member of a tenant.")
	EventMembershipUpdated = op.DeclareEvent[Membership](Contract, "directory.membership.updated", "The status, clearance or organisation of a membership changed.")
)

// Values of Membership.Status.
const (
	MembershipActive    = "ACTIVE"
	MembershipSuspended = "SUSPENDED"
	MembershipRemoved   = "REMOVED"
)

// Membership makes a user a member of a tenant, optionally in one of its organisations.
type Membership struct {
	TenantID       op.UUID       `json:"tenantId" doc:"The tenant."`
	Tenant         *op.Reference `json:"tenant,omitempty" db:"-" doc:"The name of the record that tenantId identifies."`
	UserID         op.UUID       `json:"userId" doc:"The user."`
	User           *op.Reference `json:"user,omitempty" db:"-" doc:"The name of the record that userId identifies."`
	OrganisationID op.UUID       `json:"organisationId,omitempty" doc:"The organisation that the user belongs to in the tenant."`
	Organisation   *op.Reference `json:"organisation,omitempty" db:"-" doc:"The name of the record that organisationId identifies."`
	Status         string        `json:"status" enum:"ACTIVE|SUSPENDED|REMOVED" doc:"Only an ACTIVE member can act in the tenant."`
	Clearance      string        `json:"clearance,omitempty" doc:"The highest classification that the user may read in the tenant; absent means UNCLASSIFIED."`
	CreatedAt      time.Time     `json:"createdAt" doc:"When the user joined."`
	UpdatedAt      time.Time     `json:"updatedAt" doc:"When the membership last changed."`
}

// ListMembershipsIn filters the memberships.
type ListMembershipsIn struct {
	OrganisationID op.UUID `query:"organisationId" doc:"Only members of this organisation."`
	Status         string  `query:"status" enum:"ACTIVE|SUSPENDED|REMOVED" doc:"Only memberships with this status."`
	Limit          int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor         string  `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListMemberships lists the tenant's memberships.
var ListMemberships = op.Declare[ListMembershipsIn, op.Page[Membership]](Contract, op.Spec{
	Name: "list-memberships", Method: "GET", Path: "/api/memberships", Permission: "membership.read", Effect: op.Read,
	Summary:     "List the tenant's memberships",
	Description: "Oldest first.",
})

// CreateMembershipIn is the input of CreateMembership.
type CreateMembershipIn struct {
	UserID         op.UUID  `json:"userId" required:"true" doc:"The user."`
	TenantID       op.UUID  `json:"tenantId" doc:"The tenant to join. Default: the current tenant. Otherwise a tenant that the current programme office administers."`
	UserTenantID   op.UUID  `json:"userTenantId" doc:"A tenant of which the user is already a member and that the current programme office administers. Required if the user is not a member of the current tenant."`
	OrganisationID op.UUID  `json:"organisationId" doc:"The organisation in the tenant to join. Default: none."`
	Clearance      string   `json:"clearance" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The highest classification that the user may read in the tenant to join."`
	Roles          []string `json:"roles" required:"true" minLength:"1" maxLength:"20" doc:"The names of the roles that the user gets for the whole tenant to join: at least one."`
}

// CreateMembership makes a user a member of another tenant.
var CreateMembership = op.Declare[CreateMembershipIn, Membership](Contract, op.Spec{
	Name: "create-membership", Method: "POST", Path: "/api/memberships", Permission: "membership.update", Effect: op.Write, Status: 201,
	Summary: "Make a user a member of a tenant",
	Description: "Requires an administrator of the PROGRAMME_OFFICE tenant that administers both the tenant to join and the user's home tenant, with tenant.list, role.assign " +
		"and every permission that the roles grant. A service principal can be a member of its home tenant only. To restore a removed member, use update-membership.",
})

// UpdateMembershipIn is the input of UpdateMembership.
type UpdateMembershipIn struct {
	UserID         op.UUID         `path:"userId" doc:"The user."`
	OrganisationID op.Opt[op.UUID] `json:"organisationId" doc:"The organisation that the user belongs to; null removes the user from its organisation."`
	Status         op.Opt[string]  `json:"status" enum:"ACTIVE|SUSPENDED|REMOVED" doc:"The new status. Any status but ACTIVE ends the user's sessions in the tenant and rejects its keys. With ACTIVE the keys work again."`
	Clearance      op.Opt[string]  `json:"clearance" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The highest classification that the user may read; null removes the clearance."`
	Reason         string          `json:"reason" maxLength:"500" doc:"Why the membership is changed, for the audit log."`
}

// UpdateMembership changes a membership of the tenant.
var UpdateMembership = op.Declare[UpdateMembershipIn, Membership](Contract, op.Spec{
	Name: "update-membership", Method: "PATCH", Path: "/api/memberships/{userId}", Permission: "membership.update", Effect: op.Write,
	Summary:     "Change, suspend, restore or remove a membership",
	Description: "The user's home tenant may be another tenant. A user belongs to at most one organisation of a tenant.",
})
