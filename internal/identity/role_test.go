package identity_test

import (
	"slices"
	"testing"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/identity"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	made := must[contract.Role](r, "create-role", request{token: admin, body: body(fields{
		"name": " Helper ", "description": "Helps.", "permissions": []string{"tasks.read", "projects.read", "tasks.read"},
	})})
	if made.Name != "Helper" || made.Kind != contract.RoleStandard || made.Default || !slices.Equal(made.Permissions, []string{"projects.read", "tasks.read"}) {
		t.Errorf("made %+v", made)
	}
	if !r.hasCriticalEntry(r.acme.id, contract.ActionRoleCreated, made.ID) || !r.hasEvent(r.acme.id, contract.EventRoleCreated, made.ID) {
		t.Error("no critical entry or no event")
	}
	r.wantFault("create-role", request{token: admin, body: body(fields{"name": "Helper"})}, fault.CodeConflict, "name")
	r.wantFault("create-role", request{token: admin, body: body(fields{"name": "Admin"})}, fault.CodeConflict, "default role")
	r.wantFault("create-role", request{token: admin, body: body(fields{"name": "X", "permissions": []string{"task.fly"}})}, fault.CodeValidation, "task.fly")
	r.wantFault("create-role", request{token: admin, body: body(fields{"name": "X", "kind": "GLOBAL"})}, fault.CodeValidation, "kind")
	r.wantFault("create-role", request{token: admin, body: body(fields{"name": " "})}, fault.CodeValidation, "name")
	got := must[contract.Role](r, "update-role", pathRequest(admin, "roleId", made.ID, fields{"name": "Aide", "description": ""}))
	if got.Name != "Aide" || got.Description != "" {
		t.Errorf("updated %+v", got)
	}
	r.wantFault("update-role", pathRequest(admin, "roleId", made.ID, fields{"name": "Member"}), fault.CodeConflict, "default role")
	member := r.roleID(r.acme.id, "Member")
	r.wantFault("update-role", pathRequest(admin, "roleId", member, fields{"name": "Staff"}), fault.CodeConflict, "keeps its name")
	r.wantFault("delete-role", pathRequest(admin, "roleId", member, nil), fault.CodeConflict, "stays")
	a := must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", made.ID, fields{"userId": r.acme.people["member"]}))
	r.wantFault("delete-role", pathRequest(admin, "roleId", made.ID, nil), fault.CodeConflict, "held by somebody")
	must[op.None](r, "unassign-role", request{token: admin, path: map[string]string{"roleId": string(made.ID), "assignmentId": string(a.ID)}})
	must[op.None](r, "delete-role", pathRequest(admin, "roleId", made.ID, nil))
	r.wantFault("get-role", pathRequest(admin, "roleId", made.ID, nil), fault.CodeNotFound, "role")
	if n := queryValue[int](r, `SELECT count(*)::int FROM identity.role_grants WHERE role_id = $1`, made.ID); n != 0 {
		t.Errorf("%d grants of a role that is gone", n)
	}
}

func TestGrantsActAtOnce(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	_, token := r.addPerson("helper", "tasks.read")
	role := r.roleID(r.acme.id, "helper's role")
	r.wantFault("list-users", request{token: token}, fault.CodeForbidden, "user.read")
	got := must[contract.Role](r, "grant-permission", pathRequest(admin, "roleId", role, fields{"permission": "user.read"}))
	if !slices.Contains(got.Permissions, "user.read") {
		t.Errorf("granted %v", got.Permissions)
	}
	must[op.Page[contract.User]](r, "list-users", request{token: token})
	must[contract.Role](r, "grant-permission", pathRequest(admin, "roleId", role, fields{"permission": "user.read"}))
	revoke := request{token: admin, path: map[string]string{"roleId": string(role), "permission": "user.read"}}
	must[contract.Role](r, "revoke-permission", revoke)
	r.wantFault("list-users", request{token: token}, fault.CodeForbidden, "user.read")
	r.wantFault("revoke-permission", revoke, fault.CodeNotFound, "grant")
	for _, action := range []string{contract.ActionPermissionGranted, contract.ActionPermissionRevoked} {
		if !r.hasCriticalEntry(r.acme.id, action, role) {
			t.Errorf("no critical entry of %s", action)
		}
	}
	if n := queryValue[int](r, `SELECT count(*)::int FROM audit.entries WHERE tenant_id = $1 AND action = $2`, r.acme.id, contract.ActionPermissionGranted); n != 1 {
		t.Errorf("%d entries for one grant that was made", n)
	}
	r.wantFault("grant-permission", pathRequest(admin, "roleId", role, fields{"permission": "no.such"}), fault.CodeValidation, "permission")
	r.wantFault("grant-permission", pathRequest(admin, "roleId", role, fields{"permission": "USER.READ"}), fault.CodeValidation, "permission")
	for _, kept := range []string{"role.assign", "role.update"} {
		r.wantFault("revoke-permission", request{token: admin, path: map[string]string{
			"roleId": string(r.roleID(r.acme.id, "Admin")), "permission": kept,
		}}, fault.CodeConflict, "keeps")
	}
}

