package tracker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// createDelegation creates a delegation, for one hour by default.
func (w *world) createDelegation(who, to *person, permissions []string, more ...fields) *contract.Delegation {
	w.t.Helper()
	in := fields{"delegate": to.id, "permissions": permissions, "until": time.Now().Add(time.Hour).Format(time.RFC3339)}
	for _, m := range more {
		for k, v := range m {
			in[k] = v
		}
	}
	return do[contract.Delegation](w, who, "create-delegation", in)
}

func delegationRequests(s scene) map[string]fields {
	return map[string]fields{
		"list-delegations": {},
		"create-delegation": {"scope": "PROJECT", "projectId": s.project, "delegate": s.delegate, "permissions": []string{"tasks.read"},
			"until": time.Now().Add(time.Hour).Format(time.RFC3339)},
		"get-delegation":    {"delegationId": s.delegation},
		"revoke-delegation": {"delegationId": s.delegation},
	}
}

// isAllowed reports whether the call succeeds; FORBIDDEN and NOT_FOUND count as denied.
func (w *world) isAllowed(who *person, name string, in fields) bool {
	w.t.Helper()
	_, err := w.call(who, name, in)
	if err != nil && !fault.HasCode(err, fault.CodeForbidden) && !fault.HasCode(err, fault.CodeNotFound) {
		w.t.Fatalf("%s: got %v, want no error, FORBIDDEN or NOT_FOUND", name, err)
	}
	return err == nil
}

