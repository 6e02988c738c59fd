package tracker_test

import (
	"testing"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/events/eventtest"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func (w *world) claimNextReady(who *person, p *contract.Project, more ...fields) *contract.ClaimNextReadyOut {
	w.t.Helper()
	return do[contract.ClaimNextReadyOut](w, who, "claim-next-ready", merge(fields{"projectId": p.ID}, more...))
}

// expireLeases sets the expiry of all leases to one second ago.
func (w *world) expireLeases() {
	w.t.Helper()
	w.exec(`UPDATE projects.claims SET expires_at = now() - interval '1 second'`)
}

func TestClaimNextReady_TakesMostUrgentTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	w.createTask(p, "Low", fields{"priority": "LOW"})
	w.createTask(p, "Backlog", fields{"priority": "HIGH", "status": "BACKLOG"})
	w.createTask(p, "Not mine", fields{"priority": "URGENT", "assignee": w.manager.id})
	member := w.addPerson(person{roles: []string{"Member"}})
	out := w.claimNextReady(member, p)
	if !out.Claimed || out.Task.Key != "APO-2" || out.Task.Assignee != member.id || out.Task.Status != "IN_PROGRESS" || out.Lease != nil || out.Task.Claim != nil {
		t.Fatalf("claim-next-ready: got %+v, want APO-2 in progress, assigned to the caller, without a lease", out)
	}
	w.wantAuditAndEvents(1, "task.claimed", contract.EventTaskClaimed, out.Task.ID)
	if out := w.claimNextReady(member, p); out.Task.Key != "APO-1" {
		t.Errorf("second claim: got %+v, want APO-1", out.Task)
	}
	entries := w.count(`SELECT count(*) FROM audit.entries`)
	if out := w.claimNextReady(member, p); out.Claimed || out.Task != nil || out.Lease != nil {
		t.Errorf("claim from an empty ready set: got %+v, want no task", out)
	}
	if n := w.count(`SELECT count(*) FROM audit.entries`); n != entries {
		t.Errorf("claim from an empty ready set: got %d audit entries, want 0", n-entries)
	}
	if out := w.claimNextReady(w.manager, p); out.Task.Key != "APO-3" {
		t.Errorf("claim by the assignee: got %+v, want APO-3", out.Task)
	}
}

func TestClaimNextReady_DeniedIfCallerIsNotAssignable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	w.createTask(p, "Task")
	guest := w.addPerson(person{roles: []string{"Member", "Guest Customer"}})
	if f := w.wantError(fault.CodeForbidden, guest, "claim-next-ready", fields{"projectId": p.ID}); f.Reason != "GUEST_CUSTOMER" {
		t.Errorf("claim by a guest: got %v, want the reason GUEST_CUSTOMER", f)
	}
	for field, v := range map[string]int{"leaseSeconds": 86401} {
		if f := w.wantError(fault.CodeValidation, w.manager, "claim-next-ready", fields{"projectId": p.ID, field: v}); f.Field != field {
			t.Errorf("claim-next-ready: got an error for field %q, want %q", f.Field, field)
		}
	}
	bare := w.createProject("Bare", fields{"customStatuses": []fields{{"name": "NEW", "category": "TODO"}, {"name": "OVER", "category": "DONE"}}})
	w.createTask(bare, "Task")
	w.wantError(fault.CodeConflict, w.manager, "claim-next-ready", fields{"projectId": bare.ID})
	if n := w.count(`SELECT count(*) FROM projects.tasks WHERE status_category = 'TODO'`); n != 2 {
		t.Errorf("got %d tasks with category TODO, want 2", n)
	}
}