// The roles of a service principal can drift and be brought back, which is what
// the next issuance looks at.
func TestGrantsOfAServiceRole(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.provision(r.acme)
	admin := r.login("admin@acme.example")
	role := r.roleID(r.acme.id, "wiki:page:write")
	revoke := request{token: admin, path: map[string]string{"roleId": string(role), "permission": "wiki:page:write"}}
	must[contract.Role](r, "revoke-permission", revoke)
	got := must[contract.Role](r, "grant-permission", pathRequest(admin, "roleId", role, fields{"permission": "wiki:page:write"}))
	if !slices.Equal(got.Permissions, []string{"wiki:page:write"}) {
		t.Errorf("restored %v", got.Permissions)
	}
	// What is registered for one role is not by that everybody's to give.
	r.wantFault("grant-permission", pathRequest(admin, "roleId", r.roleID(r.acme.id, "Member"), fields{"permission": "wiki:page:write"}), fault.CodeForbidden, "wiki:page:write")
	must[contract.Role](r, "grant-permission", pathRequest(admin, "roleId", role, fields{"permission": "tasks.read"}))
}

// Nobody hands out what they do not hold themselves, in the scope where it is to hold.
func TestNobodyHandsOutMoreThanTheyHold(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	id, token := r.addPerson("climber", "role.read", "role.create", "role.update", "role.assign", "tasks.read", "task.update.own", "audit.read.own")
	own := r.roleID(r.acme.id, "climber's role")
	adminRole := r.roleID(r.acme.id, "Admin")
	for _, p := range []string{"tenant.update", "task.update", "user.update", "audit.read.tenant", "audit.read.organisation", "audit.read.classified", "api_key.issue_for_service"} {
		r.wantFault("grant-permission", pathRequest(token, "roleId", own, fields{"permission": p}), fault.CodeForbidden, p)
		r.wantFault("create-role", request{token: token, body: body(fields{"name": "Bag " + p, "permissions": []string{"tasks.read", p}})}, fault.CodeForbidden, p)
	}
	for _, user := range []op.UUID{id, r.acme.people["guest"]} {
		r.wantFault("assign-role", pathRequest(token, "roleId", adminRole, fields{"userId": user}), fault.CodeForbidden, "hands out more")
		r.wantFault("assign-role", pathRequest(token, "roleId", adminRole, fields{"userId": user, "scope": "project", "scopeId": uid.New()}), fault.CodeForbidden, "hands out more")
	}
	if n := queryValue[int](r, `SELECT count(*)::int FROM identity.role_grants WHERE tenant_id = $1 AND role_id = $2`, r.acme.id, own); n != 7 {
		t.Errorf("the own role grants %d, want the 7 it had", n)
	}
	// Nor by giving a role that grants more the name that a key of theirs carries.
	strong := must[contract.Role](r, "create-role", request{token: admin, body: body(fields{"name": "Strong", "permissions": []string{"tenant.update"}})})
	r.wantFault("update-role", pathRequest(token, "roleId", strong.ID, fields{"name": "Weak"}), fault.CodeForbidden, "tenant.update")
	must[contract.Role](r, "update-role", pathRequest(token, "roleId", strong.ID, fields{"description": "Strong."}))
	// What they hold, they may hand out: .own as .own, and not as more.
	bag := must[contract.Role](r, "create-role", request{token: token, body: body(fields{
		"name": "Bag", "permissions": []string{"tasks.read", "task.update.own", "audit.read.own"},
	})})
	must[contract.RoleAssignment](r, "assign-role", pathRequest(token, "roleId", bag.ID, fields{"userId": r.acme.people["guest"]}))
	// An administrator can make people of the roles below their own.
	for _, name := range []string{"Project Manager", "Member", "Reviewer", "Guest Customer", "Agent", "Admin", "PLATFORM_ADMIN"} {
		must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", r.roleID(r.acme.id, name), fields{"userId": id}))
	}
}