// A delegate can use the delegated permissions until the delegation is revoked. The
// revocation applies to the next request.
func TestDelegation_AppliesUntilRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task := w.createTask(p, "Land")
	delegate := w.addPerson(person{})
	change := fields{"projectId": p.ID, "task": task.Key, "progress": 5}
	get := fields{"projectId": p.ID, "task": task.Key}
	if w.isAllowed(delegate, "get-task", get) {
		t.Fatal("get-task without role or delegation: got allowed, want denied")
	}
	d := w.createDelegation(w.manager, delegate, []string{"tasks.read", "task.update"})
	if d.State != contract.DelegationActive || d.DelegatorID != w.manager.id || d.CreatedBy != w.manager.id || d.Scope != contract.DelegationTenant {
		t.Errorf("created delegation: got %+v, want it active, by the manager, in the scope of the tenant", d)
	}
	if !w.isAllowed(delegate, "get-task", get) || !w.isAllowed(delegate, "update-task", change) {
		t.Error("delegated permissions: got denied, want allowed")
	}
	if list := do[op.Page[contract.TaskSummary]](w, delegate, "list-tasks", fields{"projectId": p.ID}); len(list.Items) != 1 {
		t.Errorf("list-tasks by the delegate: got %d tasks, want 1", len(list.Items))
	}
	if w.isAllowed(delegate, "delete-task", get) || w.isAllowed(delegate, "get-project", fields{"projectId": p.ID}) {
		t.Error("permissions that were not delegated: got allowed, want denied")
	}
	var behalf op.UUID
	err := w.owner.QueryRow(t.Context(), `SELECT on_behalf_of FROM audit.entries WHERE action = 'task.updated' AND actor_id = $1`, delegate.id).Scan(&behalf)
	if err != nil || behalf != w.manager.id {
		t.Errorf("on_behalf_of in the delegate's audit entry: got %q (%v), want the delegator", behalf, err)
	}
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE on_behalf_of IS NOT NULL AND actor_id = $1`, w.manager.id); n != 0 {
		t.Errorf("audit entries of the delegator's own actions with on_behalf_of: got %d, want 0", n)
	}

	// The same cached principal is used before and after the revocation.
	ctx := w.requestContext(delegate)
	call := func() error {
		o := w.operations["get-task"]
		_, err := o.Call(ctx, &contract.GetTaskIn{ProjectID: p.ID, Task: task.Key})
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	revoked := do[contract.Delegation](w, w.manager, "revoke-delegation", fields{"delegationId": d.ID})
	if revoked.State != contract.DelegationRevoked || revoked.RevokedBy != w.manager.id {
		t.Errorf("revoked delegation: got %+v, want the state REVOKED by the manager", revoked)
	}
	if err := call(); !fault.HasCode(err, fault.CodeForbidden) {
		t.Errorf("get-task after the revocation: got %v, want FORBIDDEN", err)
	}
	again := do[contract.Delegation](w, w.manager, "revoke-delegation", fields{"delegationId": d.ID})
	if !again.RevokedAt.Equal(*revoked.RevokedAt) || again.RevokedBy != w.manager.id {
		t.Errorf("second revocation: got %+v, want it unchanged", again)
	}
}

func TestDelegation_EndsWithItsTimeOrItsDelegator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task := w.createTask(p, "Land")
	get := fields{"projectId": p.ID, "task": task.Key}
	for name, c := range map[string]struct{ suspend, restore string }{
		"delegation expired":               {`UPDATE projects.delegations SET starts_at = now() - interval '2 hour', ends_at = now() - interval '1 hour'`, `UPDATE projects.delegations SET ends_at = now() + interval '1 hour'`},
		"delegation not started":           {`UPDATE projects.delegations SET starts_at = now() + interval '30 minutes'`, `UPDATE projects.delegations SET starts_at = now() - interval '1 minute'`},
		"delegator's membership suspended": {`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, `UPDATE identity.memberships SET status = 'ACTIVE' WHERE user_id = $1`},
		"delegator's account suspended":    {`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, `UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`},
	} {
		delegator := w.addPerson(person{roles: []string{"Member"}})
		delegate := w.addPerson(person{})
		w.createDelegation(delegator, delegate, []string{"tasks.read"})
		run := func(sql string) {
			if args := []any{delegator.id}; sql[:15] == "UPDATE identity" {
				w.exec(sql, args...)
			} else {
				w.exec(sql+` WHERE delegator_id = $1`, delegator.id)
			}
		}
		if !w.isAllowed(delegate, "get-task", get) {
			t.Fatalf("%s: get-task with an active delegation: got denied, want allowed", name)
		}
		run(c.suspend)
		if w.isAllowed(delegate, "get-task", get) {
			t.Errorf("%s: got allowed, want denied", name)
		}
		run(c.restore)
		if !w.isAllowed(delegate, "get-task", get) {
			t.Errorf("%s: after it was undone: got denied, want allowed", name)
		}
	}
	// A permission that the delegator loses is lost for the delegate too.
	delegator, delegate := w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{})
	w.createDelegation(delegator, delegate, []string{"tasks.read"})
	w.mu.Lock()
	delegator.roles = nil
	w.mu.Unlock()
	w.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1`)
	if w.isAllowed(delegate, "get-task", get) {
		t.Error("delegate after the delegator lost the permission: got allowed, want denied")
	}
}

