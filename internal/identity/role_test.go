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

func TestRoles_CreateUpdateAndDelete(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	created := must[contract.Role](r, "create-role", request{token: admin, body: body(fields{
		"name": " Helper ", "description": "Helps.", "permissions": []string{"tasks.read", "projects.read", "tasks.read"},
	})})
	if created.Name != "Helper" || created.Kind != contract.RoleStandard || created.Default || !slices.Equal(created.Permissions, []string{"projects.read", "tasks.read"}) {
		t.Errorf("create-role: got %+v, want a standard role with trimmed name and sorted permissions", created)
	}
	if !r.hasCriticalEntry(r.acme.id, contract.ActionRoleCreated, created.ID) || !r.hasEvent(r.acme.id, contract.EventRoleCreated, created.ID) {
		t.Error("no critical audit entry or no event")
	}
	r.wantFault("create-role", request{token: admin, body: body(fields{"name": "Helper"})}, fault.CodeConflict, "name")
	r.wantFault("create-role", request{token: admin, body: body(fields{"name": "Admin"})}, fault.CodeConflict, "default role")
	r.wantFault("create-role", request{token: admin, body: body(fields{"name": "X", "permissions": []string{"task.fly"}})}, fault.CodeValidation, "task.fly")
	r.wantFault("create-role", request{token: admin, body: body(fields{"name": "X", "kind": "GLOBAL"})}, fault.CodeValidation, "kind")
	r.wantFault("create-role", request{token: admin, body: body(fields{"name": " "})}, fault.CodeValidation, "name")
	got := must[contract.Role](r, "update-role", pathRequest(admin, "roleId", created.ID, fields{"name": "Aide", "description": ""}))
	if got.Name != "Aide" || got.Description != "" {
		t.Errorf("update-role: got %+v, want the name Aide and no description", got)
	}
	r.wantFault("update-role", pathRequest(admin, "roleId", created.ID, fields{"name": "Member"}), fault.CodeConflict, "default role")
	member := r.roleID(r.acme.id, "Member")
	r.wantFault("update-role", pathRequest(admin, "roleId", member, fields{"name": "Staff"}), fault.CodeConflict, "cannot be renamed")
	r.wantFault("delete-role", pathRequest(admin, "roleId", member, nil), fault.CodeConflict, "cannot be deleted")
	a := must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", created.ID, fields{"userId": r.acme.people["member"]}))
	r.wantFault("delete-role", pathRequest(admin, "roleId", created.ID, nil), fault.CodeConflict, "assigned to at least one user")
	must[op.None](r, "unassign-role", request{token: admin, path: map[string]string{"roleId": string(created.ID), "assignmentId": string(a.ID)}})
	must[op.None](r, "delete-role", pathRequest(admin, "roleId", created.ID, nil))
	r.wantFault("get-role", pathRequest(admin, "roleId", created.ID, nil), fault.CodeNotFound, "role")
	if n := queryValue[int](r, `SELECT count(*)::int FROM identity.role_grants WHERE role_id = $1`, created.ID); n != 0 {
		t.Errorf("got %d grants of a deleted role, want none", n)
	}
}

func TestGrantPermission_TakesEffectImmediately(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	_, token := r.addPerson("helper", "tasks.read")
	role := r.roleID(r.acme.id, "helper's role")
	r.wantFault("list-users", request{token: token}, fault.CodeForbidden, "user.read")
	got := must[contract.Role](r, "grant-permission", pathRequest(admin, "roleId", role, fields{"permission": "user.read"}))
	if !slices.Contains(got.Permissions, "user.read") {
		t.Errorf("grant-permission: got permissions %v, want user.read among them", got.Permissions)
	}
	must[op.Page[contract.User]](r, "list-users", request{token: token})
	must[contract.Role](r, "grant-permission", pathRequest(admin, "roleId", role, fields{"permission": "user.read"}))
	revoke := request{token: admin, path: map[string]string{"roleId": string(role), "permission": "user.read"}}
	must[contract.Role](r, "revoke-permission", revoke)
	r.wantFault("list-users", request{token: token}, fault.CodeForbidden, "user.read")
	r.wantFault("revoke-permission", revoke, fault.CodeNotFound, "grant")
	for _, action := range []string{contract.ActionPermissionGranted, contract.ActionPermissionRevoked} {
		if !r.hasCriticalEntry(r.acme.id, action, role) {
			t.Errorf("no critical audit entry of %s", action)
		}
	}
	if n := queryValue[int](r, `SELECT count(*)::int FROM audit.entries WHERE tenant_id = $1 AND action = $2`, r.acme.id, contract.ActionPermissionGranted); n != 1 {
		t.Errorf("got %d audit entries, want 1", n)
	}
	r.wantFault("grant-permission", pathRequest(admin, "roleId", role, fields{"permission": "no.such"}), fault.CodeValidation, "permission")
	r.wantFault("grant-permission", pathRequest(admin, "roleId", role, fields{"permission": "USER.READ"}), fault.CodeValidation, "permission")
	for _, kept := range []string{"role.assign", "role.update"} {
		r.wantFault("revoke-permission", request{token: admin, path: map[string]string{
			"roleId": string(r.roleID(r.acme.id, "Admin")), "permission": kept,
		}}, fault.CodeConflict, "must keep")
	}
}

