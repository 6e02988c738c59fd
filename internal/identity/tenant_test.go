package identity_test

import (
	"bytes"
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func containsText(text []byte, part string) bool { return bytes.Contains(text, []byte(part)) }

// pathRequest returns a request for the record with this id.
func pathRequest(token, part string, id op.UUID, f fields) request {
	q := request{token: token, path: map[string]string{part: string(id)}}
	if f != nil {
		q.body = body(f)
	}
	return q
}

func TestUpdateTenant_ValidatesSettings(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	invalid := []struct {
		note  string
		set   fields
		field string
	}{
		{"a base language", fields{"enabledLocales": []string{"en"}}, "enabledLocales"},
		{"a region that is not supported", fields{"enabledLocales": []string{"en-US", "fr-CA"}}, "enabledLocales"},
		{"no locale", fields{"enabledLocales": []string{}}, "enabledLocales"},
		{"null for the list", fields{"enabledLocales": nil}, "enabledLocales"},
		{"null in the list", fields{"enabledLocales": []any{"en-US", nil}}, "enabledLocales"},
		{"a duplicate locale", fields{"enabledLocales": []string{"en-US", "en-US"}}, "enabledLocales"},
		{"a list without the default", fields{"enabledLocales": []string{"it-IT"}}, "enabledLocales"},
		{"a default that is not enabled", fields{"defaultLocale": "de-DE"}, "defaultLocale"},
		{"a default in another case", fields{"defaultLocale": "EN-us"}, "defaultLocale"},
		{"a default of a base language", fields{"defaultLocale": "it", "enabledLocales": []string{"it-IT"}}, "defaultLocale"},
		{"no default", fields{"defaultLocale": nil}, "defaultLocale"},
		{"an unknown zone", fields{"timeZone": "Europe/Atlantis"}, "timeZone"},
		{"the server's own zone", fields{"timeZone": "Local"}, "timeZone"},
		{"a path", fields{"timeZone": "../../etc/passwd"}, "timeZone"},
		{"no zone", fields{"timeZone": ""}, "timeZone"},
		{"null for the zone", fields{"timeZone": nil}, "timeZone"},
		{"a currency in lower case", fields{"currency": "eur"}, "currency"},
		{"an unknown currency", fields{"currency": "ZZZ"}, "currency"},
		{"a currency of four letters", fields{"currency": "EURO"}, "currency"},
		{"a blank name", fields{"name": "  "}, "name"},
		{"a type", fields{"type": "PROGRAMME_OFFICE"}, "type"},
	}
	for _, w := range invalid {
		r.wantFault("update-tenant", pathRequest(admin, "tenantId", r.acme.id, w.set), fault.CodeValidation, w.field)
	}
	got := must[contract.Tenant](r, "update-tenant", pathRequest(admin, "tenantId", r.acme.id, fields{
		"name": "Acme SpA", "defaultLocale": "it-IT", "enabledLocales": []string{"it-IT", "de-DE"}, "timeZone": "Europe/Rome", "currency": "EUR",
	}))
	read := must[contract.Tenant](r, "get-tenant", pathRequest(admin, "tenantId", r.acme.id, nil))
	if read.DefaultLocale != "it-IT" || read.TimeZone != "Europe/Rome" || read.Currency != "EUR" || read.Name != "Acme SpA" || len(read.EnabledLocales) != 2 {
		t.Errorf("get-tenant after update-tenant: got %+v, want the new settings", read)
	}
	if !got.UpdatedAt.Equal(read.UpdatedAt) {
		t.Errorf("update-tenant: got updatedAt %s, want %s", got.UpdatedAt, read.UpdatedAt)
	}
	if !r.hasEvent(r.acme.id, contract.EventTenantUpdated, r.acme.id) {
		t.Error("want an event for the change")
	}
}

func TestProgrammeOffice_ListsAdministeredTenantsOnly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	office := r.addOffice()
	admin := r.login("admin@northwind.example")
	list := must[op.Page[contract.Tenant]](r, "list-tenants", request{token: admin})
	var slugs []string
	for _, item := range list.Items {
		slugs = append(slugs, item.Slug)
	}
	if len(slugs) != 2 || slugs[0] != "acme" || slugs[1] != "northwind" {
		t.Errorf("list-tenants: got %v, want acme and northwind", slugs)
	}
	if got := must[contract.Tenant](r, "get-tenant", pathRequest(admin, "tenantId", r.acme.id, nil)); got.OfficeID != office.id {
		t.Errorf("get-tenant: got office %q", got.OfficeID)
	}
	// The office cannot change acme's settings, and tenants of others are hidden from it.
	r.wantFault("update-tenant", pathRequest(admin, "tenantId", r.acme.id, fields{"name": "Mine"}), fault.CodeNotFound, "")
	for _, name := range []string{"get-tenant", "disable-tenant", "enable-tenant"} {
		r.wantFault(name, pathRequest(admin, "tenantId", r.globex.id, nil), fault.CodeNotFound, "There is no such tenant.")
	}
	// Members of the office and administrators of a STANDARD tenant cannot list tenants.
	member, acme := r.login("member@northwind.example"), r.login("admin@acme.example")
	r.wantFault("get-tenant", pathRequest(member, "tenantId", r.acme.id, nil), fault.CodeForbidden, "tenant.list")
	r.wantFault("list-tenants", request{token: acme}, fault.CodeForbidden, "tenant.list")
	r.wantFault("disable-tenant", pathRequest(acme, "tenantId", r.acme.id, nil), fault.CodeForbidden, "tenant.disable")
	r.wantFault("create-tenant", request{token: acme, body: requestBodies()["create-tenant"]}, fault.CodeForbidden, "tenant.create")
}

