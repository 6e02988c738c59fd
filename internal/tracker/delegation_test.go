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

// lend makes a delegation, for an hour unless told.
func (w *world) lend(who, to *person, permissions []string, more ...fields) *contract.Delegation {
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

// may tells whether the person may do so; what it may not know of it may not.
func (w *world) may(who *person, name string, in fields) bool {
	w.t.Helper()
	_, err := w.try(who, name, in)
	if err != nil && !fault.HasCode(err, fault.CodeForbidden) && !fault.HasCode(err, fault.CodeNotFound) {
		w.t.Fatalf("%s: %v", name, err)
	}
	return err == nil
}

// While it is in force the delegate does what the delegator may; its end is felt
// with the very next request.
func TestADelegationDecides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	task := w.task(p, "Land")
	delegate := w.person(person{})
	change := fields{"projectId": p.ID, "task": task.Key, "progress": 5}
	get := fields{"projectId": p.ID, "task": task.Key}
	if w.may(delegate, "get-task", get) {
		t.Fatal("one without a role reads")
	}
	d := w.lend(w.manager, delegate, []string{"tasks.read", "task.update"})
	if d.State != contract.DelegationActive || d.DelegatorID != w.manager.id || d.CreatedBy != w.manager.id || d.Scope != contract.DelegationTenant {
		t.Errorf("the delegation is %+v", d)
	}
	if !w.may(delegate, "get-task", get) || !w.may(delegate, "update-task", change) {
		t.Error("the delegate may not what was lent")
	}
	if list := do[op.Page[contract.TaskSummary]](w, delegate, "list-tasks", fields{"projectId": p.ID}); len(list.Items) != 1 {
		t.Errorf("the delegate lists %d tasks", len(list.Items))
	}
	if w.may(delegate, "delete-task", get) || w.may(delegate, "get-project", fields{"projectId": p.ID}) {
		t.Error("the delegate may what was not lent")
	}
	var behalf op.UUID
	err := w.owner.QueryRow(t.Context(), `SELECT on_behalf_of FROM audit.entries WHERE action = 'task.updated' AND actor_id = $1`, delegate.id).Scan(&behalf)
	if err != nil || behalf != w.manager.id {
		t.Errorf("the audit entry names %q beside the delegate (%v)", behalf, err)
	}
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE on_behalf_of IS NOT NULL AND actor_id = $1`, w.manager.id); n != 0 {
		t.Error("what one does by oneself is on somebody's behalf")
	}

	// A change of what is remembered is not needed: the same principal is asked.
	ctx := w.as(delegate)
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
		t.Errorf("revoked: %+v", revoked)
	}
	if err := call(); !fault.HasCode(err, fault.CodeForbidden) {
		t.Errorf("after the revocation: %v", err)
	}
	again := do[contract.Delegation](w, w.manager, "revoke-delegation", fields{"delegationId": d.ID})
	if !again.RevokedAt.Equal(*revoked.RevokedAt) || again.RevokedBy != w.manager.id {
		t.Errorf("revoked twice: %+v", again)
	}
}

func TestDelegation_EndsWithItsTimeOrItsDelegator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	task := w.task(p, "Land")
	get := fields{"projectId": p.ID, "task": task.Key}
	for name, c := range map[string]struct{ end, mend string }{
		"its time is over":                   {`UPDATE projects.delegations SET starts_at = now() - interval '2 hour', ends_at = now() - interval '1 hour'`, `UPDATE projects.delegations SET ends_at = now() + interval '1 hour'`},
		"it has not begun":                   {`UPDATE projects.delegations SET starts_at = now() + interval '30 minutes'`, `UPDATE projects.delegations SET starts_at = now() - interval '1 minute'`},
		"the delegator's membership":         {`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, `UPDATE identity.memberships SET status = 'ACTIVE' WHERE user_id = $1`},
		"the delegator's account, refreshed": {`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, `UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`},
	} {
		lender := w.person(person{roles: []string{"Member"}})
		delegate := w.person(person{})
		w.lend(lender, delegate, []string{"tasks.read"})
		run := func(sql string) {
			if args := []any{lender.id}; sql[:15] == "UPDATE identity" {
				w.exec(sql, args...)
			} else {
				w.exec(sql+` WHERE delegator_id = $1`, lender.id)
			}
		}
		if !w.may(delegate, "get-task", get) {
			t.Fatalf("%s: not lent", name)
		}
		run(c.end)
		if w.may(delegate, "get-task", get) {
			t.Errorf("%s: still in force", name)
		}
		run(c.mend)
		if !w.may(delegate, "get-task", get) {
			t.Errorf("%s: does not come back", name)
		}
	}
	// What the delegator loses the delegate loses.
	lender, delegate := w.person(person{roles: []string{"Member"}}), w.person(person{})
	w.lend(lender, delegate, []string{"tasks.read"})
	w.mu.Lock()
	lender.roles = nil
	w.mu.Unlock()
	w.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1`)
	if w.may(delegate, "get-task", get) {
		t.Error("the delegate keeps what the delegator lost")
	}
}