// Who holds a permission in one scope hands it out there and nowhere else.
func TestHandingOutInAScope(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	role := must[contract.Role](r, "create-role", request{token: admin, body: body(fields{"name": "Lead", "permissions": []string{"role.assign", "task.update"}})})
	id, _ := r.addPerson("lead")
	project, other := uid.New(), uid.New()
	must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", role.ID, fields{"userId": id, "scope": "project", "scopeId": project}))
	token := r.login("lead@acme.example")
	guest := r.acme.people["guest"]
	for _, scope := range []fields{{"userId": guest}, {"userId": guest, "scope": "project", "scopeId": other}, {"userId": guest, "scope": "organisation", "scopeId": r.acme.organisation}} {
		r.wantFault("assign-role", pathRequest(token, "roleId", role.ID, scope), fault.CodeForbidden, "role.assign")
	}
	a := must[contract.RoleAssignment](r, "assign-role", pathRequest(token, "roleId", role.ID, fields{"userId": guest, "scope": "project", "scopeId": project}))
	must[op.None](r, "unassign-role", request{token: token, path: map[string]string{"roleId": string(role.ID), "assignmentId": string(a.ID)}})
	if !r.hasCriticalEntry(r.acme.id, contract.ActionRoleAssigned, guest) || !r.hasCriticalEntry(r.acme.id, contract.ActionRoleUnassigned, guest) {
		t.Error("no critical entries")
	}
	if !r.hasEvent(r.acme.id, contract.EventRoleAssigned, role.ID) || !r.hasEvent(r.acme.id, contract.EventRoleUnassigned, role.ID) {
		t.Error("no events")
	}
}

func TestAssignments(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	member := r.roleID(r.acme.id, "Member")
	user := r.acme.people["guest"]
	for note, f := range map[string]fields{
		"an id for the tenant scope":     {"userId": user, "scopeId": uid.New()},
		"no id for a project":            {"userId": user, "scope": "project"},
		"no id for an organisation":      {"userId": user, "scope": "organisation"},
		"another tenant's organisation":  {"userId": user, "scope": "organisation", "scopeId": r.globex.organisation},
		"an organisation that is nobody": {"userId": user, "scope": "organisation", "scopeId": uid.New()},
		"another scope":                  {"userId": user, "scope": "planet"},
	} {
		t.Log(note)
		r.wantFault("assign-role", pathRequest(admin, "roleId", member, f), fault.CodeValidation, "scope")
	}
	must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", member, fields{"userId": user}))
	r.wantFault("assign-role", pathRequest(admin, "roleId", member, fields{"userId": user}), fault.CodeConflict, "already")
	must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", member, fields{"userId": user, "scope": "organisation", "scopeId": r.acme.organisation}))
	pagesAbout := must[op.Page[contract.RoleAssignment]](r, "list-assignments", pathRequest(admin, "roleId", member, nil))
	if len(pagesAbout.Items) != 3 {
		t.Errorf("%d assignments of Member, want 3", len(pagesAbout.Items))
	}
	u := must[contract.User](r, "get-user", pathRequest(admin, "userId", user, nil))
	if len(u.Roles) != 3 {
		t.Errorf("the guest holds %+v", u.Roles)
	}
	// The last administrator stays one.
	role := r.roleID(r.acme.id, "Admin")
	only := must[op.Page[contract.RoleAssignment]](r, "list-assignments", pathRequest(admin, "roleId", role, nil)).Items
	if len(only) != 1 {
		t.Fatalf("%d administrators", len(only))
	}
	r.wantFault("unassign-role", request{token: admin, path: map[string]string{"roleId": string(role), "assignmentId": string(only[0].ID)}}, fault.CodeConflict, "no active Admin")
	// A suspended one is none.
	second := must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", role, fields{"userId": user}))
	must[contract.User](r, "suspend-user", pathRequest(admin, "userId", user, fields{}))
	r.wantFault("unassign-role", request{token: admin, path: map[string]string{"roleId": string(role), "assignmentId": string(only[0].ID)}}, fault.CodeConflict, "no active Admin")
	must[contract.User](r, "activate-user", pathRequest(admin, "userId", user, fields{}))
	must[op.None](r, "unassign-role", request{token: admin, path: map[string]string{"roleId": string(role), "assignmentId": string(only[0].ID)}})
	// It acted at once: the administrator of a moment ago is none.
	r.wantFault("unassign-role", request{token: admin, path: map[string]string{"roleId": string(role), "assignmentId": string(second.ID)}}, fault.CodeForbidden, "role.assign")
}