func TestDisableTenant_TakesEffectImmediately(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	office := r.addOffice()
	admin, acme := r.login("admin@northwind.example"), r.login("admin@acme.example")
	must[op.Page[contract.User]](r, "list-users", request{token: acme})
	session := must[contract.MeOut](r, "me", request{token: admin}).TokenID
	disabled := must[contract.Tenant](r, "disable-tenant", pathRequest(admin, "tenantId", r.acme.id, fields{"reason": "unpaid"}))
	if disabled.Enabled || disabled.DisabledAt == nil {
		t.Errorf("disable-tenant: got %+v, want a disabled tenant with the time", disabled)
	}
	if _, err := r.call("list-users", request{token: acme}); err == nil {
		t.Error("disabled tenant: request was accepted")
	}
	// Both the office and the tenant have the audit entry and the event.
	for _, tenant := range []op.UUID{office.id, r.acme.id} {
		if !r.hasCriticalEntry(tenant, contract.ActionTenantDisabled, r.acme.id) || !r.hasEvent(tenant, contract.EventTenantDisabled, r.acme.id) {
			t.Errorf("tenant %s: no critical audit entry or no event", tenant)
		}
		if n := queryValue[int](r, `SELECT count(*) FROM audit.entries WHERE tenant_id = $1 AND action = $2 AND credential_kind = 'session' AND credential_id = $3`,
			string(tenant), contract.ActionTenantDisabled, string(session)); n != 1 {
			t.Errorf("got %d audit entries in %s with the session, want 1", n, tenant)
		}
	}
	enabled := must[contract.Tenant](r, "enable-tenant", pathRequest(admin, "tenantId", r.acme.id, fields{}))
	if !enabled.Enabled || enabled.DisabledAt != nil {
		t.Errorf("enable-tenant: got %+v, want an enabled tenant", enabled)
	}
	must[op.Page[contract.User]](r, "list-users", request{token: acme})
	r.wantFault("disable-tenant", pathRequest(admin, "tenantId", office.id, nil), fault.CodeConflict, "itself")
}