// A service role's grants may be changed and restored; key issuance checks them.
func TestGrantPermission_RestoresGrantOfServiceRole(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.provision(r.acme)
	admin := r.login("admin@acme.example")
	// The keeper of the roles does not hold the permission.
	_, keeper := r.addPerson("keeper", "role.read", "role.update")
	role := r.roleID(r.acme.id, "wiki:page:write")
	revoke := request{token: keeper, path: map[string]string{"roleId": string(role), "permission": "wiki:page:write"}}
	must[contract.Role](r, "revoke-permission", revoke)
	got := must[contract.Role](r, "grant-permission", pathRequest(keeper, "roleId", role, fields{"permission": "wiki:page:write"}))
	if !slices.Equal(got.Permissions, []string{"wiki:page:write"}) {
		t.Errorf("grant-permission: got permissions %v, want wiki:page:write only", got.Permissions)
	}
	// A permission that is registered for one role cannot be granted to another one.
	r.wantFault("grant-permission", pathRequest(keeper, "roleId", r.roleID(r.acme.id, "Member"), fields{"permission": "wiki:page:write"}), fault.CodeForbidden, "wiki:page:write")
	must[contract.Role](r, "grant-permission", pathRequest(admin, "roleId", role, fields{"permission": "tasks.read"}))
}

// A caller can grant and assign only permissions that it holds in the same scope.
func TestGrantAndAssign_CallerNeedsPermissionInSameScope(t *testing.T) {
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
		r.wantFault("assign-role", pathRequest(token, "roleId", adminRole, fields{"userId": user}), fault.CodeForbidden, "you do not have it in this scope")
		r.wantFault("assign-role", pathRequest(token, "roleId", adminRole, fields{"userId": user, "scope": "project", "scopeId": uid.New()}), fault.CodeForbidden, "you do not have it in this scope")
	}
	if n := queryValue[int](r, `SELECT count(*)::int FROM identity.role_grants WHERE tenant_id = $1 AND role_id = $2`, r.acme.id, own); n != 7 {
		t.Errorf("got %d grants, want the original 7", n)
	}
	// Renaming is checked too: an old key may contain the new name.
	strong := must[contract.Role](r, "create-role", request{token: admin, body: body(fields{"name": "Strong", "permissions": []string{"tenant.update"}})})
	r.wantFault("update-role", pathRequest(token, "roleId", strong.ID, fields{"name": "Weak"}), fault.CodeForbidden, "tenant.update")
	must[contract.Role](r, "update-role", pathRequest(token, "roleId", strong.ID, fields{"description": "Strong."}))
	// Held permissions can be granted, .own as .own only.
	bag := must[contract.Role](r, "create-role", request{token: token, body: body(fields{
		"name": "Bag", "permissions": []string{"tasks.read", "task.update.own", "audit.read.own"},
	})})
	must[contract.RoleAssignment](r, "assign-role", pathRequest(token, "roleId", bag.ID, fields{"userId": r.acme.people["guest"]}))
	// An administrator can assign the default roles.
	for _, name := range []string{"Project Manager", "Member", "Reviewer", "Guest Customer", "Agent", "Admin", "PLATFORM_ADMIN"} {
		must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", r.roleID(r.acme.id, name), fields{"userId": id}))
	}
}

// A permission held in one scope can be assigned in that scope only.
func TestAssignRole_WithinScopeOfCaller(t *testing.T) {
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
		t.Error("want critical audit entries")
	}
	if !r.hasEvent(r.acme.id, contract.EventRoleAssigned, role.ID) || !r.hasEvent(r.acme.id, contract.EventRoleUnassigned, role.ID) {
		t.Error("want events")
	}
}