// The delegation's scope, the delegator's scopes and the delegate's clearance and
// caveats all limit a delegation.
func TestDelegation_LimitedByScopeClearanceAndCaveats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	apollo, gemini := w.createProject("Apollo"), w.createProject("Gemini")
	secret := w.createProject("Secret", fields{"classification": "SECRET"})
	initiative := do[contract.Initiative](w, w.manager, "create-initiative", fields{"name": "Moon", "startDate": "2027-01-04"})
	other := do[contract.Initiative](w, w.manager, "create-initiative", fields{"name": "Mars", "startDate": "2027-01-04"})
	read := []string{"projects.read", "initiatives.read", "initiative.update"}
	get := func(p *contract.Project) fields { return fields{"projectId": p.ID} }

	byProject := w.addPerson(person{})
	w.createDelegation(w.manager, byProject, []string{"projects.read"}, fields{"scope": "PROJECT", "projectId": apollo.ID})
	if !w.isAllowed(byProject, "get-project", get(apollo)) || w.isAllowed(byProject, "get-project", get(gemini)) {
		t.Error("delegation for Apollo: want access to Apollo and not to Gemini")
	}
	if list := do[op.Page[contract.ProjectSummary]](w, byProject, "list-projects", fields{}); len(list.Items) != 1 || list.Items[0].ID != apollo.ID {
		t.Errorf("delegation for Apollo: got projects %+v, want Apollo", list.Items)
	}

	byInitiative := w.addPerson(person{})
	w.createDelegation(w.manager, byInitiative, read, fields{"scope": "INITIATIVE", "initiativeId": initiative.ID})
	if w.isAllowed(byInitiative, "get-project", get(apollo)) {
		t.Error("get-project of a project outside the delegated initiative: got allowed, want denied")
	}
	if !w.isAllowed(byInitiative, "get-initiative", fields{"initiativeId": initiative.ID}) || w.isAllowed(byInitiative, "get-initiative", fields{"initiativeId": other.ID}) {
		t.Error("delegation for an initiative: want access to it and not to another initiative")
	}
	if list := do[op.Page[contract.Initiative]](w, byInitiative, "list-initiatives", fields{}); len(list.Items) != 1 || list.Items[0].ID != initiative.ID {
		t.Errorf("delegation for an initiative: got initiatives %+v, want that one", list.Items)
	}
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": apollo.ID, "initiativeId": initiative.ID})
	if !w.isAllowed(byInitiative, "get-project", get(apollo)) || w.isAllowed(byInitiative, "get-project", get(gemini)) {
		t.Error("delegation for an initiative: want access to its current projects only")
	}

	uncleared := w.addPerson(person{})
	w.createDelegation(w.manager, uncleared, []string{"projects.read"})
	w.wantError(fault.CodeNotFound, uncleared, "get-project", get(secret))
	readOnly := w.addPerson(person{caveats: []string{"read-only"}})
	w.createDelegation(w.manager, readOnly, []string{"projects.read", "project.update"})
	if !w.isAllowed(readOnly, "get-project", get(gemini)) || w.isAllowed(readOnly, "update-project", fields{"projectId": gemini.ID, "status": "ON_HOLD"}) {
		t.Error("read-only caveat of the delegate: want reads allowed and writes denied")
	}
	narrowed := w.addPerson(person{caveats: []string{"project:" + string(gemini.ID)}})
	w.createDelegation(w.manager, narrowed, []string{"projects.read"})
	if w.isAllowed(narrowed, "get-project", get(apollo)) || !w.isAllowed(narrowed, "get-project", get(gemini)) {
		t.Error("project caveat of the delegate: want access to Gemini only")
	}

	// A manager of one project can only delegate permissions in that project.
	lead := w.addPerson(person{roles: []string{"Project Manager"}, projects: []op.UUID{gemini.ID}})
	w.wantError(fault.CodeForbidden, lead, "create-delegation", fields{"delegate": byProject.id, "permissions": []string{"projects.read"}, "until": "2099-01-01T00:00:00Z"})
	helper := w.addPerson(person{})
	w.createDelegation(lead, helper, []string{"projects.read"}, fields{"scope": "PROJECT", "projectId": gemini.ID})
	if w.isAllowed(helper, "get-project", get(apollo)) || !w.isAllowed(helper, "get-project", get(gemini)) {
		t.Error("delegation by Gemini's manager: want access to Gemini only")
	}
}

// A delegated .own permission applies to the delegator's records, and a delegate cannot
// delegate further.
func TestDelegation_OwnPermissionRefersToDelegatorAndCannotBeRedelegated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	delegator, delegate, third := w.addPerson(person{roles: []string{"Own Reader", "Member"}}), w.addPerson(person{}), w.addPerson(person{roles: []string{"Member"}})
	assigned, unassigned := w.createTask(p, "Assigned", fields{"assignee": delegator.id}), w.createTask(p, "Unassigned")
	w.createDelegation(delegator, delegate, []string{"task.update.own"})
	if !w.isAllowed(delegate, "update-task", fields{"projectId": p.ID, "task": assigned.Key, "progress": 5}) {
		t.Error("update of the delegator's task: got denied, want allowed")
	}
	if w.isAllowed(delegate, "update-task", fields{"projectId": p.ID, "task": unassigned.Key, "progress": 5}) {
		t.Error("update of another task: got allowed, want denied")
	}
	w.wantError(fault.CodeForbidden, delegate, "create-delegation", fields{"delegate": third.id, "permissions": []string{"task.update.own"}, "until": "2099-01-01T00:00:00Z"})
	if f := w.wantError(fault.CodeForbidden, third, "create-delegation",
		fields{"delegator": delegator.id, "delegate": delegate.id, "permissions": []string{"tasks.read"}, "until": "2099-01-01T00:00:00Z"}); f.Permission != "delegation.create" {
		t.Errorf("create-delegation for another user: got permission %q, want delegation.create", f.Permission)
	}
	// The delegate cannot create the delegation.
	w.wantError(fault.CodeForbidden, third, "create-delegation",
		fields{"delegator": delegator.id, "delegate": third.id, "permissions": []string{"tasks.read"}, "until": "2099-01-01T00:00:00Z"})
}