// The scope, the delegator's own reach, the delegate's clearance and caveats all
// hold at once.
func TestADelegationIsNarrow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	apollo, gemini := w.project("Apollo"), w.project("Gemini")
	secret := w.project("Secret", fields{"classification": "SECRET"})
	initiative := do[contract.Initiative](w, w.manager, "create-initiative", fields{"name": "Moon", "startDate": "2027-01-04"})
	other := do[contract.Initiative](w, w.manager, "create-initiative", fields{"name": "Mars", "startDate": "2027-01-04"})
	read := []string{"projects.read", "initiatives.read", "initiative.update"}
	get := func(p *contract.Project) fields { return fields{"projectId": p.ID} }

	byProject := w.person(person{})
	w.lend(w.manager, byProject, []string{"projects.read"}, fields{"scope": "PROJECT", "projectId": apollo.ID})
	if !w.may(byProject, "get-project", get(apollo)) || w.may(byProject, "get-project", get(gemini)) {
		t.Error("a project's delegation does not reach that project alone")
	}
	if list := do[op.Page[contract.ProjectSummary]](w, byProject, "list-projects", fields{}); len(list.Items) != 1 || list.Items[0].ID != apollo.ID {
		t.Errorf("a project's delegate lists %+v", list.Items)
	}

	byInitiative := w.person(person{})
	w.lend(w.manager, byInitiative, read, fields{"scope": "INITIATIVE", "initiativeId": initiative.ID})
	if w.may(byInitiative, "get-project", get(apollo)) {
		t.Error("a project outside the initiative is reached")
	}
	if !w.may(byInitiative, "get-initiative", fields{"initiativeId": initiative.ID}) || w.may(byInitiative, "get-initiative", fields{"initiativeId": other.ID}) {
		t.Error("an initiative's delegation does not reach that initiative alone")
	}
	if list := do[op.Page[contract.Initiative]](w, byInitiative, "list-initiatives", fields{}); len(list.Items) != 1 || list.Items[0].ID != initiative.ID {
		t.Errorf("an initiative's delegate lists %+v", list.Items)
	}
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": apollo.ID, "initiativeId": initiative.ID})
	if !w.may(byInitiative, "get-project", get(apollo)) || w.may(byInitiative, "get-project", get(gemini)) {
		t.Error("the initiative's projects of the moment are not what is reached")
	}

	uncleared := w.person(person{})
	w.lend(w.manager, uncleared, []string{"projects.read"})
	w.refused(fault.CodeNotFound, uncleared, "get-project", get(secret))
	readOnly := w.person(person{caveats: []string{"read-only"}})
	w.lend(w.manager, readOnly, []string{"projects.read", "project.update"})
	if !w.may(readOnly, "get-project", get(gemini)) || w.may(readOnly, "update-project", fields{"projectId": gemini.ID, "status": "ON_HOLD"}) {
		t.Error("the delegate's own caveats do not hold")
	}
	narrowed := w.person(person{caveats: []string{"project:" + string(gemini.ID)}})
	w.lend(w.manager, narrowed, []string{"projects.read"})
	if w.may(narrowed, "get-project", get(apollo)) || !w.may(narrowed, "get-project", get(gemini)) {
		t.Error("the delegate's project caveat does not hold")
	}

	// A lead of one project lends what it holds there.
	lead := w.person(person{roles: []string{"Project Manager"}, projects: []op.UUID{gemini.ID}})
	w.refused(fault.CodeForbidden, lead, "create-delegation", fields{"delegate": byProject.id, "permissions": []string{"projects.read"}, "until": "2099-01-01T00:00:00Z"})
	helper := w.person(person{})
	w.lend(lead, helper, []string{"projects.read"}, fields{"scope": "PROJECT", "projectId": gemini.ID})
	if w.may(helper, "get-project", get(apollo)) || !w.may(helper, "get-project", get(gemini)) {
		t.Error("the delegate reaches further than the delegator")
	}
}

