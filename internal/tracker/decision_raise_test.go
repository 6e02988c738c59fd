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

// createTaskInProgress creates a task in progress that is assigned to the user.
func (w *world) createTaskInProgress(p *contract.Project, who *person) *contract.Task {
	w.t.Helper()
	return w.createTask(p, "Land", fields{"assignee": who.id, "status": "IN_PROGRESS"})
}

func questionInput(task *contract.Task, more ...fields) fields {
	return merge(fields{"projectId": task.ProjectID, "task": task.Key, "question": "Which way?"}, more...)
}

func TestMarkAwaitingDecision_ByAssigneeCreatesOpenRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	agent := w.addPerson(person{kind: authz.KindAgent, roles: []string{"Agent"}})
	task := w.createTaskInProgress(p, agent)
	d := do[contract.DecisionRequest](w, agent, "mark-awaiting-decision", questionInput(task, fields{
		"question": "  Which way? ", "options": []string{" left ", "right", strings.Repeat("ß", 500)}, "sessionId": "s-1",
	}))
	if d.Status != contract.DecisionOpen || d.Question != "Which way?" || d.Options[0] != "left" || len(d.Options) != 3 ||
		d.RaisedBy != agent.id || d.SessionID != "s-1" || d.TaskID != task.ID || d.TaskKey != task.Key || d.ResolvedAt != nil || d.Answer != "" {
		t.Errorf("mark-awaiting-decision: got %+v, want an open request of the agent with trimmed question and options", d)
	}
	w.wantAuditAndEvents(1, "decision_request.raised", contract.EventDecisionRaised, d.ID)
	now := do[contract.Task](w, agent, "get-task", fields{"projectId": p.ID, "task": task.Key})
	if now.Status != task.Status || now.Assignee != task.Assignee || !now.UpdatedAt.Equal(task.UpdatedAt) {
		t.Errorf("task after mark-awaiting-decision: got %+v, want it unchanged", now)
	}
	if !reflect.DeepEqual(now.DecisionRequest, d) {
		t.Errorf("get-task: got decision request %+v, want %+v", now.DecisionRequest, d)
	}
	// While the request is open, a second call returns it, even with another question.
	again := do[contract.DecisionRequest](w, agent, "mark-awaiting-decision", questionInput(task, fields{"question": "Really?", "options": []string{"yes"}}))
	if !reflect.DeepEqual(again, d) {
		t.Errorf("second call: got %+v, want %+v", again, d)
	}
	w.wantAuditAndEvents(1, "decision_request.raised", contract.EventDecisionRaised, d.ID)
	// After it is answered, a new request can be raised.
	do[contract.DecisionRequest](w, w.manager, "answer-decision", decisionInput(task, d.ID, fields{"chosenOptionIndex": 0}))
	next := do[contract.DecisionRequest](w, agent, "mark-awaiting-decision", questionInput(task))
	if next.ID == d.ID || next.Status != contract.DecisionOpen || len(next.Options) != 0 {
		t.Errorf("mark-awaiting-decision after the answer: got %+v, want a new open request", next)
	}
	// The event notifies the project's owner, who is also the task's creator.
	if n := w.count(`SELECT count(*) FROM events.outbox WHERE type = $1 AND payload->'notify' = jsonb_build_array($2::text)`, contract.EventDecisionRaised.Name, string(w.manager.id)); n != 2 {
		t.Errorf("got %d events that notify the project's owner, want 2", n)
	}
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action LIKE 'decision_request.%' AND changes::text ILIKE '%way%'`); n != 0 {
		t.Errorf("audit entries with the text of a question: got %d, want 0", n)
	}
}

func TestMarkAwaitingDecision_ValidationErrorNamesField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	member := w.addPerson(person{roles: []string{"Member"}})
	task := w.createTaskInProgress(p, member)
	for _, c := range []struct {
		field string
		in    fields
	}{
		{"question", fields{"question": ""}}, {"question", fields{"question": " \t"}}, {"question", fields{"question": strings.Repeat("x", 4001)}},
		{"options", fields{"options": make([]string, 11)}}, {"options.1", fields{"options": []string{"a", "  "}}},
		{"options.0", fields{"options": []string{strings.Repeat("ß", 501)}}}, {"sessionId", fields{"sessionId": strings.Repeat("x", 201)}},
		{"agent", fields{"agent": strings.Repeat("x", 321)}}, {"status", fields{"status": "answered"}},
	} {
		if f := w.wantError(fault.CodeValidation, member, "mark-awaiting-decision", questionInput(task, c.in)); f.Field != c.field {
			t.Errorf("%.60v: got field %q, want %q", c.in, f.Field, c.field)
		}
	}
	for _, status := range []string{"TODO", "IN_REVIEW", "DONE"} {
		idle := w.createTask(p, "Idle", fields{"assignee": member.id, "status": status})
		w.wantError(fault.CodeConflict, member, "mark-awaiting-decision", questionInput(idle))
	}
	if n := w.count(`SELECT count(*) FROM projects.decision_requests`); n != 0 {
		t.Errorf("got %d decision requests, want 0", n)
	}
}

func TestMarkAwaitingDecision_RequiresAssigneeAndPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, secret := w.createProject("Apollo"), w.createProject("Secret", fields{"classification": "SECRET"})
	member, agent := w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{kind: authz.KindAgent, roles: []string{"Agent"}})
	task, unassigned, hidden := w.createTaskInProgress(p, member), w.createTask(p, "Unassigned", fields{"status": "IN_PROGRESS"}), w.createTaskInProgress(secret, w.manager)
	const rule = "Only the task's current assignee can raise a decision request."
	for note, c := range map[string]struct {
		who  *person
		task *contract.Task
	}{
		"manager": {w.manager, task}, "agent": {agent, task}, "member": {w.addPerson(person{roles: []string{"Member"}}), task}, "unassigned task": {member, unassigned},
	} {
		if f := w.wantError(fault.CodeForbidden, c.who, "mark-awaiting-decision", questionInput(c.task)); f.Message != rule {
			t.Errorf("%s: got message %q, want %q", note, f.Message, rule)
		}
	}
	w.wantError(fault.CodeNotFound, member, "mark-awaiting-decision", questionInput(hidden))
	w.wantError(fault.CodeNotFound, w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}}), "mark-awaiting-decision", questionInput(task))
	w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Member"}, projects: []op.UUID{secret.ID}}), "mark-awaiting-decision", questionInput(task))
	if f := w.wantError(fault.CodeForbidden, w.addPerson(person{}), "mark-awaiting-decision", questionInput(task)); f.Permission != contract.PermTaskUpdate {
		t.Errorf("mark-awaiting-decision: got the missing permission %q, want %q", f.Permission, contract.PermTaskUpdate)
	}
	// The assignee with a read-only token, and without task.update.
	w.mu.Lock()
	member.caveats = []string{"read-only"}
	w.mu.Unlock()
	w.wantError(fault.CodeForbidden, member, "mark-awaiting-decision", questionInput(task))
	w.mu.Lock()
	member.caveats, member.roles = nil, []string{"Auditor"}
	w.mu.Unlock()
	if f := w.wantError(fault.CodeForbidden, member, "mark-awaiting-decision", questionInput(task)); f.Permission != contract.PermTaskUpdate {
		t.Errorf("mark-awaiting-decision: got the missing permission %q, want %q", f.Permission, contract.PermTaskUpdate)
	}
}

func TestMarkAwaitingDecision_ForAgentRequiresAssignableAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	agent := w.addPerson(person{kind: authz.KindAgent, roles: []string{"Agent"}})
	task := w.createTaskInProgress(p, agent)
	human := w.addPerson(person{roles: []string{"Member"}})
	idle := w.addPerson(person{kind: authz.KindAgent, roles: []string{"Agent"}})
	suspended, deleted := w.addPerson(person{kind: authz.KindAgent}), w.addPerson(person{kind: authz.KindAgent})
	w.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, suspended.id)
	w.exec(`UPDATE identity.users SET status = 'DELETED' WHERE id = $1`, deleted.id)
	foreign := w.addPerson(person{tenant: w.globex, kind: authz.KindAgent})
	service := uid.New()
	w.exec(`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, status, integration_key) VALUES ($1, $2, 'SERVICE', 's@example.com', 'S', 'ACTIVE', 'spec-wiki-sync')`, service, w.acme)
	w.exec(`INSERT INTO identity.memberships (tenant_id, user_id, status) VALUES ($1, $2, 'ACTIVE')`, w.acme, service)
	messages := map[string]string{}
	for note, who := range map[string]string{
		"human": string(human.id), "suspended": string(suspended.id), "deleted": string(deleted.id), "service": string(service),
		"foreign": string(foreign.id), "foreign address": foreign.email(), "absent": string(uid.New()), "no id": "somebody",
	} {
		f := w.wantError(fault.CodeValidation, w.manager, "mark-awaiting-decision", questionInput(task, fields{"agent": who}))
		if f.Field != "agent" {
			t.Errorf("%s: got field %q, want agent", note, f.Field)
		}
		messages[note] = f.Message
	}
	if messages["foreign"] != messages["absent"] || messages["foreign address"] != messages["absent"] {
		t.Errorf("mark-awaiting-decision for an agent of another tenant and for a missing agent: got the messages %v, want the same", messages)
	}
	// An agent that is not the task's assignee.
	if f := w.wantError(fault.CodeForbidden, w.manager, "mark-awaiting-decision", questionInput(task, fields{"agent": idle.id})); !strings.Contains(f.Message, "assignee") {
		t.Errorf("got message %q, want one about the assignee", f.Message)
	}
	// Acting for an agent requires tasks.update.any, even for the agent itself.
	for _, who := range []*person{human, agent} {
		if f := w.wantError(fault.CodeForbidden, who, "mark-awaiting-decision", questionInput(task, fields{"agent": agent.id})); f.Permission != contract.PermTasksUpdateAny {
			t.Errorf("mark-awaiting-decision: got the missing permission %q, want %q", f.Permission, contract.PermTasksUpdateAny)
		}
	}
	for _, name := range []string{string(agent.id), agent.email()} {
		d := do[contract.DecisionRequest](w, w.manager, "mark-awaiting-decision", questionInput(task, fields{"agent": name}))
		if d.RaisedBy != agent.id {
			t.Errorf("raised by %s, want the agent", d.RaisedBy)
		}
		// The audit entry has the caller as actor and the agent as raisedBy.
		if n := w.count(`SELECT count(*) FROM audit.entries WHERE action = 'decision_request.raised' AND resource_id = $1 AND actor_id = $2 AND changes->>'raisedBy' = $3`,
			string(d.ID), w.manager.id, string(agent.id)); n != 1 {
			t.Errorf("got %d entries with the caller and the agent, want 1", n)
		}
	}
}

func TestMarkAwaitingDecision_ConcurrentCallersGetOneRequest(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 16)
	member := w.addPerson(person{roles: []string{"Member"}})
	task := w.createTaskInProgress(w.createProject("Apollo"), member)
	returned := make([]*contract.DecisionRequest, 64)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range returned {
		all.Go(func() {
			<-start
			out, err := w.call(member, "mark-awaiting-decision", questionInput(task, fields{"question": fmt.Sprint("Question ", i)}))
			if err != nil {
				t.Error(err)
			}
			returned[i], _ = out.(*contract.DecisionRequest)
		})
	}
	close(start)
	all.Wait()
	for i, d := range returned {
		if !reflect.DeepEqual(d, returned[0]) {
			t.Errorf("caller %d: got %+v, want the same as caller 0: %+v", i, d, returned[0])
		}
	}
	if n := w.count(`SELECT count(*) FROM projects.decision_requests`); n != 1 {
		t.Errorf("got %d decision requests, want 1", n)
	}
}

func TestCancelDecision_AllowedForRaiserAndManager(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	agent, member := w.addPerson(person{kind: authz.KindAgent, roles: []string{"Agent"}}), w.addPerson(person{roles: []string{"Member"}})
	task, other := w.createTaskInProgress(p, agent), w.createTaskInProgress(p, agent)
	d := do[contract.DecisionRequest](w, agent, "mark-awaiting-decision", questionInput(task))
	if f := w.wantError(fault.CodeForbidden, member, "cancel-decision", decisionInput(task, d.ID)); f.Permission != contract.PermTasksUpdateAny {
		t.Errorf("cancel-decision: got the missing permission %q, want %q", f.Permission, contract.PermTasksUpdateAny)
	}
	if f := w.wantError(fault.CodeForbidden, w.addPerson(person{}), "cancel-decision", decisionInput(task, d.ID)); f.Permission != contract.PermTasksUpdateAny {
		t.Errorf("cancel-decision: got the missing permission %q, want %q", f.Permission, contract.PermTasksUpdateAny)
	}
	w.wantError(fault.CodeForbidden, w.addPerson(person{kind: authz.KindAgent, roles: []string{"Agent"}}), "cancel-decision", decisionInput(task, d.ID))
	w.wantError(fault.CodeNotFound, w.manager, "cancel-decision", decisionInput(other, d.ID))
	w.wantError(fault.CodeNotFound, w.manager, "cancel-decision", decisionInput(task, uid.New()))
	w.wantError(fault.CodeNotFound, w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}}), "cancel-decision", decisionInput(task, d.ID))

	// The raiser can cancel the request even after the task was reassigned.
	do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": task.Key, "assignee": member.id})
	cancelled := do[contract.DecisionRequest](w, agent, "cancel-decision", decisionInput(task, d.ID))
	if cancelled.Status != contract.DecisionCancelled || cancelled.ResolvedBy != agent.id || cancelled.Answer != "" {
		t.Errorf("cancel-decision by the raiser: got %+v, want it cancelled by the agent, without an answer", cancelled)
	}
	w.wantAuditAndEvents(1, "decision_request.cancelled", contract.EventDecisionCancelled, d.ID)
	now := do[contract.Task](w, member, "get-task", fields{"projectId": p.ID, "task": task.Key})
	if now.Status != "IN_PROGRESS" || now.Assignee != member.id {
		t.Errorf("task after cancel-decision: got %+v, want it unchanged", now)
	}
	// A resolved request is returned unchanged.
	for name, in := range map[string]fields{"cancel-decision": decisionInput(task, d.ID), "answer-decision": decisionInput(task, d.ID, fields{"answer": "yes"})} {
		if again := do[contract.DecisionRequest](w, w.manager, name, in); !reflect.DeepEqual(again, cancelled) {
			t.Errorf("%s: got %+v, want %+v", name, again, cancelled)
		}
	}
	w.wantAuditAndEvents(1, "decision_request.cancelled", contract.EventDecisionCancelled, d.ID)

	// With tasks.update.any, requests of others can be cancelled too.
	d = do[contract.DecisionRequest](w, agent, "mark-awaiting-decision", questionInput(other))
	if c := do[contract.DecisionRequest](w, w.manager, "cancel-decision", decisionInput(other, d.ID)); c.Status != contract.DecisionCancelled || c.ResolvedBy != w.manager.id || c.RaisedBy != agent.id {
		t.Errorf("cancel-decision by the manager: got %+v, want it cancelled by the manager, raised by the agent", c)
	}
	answered := w.createDecisionRequest(other, 0)
	do[contract.DecisionRequest](w, w.manager, "answer-decision", decisionInput(other, answered, fields{"answer": "yes"}))
	if c := do[contract.DecisionRequest](w, w.manager, "cancel-decision", decisionInput(other, answered)); c.Status != contract.DecisionAnswered {
		t.Errorf("cancel-decision of an answered request: got %+v, want it answered", c)
	}
}
