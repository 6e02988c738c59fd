package tracker_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// inProgress is a task that somebody works on.
func (w *world) inProgress(p *contract.Project, who *person) *contract.Task {
	w.t.Helper()
	return w.task(p, "Land", fields{"assignee": who.id, "status": "IN_PROGRESS"})
}

func question(task *contract.Task, more ...fields) fields {
	return merge(fields{"projectId": task.ProjectID, "task": task.Key, "question": "Which way?"}, more...)
}

func TestTheAssigneeRaisesADecisionRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo", fields{"prefix": "APO"})
	agent := w.person(person{kind: authz.KindAgent, roles: []string{"Agent"}})
	task := w.inProgress(p, agent)
	d := do[contract.DecisionRequest](w, agent, "mark-awaiting-decision", question(task, fields{
		"question": "  Which way? ", "options": []string{" left ", "right", strings.Repeat("ß", 500)}, "sessionId": "s-1",
	}))
	if d.Status != contract.DecisionOpen || d.Question != "Which way?" || d.Options[0] != "left" || len(d.Options) != 3 ||
		d.RaisedBy != agent.id || d.SessionID != "s-1" || d.TaskID != task.ID || d.TaskKey != task.Key || d.ResolvedAt != nil || d.Answer != "" {
		t.Errorf("got %+v", d)
	}
	w.wantTrail(1, "decision_request.raised", contract.EventDecisionRaised, d.ID)
	now := do[contract.Task](w, agent, "get-task", fields{"projectId": p.ID, "task": task.Key})
	if now.Status != task.Status || now.Assignee != task.Assignee || !now.UpdatedAt.Equal(task.UpdatedAt) {
		t.Errorf("the task changed: %+v", now)
	}
	if !reflect.DeepEqual(now.DecisionRequest, d) {
		t.Errorf("get-task shows %+v, want %+v", now.DecisionRequest, d)
	}
	// While it is open, a second call gives the same, whatever it asks.
	again := do[contract.DecisionRequest](w, agent, "mark-awaiting-decision", question(task, fields{"question": "Really?", "options": []string{"yes"}}))
	if !reflect.DeepEqual(again, d) {
		t.Errorf("a second call gives %+v, want %+v", again, d)
	}
	w.wantTrail(1, "decision_request.raised", contract.EventDecisionRaised, d.ID)
	// When it is answered there can be a next one.
	do[contract.DecisionRequest](w, w.manager, "answer-decision", names(task, d.ID, fields{"chosenOptionIndex": 0}))
	next := do[contract.DecisionRequest](w, agent, "mark-awaiting-decision", question(task))
	if next.ID == d.ID || next.Status != contract.DecisionOpen || len(next.Options) != 0 {
		t.Errorf("got %+v", next)
	}
	// The one whom the question concerns is told: the project's owner, who made the task too.
	if n := w.count(`SELECT count(*) FROM events.outbox WHERE type = $1 AND payload->'notify' = jsonb_build_array($2::text)`, contract.EventDecisionRaised, string(w.manager.id)); n != 2 {
		t.Errorf("%d events name the project's owner, want 2", n)
	}
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action LIKE 'decision_request.%' AND changes::text ILIKE '%way%'`); n != 0 {
		t.Errorf("%d audit entries hold what people wrote", n)
	}
}

func TestADecisionRequestIsHeldAgainstItsRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	member := w.person(person{roles: []string{"Member"}})
	task := w.inProgress(p, member)
	for _, c := range []struct {
		field string
		in    fields
	}{
		{"question", fields{"question": ""}}, {"question", fields{"question": " \t"}}, {"question", fields{"question": strings.Repeat("x", 4001)}},
		{"options", fields{"options": make([]string, 11)}}, {"options.1", fields{"options": []string{"a", "  "}}},
		{"options.0", fields{"options": []string{strings.Repeat("ß", 501)}}}, {"sessionId", fields{"sessionId": strings.Repeat("x", 201)}},
		{"agent", fields{"agent": strings.Repeat("x", 321)}}, {"status", fields{"status": "answered"}},
	} {
		if f := w.refused(fault.CodeValidation, member, "mark-awaiting-decision", question(task, c.in)); f.Field != c.field {
			t.Errorf("%.60v names %q, want %q", c.in, f.Field, c.field)
		}
	}
	for _, status := range []string{"TODO", "IN_REVIEW", "DONE"} {
		idle := w.task(p, "Idle", fields{"assignee": member.id, "status": status})
		w.refused(fault.CodeConflict, member, "mark-awaiting-decision", question(idle))
	}
	if n := w.count(`SELECT count(*) FROM projects.decision_requests`); n != 0 {
		t.Errorf("%d requests were written", n)
	}
}

func TestWhoRaisesADecisionRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, secret := w.project("Apollo"), w.project("Secret", fields{"classification": "SECRET"})
	member, agent := w.person(person{roles: []string{"Member"}}), w.person(person{kind: authz.KindAgent, roles: []string{"Agent"}})
	task, nobodys, hidden := w.inProgress(p, member), w.task(p, "Nobody's", fields{"status": "IN_PROGRESS"}), w.inProgress(secret, w.manager)
	const rule = "Only the task's current assignee can raise a decision request."
	for note, c := range map[string]struct {
		who  *person
		task *contract.Task
	}{
		"manager": {w.manager, task}, "agent": {agent, task}, "member": {w.person(person{roles: []string{"Member"}}), task}, "nobody's": {member, nobodys},
	} {
		if f := w.refused(fault.CodeForbidden, c.who, "mark-awaiting-decision", question(c.task)); f.Message != rule {
			t.Errorf("%s: %q", note, f.Message)
		}
	}
	w.refused(fault.CodeNotFound, member, "mark-awaiting-decision", question(hidden))
	w.refused(fault.CodeNotFound, w.person(person{tenant: w.globex, roles: []string{"Admin"}}), "mark-awaiting-decision", question(task))
	w.refused(fault.CodeForbidden, w.person(person{roles: []string{"Member"}, projects: []op.UUID{secret.ID}}), "mark-awaiting-decision", question(task))
	if f := w.refused(fault.CodeForbidden, w.person(person{}), "mark-awaiting-decision", question(task)); f.Permission != contract.PermTaskUpdate {
		t.Errorf("names %q", f.Permission)
	}
	// The assignee, with a token that may only read, and without task.update.
	w.mu.Lock()
	member.caveats = []string{"read-only"}
	w.mu.Unlock()
	w.refused(fault.CodeForbidden, member, "mark-awaiting-decision", question(task))
	w.mu.Lock()
	member.caveats, member.roles = nil, []string{"Auditor"}
	w.mu.Unlock()
	if f := w.refused(fault.CodeForbidden, member, "mark-awaiting-decision", question(task)); f.Permission != contract.PermTaskUpdate {
		t.Errorf("names %q", f.Permission)
	}
}

func TestADecisionRequestIsRaisedForAnAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	agent := w.person(person{kind: authz.KindAgent, roles: []string{"Agent"}})
	task := w.inProgress(p, agent)
	human := w.person(person{roles: []string{"Member"}})
	idle := w.person(person{kind: authz.KindAgent, roles: []string{"Agent"}})
	suspended, deleted := w.person(person{kind: authz.KindAgent}), w.person(person{kind: authz.KindAgent})
	w.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, suspended.id)
	w.exec(`UPDATE identity.users SET status = 'DELETED' WHERE id = $1`, deleted.id)
	foreign := w.person(person{tenant: w.globex, kind: authz.KindAgent})
	service := uid.New()
	w.exec(`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, status, integration_key) VALUES ($1, $2, 'SERVICE', 's@example.com', 'S', 'ACTIVE', 'spec-wiki-sync')`, service, w.acme)
	w.exec(`INSERT INTO identity.memberships (tenant_id, user_id, status) VALUES ($1, $2, 'ACTIVE')`, w.acme, service)
	messages := map[string]string{}
	for note, who := range map[string]string{
		"human": string(human.id), "suspended": string(suspended.id), "deleted": string(deleted.id), "service": string(service),
		"foreign": string(foreign.id), "foreign address": foreign.email(), "absent": string(uid.New()), "no id": "somebody",
	} {
		f := w.refused(fault.CodeValidation, w.manager, "mark-awaiting-decision", question(task, fields{"agent": who}))
		if f.Field != "agent" {
			t.Errorf("%s: names %q", note, f.Field)
		}
		messages[note] = f.Message
	}
	if messages["foreign"] != messages["absent"] || messages["foreign address"] != messages["absent"] {
		t.Errorf("a foreign agent is told from one that is not there: %v", messages)
	}
	// An agent, but not the one that works on the task.
	if f := w.refused(fault.CodeForbidden, w.manager, "mark-awaiting-decision", question(task, fields{"agent": idle.id})); !strings.Contains(f.Message, "assignee") {
		t.Errorf("got %q", f.Message)
	}
	// Without tasks.update.any nobody speaks for an agent, not even itself.
	for _, who := range []*person{human, agent} {
		if f := w.refused(fault.CodeForbidden, who, "mark-awaiting-decision", question(task, fields{"agent": agent.id})); f.Permission != contract.PermTasksUpdateAny {
			t.Errorf("names %q", f.Permission)
		}
	}
	for _, name := range []string{string(agent.id), agent.email()} {
		d := do[contract.DecisionRequest](w, w.manager, "mark-awaiting-decision", question(task, fields{"agent": name}))
		if d.RaisedBy != agent.id {
			t.Errorf("raised by %s, want the agent", d.RaisedBy)
		}
		// The entry names both: the caller acted, as the agent.
		if n := w.count(`SELECT count(*) FROM audit.entries WHERE action = 'decision_request.raised' AND resource_id = $1 AND actor_id = $2 AND changes->>'raisedBy' = $3`,
			string(d.ID), w.manager.id, string(agent.id)); n != 1 {
			t.Errorf("%d entries name the caller and the agent", n)
		}
	}
}

func TestSixtyFourRaiseAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 16)
	member := w.person(person{roles: []string{"Member"}})
	task := w.inProgress(w.project("Apollo"), member)
	given := make([]*contract.DecisionRequest, 64)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range given {
		all.Go(func() {
			<-start
			out, err := w.try(member, "mark-awaiting-decision", question(task, fields{"question": fmt.Sprint("Question ", i)}))
			if err != nil {
				t.Error(err)
			}
			given[i], _ = out.(*contract.DecisionRequest)
		})
	}
	close(start)
	all.Wait()
	for i, d := range given {
		if !reflect.DeepEqual(d, given[0]) {
			t.Errorf("caller %d is given %+v, the first %+v", i, d, given[0])
		}
	}
	if n := w.count(`SELECT count(*) FROM projects.decision_requests`); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestADecisionRequestIsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	agent, member := w.person(person{kind: authz.KindAgent, roles: []string{"Agent"}}), w.person(person{roles: []string{"Member"}})
	task, other := w.inProgress(p, agent), w.inProgress(p, agent)
	d := do[contract.DecisionRequest](w, agent, "mark-awaiting-decision", question(task))
	if f := w.refused(fault.CodeForbidden, member, "cancel-decision", names(task, d.ID)); f.Permission != contract.PermTasksUpdateAny {
		t.Errorf("names %q", f.Permission)
	}
	if f := w.refused(fault.CodeForbidden, w.person(person{}), "cancel-decision", names(task, d.ID)); f.Permission != contract.PermTasksUpdateAny {
		t.Errorf("names %q", f.Permission)
	}
	w.refused(fault.CodeForbidden, w.person(person{kind: authz.KindAgent, roles: []string{"Agent"}}), "cancel-decision", names(task, d.ID))
	w.refused(fault.CodeNotFound, w.manager, "cancel-decision", names(other, d.ID))
	w.refused(fault.CodeNotFound, w.manager, "cancel-decision", names(task, uid.New()))
	w.refused(fault.CodeNotFound, w.person(person{tenant: w.globex, roles: []string{"Admin"}}), "cancel-decision", names(task, d.ID))

	// Who raised it may cancel it, also when somebody else works on the task by now.
	do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": task.Key, "assignee": member.id})
	cancelled := do[contract.DecisionRequest](w, agent, "cancel-decision", names(task, d.ID))
	if cancelled.Status != contract.DecisionCancelled || cancelled.ResolvedBy != agent.id || cancelled.Answer != "" {
		t.Errorf("got %+v", cancelled)
	}
	w.wantTrail(1, "decision_request.cancelled", contract.EventDecisionCancelled, d.ID)
	now := do[contract.Task](w, member, "get-task", fields{"projectId": p.ID, "task": task.Key})
	if now.Status != "IN_PROGRESS" || now.Assignee != member.id {
		t.Errorf("the task changed: %+v", now)
	}
	// What is resolved stays what it is.
	for name, in := range map[string]fields{"cancel-decision": names(task, d.ID), "answer-decision": names(task, d.ID, fields{"answer": "yes"})} {
		if again := do[contract.DecisionRequest](w, w.manager, name, in); !reflect.DeepEqual(again, cancelled) {
			t.Errorf("%s gives %+v, want %+v", name, again, cancelled)
		}
	}
	w.wantTrail(1, "decision_request.cancelled", contract.EventDecisionCancelled, d.ID)

	// And for others, with tasks.update.any.
	d = do[contract.DecisionRequest](w, agent, "mark-awaiting-decision", question(other))
	if c := do[contract.DecisionRequest](w, w.manager, "cancel-decision", names(other, d.ID)); c.Status != contract.DecisionCancelled || c.ResolvedBy != w.manager.id || c.RaisedBy != agent.id {
		t.Errorf("got %+v", c)
	}
	answered := w.asked(other, 0)
	do[contract.DecisionRequest](w, w.manager, "answer-decision", names(other, answered, fields{"answer": "yes"}))
	if c := do[contract.DecisionRequest](w, w.manager, "cancel-decision", names(other, answered)); c.Status != contract.DecisionAnswered {
		t.Errorf("got %+v", c)
	}
}
