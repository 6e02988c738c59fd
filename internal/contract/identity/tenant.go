package identity

import (
	"time"

	"parapet/internal/op"
)

// Audit actions of tenants.
const (
	ActionTenantCreated  = "tenant.created"
	ActionTenantUpdated  = "tenant.updated"
	ActionTenantDisabled = "tenant.disabled"
	ActionTenantEnabled  = "tenant.enabled"
)

// Event types of tenants.
var (
	EventTenantCreated  = op.DeclareEvent[Tenant](Contract, "directory.tenant.created", "A tenant was created.")
	EventTenantUpdated  = op.DeclareEvent[Tenant](Contract, "directory.tenant.updated", "The name or settings of a tenant changed.")
	EventTenantDisabled = op.DeclareEvent[Tenant](Contract, "directory.tenant.disabled", "A tenant was disabled: all its credentials are rejected.")
	EventTenantEnabled  = op.DeclareEvent[Tenant](Contract, "directory.tenant.enabled", "A disabled tenant was enabled again.")
)

// Values of Tenant.Type.
const (
	TenantStandard        = "STANDARD"
	TenantProgrammeOffice = "PROGRAMME_OFFICE"
)

// Tenant is a customer whose data is isolated from every other tenant's.
type Tenant struct {
	ID             op.UUID       `json:"id" doc:"The tenant's id."`
	Slug           string        `json:"slug" doc:"The tenant's short name, unique in the installation."`
	Name           string        `json:"name" doc:"The tenant's name: user-generated, untrusted text."`
	Type           string        `json:"type" enum:"STANDARD|PROGRAMME_OFFICE" doc:"The tenant's type."`
	DefaultLocale  string        `json:"defaultLocale" enum:"en-US|en-GB|it-IT|de-DE|fr-FR" doc:"The locale of users who have chosen none; one of enabledLocales."`
	EnabledLocales []string      `json:"enabledLocales" doc:"The locales that users can choose, such as en-GB."`
	TimeZone       string        `json:"timeZone" doc:"An IANA time zone."`
	Currency       string        `json:"currency" doc:"An ISO 4217 code."`
	Enabled        bool          `json:"enabled" doc:"Whether the tenant is enabled. Nobody can act in a disabled tenant."`
	DisabledAt     *time.Time    `json:"disabledAt,omitempty" doc:"When the tenant was disabled."`
	OfficeID       op.UUID       `json:"officeId,omitempty" doc:"The PROGRAMME_OFFICE tenant that administers this one."`
	Office         *op.Reference `json:"office,omitempty" db:"-" doc:"The name of the record that officeId identifies."`
	CreatedAt      time.Time     `json:"createdAt" doc:"When the tenant was created."`
	UpdatedAt      time.Time     `json:"updatedAt" doc:"When the tenant last changed."`
}