// What is the delegator's own is own to the delegate, and what was lent is not lent
// again.
func TestADelegateActsInAnothersName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	lender, delegate, third := w.person(person{roles: []string{"Own Reader", "Member"}}), w.person(person{}), w.person(person{roles: []string{"Member"}})
	mine, theirs := w.task(p, "Mine", fields{"assignee": lender.id}), w.task(p, "Theirs")
	w.lend(lender, delegate, []string{"task.update.own"})
	if !w.may(delegate, "update-task", fields{"projectId": p.ID, "task": mine.Key, "progress": 5}) {
		t.Error("the delegator's own is not reached")
	}
	if w.may(delegate, "update-task", fields{"projectId": p.ID, "task": theirs.Key, "progress": 5}) {
		t.Error("what is another's is reached")
	}
	w.refused(fault.CodeForbidden, delegate, "create-delegation", fields{"delegate": third.id, "permissions": []string{"task.update.own"}, "until": "2099-01-01T00:00:00Z"})
	if f := w.refused(fault.CodeForbidden, third, "create-delegation",
		fields{"delegator": lender.id, "delegate": delegate.id, "permissions": []string{"tasks.read"}, "until": "2099-01-01T00:00:00Z"}); f.Permission != "delegation.create" {
		t.Errorf("delegating for another lacks %q", f.Permission)
	}
	// Who would receive it does not make it.
	w.refused(fault.CodeForbidden, third, "create-delegation",
		fields{"delegator": lender.id, "delegate": third.id, "permissions": []string{"tasks.read"}, "until": "2099-01-01T00:00:00Z"})
}

