package identity_test

import (
	"sync"
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func TestCreateMembership_AcrossTenantsOfOffice(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	office := r.addOffice()
	admin := r.login("admin@northwind.example")
	someone := office.people["member"]
	join := func(more fields) request {
		f := fields{"userId": someone, "tenantId": r.acme.id, "organisationId": r.acme.organisation, "clearance": "INTERNAL", "roles": []string{"Member"}}
		for k, v := range more {
			f[k] = v
		}
		return request{token: admin, body: body(f)}
	}
	r.wantFault("create-membership", join(fields{"tenantId": r.globex.id}), fault.CodeNotFound, "There is no such tenant.")
	r.wantFault("create-membership", join(fields{"tenantId": uid.New()}), fault.CodeNotFound, "There is no such tenant.")
	r.wantFault("create-membership", join(fields{"userId": r.globex.people["member"]}), fault.CodeNotFound, "There is no such user.")
	r.wantFault("create-membership", join(fields{"userId": r.globex.people["member"], "userTenantId": r.globex.id}), fault.CodeNotFound, "There is no such tenant.")
	r.wantFault("create-membership", join(fields{"organisationId": r.globex.organisation}), fault.CodeValidation, "organisationId")
	r.wantFault("create-membership", join(fields{"roles": []string{"multi-llm-review"}}), fault.CodeValidation, "roles")
	r.wantFault("create-membership", join(fields{"clearance": "X"}), fault.CodeValidation, "clearance")

	m := must[contract.Membership](r, "create-membership", join(nil))
	if m.TenantID != r.acme.id || m.UserID != someone || m.OrganisationID != r.acme.organisation || m.Status != contract.MembershipActive {
		t.Errorf("create-membership: got %+v, want an active membership in the organisation of acme", m)
	}
	for _, tenant := range []op.UUID{office.id, r.acme.id} {
		if !r.hasCriticalEntry(tenant, contract.ActionMembershipCreated, someone) || !r.hasEvent(tenant, contract.EventMembershipCreated, someone) {
			t.Errorf("tenant %s: no critical audit entry or no event", tenant)
		}
	}
	r.wantFault("create-membership", join(nil), fault.CodeConflict, "already")
	// The new member can act in the joined tenant with the roles assigned there.
	token := r.login("member@northwind.example")
	if got := must[op.Page[contract.Colleague]](r, "list-people", request{token: token, actAs: string(r.acme.id)}); len(got.Items) == 0 {
		t.Error("list-people: got nobody")
	}
	// A person of an administered tenant can join the office.
	guest := fields{"userId": r.acme.people["guest"], "userTenantId": r.acme.id, "roles": []string{"Guest Customer"}}
	in := must[contract.Membership](r, "create-membership", request{token: admin, body: body(guest)})
	if in.TenantID != office.id {
		t.Errorf("create-membership: got tenant %s", in.TenantID)
	}
	// An administrator of acme cannot add users of other tenants.
	acme := r.login("admin@acme.example")
	r.wantFault("create-membership", request{token: acme, body: body(fields{"userId": office.people["admin"], "roles": []string{"Member"}})}, fault.CodeNotFound, "There is no such user.")
	r.wantFault("create-membership", request{token: acme, body: body(fields{"userId": r.acme.people["member"], "tenantId": office.id, "roles": []string{"Admin"}})}, fault.CodeNotFound, "There is no such tenant.")
	// The office cannot add a member of acme whose home tenant it does not administer.
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.acme.id, r.globex.people["member"])
	foreign := fields{"userId": r.globex.people["member"], "userTenantId": r.acme.id, "roles": []string{"Member"}}
	r.wantFault("create-membership", request{token: admin, body: body(foreign)}, fault.CodeForbidden, "home tenant")
	// A service principal cannot join another tenant.
	service := r.provision(r.acme)["multi-llm-review"]
	r.wantFault("create-membership", request{token: admin, body: body(fields{"userId": service, "userTenantId": r.acme.id, "roles": []string{"Member"}})}, fault.CodeConflict, "cannot be members of other tenants")
}

