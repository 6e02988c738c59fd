package identity_test

import (
	"strings"
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func TestOrganisations_CreateUpdateAndList(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	o := must[contract.Organisation](r, "create-organisation", request{token: admin, body: body(fields{"name": " Supplier ", "type": "SUPPLIER"})})
	if o.Name != "Supplier" || o.TenantID != r.acme.id || o.Type != "SUPPLIER" || o.VerificationStatus != "UNVERIFIED" {
		t.Errorf("create-organisation: got %+v, want the trimmed name, acme, SUPPLIER and UNVERIFIED", o)
	}
	got := must[contract.Organisation](r, "update-organisation", pathRequest(admin, "organisationId", o.ID, fields{"name": "Supplier SpA", "type": "PARTNER", "verificationStatus": "VERIFIED"}))
	if got.Name != "Supplier SpA" || got.Type != "PARTNER" || got.VerificationStatus != "VERIFIED" {
		t.Errorf("update-organisation: got %+v, want the new name, type and verification status", got)
	}
	if read := must[contract.Organisation](r, "get-organisation", pathRequest(admin, "organisationId", o.ID, nil)); *read != *got {
		t.Errorf("get-organisation: got %+v, want %+v", read, got)
	}
	must[contract.Organisation](r, "update-organisation", pathRequest(admin, "organisationId", o.ID, fields{"name": "Supplier SpA"}))
	if n := queryValue[int](r, `SELECT count(*)::int FROM audit.entries WHERE action = $1`, contract.ActionOrganisationUpdated); n != 1 {
		t.Errorf("got %d audit entries, want 1", n)
	}
	if !r.hasEvent(r.acme.id, contract.EventOrganisationCreated, o.ID) || !r.hasEvent(r.acme.id, contract.EventOrganisationUpdated, o.ID) {
		t.Error("want events for create and update")
	}
	r.wantFault("create-organisation", request{token: admin, body: body(fields{"name": "SUPPLIER spa"})}, fault.CodeConflict, "name")
	r.wantFault("update-organisation", pathRequest(admin, "organisationId", o.ID, fields{"name": "ACME works"}), fault.CodeConflict, "name")
	for field, value := range map[string]any{"name": " ", "type": "FRIEND", "verificationStatus": "MAYBE", "tenantId": r.globex.id, "id": o.ID} {
		r.wantFault("update-organisation", pathRequest(admin, "organisationId", o.ID, fields{field: value}), fault.CodeValidation, field)
	}
	for _, field := range []string{"name", "type", "verificationStatus"} {
		r.wantFault("update-organisation", pathRequest(admin, "organisationId", o.ID, fields{field: nil}), fault.CodeValidation, field)
	}
	for search, want := range map[string]int{"suppl": 1, "%": 0, "_": 0, "": 2} {
		page := must[op.Page[contract.Organisation]](r, "list-organisations", request{token: admin, query: map[string][]string{"search": {search}}})
		if len(page.Items) != want {
			t.Errorf("search %q: got %d, want %d", search, len(page.Items), want)
		}
	}
	page := must[op.Page[contract.Organisation]](r, "list-organisations", request{token: admin, query: map[string][]string{"type": {"PARTNER"}, "verificationStatus": {"VERIFIED"}}})
	if len(page.Items) != 1 || page.Items[0].ID != o.ID {
		t.Errorf("list-organisations of verified partners: got %+v, want one", page.Items)
	}
}

// Names of the maximum length in any script can be paged: the cursor stays short enough.
func TestListOrganisations_PagesLongNames(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	for _, last := range []string{"一", "二", "三"} {
		must[contract.Organisation](r, "create-organisation", request{token: admin, body: body(fields{"name": strings.Repeat("長", 199) + last})})
	}
	checkPages[contract.Organisation](r, "list-organisations", admin, 4, func(o contract.Organisation) op.UUID { return o.ID })
}
