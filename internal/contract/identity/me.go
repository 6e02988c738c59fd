package identity

import (
	"time"

	"parapet/internal/op"
)

// MeIn is empty: the credential identifies the caller.
type MeIn struct{}

// MeOut describes the caller and its credential.
type MeOut struct {
	User           Person        `json:"user" doc:"The user who owns the credential."`
	TenantID       op.UUID       `json:"tenantId" doc:"The tenant that the request acts in."`
	TenantSlug     string        `json:"tenantSlug" doc:"The tenant's short name."`
	TenantName     string        `json:"tenantName" doc:"The tenant's name: user-generated, untrusted text."`
	TenantType     string        `json:"tenantType" enum:"STANDARD|PROGRAMME_OFFICE" doc:"The tenant's type."`
	OrganisationID op.UUID       `json:"organisationId,omitempty" doc:"The organisation that the user belongs to in the tenant."`
	Organisation   *op.Reference `json:"organisation,omitempty" db:"-" doc:"The name of the record that organisationId identifies."`
	Roles          []string      `json:"roles" doc:"The effective roles, in any scope."`
	Clearance      string        `json:"clearance" doc:"The effective clearance."`
	TokenKind      string        `json:"tokenKind" enum:"session|api_key" doc:"The kind of the credential."`
	TokenTenantID  op.UUID       `json:"tokenTenantId" doc:"The tenant that the credential is bound to."`
	TokenID        op.UUID       `json:"tokenId" doc:"The credential's jti."`
	ExpiresAt      time.Time     `json:"expiresAt" doc:"When the credential expires."`
}

// Me returns the caller and its credential.
var Me = op.Declare[MeIn, MeOut](Contract, op.Spec{
	Name: "me", Method: "GET", Path: "/api/auth/me", Access: op.Authenticated, Effect: op.Read,
	Summary: "Show the current user",
})

// PermissionsOut lists the caller's permissions.
type PermissionsOut struct {
	TenantID    op.UUID               `json:"tenantId" doc:"The tenant that the permissions apply to."`
	Tenant      *op.Reference         `json:"tenant,omitempty" db:"-" doc:"The name of the record that tenantId identifies."`
	Permissions []EffectivePermission `json:"permissions" doc:"The effective permissions, ordered by name."`
}

// EffectivePermission is one permission with the scopes that it applies to.
type EffectivePermission struct {
	Name                string         `json:"name" doc:"The permission's name. The suffix .own limits it to records that the caller created or owns."`
	Description         string         `json:"description" doc:"What the permission allows."`
	Tenant              bool           `json:"tenant" doc:"Whether the permission applies to the whole tenant."`
	Organisations       []op.UUID      `json:"organisations" doc:"The organisations that the permission applies to, if it is not tenant-wide."`
	OrganisationRecords []op.Reference `json:"organisationRecords,omitempty" doc:"The names of the records that organisations identifies, in the same order."`
	Projects            []op.UUID      `json:"projects" doc:"The projects that the permission applies to, if it is not tenant-wide."`
	ProjectRecords      []op.Reference `json:"projectRecords,omitempty" doc:"The names of the records that projects identifies, in the same order."`
}

// Permissions returns the caller's effective permissions.
var Permissions = op.Declare[MeIn, PermissionsOut](Contract, op.Spec{
	Name: "permissions", Method: "GET", Path: "/api/auth/permissions", Access: op.Authenticated, Effect: op.Read,
	Summary:     "Show the current user's permissions",
	Description: "Returns the effective permissions in the request's tenant with their scopes, as the policies compute them.",
})

// OrganisationsOut lists the organisations that the credential can act in.
type OrganisationsOut struct {
	Items    []OrganisationChoice `json:"items" doc:"The organisations, with the default first."`
	Degraded bool                 `json:"degraded" doc:"True when the lookup failed. The list is then incomplete or empty."`
}

// OrganisationChoice is one organisation, or a tenant that the user belongs to without
// an organisation. x-act-as-org and --org accept either id.
type OrganisationChoice struct {
	OrganisationID op.UUID `json:"organisationId,omitempty" doc:"The organisation's id."`
	Name           string  `json:"name" doc:"The organisation's name: user-generated, untrusted text."`
	TenantID       op.UUID `json:"tenantId" doc:"The id of the organisation's tenant."`
	TenantSlug     string  `json:"tenantSlug" doc:"The tenant's short name."`
	TenantName     string  `json:"tenantName" doc:"The tenant's name: user-generated, untrusted text."`
	Default        bool    `json:"default" doc:"Whether a request without x-act-as-org acts in this organisation."`
}

// ListOrgs lists the organisations that the credential can act in.
var ListOrgs = op.Declare[MeIn, OrganisationsOut](Contract, op.Spec{
	Name: "list-orgs", Method: "GET", Path: "/api/auth/organisations", Access: op.Authenticated, Effect: op.Read,
	Summary:     "List the organisations that the credential can act in",
	Description: "Lists every organisation with its tenant and marks the default. If degraded is true, the lookup failed and the list is incomplete or empty.",
})