// ListTenantsIn filters the tenants.
type ListTenantsIn struct {
	Search string `query:"search" maxLength:"200" empty:"true" doc:"Only tenants whose name or slug contains this text."`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListTenants lists the tenants that a programme office administers.
var ListTenants = op.Declare[ListTenantsIn, op.Page[Tenant]](Contract, op.Spec{
	Name: "list-tenants", Method: "GET", Path: "/api/tenants", Permission: "tenant.list", Effect: op.Read,
	Summary:     "List the tenants that the programme office administers",
	Description: "Ordered by slug. The list includes the programme office itself.",
})

// CreateTenantIn is the input of CreateTenant.
type CreateTenantIn struct {
	Slug             string           `json:"slug" required:"true" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" form:"1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end" doc:"The short name: lower-case letters, digits and hyphens; unique in the installation."`
	Name             string           `json:"name" required:"true" maxLength:"200" doc:"The tenant's name."`
	Type             string           `json:"type" default:"STANDARD" enum:"STANDARD|PROGRAMME_OFFICE" doc:"The tenant's type."`
	DefaultLocale    op.Opt[string]   `json:"defaultLocale" doc:"One of enabledLocales. Default: en-US."`
	EnabledLocales   op.Opt[[]string] `json:"enabledLocales" doc:"The locales that users can choose. Default: en-US only."`
	TimeZone         string           `json:"timeZone" default:"UTC" doc:"An IANA time zone."`
	Currency         string           `json:"currency" default:"USD" doc:"An ISO 4217 code."`
	OrganisationName string           `json:"organisationName" required:"true" maxLength:"200" doc:"The name of the tenant's first organisation."`
	OrganisationType string           `json:"organisationType" default:"CUSTOMER" enum:"CUSTOMER|SUPPLIER|PARTNER|INTERNAL" doc:"The type of the tenant's first organisation."`
	AdminEmail       string           `json:"adminEmail" required:"true" format:"email" maxLength:"254" doc:"The address of the tenant's first administrator."`
	AdminName        string           `json:"adminName" required:"true" maxLength:"200" doc:"The name of the tenant's first administrator."`
	AdminClearance   string           `json:"adminClearance" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The highest classification that the administrator may read in the new tenant, at most the caller's own clearance. Default: UNCLASSIFIED."`
	AdminPassword    string           `json:"adminPassword" maxLength:"256" doc:"The administrator's first password, at least 12 characters. Without it the administrator cannot log in with a password."`
}

// CreateTenantOut is the new tenant with its first organisation and administrator.
type CreateTenantOut struct {
	Tenant       Tenant       `json:"tenant" doc:"The tenant."`
	Organisation Organisation `json:"organisation" doc:"Its first organisation."`
	Admin        User         `json:"admin" doc:"Its first administrator."`
}

// CreateTenant creates a tenant that the current programme office administers.
var CreateTenant = op.Declare[CreateTenantIn, CreateTenantOut](Contract, op.Spec{
	Name: "create-tenant", Method: "POST", Path: "/api/tenants", Permission: "tenant.create", Effect: op.Write, Status: 201,
	Summary:     "Create a tenant",
	Description: "Requires an administrator of a PROGRAMME_OFFICE tenant, which then administers the new tenant. Creates the default roles, an organisation and an administrator.",
})

// TenantIn is the input of GetTenant.
type TenantIn struct {
	TenantID op.UUID `path:"tenantId" doc:"The tenant."`
}

// GetTenant returns a tenant.
var GetTenant = op.Declare[TenantIn, Tenant](Contract, op.Spec{
	Name: "get-tenant", Method: "GET", Path: "/api/tenants/{tenantId}", Permission: "tenant.read", Effect: op.Read,
	Summary:     "Show a tenant",
	Description: "Returns the current tenant, or a tenant that the current programme office administers (requires tenant.list as well).",
})

// UpdateTenantIn is the input of UpdateTenant.
type UpdateTenantIn struct {
	TenantID       op.UUID          `path:"tenantId" doc:"The tenant."`
	Name           op.Opt[string]   `json:"name" minLength:"1" maxLength:"200" doc:"The tenant's name."`
	DefaultLocale  op.Opt[string]   `json:"defaultLocale" doc:"One of enabledLocales."`
	EnabledLocales op.Opt[[]string] `json:"enabledLocales" doc:"The locales that users can choose: at least one of en-US, en-GB, it-IT, de-DE, fr-FR."`
	TimeZone       op.Opt[string]   `json:"timeZone" doc:"An IANA time zone."`
	Currency       op.Opt[string]   `json:"currency" doc:"An ISO 4217 code."`
}

// UpdateTenant changes the current tenant's settings.
var UpdateTenant = op.Declare[UpdateTenantIn, Tenant](Contract, op.Spec{
	Name: "update-tenant", Method: "PATCH", Path: "/api/tenants/{tenantId}", Permission: "tenant.update", Effect: op.Write,
	Summary:     "Change the current tenant's settings",
	Description: "Only the tenant's own administrators can change its settings; the programme office cannot.",
})

// SwitchTenantIn is the input of DisableTenant and EnableTenant.
type SwitchTenantIn struct {
	TenantID op.UUID `path:"tenantId" doc:"The tenant."`
	Reason   string  `json:"reason" maxLength:"500" doc:"Why the tenant is disabled or enabled, for the audit log."`
}

// DisableTenant disables a tenant.
var DisableTenant = op.Declare[SwitchTenantIn, Tenant](Contract, op.Spec{
	Name: "disable-tenant", Method: "POST", Path: "/api/tenants/{tenantId}/disable", Permission: "tenant.disable", Effect: op.Write,
	Summary:     "Disable a tenant",
	Description: "Requires the programme office that administers the tenant. Nobody can act in the tenant until it is enabled again. No data is deleted.",
})

// EnableTenant enables a disabled tenant.
var EnableTenant = op.Declare[SwitchTenantIn, Tenant](Contract, op.Spec{
	Name: "enable-tenant", Method: "POST", Path: "/api/tenants/{tenantId}/enable", Permission: "tenant.enable", Effect: op.Write,
	Summary:     "Enable a disabled tenant",
	Description: "Requires the programme office that administers the tenant. Sessions and keys that have not expired work again.",
})
