package identity

import (
	"time"

	"parapet/internal/op"
)

// Tenant actions and events.
const (
	ActionTenantCreated  = "tenant.created"
	ActionTenantUpdated  = "tenant.updated"
	ActionTenantDisabled = "tenant.disabled"
	ActionTenantEnabled  = "tenant.enabled"

	EventTenantCreated  = "directory.tenant.created"
	EventTenantUpdated  = "directory.tenant.updated"
	EventTenantDisabled = "directory.tenant.disabled"
	EventTenantEnabled  = "directory.tenant.enabled"
)

// The types of a tenant.
const (
	TenantStandard        = "STANDARD"
	TenantProgrammeOffice = "PROGRAMME_OFFICE"
)

// Tenant is a customer, isolated from every other.
type Tenant struct {
	ID             op.UUID    `json:"id" doc:"The tenant's id."`
	Slug           string     `json:"slug" doc:"The tenant's short name, unique in the installation."`
	Name           string     `json:"name" doc:"The tenant's name: untrusted text."`
	Type           string     `json:"type" enum:"STANDARD|PROGRAMME_OFFICE" doc:"The tenant's type."`
	DefaultLocale  string     `json:"defaultLocale" enum:"en-US|en-GB|it-IT|de-DE|fr-FR" doc:"The locale where a person chose none; one of enabledLocales."`
	EnabledLocales []string   `json:"enabledLocales" doc:"The locales that people can choose: full regional tags."`
	TimeZone       string     `json:"timeZone" doc:"An IANA time zone."`
	Currency       string     `json:"currency" doc:"An ISO 4217 code."`
	Enabled        bool       `json:"enabled" doc:"False for a disabled tenant, in which nobody can act."`
	DisabledAt     *time.Time `json:"disabledAt,omitempty" doc:"When the tenant was disabled."`
	OfficeID       op.UUID    `json:"officeId,omitempty" doc:"The PROGRAMME_OFFICE tenant that administers this one."`
	CreatedAt      time.Time  `json:"createdAt" doc:"When the tenant was created."`
	UpdatedAt      time.Time  `json:"updatedAt" doc:"When the tenant last changed."`
}

// ListTenantsIn selects tenants.
type ListTenantsIn struct {
	Search string `query:"search" maxLength:"200" empty:"true" doc:"Part of the name or of the slug."`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many at most."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"Where the page starts."`
}

// ListTenants lists the tenants of a programme office.
var ListTenants = op.New[ListTenantsIn, op.Page[Tenant]](op.Spec{
	Name: "list-tenants", Module: Module, Method: "GET", Path: "/api/tenants", Permission: "tenant.list", Effect: op.Read,
	Summary:     "List the tenants that the programme office administers",
	Description: "The office itself is among them. Ordered by slug.",
})

// CreateTenantIn is a tenant with its first organisation and administrator.
type CreateTenantIn struct {
	Slug             string           `json:"slug" required:"true" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" form:"1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end" doc:"The short name: lower-case letters, digits and hyphens, unique in the installation."`
	Name             string           `json:"name" required:"true" maxLength:"200" doc:"The tenant's name."`
	Type             string           `json:"type" default:"STANDARD" enum:"STANDARD|PROGRAMME_OFFICE" doc:"The tenant's type."`
	DefaultLocale    op.Opt[string]   `json:"defaultLocale" doc:"en-US unless told; one of enabledLocales."`
	EnabledLocales   op.Opt[[]string] `json:"enabledLocales" doc:"en-US alone unless told."`
	TimeZone         string           `json:"timeZone" default:"UTC" doc:"An IANA time zone."`
	Currency         string           `json:"currency" default:"USD" doc:"An ISO 4217 code."`
	OrganisationName string           `json:"organisationName" required:"true" maxLength:"200" doc:"The name of the tenant's first organisation."`
	OrganisationType string           `json:"organisationType" default:"CUSTOMER" enum:"CUSTOMER|SUPPLIER|PARTNER|INTERNAL" doc:"The type of the tenant's first organisation."`
	AdminEmail       string           `json:"adminEmail" required:"true" format:"email" maxLength:"254" doc:"The address of the tenant's first administrator."`
	AdminName        string           `json:"adminName" required:"true" maxLength:"200" doc:"The name of the tenant's first administrator."`
	AdminClearance   string           `json:"adminClearance" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The highest tier that the administrator may read there, at most the caller's own; UNCLASSIFIED unless told."`
	AdminPassword    string           `json:"adminPassword" maxLength:"256" doc:"The first password of the administrator, of 12 characters or more; without it there is no login by password."`
}