func TestCreateDelegation_RejectsInvalidInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	delegate := w.addPerson(person{})
	suspended, removed := w.addPerson(person{}), w.addPerson(person{})
	w.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, suspended.id)
	w.exec(`UPDATE identity.memberships SET status = 'REMOVED' WHERE user_id = $1`, removed.id)
	otherTenant := w.addPerson(person{tenant: w.globex})
	soon, later := time.Now().Add(time.Hour).Format(time.RFC3339), time.Now().Add(400*24*time.Hour).Format(time.RFC3339)
	valid := fields{"delegate": delegate.id, "permissions": []string{"tasks.read"}, "until": soon}
	for field, cases := range map[string][]fields{
		"delegate":     {{"delegate": w.manager.id}, {"delegate": suspended.id}, {"delegate": removed.id}, {"delegate": otherTenant.id}, {"delegate": w.acme}},
		"permissions":  {{"permissions": []string{}}, {"permissions": []string{"role.assign"}}, {"permissions": []string{"delegation.create.own"}}, {"permissions": []string{"tasks.raed"}}, {"permissions": []string{"time_entry.create.own.own"}}},
		"until":        {{"until": "2020-01-01T00:00:00Z"}, {"until": later}, {"until": soon, "from": soon}, {"until": "tomorrow"}},
		"from":         {{"from": "2020-01-01T00:00:00Z"}, {"from": "2099-01-01T00:00:00Z", "until": "2099-02-01T00:00:00Z"}},
		"projectId":    {{"scope": "PROJECT"}, {"projectId": p.ID}},
		"initiativeId": {{"scope": "INITIATIVE"}, {"initiativeId": p.ID}},
		"scope":        {{"scope": "GALAXY"}},
	} {
		for _, c := range cases {
			in := fields{}
			for _, m := range []fields{valid, c} {
				for k, v := range m {
					in[k] = v
				}
			}
			if f := w.wantError(fault.CodeValidation, w.manager, "create-delegation", in); f.Field != field {
				t.Errorf("%v: got field %q (%s), want %q", c, f.Field, f.Message, field)
			} else if len(f.Reasons) > 0 && (f.Message != f.Reasons[0].Message || f.Reasons[0].Remedy == "" || strings.Contains(f.Message+f.Reasons[0].Remedy, "{")) {
				t.Errorf("%v: got message %q and reason %+v, want equal messages and a remedy", c, f.Message, f.Reasons[0])
			}
		}
	}
	for _, c := range []fields{{"scope": "PROJECT", "projectId": w.acme}, {"scope": "INITIATIVE", "initiativeId": w.acme}} {
		in := fields{"delegate": delegate.id, "permissions": []string{"tasks.read"}, "until": soon}
		for k, v := range c {
			in[k] = v
		}
		w.wantError(fault.CodeNotFound, w.manager, "create-delegation", in)
	}
	// An administrator can delegate another user's permissions, but only those the user
	// has.
	admin, member := w.addPerson(person{roles: []string{"Admin"}}), w.addPerson(person{roles: []string{"Member"}})
	d := w.createDelegation(admin, delegate, []string{"tasks.read"}, fields{"delegator": member.id})
	if d.DelegatorID != member.id || d.CreatedBy != admin.id {
		t.Errorf("delegation created by an administrator: got %+v, want the member as delegator and the administrator as creator", d)
	}
	f := w.wantError(fault.CodeValidation, admin, "create-delegation", fields{"delegator": member.id, "delegate": delegate.id, "permissions": []string{"task.delete"}, "until": soon})
	if f.Field != "permissions" {
		t.Errorf("permission that the delegator lacks: got %+v, want field permissions", f)
	}
	if n := w.count(`SELECT count(*) FROM projects.delegations`); n != 1 {
		t.Errorf("got %d delegations, want 1", n)
	}
}