func TestPermissionCatalogue(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	page := must[op.Page[contract.Permission]](r, "list-permissions", request{token: admin})
	if len(page.Items) != len(r.engine.Catalogue().Permissions) {
		t.Errorf("%d permissions, want %d", len(page.Items), len(r.engine.Catalogue().Permissions))
	}
	for _, p := range page.Items {
		if p.Name == "" || p.Description == "" || p.Module == "" {
			t.Errorf("incomplete: %+v", p)
		}
	}
	// Every operation asks for a permission that somebody can be granted.
	for _, o := range contract.DirectoryOperations() {
		if o.Access == op.Permitted && !r.engine.Catalogue().Knows(o.Permission) && o.Permission != "audit.read" {
			t.Errorf("%s asks for %s, which nobody can grant", o.Name, o.Permission)
		}
	}
}

// A default role's name in another spelling reads like the role and is not it.
func TestRoles_RejectDefaultNamesInOtherSpellings(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	desk := must[contract.Role](r, "create-role", request{token: admin, body: body(fields{"name": "Desk", "permissions": []string{}})})
	for _, name := range []string{"admin", "ADMIN", "Ａｄｍｉｎ", "Ad min", "Project  Manager", "projectmanager", "Adm\u00adin", "Ad\u200bmin", "\u2060Member", "PLATFORM_admin", "𝐀dmin", "Wiki:Page:Write", "Multi-LLM-Review"} {
		r.wantFault("create-role", request{token: admin, body: body(fields{"name": name, "permissions": []string{}})}, fault.CodeConflict, "default role")
		r.wantFault("update-role", pathRequest(admin, "roleId", desk.ID, fields{"name": name}), fault.CodeConflict, "default role")
	}
	must[contract.Role](r, "create-role", request{token: admin, body: body(fields{"name": "Administrator", "permissions": []string{}})})
	// The policy data lists every default name as the module folds it.
	for _, role := range r.engine.Catalogue().Roles {
		v, err := r.engine.Evaluate(t.Context(), authz.ChangeRole{
			Change: authz.CreateRole, Actor: r.subject(admin), Spelling: identity.FoldedName(role.Name),
		})
		if err != nil || v.Allow {
			t.Errorf("%s is a free name: %v", role.Name, err)
		}
	}
}

// The name PLATFORM_ADMIN grants nothing: what is for administrators goes to those
// who administer.
func TestPlatformAdmin_ReadsNoAdministratorNotifications(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope)
		SELECT tenant_id, gen_random_uuid(), $2, id, 'tenant' FROM identity.roles WHERE tenant_id = $1 AND name = 'PLATFORM_ADMIN'`, r.acme.id, r.acme.people["member"])
	r.exec(`INSERT INTO events.notifications (tenant_id, id, event_id, audience, type, subject, payload, created_at)
		VALUES ($1, gen_random_uuid(), gen_random_uuid(), 'ADMINISTRATORS', 'directory.user.key_expiry_warned', 'api_key:x', '{}', now())`, r.acme.id)
	for name, want := range map[string]int{"member@acme.example": 0, "admin@acme.example": 1} {
		if n := len(must[op.Page[contract.Notification]](r, "list-notifications", request{token: r.login(name)}).Items); n != want {
			t.Errorf("%s reads %d notifications for administrators, want %d", name, n, want)
		}
	}
}