func TestLease_ExtendAndRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	w.createTask(p, "Task", fields{"status": "BACKLOG"})
	member := w.addPerson(person{roles: []string{"Member"}})
	out := w.claimNextReady(member, p, fields{"leaseSeconds": 60})
	if out.Lease == nil || time.Until(out.Lease.ExpiresAt) > time.Minute || time.Until(out.Lease.ExpiresAt) < 50*time.Second ||
		out.Task.Claim == nil || out.Task.Claim.Holder != member.id || !out.Task.Claim.ExpiresAt.Equal(out.Lease.ExpiresAt) {
		t.Fatalf("claim with a lease of 60 seconds: got %+v, want a lease of the caller that expires in 50 to 60 seconds", out)
	}
	leaseInput := func(more fields) fields {
		return merge(fields{"projectId": p.ID, "task": out.Task.Key, "leaseId": out.Lease.ID}, more)
	}
	kept := do[contract.Lease](w, member, "keep-claim", leaseInput(fields{"leaseSeconds": 3600}))
	if kept.ID != out.Lease.ID || time.Until(kept.ExpiresAt) < 59*time.Minute {
		t.Errorf("lease extended by an hour: got %+v, want the same lease with an expiry in an hour", kept)
	}
	if again := do[contract.Lease](w, member, "keep-claim", leaseInput(nil)); time.Until(again.ExpiresAt) < 59*time.Minute {
		t.Errorf("lease extended by its previous duration: got %+v, want an expiry in an hour", again)
	}
	w.wantAuditAndEvents(2, "task.claim_renewed", contract.EventTaskClaimRenewed, out.Task.ID)
	for _, name := range []string{"keep-claim", "release-claim"} {
		w.wantError(fault.CodeConflict, member, name, leaseInput(fields{"leaseId": uid.New()}))
	}
	back := do[contract.Task](w, member, "release-claim", leaseInput(nil))
	if back.Status != "BACKLOG" || back.Assignee != "" || back.Claim != nil {
		t.Errorf("released task: got %+v, want BACKLOG without assignee and lease", back)
	}
	w.wantAuditAndEvents(1, "task.claim_released", contract.EventTaskClaimReleased, out.Task.ID)
	for _, name := range []string{"keep-claim", "release-claim"} {
		w.wantError(fault.CodeConflict, member, name, leaseInput(nil))
	}
	if n := w.count(`SELECT count(*) FROM projects.claims`); n != 0 {
		t.Errorf("%d claims left, want 0", n)
	}
}

