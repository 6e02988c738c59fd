package identity

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // embeds the time zone database, which the server may lack

	"golang.org/x/text/currency"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func (s *Service) tenantOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListTenants, registeredTenantType.Columns(), listTenants),
		executor.Handle(s.executor, contract.CreateTenant, loadNewTenant, s.createTenant),
		executor.Handle(s.executor, contract.GetTenant, loadTenantToRead, getTenant),
		executor.Handle(s.executor, contract.UpdateTenant, loadOwnTenant, updateTenant),
		executor.Handle(s.executor, contract.DisableTenant, loadAdministeredTenant, disableTenant),
		executor.Handle(s.executor, contract.EnableTenant, loadAdministeredTenant, enableTenant),
	}
}

func getTenant(_ context.Context, _ *executor.Call, _ *contract.TenantIn, t contract.Tenant) (*contract.Tenant, error) {
	return &t, nil
}

// registeredTenantType maps the attributes of a tenant to columns of the alias t. The tenant
// belongs to the programme office that administers it; an office belongs to itself.
var registeredTenantType = authz.NewRecordType("tenant", authz.Attributes[contract.Tenant]{
	Tenant: authz.NewAttribute("coalesce(t.office_id, t.id)", func(t *contract.Tenant) string {
		if t.OfficeID == "" {
			return string(t.ID)
		}
		return string(t.OfficeID)
	}),
	ID:             authz.NewAttribute("t.id", func(t *contract.Tenant) string { return string(t.ID) }),
	Classification: authz.FixedAttribute[contract.Tenant](directoryClassification),
})

func listTenants(ctx context.Context, c *executor.Call, in *contract.ListTenantsIn, f authz.Filter) (*op.Page[contract.Tenant], error) {
	slug, id, err := cursorKeys(c, contract.ListTenants.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	items, err := selectTenants(ctx, c.DB, c.Tenant, in, slug, id, f)
	if err != nil {
		return nil, err
	}
	return op.NewPage(items, in.Limit, func(t *contract.Tenant) string {
		return op.NewCursor(contract.ListTenants.Name, c.Tenant, t.Slug, string(t.ID))
	}), nil
}

// loadTenantToRead returns the current tenant, or one that the current programme office
// administers. The latter also requires the permission to list the office's tenants.
func loadTenantToRead(ctx context.Context, c *executor.Call, in *contract.TenantIn) (contract.Tenant, authz.Resource, error) {
	t, err := selectTenant(ctx, c.DB, c.Tenant, in.TenantID, false)
	if err != nil {
		return t, authz.Resource{}, err
	}
	r, err := readableTenantResource(ctx, c, t)
	return t, r, err
}

// readableTenantResource returns the resource for reading the tenant.
func readableTenantResource(ctx context.Context, c *executor.Call, t contract.Tenant) (authz.Resource, error) {
	if t.ID != c.Tenant {
		if err := c.Decide(ctx, contract.ListTenants.Permission, registryResource(t)); err != nil {
			return authz.Resource{}, err
		}
	}
	return tenantResource(c, "tenant"), nil
}

// loadOwnTenant loads a tenant whose settings are to change. The resource belongs to the
// tenant itself, so its programme office cannot change it.
func loadOwnTenant(ctx context.Context, c *executor.Call, in *contract.UpdateTenantIn) (contract.Tenant, authz.Resource, error) {
	t, err := selectTenant(ctx, c.DB, c.Tenant, in.TenantID, true)
	return t, authz.Resource{Type: "tenant", ID: string(t.ID), Tenant: string(t.ID), Classification: directoryClassification}, err
}

func loadAdministeredTenant(ctx context.Context, c *executor.Call, in *contract.SwitchTenantIn) (contract.Tenant, authz.Resource, error) {
	t, err := selectTenant(ctx, c.DB, c.Tenant, in.TenantID, true)
	if err != nil {
		return t, authz.Resource{}, err
	}
	if t.ID == c.Tenant {
		// The caller may know its own tenant, so a denial names the missing permission.
		return t, tenantResource(c, "tenant"), nil
	}
	return t, registryResource(t), nil
}

// registryResource returns the tenant as a resource of its programme office.
func registryResource(t contract.Tenant) authz.Resource {
	return registeredTenantType.Resource("", &t)
}

func updateTenant(ctx context.Context, c *executor.Call, in *contract.UpdateTenantIn, t contract.Tenant) (*contract.Tenant, error) {
	var p op.Patch
	op.SetTrimmed(&p, "name", &t.Name, in.Name)
	op.Set(&p, "defaultLocale", &t.DefaultLocale, in.DefaultLocale)
	op.Set(&p, "enabledLocales", &t.EnabledLocales, in.EnabledLocales)
	op.Set(&p, "timeZone", &t.TimeZone, in.TimeZone)
	op.Set(&p, "currency", &t.Currency, in.Currency)
	fields, err := p.Changed()
	if err != nil {
		return nil, err
	}
	set := settings{t.DefaultLocale, t.EnabledLocales, t.TimeZone, t.Currency}
	if err := set.check(in.EnabledLocales.Set && !in.DefaultLocale.Set); err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return showUnchangedTenant(ctx, c, t)
	}
	t.UpdatedAt = c.Now
	if err := writeTenantSettings(ctx, c.DB, t); err != nil {
		return nil, err
	}
	c.Record(executor.Change{
		Action: contract.ActionTenantUpdated, Type: "tenant", ID: t.ID,
		Fields: fields, Details: auditChanges{"fields": fields},
		Event: contract.EventTenantUpdated, Payload: t,
	})
	return &t, nil
}

