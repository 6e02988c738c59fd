package identity_test

import (
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func TestCreateUser_ValidatesInput(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	good := fields{"email": "new@acme.example", "displayName": "New", "roles": []string{"Member"}, "clearance": "RESTRICTED", "organisationId": r.acme.organisation, "password": testPassword}
	invalid := []struct {
		note     string
		set      fields
		code     fault.Code
		wantText string
	}{
		{"an integration key", fields{"integrationKey": "multi-llm-review"}, fault.CodeValidation, "integrationKey"},
		{"a service principal", fields{"principalKind": "SERVICE"}, fault.CodeValidation, "provision-service-principals"},
		{"credential of a different kind", fields{"principalKind": "ROBOT"}, fault.CodeValidation, "principalKind"},
		{"no address", fields{"email": "not an address"}, fault.CodeValidation, "email"},
		{"a taken address, in another case", fields{"email": "MEMBER@acme.example"}, fault.CodeConflict, "address"},
		{"a person with an agent's address", fields{"email": "agent+x@acme.example"}, fault.CodeValidation, "email"},
		{"an agent with a person's address", fields{"principalKind": "AGENT", "password": ""}, fault.CodeValidation, "email"},
		{"an agent of no class", fields{"principalKind": "AGENT", "password": "", "email": "agent+@acme.example"}, fault.CodeValidation, "email"},
		{"an agent with a password", fields{"principalKind": "AGENT", "email": "agent+x@acme.example"}, fault.CodeValidation, "password"},
		{"an unknown tier", fields{"clearance": "TOP SECRET"}, fault.CodeValidation, "clearance"},
		{"a tier in lower case", fields{"clearance": "secret"}, fault.CodeValidation, "clearance"},
		{"no role", fields{"roles": []string{}}, fault.CodeValidation, "roles"},
		{"an unknown role", fields{"roles": []string{"Boss"}}, fault.CodeValidation, "roles"},
		{"a GLOBAL role", fields{"roles": []string{"multi-llm-review"}}, fault.CodeValidation, "roles"},
		{"a weak password", fields{"password": "short"}, fault.CodeValidation, "password"},
		{"a status", fields{"status": "ACTIVE"}, fault.CodeValidation, "status"},
	}
	for _, w := range invalid {
		set := fields{}
		for k, v := range good {
			set[k] = v
		}
		for k, v := range w.set {
			set[k] = v
		}
		r.wantFault("create-user", request{token: admin, body: body(set)}, w.code, w.wantText)
	}
	u := must[contract.User](r, "create-user", request{token: admin, body: body(good)})
	if u.HomeTenantID != r.acme.id || u.Clearance != "RESTRICTED" || u.OrganisationID != r.acme.organisation || len(u.Roles) != 1 || u.Roles[0].Role != "Member" {
		t.Errorf("create-user: got %+v, want a member of acme with clearance RESTRICTED", u)
	}
	if !r.hasCriticalEntry(r.acme.id, contract.ActionUserCreated, u.ID) || !r.hasEvent(r.acme.id, contract.EventUserCreated, u.ID) {
		t.Error("no critical audit entry or no event")
	}
	r.login("new@acme.example")
	agent := must[contract.User](r, "create-user", request{token: admin, body: body(fields{
		"principalKind": "AGENT", "email": "agent+coder@acme.example", "displayName": "Coder", "roles": []string{"Agent"},
	})})
	if agent.PrincipalKind != contract.KindAgent || agent.Status != contract.UserActive {
		t.Errorf("create-user: got %+v, want an active agent", agent)
	}
}

func TestUpdateUser_ChangesNameAddressAndClearance(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	member := r.acme.people["member"]
	r.wantFault("update-user", pathRequest(admin, "userId", member, fields{"integrationKey": "x"}), fault.CodeValidation, "integrationKey")
	r.wantFault("update-user", pathRequest(admin, "userId", member, fields{"clearance": "COSMIC"}), fault.CodeValidation, "clearance")
	r.wantFault("update-user", pathRequest(admin, "userId", member, fields{"email": "admin@acme.example"}), fault.CodeConflict, "address")
	r.wantFault("update-user", pathRequest(admin, "userId", member, fields{"displayName": nil}), fault.CodeValidation, "displayName")
	u := must[contract.User](r, "update-user", pathRequest(admin, "userId", member, fields{"email": "m@acme.example", "displayName": "M", "clearance": "SECRET"}))
	if u.Email != "m@acme.example" || u.DisplayName != "M" || u.Clearance != "SECRET" {
		t.Errorf("update-user: got %+v, want the new address, name and clearance", u)
	}
	if !r.hasCriticalEntry(r.acme.id, contract.ActionUserClearanceChanged, member) || !r.hasEvent(r.acme.id, contract.EventUserUpdated, member) {
		t.Error("no critical audit entry or no event")
	}
	if u = must[contract.User](r, "update-user", pathRequest(admin, "userId", member, fields{"clearance": nil})); u.Clearance != "" {
		t.Errorf("update-user with clearance null: got %q, want none", u.Clearance)
	}
	if n := queryValue[int](r, `SELECT count(*)::int FROM audit.entries WHERE changes::text LIKE '%another long%' OR changes::text LIKE '%@acme%'`); n != 0 {
		t.Error("the audit log contains a secret or an address")
	}
}

// user.update does not let a caller gain permissions through other accounts.
func TestUpdateUser_CannotEscalatePermissions(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	_, desk := r.addPerson("desk", "user.read", "user.update", "user.create", "role.assign", "tasks.read", "membership.update")
	deskID := op.UUID(queryValue[string](r, `SELECT id::text FROM identity.users WHERE email = 'desk@acme.example'`))
	r.wantFault("update-user", pathRequest(desk, "userId", r.acme.people["admin"], fields{"email": "me@evil.example"}), fault.CodeForbidden, "permissions that you do not have")
	r.wantFault("create-user", request{token: desk, body: body(fields{"email": "two@acme.example", "displayName": "Two", "roles": []string{"Admin"}})}, fault.CodeForbidden, "you do not have it in this scope")
	r.wantFault("update-user", pathRequest(desk, "userId", deskID, fields{"clearance": "SECRET"}), fault.CodeForbidden, "your own clearance")
	r.wantFault("update-membership", pathRequest(desk, "userId", deskID, fields{"clearance": "SECRET"}), fault.CodeForbidden, "your own clearance")
	if n := queryValue[int](r, `SELECT count(*)::int FROM identity.users WHERE email IN ('two@acme.example', 'me@evil.example')`); n != 0 {
		t.Error("a denied change was written")
	}
	// Allowed: the name of an administrator, and the address of a user with equal permissions.
	must[contract.User](r, "update-user", pathRequest(desk, "userId", r.acme.people["admin"], fields{"displayName": "Chief"}))
	equal, _ := r.addPerson("equal", "tasks.read")
	must[contract.User](r, "update-user", pathRequest(desk, "userId", equal, fields{"email": "same@acme.example"}))
}

// A caller can give only clearances up to its own. Otherwise it could clear an account whose
// password it knows for records that it may not read.
func TestSetClearance_CannotExceedCallersClearance(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	_, desk := r.addPerson("desk", "user.read", "user.update", "user.create", "role.assign", "tasks.read", "membership.update")
	mule, _ := r.addPerson("mule", "tasks.read")
	for name, f := range map[string]fields{
		"update-user":       {"clearance": "RESTRICTED"},
		"update-membership": {"clearance": "SECRET"},
	} {
		r.wantFault(name, pathRequest(desk, "userId", mule, f), fault.CodeForbidden, "above your own")
	}
	r.wantFault("create-user", request{token: desk, body: body(fields{
		"email": "two@acme.example", "displayName": "Two", "roles": []string{"mule's role"}, "clearance": "RESTRICTED",
	})}, fault.CodeForbidden, "above your own")
	r.exec(`UPDATE identity.memberships SET clearance = 'SECRET' WHERE user_id = $1`, mule)
	for _, change := range []fields{{"email": "me@evil.example"}, {"email": "me@evil.example", "clearance": "INTERNAL"}} {
		r.wantFault("update-user", pathRequest(desk, "userId", mule, change), fault.CodeForbidden, "permissions that you do not have")
	}
	if got := queryValue[string](r, `SELECT clearance FROM identity.memberships WHERE user_id = $1`, mule); got != "SECRET" {
		t.Errorf("got clearance %s, want SECRET: a denied change was written", got)
	}
	// Allowed: clearances up to the caller's own, and lower ones.
	must[contract.User](r, "update-user", pathRequest(desk, "userId", mule, fields{"clearance": "UNCLASSIFIED"}))
	must[contract.User](r, "update-user", pathRequest(desk, "userId", mule, fields{"clearance": "INTERNAL"}))
	must[contract.User](r, "update-user", pathRequest(desk, "userId", mule, fields{"email": "mule@elsewhere.example"}))
}

func TestSuspendUser_RevokesSessionsUntilNewLogin(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, member := r.login("admin@acme.example"), r.login("member@acme.example")
	id := r.acme.people["member"]
	u := must[contract.User](r, "suspend-user", pathRequest(admin, "userId", id, fields{"reason": "left"}))
	if u.Status != contract.UserSuspended || !r.hasCriticalEntry(r.acme.id, contract.ActionUserSuspended, id) || !r.hasEvent(r.acme.id, contract.EventUserSuspended, id) {
		t.Errorf("suspend-user: got %+v, want a suspended user, a critical audit entry and an event", u)
	}
	if _, err := r.call("me", request{token: member}); err == nil {
		t.Error("suspended user: request was accepted")
	}
	if _, err := r.tryLogin("member@acme.example", testPassword, nil); err == nil {
		t.Error("suspended user: login was accepted")
	}
	must[contract.User](r, "suspend-user", pathRequest(admin, "userId", id, fields{}))
	must[contract.User](r, "activate-user", pathRequest(admin, "userId", id, fields{}))
	if _, err := r.call("me", request{token: member}); err == nil {
		t.Error("activated user: revoked session was accepted")
	}
	r.login("member@acme.example")
	r.wantFault("suspend-user", pathRequest(admin, "userId", r.acme.people["admin"], fields{}), fault.CodeConflict, "yourself")
	r.wantFault("delete-user", pathRequest(admin, "userId", id, nil), fault.CodeConflict, "synthetic agent")
}

func TestDeleteUser_DisablesAgentPermanently(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	agent := must[contract.User](r, "create-user", request{token: admin, body: body(fields{
		"principalKind": "AGENT", "email": "agent+coder@acme.example", "displayName": "Coder", "roles": []string{"Agent"},
	})})
	r.wantFault("update-user", pathRequest(admin, "userId", agent.ID, fields{"password": testPassword}), fault.CodeValidation, "password")
	r.wantFault("update-user", pathRequest(admin, "userId", agent.ID, fields{"email": "coder@acme.example"}), fault.CodeValidation, "email")
	if u := must[contract.User](r, "suspend-user", pathRequest(admin, "userId", agent.ID, fields{})); u.Status != contract.UserSuspended {
		t.Errorf("suspend-user: got %+v, want a suspended agent", u)
	}
	if u := must[contract.User](r, "delete-user", pathRequest(admin, "userId", agent.ID, nil)); u.Status != contract.UserDeleted {
		t.Errorf("delete-user: got %+v, want a deleted agent", u)
	}
	r.wantFault("activate-user", pathRequest(admin, "userId", agent.ID, fields{}), fault.CodeConflict, "cannot be restored")
	if u := must[contract.User](r, "get-user", pathRequest(admin, "userId", agent.ID, nil)); u.Status != contract.UserDeleted {
		t.Error("get-user of a deleted agent: want status DELETED")
	}
}

func TestServicePrincipal_CannotBeChangedByOperations(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	service := r.provision(r.acme)["multi-llm-review"]
	admin := r.login("admin@acme.example")
	u := must[contract.User](r, "get-user", pathRequest(admin, "userId", service, nil))
	if u.IntegrationKey != "multi-llm-review" || len(u.Roles) != 1 {
		t.Fatalf("get-user: got %+v, want the service principal multi-llm-review with one role", u)
	}
	role := r.roleID(r.acme.id, "Member")
	r.wantFault("assign-role", pathRequest(admin, "roleId", role, fields{"userId": service}), fault.CodeConflict, "set by its registered profile")
	r.wantFault("unassign-role", request{token: admin, path: map[string]string{
		"roleId": string(u.Roles[0].RoleID), "assignmentId": string(u.Roles[0].AssignmentID),
	}}, fault.CodeConflict, "set by its registered profile")
	r.wantFault("assign-role", pathRequest(admin, "roleId", u.Roles[0].RoleID, fields{"userId": r.acme.people["member"]}), fault.CodeConflict, "only to a service principal")
	r.wantFault("update-role", pathRequest(admin, "roleId", u.Roles[0].RoleID, fields{"name": "reviewers"}), fault.CodeConflict, "cannot be renamed")
	r.wantFault("delete-role", pathRequest(admin, "roleId", u.Roles[0].RoleID, nil), fault.CodeConflict, "cannot be deleted")
	r.wantFault("delete-user", pathRequest(admin, "userId", service, nil), fault.CodeConflict, "synthetic agent")
	r.wantFault("update-user", pathRequest(admin, "userId", service, fields{"email": "x@acme.example"}), fault.CodeValidation, "email")
	must[contract.User](r, "suspend-user", pathRequest(admin, "userId", service, fields{}))
}

// A member with another home tenant can be changed through its membership only.
func TestMemberOfOtherHomeTenant_CanBeChangedThroughMembershipOnly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	guest := r.globex.people["member"]
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.acme.id, guest)
	admin := r.login("admin@acme.example")
	if u := must[contract.User](r, "get-user", pathRequest(admin, "userId", guest, nil)); u.HomeTenantID != r.globex.id {
		t.Errorf("get-user: got home tenant %s", u.HomeTenantID)
	}
	for name, f := range map[string]fields{"update-user": {"displayName": "X"}, "suspend-user": {}, "activate-user": {}} {
		r.wantFault(name, pathRequest(admin, "userId", guest, f), fault.CodeForbidden, "home tenant")
	}
	r.wantFault("delete-user", pathRequest(admin, "userId", guest, nil), fault.CodeForbidden, "home tenant")
	must[contract.User](r, "update-user", pathRequest(admin, "userId", guest, fields{"clearance": "INTERNAL"}))
	m := must[contract.Membership](r, "update-membership", pathRequest(admin, "userId", guest, fields{"status": "SUSPENDED"}))
	if m.Status != contract.MembershipSuspended || m.Clearance != "INTERNAL" {
		t.Errorf("update-membership: got %+v, want a suspended membership with clearance INTERNAL", m)
	}
	if got := queryValue[string](r, `SELECT status FROM identity.memberships WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, guest); got != "ACTIVE" {
		t.Errorf("home membership: got status %s, want ACTIVE", got)
	}
}

func TestListPeople_ReturnsPeopleOfOrganisation(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.provision(r.acme)
	admin := r.login("admin@acme.example")
	other := must[contract.Organisation](r, "create-organisation", request{token: admin, body: body(fields{"name": "Other"})})
	for name, organisation := range map[string]op.UUID{"inside": r.acme.organisation, "outside": other.ID} {
		must[contract.User](r, "create-user", request{token: admin, body: body(fields{
			"email": name + "@acme.example", "displayName": name, "roles": []string{"Member"}, "organisationId": organisation,
		})})
	}
	list := func(query map[string][]string) map[string]bool {
		names := map[string]bool{}
		for _, p := range must[op.Page[contract.Colleague]](r, "list-people", request{token: admin, query: query}).Items {
			names[p.DisplayName] = true
			if p.PrincipalKind == contract.KindService {
				t.Error("list-people: got a service principal, want people only")
			}
		}
		return names
	}
	if got := list(nil); !got["inside"] || got["outside"] || !got["member"] {
		t.Errorf("list-people: got %v, want the people of the caller's organisation", got)
	}
	if got := list(map[string][]string{"organisationId": {string(other.ID)}}); len(got) != 1 || !got["outside"] {
		t.Errorf("list-people of another organisation: got %v, want its only person", got)
	}
	if got := list(map[string][]string{"organisationId": {string(uid.New())}}); len(got) != 0 {
		t.Errorf("unknown organisation: got %v, want nobody", got)
	}
	if got := list(map[string][]string{"search": {"insi"}}); len(got) != 1 || !got["inside"] {
		t.Errorf("list-people with a search text: got %v, want inside", got)
	}
}