func TestLease_ExpiryReturnsTaskToReadySet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Gemini", fields{"prefix": "GEM"})
	w.createTask(p, "Task", fields{"status": "BACKLOG"})
	member, colleague := w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{roles: []string{"Member"}})
	first := w.claimNextReady(member, p, fields{"leaseSeconds": 60})
	if got := w.queueKeys(member, p, "ready"); got != "" {
		t.Errorf("ready set with a claimed task: got %s, want none", got)
	}
	w.expireLeases()
	of := fields{"projectId": p.ID, "task": first.Task.Key, "leaseId": first.Lease.ID}
	w.wantError(fault.CodeConflict, member, "keep-claim", of)
	w.wantError(fault.CodeConflict, member, "release-claim", of)
	// Reading the ready set returns the task with the expired lease to it.
	if got := w.queueKeys(colleague, p, "ready"); got != "APO-1" {
		t.Errorf("ready set after the expiry: got %q, want APO-1", got)
	}
	task := do[contract.Task](w, member, "get-task", fields{"projectId": p.ID, "task": "APO-1"})
	if task.Status != "BACKLOG" || task.Assignee != "" || task.Claim != nil {
		t.Errorf("returned task: got %+v, want BACKLOG without assignee and lease", task)
	}
	w.wantAuditAndEvents(1, "task.claim_lapsed", contract.EventTaskClaimLapsed, task.ID)
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action = 'task.claim_lapsed' AND actor_type = 'system' AND actor_id IS NULL`); n != 1 {
		t.Errorf("audit entries of the expiry with the system as actor: got %d, want 1", n)
	}
	// claim-next-ready returns the task with the expired lease to the set first.
	w.claimNextReady(member, p, fields{"leaseSeconds": 60})
	w.expireLeases()
	if out := w.claimNextReady(colleague, p, fields{"leaseSeconds": 60}); !out.Claimed || out.Task.Key != "APO-1" || out.Task.Assignee != colleague.id {
		t.Errorf("claim after the expiry: got %+v, want APO-1, assigned to the colleague", out)
	}
	w.wantAuditAndEvents(2, "task.claim_lapsed", contract.EventTaskClaimLapsed, task.ID)
	// ReturnExpiredLeases returns the remaining tasks of every tenant.
	foreign := w.addPerson(person{tenant: w.globex, roles: []string{"Project Manager"}})
	foreignProject := do[contract.Project](w, foreign, "create-project", fields{"name": "Mercury", "startDate": "2027-01-04"})
	do[contract.Task](w, foreign, "create-task", fields{"projectId": foreignProject.ID, "title": "Theirs"})
	w.claimNextReady(foreign, foreignProject, fields{"leaseSeconds": 60})
	w.createTask(other, "Active lease")
	active := w.claimNextReady(member, other, fields{"leaseSeconds": 60})
	w.expireLeases()
	w.exec(`UPDATE projects.claims SET expires_at = now() + interval '1 minute' WHERE id = $1`, active.Lease.ID)
	n, err := w.service.ReturnExpiredLeases(t.Context(), time.Now())
	if err != nil || n != 2 {
		t.Errorf("ReturnExpiredLeases: got %d tasks, %v, want 2", n, err)
	}
	if n := w.count(`SELECT count(*) FROM projects.tasks WHERE status_category = 'TODO' AND assignee_id IS NULL`); n != 2 {
		t.Errorf("got %d returned tasks, want 2", n)
	}
	if n, err := w.service.ReturnExpiredLeases(t.Context(), time.Now()); err != nil || n != 0 {
		t.Errorf("ReturnExpiredLeases again: got %d tasks, %v, want 0", n, err)
	}
	eventtest.Require(t, w.owner, "projects.task.claim_lapsed")
}

func TestLease_EndsWhenTaskLeavesProgressOrIsReassigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	member := w.addPerson(person{roles: []string{"Project Manager"}})
	for name, end := range map[string]func(p *contract.Project, key string){
		"moved to review": func(p *contract.Project, key string) {
			do[contract.Task](w, member, "update-task", fields{"projectId": p.ID, "task": key, "status": "IN_REVIEW"})
		},
		"reassigned": func(p *contract.Project, key string) {
			do[contract.Task](w, member, "update-task", fields{"projectId": p.ID, "task": key, "assignee": w.manager.id})
		},
		"unassigned": func(p *contract.Project, key string) {
			do[contract.Task](w, member, "update-task", fields{"projectId": p.ID, "task": key, "assignee": nil})
		},
		"category of the status changed": func(p *contract.Project, _ string) {
			do[contract.Project](w, member, "update-project", fields{"projectId": p.ID, "customStatuses": []fields{
				{"name": "BACKLOG", "category": "TODO"}, {"name": "TODO", "category": "TODO"}, {"name": "IN_PROGRESS", "category": "REVIEW"}, {"name": "DONE", "category": "DONE"},
			}})
		},
		"deleted": func(p *contract.Project, key string) {
			do[op.None](w, member, "delete-task", fields{"projectId": p.ID, "task": key})
		},
	} {
		p := w.createProject("Project " + name)
		w.createTask(p, "Task")
		out := w.claimNextReady(member, p, fields{"leaseSeconds": 60})
		do[contract.Task](w, member, "update-task", fields{"projectId": p.ID, "task": out.Task.Key, "title": "Renamed", "progress": 50})
		if n := w.count(`SELECT count(*) FROM projects.claims`); n != 1 {
			t.Fatalf("%s: got %d leases after an unrelated change, want 1", name, n)
		}
		end(p, out.Task.Key)
		if n := w.count(`SELECT count(*) FROM projects.claims`); n != 0 {
			t.Errorf("%s: got %d leases, want 0", name, n)
		}
		if name != "deleted" {
			w.wantError(fault.CodeConflict, member, "keep-claim", fields{"projectId": p.ID, "task": out.Task.Key, "leaseId": out.Lease.ID})
		}
	}
}

func TestClaimNextReady_ForAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	agent, human := w.addPerson(person{kind: authz.KindAgent, roles: []string{"Agent"}}), w.addPerson(person{roles: []string{"Member"}})
	suspended, deleted := w.addPerson(person{kind: authz.KindAgent}), w.addPerson(person{kind: authz.KindAgent})
	w.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, suspended.id)
	w.exec(`UPDATE identity.users SET status = 'DELETED' WHERE id = $1`, deleted.id)
	foreign := w.addPerson(person{tenant: w.globex, kind: authz.KindAgent})
	w.createTask(p, "The manager's", fields{"assignee": w.manager.id, "priority": "URGENT"})
	w.createTask(p, "The agent's", fields{"assignee": agent.id, "priority": "LOW"})
	w.createTask(p, "Anybody's")
	messages := map[string]string{}
	for note, who := range map[string]string{
		"human": string(human.id), "suspended": string(suspended.id), "deleted": string(deleted.id),
		"foreign": string(foreign.id), "foreign address": foreign.email(), "absent": string(uid.New()), "no id": "somebody",
	} {
		f := w.wantError(fault.CodeValidation, w.manager, "claim-next-ready", fields{"projectId": p.ID, "agent": who})
		if f.Field != "agent" {
			t.Errorf("%s: got an error for field %q, want agent", note, f.Field)
		}
		messages[note] = f.Message
	}
	if messages["foreign"] != messages["absent"] || messages["foreign address"] != messages["absent"] {
		t.Errorf("agent of another tenant and missing agent: got the messages %v, want the same", messages)
	}
	for _, who := range []*person{human, agent} {
		if f := w.wantError(fault.CodeForbidden, who, "claim-next-ready", fields{"projectId": p.ID, "agent": agent.id}); f.Permission != contract.PermTasksUpdateAny {
			t.Errorf("claim-next-ready: got the missing permission %q, want %q", f.Permission, contract.PermTasksUpdateAny)
		}
	}
	out := w.claimNextReady(w.manager, p, fields{"agent": agent.email(), "leaseSeconds": 60})
	if !out.Claimed || out.Task.Key != "APO-3" || out.Task.Assignee != agent.id || out.Task.Claim.Holder != agent.id {
		t.Fatalf("claim for the agent: got %+v, want APO-3 with a lease, assigned to the agent", out)
	}
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action = 'task.claimed' AND actor_id = $1 AND changes->>'holder' = $2`, w.manager.id, string(agent.id)); n != 1 {
		t.Errorf("got %d audit entries with the caller and the agent, want 1", n)
	}
	// Only the agent and the caller who claimed for it may extend or release the lease.
	of := fields{"projectId": p.ID, "task": out.Task.Key, "leaseId": out.Lease.ID}
	do[contract.Lease](w, agent, "keep-claim", of)
	do[contract.Lease](w, w.manager, "keep-claim", of)
	for _, name := range []string{"keep-claim", "release-claim"} {
		if f := w.wantError(fault.CodeForbidden, human, name, of); f.Permission != contract.PermTasksUpdateAny {
			t.Errorf("%s: got the missing permission %q, want %q", name, f.Permission, contract.PermTasksUpdateAny)
		}
	}
	do[contract.Task](w, w.manager, "release-claim", of)
	// Tasks assigned to the agent are ready for it; tasks assigned to the caller are not.
	for _, want := range []string{"APO-3", "APO-2"} {
		if out := w.claimNextReady(w.manager, p, fields{"agent": agent.id}); !out.Claimed || out.Task.Key != want {
			t.Errorf("got %+v, want %s", out, want)
		}
	}
	if out := w.claimNextReady(w.manager, p, fields{"agent": agent.id}); out.Claimed {
		t.Errorf("claim for the agent from an empty ready set: got %+v, want no task", out)
	}
}