func disableTenant(ctx context.Context, c *executor.Call, in *contract.SwitchTenantIn, t contract.Tenant) (*contract.Tenant, error) {
	if t.ID == c.Tenant {
		return nil, fault.Conflict("A programme office cannot disable itself, because nobody could enable it again.")
	}
	if !t.Enabled {
		return showUnchangedTenant(ctx, c, t)
	}
	t.Enabled, t.DisabledAt = false, &c.Now
	return setTenantEnabled(ctx, c, in, t, contract.ActionTenantDisabled, contract.EventTenantDisabled)
}

func enableTenant(ctx context.Context, c *executor.Call, in *contract.SwitchTenantIn, t contract.Tenant) (*contract.Tenant, error) {
	if t.Enabled {
		return showUnchangedTenant(ctx, c, t)
	}
	t.Enabled, t.DisabledAt = true, nil
	return setTenantEnabled(ctx, c, in, t, contract.ActionTenantEnabled, contract.EventTenantEnabled)
}

func setTenantEnabled(ctx context.Context, c *executor.Call, in *contract.SwitchTenantIn, t contract.Tenant, action string, event *op.EventType) (*contract.Tenant, error) {
	t.UpdatedAt = c.Now
	if err := writeTenantStatus(ctx, c.DB, c.Tenant, t); err != nil {
		return nil, err
	}
	c.Record(executor.Change{
		Action: action, Type: "tenant", ID: t.ID, Critical: true,
		Details: auditChanges{"enabled": t.Enabled}.withReason(in.Reason),
		Event:   event, Payload: t, Fields: []string{"enabled"}, Tenants: []op.UUID{c.Tenant, t.ID},
	})
	return &t, nil
}

func loadNewTenant(_ context.Context, c *executor.Call, in *contract.CreateTenantIn) (settings, authz.Resource, error) {
	set, err := newSettings(in)
	return set, tenantResource(c, "tenant"), err
}

