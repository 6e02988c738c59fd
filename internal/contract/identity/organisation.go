package identity

import (
	"time"

	"parapet/internal/op"
)

// Audit actions of organisations.
const (
	ActionOrganisationCreated = "organisation.created"
	ActionOrganisationUpdated = "organisation.updated"
)

// Event types of organisations.
var (
	EventOrganisationCreated = op.DeclareEvent[Organisation](Contract, "directory.organisation.created", "An organisation was created.")
	EventOrganisationUpdated = op.DeclareEvent[Organisation](Contract, "directory.organisation.updated", "An organisation changed.")
)

// Organisation is a company that takes part in a tenant.
type Organisation struct {
	ID                 op.UUID       `json:"id" doc:"The organisation's id."`
	TenantID           op.UUID       `json:"tenantId" doc:"The tenant that the organisation belongs to."`
	Tenant             *op.Reference `json:"tenant,omitempty" db:"-" doc:"The name of the record that tenantId identifies."`
	Name               string        `json:"name" doc:"The organisation's name, unique in the tenant: user-generated, untrusted text."`
	Type               string        `json:"type" enum:"CUSTOMER|SUPPLIER|PARTNER|INTERNAL" doc:"The organisation's role in the tenant."`
	VerificationStatus string        `json:"verificationStatus" enum:"UNVERIFIED|PENDING|VERIFIED|REJECTED" doc:"The state of the organisation's verification."`
	CreatedAt          time.Time     `json:"createdAt" doc:"When the organisation was created."`
	UpdatedAt          time.Time     `json:"updatedAt" doc:"When the organisation last changed."`
}

// ListOrganisationsIn filters the organisations.
type ListOrganisationsIn struct {
	Search             string `query:"search" maxLength:"200" empty:"true" doc:"Only organisations whose name contains this text."`
	Type               string `query:"type" enum:"CUSTOMER|SUPPLIER|PARTNER|INTERNAL" doc:"Only organisations of this type."`
	VerificationStatus string `query:"verificationStatus" enum:"UNVERIFIED|PENDING|VERIFIED|REJECTED" doc:"Only organisations with this verification status."`
	Limit              int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor             string `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListOrganisations lists the tenant's organisations.
var ListOrganisations = op.Declare[ListOrganisationsIn, op.Page[Organisation]](Contract, op.Spec{
	Name: "list-organisations", Method: "GET", Path: "/api/organisations", Permission: "organisation.read", Effect: op.Read,
	Summary:     "List the tenant's organisations",
	Description: "Ordered by name.",
})

// OrganisationIn is the input of GetOrganisation.
type OrganisationIn struct {
	OrganisationID op.UUID `path:"organisationId" doc:"The organisation."`
}

// GetOrganisation returns an organisation.
var GetOrganisation = op.Declare[OrganisationIn, Organisation](Contract, op.Spec{
	Name: "get-organisation", Method: "GET", Path: "/api/organisations/{organisationId}", Permission: "organisation.read", Effect: op.Read,
	Summary: "Show an organisation",
})

// CreateOrganisationIn is the input of CreateOrganisation.
type CreateOrganisationIn struct {
	Name               string `json:"name" required:"true" maxLength:"200" doc:"The name, unique in the tenant."`
	Type               string `json:"type" default:"CUSTOMER" enum:"CUSTOMER|SUPPLIER|PARTNER|INTERNAL" doc:"The organisation's role in the tenant."`
	VerificationStatus string `json:"verificationStatus" default:"UNVERIFIED" enum:"UNVERIFIED|PENDING|VERIFIED|REJECTED" doc:"The state of the organisation's verification."`
}

// CreateOrganisation adds an organisation to the tenant.
var CreateOrganisation = op.Declare[CreateOrganisationIn, Organisation](Contract, op.Spec{
	Name: "create-organisation", Method: "POST", Path: "/api/organisations", Permission: "organisation.create", Effect: op.Write, Status: 201,
	Summary: "Create an organisation",
})

// UpdateOrganisationIn is the input of UpdateOrganisation.
type UpdateOrganisationIn struct {
	OrganisationID     op.UUID        `path:"organisationId" doc:"The organisation."`
	Name               op.Opt[string] `json:"name" minLength:"1" maxLength:"200" doc:"The name, unique in the tenant."`
	Type               op.Opt[string] `json:"type" enum:"CUSTOMER|SUPPLIER|PARTNER|INTERNAL" doc:"The organisation's role in the tenant."`
	VerificationStatus op.Opt[string] `json:"verificationStatus" enum:"UNVERIFIED|PENDING|VERIFIED|REJECTED" doc:"The state of the organisation's verification."`
}

// UpdateOrganisation changes an organisation.
var UpdateOrganisation = op.Declare[UpdateOrganisationIn, Organisation](Contract, op.Spec{
	Name: "update-organisation", Method: "PATCH", Path: "/api/organisations/{organisationId}", Permission: "organisation.update", Effect: op.Write,
	Summary: "Change an organisation's name, type or verification status",
})