// CreateTenantOut is what a tenant starts with.
type CreateTenantOut struct {
	Tenant       Tenant       `json:"tenant" doc:"The tenant."`
	Organisation Organisation `json:"organisation" doc:"Its first organisation."`
	Admin        User         `json:"admin" doc:"Its first administrator."`
}

// CreateTenant makes a tenant under the programme office.
var CreateTenant = op.New[CreateTenantIn, CreateTenantOut](op.Spec{
	Name: "create-tenant", Module: Module, Method: "POST", Path: "/api/tenants", Permission: "tenant.create", Effect: op.Write, Status: 201,
	Summary:     "Create a tenant",
	Description: "By an administrator of a PROGRAMME_OFFICE tenant, which will administer it. It starts with the default roles and their grants, an organisation and an administrator.",
})

// TenantIn names a tenant.
type TenantIn struct {
	TenantID op.UUID `path:"tenantId" doc:"The tenant's id."`
}

// GetTenant shows a tenant.
var GetTenant = op.New[TenantIn, Tenant](op.Spec{
	Name: "get-tenant", Module: Module, Method: "GET", Path: "/api/tenants/{tenantId}", Permission: "tenant.read", Effect: op.Read,
	Summary:     "Show a tenant",
	Description: "The own one, or one that the programme office administers (needs tenant.list as well).",
})

// UpdateTenantIn changes a tenant's settings.
type UpdateTenantIn struct {
	TenantID       op.UUID          `path:"tenantId" doc:"The tenant's id."`
	Name           op.Opt[string]   `json:"name" minLength:"1" maxLength:"200" doc:"The tenant's name."`
	DefaultLocale  op.Opt[string]   `json:"defaultLocale" doc:"One of enabledLocales."`
	EnabledLocales op.Opt[[]string] `json:"enabledLocales" doc:"The locales that people can choose: at least one of en-US, en-GB, it-IT, de-DE, fr-FR."`
	TimeZone       op.Opt[string]   `json:"timeZone" doc:"An IANA time zone."`
	Currency       op.Opt[string]   `json:"currency" doc:"An ISO 4217 code."`
}

// UpdateTenant changes the own tenant's settings.
var UpdateTenant = op.New[UpdateTenantIn, Tenant](op.Spec{
	Name: "update-tenant", Module: Module, Method: "PATCH", Path: "/api/tenants/{tenantId}", Permission: "tenant.update", Effect: op.Write,
	Summary:     "Change the own tenant's settings",
	Description: "A tenant's settings are its own administrators' business, not the programme office's.",
})

// SwitchTenantIn names a tenant and says why.
type SwitchTenantIn struct {
	TenantID op.UUID `path:"tenantId" doc:"The tenant's id."`
	Reason   string  `json:"reason" maxLength:"500" doc:"Why, for the audit log."`
}

// DisableTenant stops a tenant.
var DisableTenant = op.New[SwitchTenantIn, Tenant](op.Spec{
	Name: "disable-tenant", Module: Module, Method: "POST", Path: "/api/tenants/{tenantId}/disable", Permission: "tenant.disable", Effect: op.Write,
	Summary:     "Disable a tenant",
	Description: "Nobody can act in it until it is enabled again; nothing is lost. By the programme office that administers it.",
})

// EnableTenant lets a tenant go on.
var EnableTenant = op.New[SwitchTenantIn, Tenant](op.Spec{
	Name: "enable-tenant", Module: Module, Method: "POST", Path: "/api/tenants/{tenantId}/enable", Permission: "tenant.enable", Effect: op.Write,
	Summary:     "Enable a disabled tenant",
	Description: "Its sessions and keys that have not expired work again. By the programme office that administers it.",
})