// createTenant creates the tenant with its default roles and their grants, its organisation
// and its administrator, in one transaction.
func (s *Service) createTenant(ctx context.Context, c *executor.Call, in *contract.CreateTenantIn, set settings) (*contract.CreateTenantOut, error) {
	name, err := trimName("name", in.Name)
	if err != nil {
		return nil, err
	}
	// The caller can set the password of the first administrator, so the policies check the
	// clearance as for any other user. The role needs no such check: its grants apply in the
	// new tenant only.
	administrator := uid.New()
	err = s.decideGiveAuthority(ctx, c, authz.GiveAuthority{RecipientID: string(administrator), RecipientKind: contract.KindHuman, ClearanceTo: in.AdminClearance})
	if err != nil {
		return nil, err
	}
	hash, err := s.hashFirstPassword(ctx, "adminPassword", in.AdminPassword, in.AdminEmail)
	if err != nil {
		return nil, err
	}
	if err := checkEmail("adminEmail", contract.KindHuman, in.AdminEmail); err != nil {
		return nil, err
	}
	t := contract.Tenant{
		ID: uid.New(), Slug: in.Slug, Name: name, Type: in.Type, OfficeID: c.Tenant, Enabled: true, CreatedAt: c.Now, UpdatedAt: c.Now,
		DefaultLocale: set.defaultLocale, EnabledLocales: set.enabledLocales, TimeZone: set.timeZone, Currency: set.currency,
	}
	if err := insertTenant(ctx, c.DB, t); err != nil {
		return nil, err
	}
	out := &contract.CreateTenantOut{Tenant: t}
	c.Record(executor.Change{
		Action: contract.ActionTenantCreated, Type: "tenant", ID: t.ID, Critical: true,
		Details: auditChanges{"type": t.Type, "slug": t.Slug, "office": c.Tenant},
		Event:   contract.EventTenantCreated, Payload: t, Tenants: []op.UUID{c.Tenant, t.ID},
	})
	err = inTenant(ctx, c, t.ID, func() error {
		if err := insertDefaultRoles(ctx, c.DB, t.ID, s.deps.Policies.Catalogue().Roles, c.Now); err != nil {
			return err
		}
		out.Organisation = contract.Organisation{
			ID: uid.New(), TenantID: t.ID, Name: strings.TrimSpace(in.OrganisationName), Type: in.OrganisationType,
			VerificationStatus: "UNVERIFIED", CreatedAt: c.Now, UpdatedAt: c.Now,
		}
		if err := insertOrganisation(ctx, c.DB, out.Organisation); err != nil {
			return err
		}
		admin := newUser{
			id: administrator, tenant: t.ID, kind: contract.KindHuman, email: in.AdminEmail, displayName: strings.TrimSpace(in.AdminName),
			passwordHash: hash, clearance: in.AdminClearance, organisation: out.Organisation.ID, now: c.Now,
		}
		roles, err := selectRolesByName(ctx, c.DB, t.ID, []string{s.deps.Policies.Catalogue().AdministratorRole})
		if err != nil {
			return err
		}
		if out.Admin, err = insertUser(ctx, c.DB, admin, roles); err != nil {
			return err
		}
		c.Record(executor.Change{
			Action: contract.ActionOrganisationCreated, Type: "organisation", ID: out.Organisation.ID,
			Event: contract.EventOrganisationCreated, Payload: out.Organisation, Tenants: []op.UUID{t.ID},
		})
		c.Record(executor.Change{
			Action: contract.ActionUserCreated, Type: "user", ID: out.Admin.ID, Critical: true,
			Details: auditChanges{"principalKind": out.Admin.PrincipalKind, "clearance": out.Admin.Clearance, "roles": roleIDs(roles)},
			Event:   contract.EventUserCreated, Payload: out.Admin, Tenants: []op.UUID{t.ID},
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// settings are the settings that a tenant can change.
type settings struct {
	defaultLocale  string
	enabledLocales []string
	timeZone       string
	currency       string
}

// supportedLocales are the locales that a tenant can enable, as language and region.
var supportedLocales = []string{"en-US", "en-GB", "it-IT", "de-DE", "fr-FR"}

// currencyPattern matches the form of an ISO 4217 code; the currency package knows the codes.
var currencyPattern = regexp.MustCompile(`^[A-Z]{3}$`)

// timeZonePattern rejects values that time.LoadLocation accepts but that are not time zones.
var timeZonePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

func newSettings(in *contract.CreateTenantIn) (settings, error) {
	set := settings{defaultLocale: "en-US", enabledLocales: []string{"en-US"}, timeZone: in.TimeZone, currency: in.Currency}
	var p op.Patch
	op.Set(&p, "defaultLocale", &set.defaultLocale, in.DefaultLocale)
	op.Set(&p, "enabledLocales", &set.enabledLocales, in.EnabledLocales)
	if _, err := p.Changed(); err != nil {
		return settings{}, err
	}
	return set, set.check(in.EnabledLocales.Set && !in.DefaultLocale.Set)
}

// check validates the settings. blameList selects the field in the error if the two locale
// fields do not match: enabledLocales if only that field was given.
func (set settings) check(blameList bool) error {
	supported := strings.Join(supportedLocales, ", ")
	if len(set.enabledLocales) == 0 {
		return fault.Validation("enabledLocales", "The field enabledLocales must contain at least one locale.")
	}
	for i, l := range set.enabledLocales {
		switch {
		case l == "":
			return fault.Validation("enabledLocales", "The field enabledLocales must not contain null or an empty string.")
		case !slices.Contains(supportedLocales, l):
			return fault.Validation("enabledLocales", fmt.Sprintf("The field enabledLocales must contain only these locales: %s.", supported))
		case slices.Contains(set.enabledLocales[:i], l):
			return fault.Validation("enabledLocales", fmt.Sprintf("The field enabledLocales must not contain %s more than once.", l))
		}
	}
	if !slices.Contains(supportedLocales, set.defaultLocale) {
		return fault.Validation("defaultLocale", fmt.Sprintf("The field defaultLocale must be one of %s.", supported))
	}
	if !slices.Contains(set.enabledLocales, set.defaultLocale) {
		field := "defaultLocale"
		if blameList {
			field = "enabledLocales"
		}
		return fault.Validation(field, fmt.Sprintf("The field defaultLocale (%s) must be one of enabledLocales.", set.defaultLocale))
	}
	if _, err := currency.ParseISO(set.currency); err != nil || !currencyPattern.MatchString(set.currency) {
		return fault.Validation("currency", "The field currency must be an ISO 4217 code: three capital letters such as EUR.")
	}
	return checkTimeZone(set.timeZone)
}

func checkTimeZone(name string) error {
	invalid := fault.Validation("timeZone", "The field timeZone must be an IANA time zone such as Europe/Berlin or UTC.")
	if len(name) > 64 || name == "Local" || !timeZonePattern.MatchString(name) {
		return invalid
	}
	if _, err := time.LoadLocation(name); err != nil {
		return invalid.WithCause(err)
	}
	return nil
}

// trimName removes spaces around a name and rejects a blank one.
func trimName(field, text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", fault.Validation(field, fmt.Sprintf("The field %s cannot be blank.", field))
	}
	return text, nil
}

// invalidCursorError returns the error for a cursor that is not from this list.
func invalidCursorError(cause error) error {
	return op.WrongCursor().WithCause(cause)
}
