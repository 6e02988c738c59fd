package identity

import (
	"time"

	"parapet/internal/op"
)

// MeIn is empty: the caller is the credential's owner.
type MeIn struct{}

// MeOut is who is calling, and as what.
type MeOut struct {
	User           Person    `json:"user" doc:"The owner of the credential."`
	TenantID       op.UUID   `json:"tenantId" doc:"The tenant that the request is meant for."`
	TenantSlug     string    `json:"tenantSlug" doc:"The tenant's short name."`
	TenantName     string    `json:"tenantName" doc:"The tenant's name: untrusted text."`
	TenantType     string    `json:"tenantType" enum:"STANDARD|PROGRAMME_OFFICE" doc:"The tenant's type."`
	OrganisationID op.UUID   `json:"organisationId,omitempty" doc:"The organisation that the user belongs to in the tenant."`
	Roles          []string  `json:"roles" doc:"The roles in effect, in any scope."`
	Clearance      string    `json:"clearance" doc:"The clearance in effect."`
	TokenKind      string    `json:"tokenKind" enum:"session|api_key" doc:"The kind of the credential."`
	TokenTenantID  op.UUID   `json:"tokenTenantId" doc:"The tenant that the credential is bound to."`
	TokenID        op.UUID   `json:"tokenId" doc:"The credential's jti."`
	ExpiresAt      time.Time `json:"expiresAt" doc:"When the credential expires."`
}

// Me tells who is calling.
var Me = op.New[MeIn, MeOut](op.Spec{
	Name: "me", Module: Module, Method: "GET", Path: "/api/auth/me", Access: op.Authenticated, Effect: op.Read,
	Summary: "Show the current user",
})

// PermissionsOut is what the caller may do.
type PermissionsOut struct {
	TenantID    op.UUID               `json:"tenantId" doc:"The tenant that the permissions hold in."`
	Permissions []EffectivePermission `json:"permissions" doc:"The permissions in effect, by name."`
}

// EffectivePermission is one permission with the scopes that it holds in.
type EffectivePermission struct {
	Name          string    `json:"name" doc:"The permission's name. The suffix .own limits it to what the caller created or owns."`
	Description   string    `json:"description" doc:"What it allows."`
	Tenant        bool      `json:"tenant" doc:"Whether it holds in the whole tenant."`
	Organisations []op.UUID `json:"organisations" doc:"The organisations that it holds in, where it is not tenant-wide."`
	Projects      []op.UUID `json:"projects" doc:"The projects that it holds in, where it is not tenant-wide."`
}

// Permissions tells what the caller may do.
var Permissions = op.New[MeIn, PermissionsOut](op.Spec{
	Name: "permissions", Module: Module, Method: "GET", Path: "/api/auth/permissions", Access: op.Authenticated, Effect: op.Read,
	Summary:     "Show the current user's permissions",
	Description: "The effective permissions in the request's tenant, with their scopes, worked out by the policies.",
})

// OrganisationsOut is where the credential can act.
type OrganisationsOut struct {
	Items    []OrganisationChoice `json:"items" doc:"The organisations, the default first."`
	Degraded bool                 `json:"degraded" doc:"True when the lookup failed: the list may lack some, or all."`
}

// OrganisationChoice is one organisation, or a tenant in which the user belongs
// to none. Either id selects it, in x-act-as-org or by --org.
type OrganisationChoice struct {
	OrganisationID op.UUID `json:"organisationId,omitempty" doc:"The organisation's id."`
	Name           string  `json:"name" doc:"The organisation's name: untrusted text."`
	TenantID       op.UUID `json:"tenantId" doc:"The paired tenant's id."`
	TenantSlug     string  `json:"tenantSlug" doc:"The tenant's short name."`
	TenantName     string  `json:"tenantName" doc:"The tenant's name: untrusted text."`
	Default        bool    `json:"default" doc:"Whether it is the one that a request without a selector acts in."`
}

// ListOrgs tells where the credential can act.
var ListOrgs = op.New[MeIn, OrganisationsOut](op.Spec{
	Name: "list-orgs", Module: Module, Method: "GET", Path: "/api/auth/organisations", Access: op.Authenticated, Effect: op.Read,
	Summary:     "List the organisations that the credential can act in",
	Description: "Every organisation with its paired tenant, the default marked. An empty list with degraded true says nothing.",
})