func TestListDelegations_FiltersByCallerAndState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, member, delegate, other := w.addPerson(person{roles: []string{"Admin"}, clearance: "SECRET"}), w.addPerson(person{roles: []string{"Member"}}),
		w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{roles: []string{"Member"}})
	later := time.Now().Add(time.Minute).Format(time.RFC3339)
	a := w.createDelegation(member, delegate, []string{"tasks.read"})
	b := w.createDelegation(w.manager, delegate, []string{"tasks.read"}, fields{"from": later})
	c := w.createDelegation(w.manager, other, []string{"tasks.read"})
	secret := w.createProject("Secret", fields{"classification": "SECRET"})
	hidden := w.createDelegation(w.manager, delegate, []string{"tasks.read"}, fields{"scope": "PROJECT", "projectId": secret.ID})
	do[contract.Delegation](w, w.manager, "revoke-delegation", fields{"delegationId": c.ID})
	ids := func(who *person, in fields) []op.UUID {
		var got []op.UUID
		in["limit"] = 1
		for {
			page := do[op.Page[contract.Delegation]](w, who, "list-delegations", in)
			for _, d := range page.Items {
				got = append(got, d.ID)
			}
			if page.NextCursor == "" {
				return got
			}
			in["cursor"] = page.NextCursor
		}
	}
	for name, c := range map[string]struct {
		who  *person
		in   fields
		want []op.UUID
	}{
		"administrator":                   {admin, fields{}, []op.UUID{hidden.ID, c.ID, b.ID, a.ID}},
		"delegator":                       {member, fields{}, []op.UUID{a.ID}},
		"delegate":                        {delegate, fields{}, []op.UUID{b.ID, a.ID}},
		"uninvolved user":                 {w.addPerson(person{roles: []string{"Member"}}), fields{}, nil},
		"state ACTIVE":                    {admin, fields{"state": "ACTIVE"}, []op.UUID{hidden.ID, a.ID}},
		"state SCHEDULED":                 {admin, fields{"state": "SCHEDULED"}, []op.UUID{b.ID}},
		"state REVOKED":                   {admin, fields{"state": "REVOKED"}, []op.UUID{c.ID}},
		"state EXPIRED":                   {admin, fields{"state": "EXPIRED"}, nil},
		"by delegator":                    {admin, fields{"delegator": member.id}, []op.UUID{a.ID}},
		"by delegate":                     {admin, fields{"delegate": other.id}, []op.UUID{c.ID}},
		"administrator of another tenant": {w.addPerson(person{roles: []string{"Admin"}, tenant: w.globex}), fields{}, nil},
	} {
		if got := ids(c.who, c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: got delegations %v, want %v", name, got, c.want)
		}
	}
	for who, d := range map[*person]*contract.Delegation{member: b, delegate: c, other: a} {
		w.wantError(fault.CodeForbidden, who, "get-delegation", fields{"delegationId": d.ID})
		w.wantError(fault.CodeForbidden, who, "revoke-delegation", fields{"delegationId": d.ID})
	}
	w.wantError(fault.CodeNotFound, delegate, "get-delegation", fields{"delegationId": hidden.ID})
	if got := do[contract.Delegation](w, delegate, "get-delegation", fields{"delegationId": b.ID}); got.State != contract.DelegationScheduled {
		t.Errorf("get-delegation by the delegate: got %+v, want state SCHEDULED", got)
	}
	do[contract.Delegation](w, delegate, "revoke-delegation", fields{"delegationId": a.ID})
	// Deleting a project deletes the delegations scoped to it.
	do[op.None](w, w.manager, "delete-project", fields{"projectId": secret.ID})
	w.wantError(fault.CodeNotFound, admin, "get-delegation", fields{"delegationId": hidden.ID})
}