// The creator of a tenant may set the password of its first administrator, so it cannot give
// that administrator a higher clearance than its own.
func TestCreateTenant_LimitsAdministratorClearanceToCallers(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	_, clerk := r.addPersonIn(r.addOffice(), "clerk", "tenant.create")
	fresh := func(slug, clearance string) request {
		return request{token: clerk, body: body(fields{
			"slug": slug, "name": "Fresh", "organisationName": "Works", "adminEmail": "boss@" + slug + ".example", "adminName": "Boss",
			"adminPassword": testPassword, "adminClearance": clearance,
		})}
	}
	r.wantFault("create-tenant", fresh("secret", "SECRET"), fault.CodeForbidden, "clearance")
	r.wantFault("create-tenant", fresh("confidential", "CONFIDENTIAL"), fault.CodeForbidden, "clearance")
	if n := queryValue[int](r, `SELECT count(*)::int FROM identity.tenants WHERE name = 'Fresh'`); n != 0 {
		t.Errorf("got %d tenants of rejected requests, want none", n)
	}
	if created := must[contract.CreateTenantOut](r, "create-tenant", fresh("internal", "INTERNAL")); created.Admin.Clearance != "INTERNAL" {
		t.Errorf("create-tenant: got %+v, want an administrator with clearance INTERNAL", created.Admin)
	}
}

func TestCreateTenant_CreatesRolesOrganisationAndAdministrator(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	office := r.addOffice()
	admin := r.login("admin@northwind.example")
	fresh := fields{
		"slug": "fresh", "name": "Fresh", "organisationName": "Fresh works", "adminEmail": "boss@fresh.example", "adminName": "Boss", "adminPassword": testPassword, "adminClearance": "CONFIDENTIAL",
		"defaultLocale": "de-DE", "enabledLocales": []string{"de-DE", "en-GB"}, "timeZone": "Europe/Berlin", "currency": "EUR",
	}
	created := must[contract.CreateTenantOut](r, "create-tenant", request{token: admin, body: body(fresh)})
	if created.Tenant.OfficeID != office.id || created.Organisation.TenantID != created.Tenant.ID || created.Admin.OrganisationID != created.Organisation.ID ||
		created.Admin.Clearance != "CONFIDENTIAL" {
		t.Errorf("create-tenant: got %+v, want the tenant of the office, its organisation and an administrator with clearance CONFIDENTIAL", created)
	}
	boss := r.login("boss@fresh.example")
	roles := must[op.Page[contract.Role]](r, "list-roles", request{token: boss})
	want := r.engine.Catalogue().Roles
	if len(roles.Items) != len(want) {
		t.Fatalf("got %d roles, want %d", len(roles.Items), len(want))
	}
	grants := map[string]int{}
	for _, role := range roles.Items {
		grants[role.Name] = len(role.Permissions)
	}
	for _, role := range want {
		if grants[role.Name] != len(role.Grants) {
			t.Errorf("role %s: got %d grants, want %d", role.Name, grants[role.Name], len(role.Grants))
		}
	}
	must[contract.User](r, "create-user", request{token: boss, body: body(fields{"email": "one@fresh.example", "displayName": "One", "roles": []string{"Project Manager"}})})
	for _, tenant := range []op.UUID{office.id, created.Tenant.ID} {
		if !r.hasCriticalEntry(tenant, contract.ActionTenantCreated, created.Tenant.ID) || !r.hasEvent(tenant, contract.EventTenantCreated, created.Tenant.ID) {
			t.Errorf("tenant %s: no critical audit entry or no event", tenant)
		}
	}
	if !r.hasCriticalEntry(created.Tenant.ID, contract.ActionUserCreated, created.Admin.ID) || !r.hasEvent(created.Tenant.ID, contract.EventUserCreated, created.Admin.ID) {
		t.Error("new tenant: no audit entry or event for its administrator")
	}
	fresh["adminEmail"] = "other@fresh.example"
	r.wantFault("create-tenant", request{token: admin, body: body(fresh)}, fault.CodeConflict, "slug")
	for field, value := range map[string]any{
		"slug": "Not a slug", "defaultLocale": "en-US", "timeZone": "Mars/Base", "currency": "E", "adminPassword": "short",
		"adminEmail": "agent+x@fresh.example", "type": "OTHER", "officeId": uid.New(), "integrationKey": "x",
	} {
		bad := fields{}
		for k, v := range fresh {
			bad[k] = v
		}
		bad[field] = value
		r.wantFault("create-tenant", request{token: admin, body: body(bad)}, fault.CodeValidation, field)
	}
	if n := queryValue[int](r, `SELECT count(*)::int FROM identity.tenants`); n != 4 {
		t.Errorf("got %d tenants, want 4: failed requests must create none", n)
	}
}