func TestWhatCannotBeDelegated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	delegate := w.person(person{})
	suspended, gone := w.person(person{}), w.person(person{})
	w.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, suspended.id)
	w.exec(`UPDATE identity.memberships SET status = 'REMOVED' WHERE user_id = $1`, gone.id)
	stranger := w.person(person{tenant: w.globex})
	soon, later := time.Now().Add(time.Hour).Format(time.RFC3339), time.Now().Add(400*24*time.Hour).Format(time.RFC3339)
	whole := fields{"delegate": delegate.id, "permissions": []string{"tasks.read"}, "until": soon}
	for field, cases := range map[string][]fields{
		"delegate":     {{"delegate": w.manager.id}, {"delegate": suspended.id}, {"delegate": gone.id}, {"delegate": stranger.id}, {"delegate": w.acme}},
		"permissions":  {{"permissions": []string{}}, {"permissions": []string{"role.assign"}}, {"permissions": []string{"delegation.create.own"}}, {"permissions": []string{"tasks.raed"}}, {"permissions": []string{"time_entry.create.own.own"}}},
		"until":        {{"until": "2020-01-01T00:00:00Z"}, {"until": later}, {"until": soon, "from": soon}, {"until": "tomorrow"}},
		"from":         {{"from": "2020-01-01T00:00:00Z"}, {"from": "2099-01-01T00:00:00Z", "until": "2099-02-01T00:00:00Z"}},
		"projectId":    {{"scope": "PROJECT"}, {"projectId": p.ID}},
		"initiativeId": {{"scope": "INITIATIVE"}, {"initiativeId": p.ID}},
		"scope":        {{"scope": "GALAXY"}},
	} {
		for _, c := range cases {
			in := fields{}
			for _, m := range []fields{whole, c} {
				for k, v := range m {
					in[k] = v
				}
			}
			if f := w.refused(fault.CodeValidation, w.manager, "create-delegation", in); f.Field != field {
				t.Errorf("%v: the refusal names %q: %s", c, f.Field, f.Message)
			} else if len(f.Reasons) > 0 && (f.Message != f.Reasons[0].Message || f.Reasons[0].Remedy == "" || strings.Contains(f.Message+f.Reasons[0].Remedy, "{")) {
				t.Errorf("%v: the error says %q, its reason %+v", c, f.Message, f.Reasons[0])
			}
		}
	}
	for _, c := range []fields{{"scope": "PROJECT", "projectId": w.acme}, {"scope": "INITIATIVE", "initiativeId": w.acme}} {
		in := fields{"delegate": delegate.id, "permissions": []string{"tasks.read"}, "until": soon}
		for k, v := range c {
			in[k] = v
		}
		w.refused(fault.CodeNotFound, w.manager, "create-delegation", in)
	}
	// An administrator delegates for others what they hold, and nothing else.
	admin, member := w.person(person{roles: []string{"Admin"}}), w.person(person{roles: []string{"Member"}})
	d := w.lend(admin, delegate, []string{"tasks.read"}, fields{"delegator": member.id})
	if d.DelegatorID != member.id || d.CreatedBy != admin.id {
		t.Errorf("an administrator's: %+v", d)
	}
	f := w.refused(fault.CodeValidation, admin, "create-delegation", fields{"delegator": member.id, "delegate": delegate.id, "permissions": []string{"task.delete"}, "until": soon})
	if f.Field != "permissions" {
		t.Errorf("what the delegator lacks: %+v", f)
	}
	if n := w.count(`SELECT count(*) FROM projects.delegations`); n != 1 {
		t.Errorf("%d delegations are there", n)
	}
}

func TestDelegationsAreListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, member, delegate, other := w.person(person{roles: []string{"Admin"}, clearance: "SECRET"}), w.person(person{roles: []string{"Member"}}),
		w.person(person{roles: []string{"Member"}}), w.person(person{roles: []string{"Member"}})
	later := time.Now().Add(time.Minute).Format(time.RFC3339)
	a := w.lend(member, delegate, []string{"tasks.read"})
	b := w.lend(w.manager, delegate, []string{"tasks.read"}, fields{"from": later})
	c := w.lend(w.manager, other, []string{"tasks.read"})
	secret := w.project("Secret", fields{"classification": "SECRET"})
	hidden := w.lend(w.manager, delegate, []string{"tasks.read"}, fields{"scope": "PROJECT", "projectId": secret.ID})
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
		"an administrator":  {admin, fields{}, []op.UUID{hidden.ID, c.ID, b.ID, a.ID}},
		"the delegator":     {member, fields{}, []op.UUID{a.ID}},
		"the delegate":      {delegate, fields{}, []op.UUID{b.ID, a.ID}},
		"who has no part":   {w.person(person{roles: []string{"Member"}}), fields{}, nil},
		"what is in force":  {admin, fields{"state": "ACTIVE"}, []op.UUID{hidden.ID, a.ID}},
		"what is to begin":  {admin, fields{"state": "SCHEDULED"}, []op.UUID{b.ID}},
		"what was revoked":  {admin, fields{"state": "REVOKED"}, []op.UUID{c.ID}},
		"what is over":      {admin, fields{"state": "EXPIRED"}, nil},
		"of one delegator":  {admin, fields{"delegator": member.id}, []op.UUID{a.ID}},
		"for one delegate":  {admin, fields{"delegate": other.id}, []op.UUID{c.ID}},
		"of another tenant": {w.person(person{roles: []string{"Admin"}, tenant: w.globex}), fields{}, nil},
	} {
		if got := ids(c.who, c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for who, d := range map[*person]*contract.Delegation{member: b, delegate: c, other: a} {
		w.refused(fault.CodeForbidden, who, "get-delegation", fields{"delegationId": d.ID})
		w.refused(fault.CodeForbidden, who, "revoke-delegation", fields{"delegationId": d.ID})
	}
	w.refused(fault.CodeNotFound, delegate, "get-delegation", fields{"delegationId": hidden.ID})
	if got := do[contract.Delegation](w, delegate, "get-delegation", fields{"delegationId": b.ID}); got.State != contract.DelegationScheduled {
		t.Errorf("the delegate sees %+v", got)
	}
	do[contract.Delegation](w, delegate, "revoke-delegation", fields{"delegationId": a.ID})
	// A project's end is the end of what was delegated in it.
	do[op.None](w, w.manager, "delete-project", fields{"projectId": secret.ID})
	w.refused(fault.CodeNotFound, admin, "get-delegation", fields{"delegationId": hidden.ID})
}

// Every request asks for the caller's delegations, and lists have many to choose
// from: all of it by indexes.
func TestDelegationsAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	w.exec(`
INSERT INTO projects.delegations (tenant_id, id, delegator_id, delegate_id, scope, permissions, starts_at, ends_at, created_by, created_at)
SELECT CASE WHEN n % 10 = 0 THEN $1 ELSE md5('t' || n % 200)::uuid END, md5('d' || n)::uuid, md5('u' || n % 5000)::uuid, md5('v' || n % 5000)::uuid, 'TENANT',
       '{tasks.read}', now() - interval '1 day', now() + (n % 3 - 1) * interval '12 hours', md5('u' || n % 5000)::uuid, now()
FROM generate_series(1, 40000) n`, w.acme)
	admin, member, delegate := w.person(person{roles: []string{"Admin"}}), w.person(person{roles: []string{"Member"}}), w.person(person{})
	d := w.lend(member, delegate, []string{"tasks.read"})
	w.exec(`ANALYZE projects.delegations`)
	e := &ear{}
	w.listening(e)
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
		e.heard = nil
		if _, err := w.try(call.who, call.name, call.in); err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, h := range e.heard {
			if strings.Contains(h.sql, "projects.delegations") {
				asked++
				w.wantIndexed(call.name, h)
			}
		}
		if asked == 0 {
			t.Errorf("%s asked for no delegation", call.name)
		}
	}
}

// TestNobodyIsBuriedInDelegations: each one that a user receives costs every one of
// its requests something, so that they are bounded, and what has ended makes room.
func TestNobodyIsBuriedInDelegations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	delegate := w.person(person{roles: []string{"Member"}})
	in := fields{"delegate": delegate.id, "permissions": []string{"tasks.read"}, "until": time.Now().Add(time.Hour).Format(time.RFC3339)}
	for range 64 / 16 {
		lender := w.person(person{roles: []string{"Member"}})
		var last *contract.Delegation
		for range 16 {
			last = do[contract.Delegation](w, lender, "create-delegation", in)
		}
		f := w.refused(fault.CodeConflict, lender, "create-delegation", in)
		if f.Reason != "TOO_MANY_FROM_DELEGATOR" || !strings.Contains(f.Message, "16 delegations") || fmt.Sprint(f.Details["limit"]) != "16" {
			t.Errorf("%+v", f)
		}
		do[contract.Delegation](w, lender, "revoke-delegation", fields{"delegationId": last.ID})
		do[contract.Delegation](w, lender, "create-delegation", in)
	}
	w.refused(fault.CodeConflict, w.manager, "create-delegation", in)
	w.exec(`UPDATE projects.delegations SET starts_at = now() - interval '2 hours', ends_at = now() - interval '1 hour' WHERE delegator_id <> $1`, w.manager.id)
	do[contract.Delegation](w, w.manager, "create-delegation", in)
}