// Every request reads the caller's delegations, so these queries must use indexes even
// with many delegations.
func TestDelegationQueries_UseIndexes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	w.exec(`
INSERT INTO projects.delegations (tenant_id, id, delegator_id, delegate_id, scope, permissions, starts_at, ends_at, created_by, created_at)
SELECT CASE WHEN n % 10 = 0 THEN $1 ELSE md5('t' || n % 200)::uuid END, md5('d' || n)::uuid, md5('u' || n % 5000)::uuid, md5('v' || n % 5000)::uuid, 'TENANT',
       '{tasks.read}', now() - interval '1 day', now() + (n % 3 - 1) * interval '12 hours', md5('u' || n % 5000)::uuid, now()
FROM generate_series(1, 40000) n`, w.acme)
	admin, member, delegate := w.addPerson(person{roles: []string{"Admin"}}), w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{})
	d := w.createDelegation(member, delegate, []string{"tasks.read"})
	w.exec(`ANALYZE projects.delegations`)
	e := &queryRecorder{}
	w.recordQueries(e)
	for _, call := range []struct {
		who  *person
		name string
		in   fields
	}{
		{admin, "list-delegations", fields{"limit": 50}}, {admin, "list-delegations", fields{"limit": 50, "state": "ACTIVE"}},
		{admin, "list-delegations", fields{"limit": 50, "delegator": member.id}}, {admin, "list-delegations", fields{"limit": 50, "delegate": delegate.id}},
		{member, "list-delegations", fields{"limit": 50}}, {member, "get-delegation", fields{"delegationId": d.ID}},
		{delegate, "list-tasks", fields{"projectId": p.ID}}, {member, "revoke-delegation", fields{"delegationId": d.ID}},
	} {
		e.queries = nil
		if _, err := w.call(call.who, call.name, call.in); err != nil {
			t.Fatal(err)
		}
		queries := 0
		for _, h := range e.queries {
			if strings.Contains(h.sql, "projects.delegations") {
				queries++
				w.wantIndexed(call.name, h)
			}
		}
		if queries == 0 {
			t.Errorf("%s: got no query that reads delegations, want one", call.name)
		}
	}
}

// TestCreateDelegation_LimitsDelegationsPerDelegate: the number of delegations
// to one user is limited, because each of them slows down all requests of that user.
// Revoked and expired delegations don't count.
func TestCreateDelegation_LimitsDelegationsPerDelegate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	delegate := w.addPerson(person{roles: []string{"Member"}})
	in := fields{"delegate": delegate.id, "permissions": []string{"tasks.read"}, "until": time.Now().Add(time.Hour).Format(time.RFC3339)}
	for range 64 / 16 {
		delegator := w.addPerson(person{roles: []string{"Member"}})
		var last *contract.Delegation
		for range 16 {
			last = do[contract.Delegation](w, delegator, "create-delegation", in)
		}
		f := w.wantError(fault.CodeConflict, delegator, "create-delegation", in)
		if f.Reason != "TOO_MANY_FROM_DELEGATOR" || !strings.Contains(f.Message, "16 delegations") || fmt.Sprint(f.Details["limit"]) != "16" {
			t.Errorf("17th delegation: got %+v, want TOO_MANY_FROM_DELEGATOR with limit 16", f)
		}
		do[contract.Delegation](w, delegator, "revoke-delegation", fields{"delegationId": last.ID})
		do[contract.Delegation](w, delegator, "create-delegation", in)
	}
	w.wantError(fault.CodeConflict, w.manager, "create-delegation", in)
	w.exec(`UPDATE projects.delegations SET starts_at = now() - interval '2 hours', ends_at = now() - interval '1 hour' WHERE delegator_id <> $1`, w.manager.id)
	do[contract.Delegation](w, w.manager, "create-delegation", in)
}