func TestAssignRole_ValidatesScopeAndKeepsLastAdministrator(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	member := r.roleID(r.acme.id, "Member")
	user := r.acme.people["guest"]
	for note, f := range map[string]fields{
		"scope id with the scope tenant":  {"userId": user, "scopeId": uid.New()},
		"no scope id for a project":       {"userId": user, "scope": "project"},
		"no scope id for an organisation": {"userId": user, "scope": "organisation"},
		"organisation of another tenant":  {"userId": user, "scope": "organisation", "scopeId": r.globex.organisation},
		"unknown organisation":            {"userId": user, "scope": "organisation", "scopeId": uid.New()},
		"unknown scope":                   {"userId": user, "scope": "planet"},
	} {
		t.Log(note)
		r.wantFault("assign-role", pathRequest(admin, "roleId", member, f), fault.CodeValidation, "scope")
	}
	must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", member, fields{"userId": user}))
	r.wantFault("assign-role", pathRequest(admin, "roleId", member, fields{"userId": user}), fault.CodeConflict, "already")
	must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", member, fields{"userId": user, "scope": "organisation", "scopeId": r.acme.organisation}))
	page := must[op.Page[contract.RoleAssignment]](r, "list-assignments", pathRequest(admin, "roleId", member, nil))
	if len(page.Items) != 3 {
		t.Errorf("list-assignments: got %d, want 3", len(page.Items))
	}
	u := must[contract.User](r, "get-user", pathRequest(admin, "userId", user, nil))
	if len(u.Roles) != 3 {
		t.Errorf("get-user: got roles %+v, want 3", u.Roles)
	}
	// The last administrator cannot lose the role.
	role := r.roleID(r.acme.id, "Admin")
	only := must[op.Page[contract.RoleAssignment]](r, "list-assignments", pathRequest(admin, "roleId", role, nil)).Items
	if len(only) != 1 {
		t.Fatalf("got %d administrators, want 1", len(only))
	}
	r.wantFault("unassign-role", request{token: admin, path: map[string]string{"roleId": string(role), "assignmentId": string(only[0].ID)}}, fault.CodeConflict, "without an active Admin")
	// A suspended administrator does not count.
	second := must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", role, fields{"userId": user}))
	must[contract.User](r, "suspend-user", pathRequest(admin, "userId", user, fields{}))
	r.wantFault("unassign-role", request{token: admin, path: map[string]string{"roleId": string(role), "assignmentId": string(only[0].ID)}}, fault.CodeConflict, "without an active Admin")
	must[contract.User](r, "activate-user", pathRequest(admin, "userId", user, fields{}))
	must[op.None](r, "unassign-role", request{token: admin, path: map[string]string{"roleId": string(role), "assignmentId": string(only[0].ID)}})
	// The change takes effect immediately.
	r.wantFault("unassign-role", request{token: admin, path: map[string]string{"roleId": string(role), "assignmentId": string(second.ID)}}, fault.CodeForbidden, "role.assign")
}

func TestListPermissions_ReturnsCatalogue(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	page := must[op.Page[contract.Permission]](r, "list-permissions", request{token: admin})
	if len(page.Items) != len(r.engine.Catalogue().Permissions) {
		t.Errorf("got %d permissions, want %d", len(page.Items), len(r.engine.Catalogue().Permissions))
	}
	for _, p := range page.Items {
		if p.Name == "" || p.Description == "" || p.Module == "" {
			t.Errorf("incomplete permission: %+v", p)
		}
	}
	// Every operation requires a permission in the catalogue.
	for _, o := range directoryOperations() {
		if o.Access == op.Permitted && !r.engine.Catalogue().Knows(o.Permission) && o.Permission != "audit.read" {
			t.Errorf("%s requires %s, which is not in the catalogue", o.Name, o.Permission)
		}
	}
}

// A default role's name in another spelling looks like the default role, so it is rejected.
func TestCreateRole_RejectsDefaultNamesInOtherSpellings(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	desk := must[contract.Role](r, "create-role", request{token: admin, body: body(fields{"name": "Desk", "permissions": []string{}})})
	for _, name := range []string{"admin", "ADMIN", "Ａｄｍｉｎ", "Ad min", "Project  Manager", "projectmanager", "Adm\u00adin", "Ad\u200bmin", "\u2060Member", "PLATFORM_admin", "𝐀dmin", "Wiki:Page:Write", "Multi-LLM-Review"} {
		r.wantFault("create-role", request{token: admin, body: body(fields{"name": name, "permissions": []string{}})}, fault.CodeConflict, "default role")
		r.wantFault("update-role", pathRequest(admin, "roleId", desk.ID, fields{"name": name}), fault.CodeConflict, "default role")
	}
	must[contract.Role](r, "create-role", request{token: admin, body: body(fields{"name": "Administrator", "permissions": []string{}})})
	// The policy data contains every default name in folded form.
	for _, role := range r.engine.Catalogue().Roles {
		v, err := r.engine.Evaluate(t.Context(), authz.ChangeRole{
			Change: authz.CreateRole, Actor: r.subject(admin), Spelling: identity.FoldedName(role.Name),
		})
		if err != nil || v.Allow {
			t.Errorf("create-role with the folded name of %s: got allow %t and error %v, want a denial", role.Name, v.Allow, err)
		}
	}
}

// The role PLATFORM_ADMIN has no grants, so its holder is not an administrator.
func TestPlatformAdmin_ReadsNoAdministratorNotifications(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope)
		SELECT tenant_id, gen_random_uuid(), $2, id, 'tenant' FROM identity.roles WHERE tenant_id = $1 AND name = 'PLATFORM_ADMIN'`, r.acme.id, r.acme.people["member"])
	r.exec(`INSERT INTO events.notifications (tenant_id, id, event_id, audience, type, subject, payload, created_at)
		VALUES ($1, gen_random_uuid(), gen_random_uuid(), 'ADMINISTRATORS', 'directory.user.key_expiry_warned', 'api_key:x', '{}', now())`, r.acme.id)
	for name, want := range map[string]int{"member@acme.example": 0, "admin@acme.example": 1} {
		if n := len(must[op.Page[contract.Notification]](r, "list-notifications", request{token: r.login(name)}).Items); n != want {
			t.Errorf("%s: got %d notifications for administrators, want %d", name, n, want)
		}
	}
}