func TestUpdateMembership_ChangesOrganisationAndStatus(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, member := r.login("admin@acme.example"), r.login("member@acme.example")
	id := r.acme.people["member"]
	other := must[contract.Organisation](r, "create-organisation", request{token: admin, body: body(fields{"name": "Other"})})
	m := must[contract.Membership](r, "update-membership", pathRequest(admin, "userId", id, fields{"organisationId": other.ID}))
	if m.OrganisationID != other.ID {
		t.Errorf("update-membership: got organisation %s", m.OrganisationID)
	}
	if n := queryValue[int](r, `SELECT count(*)::int FROM identity.memberships WHERE tenant_id = $1 AND user_id = $2`, r.acme.id, id); n != 1 {
		t.Errorf("got %d memberships, want 1", n)
	}
	if m = must[contract.Membership](r, "update-membership", pathRequest(admin, "userId", id, fields{"organisationId": nil})); m.OrganisationID != "" {
		t.Errorf("update-membership with null: got organisation %s", m.OrganisationID)
	}
	r.wantFault("update-membership", pathRequest(admin, "userId", id, fields{"organisationId": r.globex.organisation}), fault.CodeValidation, "organisationId")
	r.wantFault("update-membership", pathRequest(admin, "userId", id, fields{"clearance": "top"}), fault.CodeValidation, "clearance")
	r.wantFault("update-membership", pathRequest(admin, "userId", id, fields{"status": "GONE"}), fault.CodeValidation, "status")
	r.wantFault("update-membership", pathRequest(admin, "userId", r.acme.people["admin"], fields{"status": "REMOVED"}), fault.CodeConflict, "yourself")
	must[contract.Membership](r, "update-membership", pathRequest(admin, "userId", id, fields{"status": "SUSPENDED", "reason": "leave"}))
	if _, err := r.call("me", request{token: member}); err == nil {
		t.Error("suspended member: request was accepted")
	}
	if !r.hasCriticalEntry(r.acme.id, contract.ActionMembershipUpdated, id) || !r.hasEvent(r.acme.id, contract.EventMembershipUpdated, id) {
		t.Error("no critical audit entry or no event")
	}
	must[contract.Membership](r, "update-membership", pathRequest(admin, "userId", id, fields{"status": "ACTIVE"}))
	r.login("member@acme.example")
}

// membership.update in one organisation does not apply to members of another one.
func TestUpdateMembership_WithOrganisationScope(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	lead, _ := r.addPerson("lead")
	other := must[contract.Organisation](r, "create-organisation", request{token: admin, body: body(fields{"name": "Other"})})
	outsider := must[contract.User](r, "create-user", request{token: admin, body: body(fields{
		"email": "out@acme.example", "displayName": "Out", "roles": []string{"Member"}, "organisationId": other.ID,
	})})
	role := must[contract.Role](r, "create-role", request{token: admin, body: body(fields{
		"name": "Lead", "permissions": []string{"membership.read", "membership.update", "user.read"},
	})})
	must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", role.ID, fields{"userId": lead, "scope": "organisation", "scopeId": r.acme.organisation}))
	token := r.login("lead@acme.example")
	member := r.acme.people["member"]
	must[contract.Membership](r, "update-membership", pathRequest(token, "userId", member, fields{"clearance": "UNCLASSIFIED"}))
	r.wantFault("update-membership", pathRequest(token, "userId", outsider.ID, fields{"clearance": "UNCLASSIFIED"}), fault.CodeForbidden, "membership.update")
	r.wantFault("update-membership", pathRequest(token, "userId", member, fields{"organisationId": other.ID}), fault.CodeForbidden, "membership.update")
	r.wantFault("update-membership", pathRequest(token, "userId", member, fields{"organisationId": nil}), fault.CodeForbidden, "membership.update")
	for _, m := range must[op.Page[contract.Membership]](r, "list-memberships", request{token: token}).Items {
		if m.UserID == outsider.ID {
			t.Error("list-memberships: got a member of another organisation")
		}
		must[contract.User](r, "get-user", pathRequest(token, "userId", m.UserID, nil))
	}
	r.wantFault("get-user", pathRequest(token, "userId", outsider.ID, nil), fault.CodeForbidden, "user.read")
}

// If two administrators disable each other concurrently, one of them succeeds.
func TestLastAdministrator_CannotBeRemovedConcurrently(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	second, token := r.addPersonWithRole("second", "Admin")
	first, admin := r.acme.people["admin"], r.login("admin@acme.example")
	var wait sync.WaitGroup
	var errs [2]error
	wait.Go(func() {
		_, errs[0] = r.call("update-membership", pathRequest(admin, "userId", second, fields{"status": "SUSPENDED"}))
	})
	wait.Go(func() {
		_, errs[1] = r.call("suspend-user", pathRequest(token, "userId", first, fields{}))
	})
	wait.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("got errors %v and %v, want exactly one success", errs[0], errs[1])
	}
	remaining, user := admin, first
	if errs[0] != nil {
		remaining, user = token, second
	}
	role := r.roleID(r.acme.id, "Admin")
	assignment := queryValue[string](r, `SELECT id::text FROM identity.role_assignments WHERE tenant_id = $1 AND role_id = $2 AND user_id = $3`, r.acme.id, role, user)
	r.wantFault("unassign-role", request{token: remaining, path: map[string]string{"roleId": string(role), "assignmentId": assignment}}, fault.CodeConflict, "without an active Admin")
}
