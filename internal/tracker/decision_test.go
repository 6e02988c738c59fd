package tracker_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

// createDecisionRequest inserts an open decision request of the task, created ago before now.
func (w *world) createDecisionRequest(task *contract.Task, ago time.Duration, options ...string) op.UUID {
	w.t.Helper()
	id := uid.New()
	if options == nil {
		options = []string{}
	}
	w.exec(`INSERT INTO projects.decision_requests (tenant_id, id, project_id, task_id, question, options, raised_by, created_at)
SELECT t.tenant_id, $1, t.project_id, t.id, 'Which way?', $2, coalesce(t.assignee_id, t.created_by), $3 FROM projects.tasks t WHERE t.id = $4`,
		id, options, time.Now().Add(-ago), task.ID)
	return id
}

// addDecision adds to the scene a task that awaits a decision and the run of its agent.
func (w *world) addDecision(p *contract.Project, s *scene) {
	w.t.Helper()
	agent := w.addPerson(person{kind: authz.KindAgent, roles: []string{"Agent"}, clearance: "SECRET"})
	task := w.createTask(p, "Decide", fields{"assignee": agent.id, "status": "IN_PROGRESS"})
	s.awaitingTask, s.decision = task.ID, w.createDecisionRequest(task, time.Hour)
	s.run = w.listRuns(fields{"taskId": task.ID})[0].ID
}

func decisionRequests(s scene) map[string]fields {
	withID := func(more fields) fields {
		return merge(fields{"projectId": s.project, "task": s.awaitingTask, "requestId": s.decision}, more)
	}
	return map[string]fields{
		"mark-awaiting-decision": {"projectId": s.project, "task": s.awaitingTask, "question": "Which way?"},
		"list-decision-requests": {"projectId": s.project, "task": s.awaitingTask},
		"answer-decision":        withID(fields{"answer": "yes"}),
		"cancel-decision":        withID(nil),
		"wait-decision":          withID(fields{"timeoutSeconds": 1}),
	}
}

// decisionInput returns the path parameters of a decision request, with more input fields.
func decisionInput(task *contract.Task, request op.UUID, more ...fields) fields {
	return merge(fields{"projectId": task.ProjectID, "task": task.Key, "requestId": request}, more...)
}

func TestAnswerDecision_FirstAnswerCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	member := w.addPerson(person{roles: []string{"Member"}})
	task := w.createTask(p, "Land", fields{"assignee": member.id, "status": "IN_PROGRESS"})
	request := w.createDecisionRequest(task, time.Hour, "left", "right")

	for field, in := range map[string]fields{
		"answer":            {},
		"chosenOptionIndex": {"chosenOptionIndex": 2},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "answer-decision", decisionInput(task, request, in)); f.Field != field {
			t.Errorf("%v: got field %q, want %q", in, f.Field, field)
		}
	}
	for _, in := range []fields{{"answer": "x", "chosenOptionIndex": 0}, {"answer": " \n"}, {"answer": ""}, {"chosenOptionIndex": -1}, {"answer": strings.Repeat("x", 10001)}} {
		w.wantError(fault.CodeValidation, w.manager, "answer-decision", decisionInput(task, request, in))
	}

	d := do[contract.DecisionRequest](w, w.manager, "answer-decision", decisionInput(task, request, fields{"chosenOptionIndex": 1}))
	if d.Status != contract.DecisionAnswered || d.Answer != "right" || *d.ChosenOptionIndex != 1 || d.ResolvedBy != w.manager.id || d.ResolvedAt == nil {
		t.Errorf("answer-decision with an option: got %+v, want it answered by the manager with option 1, right", d)
	}
	w.wantAuditAndEvents(1, "decision_request.answered", contract.EventDecisionAnswered, request)
	now := do[contract.Task](w, member, "get-task", fields{"projectId": p.ID, "task": task.Key})
	if now.Status != task.Status || now.Assignee != task.Assignee || !now.UpdatedAt.Equal(task.UpdatedAt) {
		t.Errorf("task after answer-decision: got %+v, want it unchanged", now)
	}
	if !reflect.DeepEqual(now.DecisionRequest, d) {
		t.Errorf("get-task: got decision request %+v, want %+v", now.DecisionRequest, d)
	}

	again := do[contract.DecisionRequest](w, member, "answer-decision", decisionInput(task, request, fields{"answer": "neither"}))
	if !reflect.DeepEqual(again, d) {
		t.Errorf("second answer: got %+v, want the first answer: %+v", again, d)
	}
	w.wantAuditAndEvents(1, "decision_request.answered", contract.EventDecisionAnswered, request)
}

func TestAnswerDecision_AcceptsFreeText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task := w.createTask(p, "Land")
	free := w.createDecisionRequest(task, time.Hour)
	if f := w.wantError(fault.CodeValidation, w.manager, "answer-decision", decisionInput(task, free, fields{"chosenOptionIndex": 0})); f.Field != "chosenOptionIndex" {
		t.Errorf("got field %q, want chosenOptionIndex", f.Field)
	}
	d := do[contract.DecisionRequest](w, w.manager, "answer-decision", decisionInput(task, free, fields{"answer": "  by the book\n"}))
	if d.Answer != "by the book" || d.ChosenOptionIndex != nil {
		t.Errorf("answer-decision with free text: got %+v, want the trimmed text without an option", d)
	}
	// A request with options also accepts free text.
	bound := w.createDecisionRequest(task, 0, "left", "right")
	if d := do[contract.DecisionRequest](w, w.manager, "answer-decision", decisionInput(task, bound, fields{"answer": "straight on"})); d.Answer != "straight on" || d.ChosenOptionIndex != nil {
		t.Errorf("answer-decision with free text for a request with options: got %+v, want the text without an option", d)
	}
}

func TestAnswerDecision_RequiresPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	secret := w.createProject("Secret", fields{"classification": "SECRET"})
	task, hidden, other := w.createTask(p, "Land"), w.createTask(secret, "Launch"), w.createTask(p, "Other")
	request, covert := w.createDecisionRequest(task, 0), w.createDecisionRequest(hidden, 0)
	answer := fields{"answer": "yes"}
	if f := w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Guest Customer"}}), "answer-decision", decisionInput(task, request, answer)); f.Permission != contract.PermDecisionAnswer {
		t.Errorf("got permission %q, want %q", f.Permission, contract.PermDecisionAnswer)
	}
	w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Agent"}}), "answer-decision", decisionInput(task, request, answer))
	w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Member"}, projects: []op.UUID{secret.ID}}), "answer-decision", decisionInput(task, request, answer))
	w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Member"}, caveats: []string{"read-only"}}), "answer-decision", decisionInput(task, request, answer))
	w.wantError(fault.CodeNotFound, w.addPerson(person{roles: []string{"Member"}}), "answer-decision", decisionInput(hidden, covert, answer))
	w.wantError(fault.CodeNotFound, w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}}), "answer-decision", decisionInput(task, request, answer))
	// The request of another task, and a request that does not exist.
	for _, in := range []fields{decisionInput(other, request, answer), decisionInput(hidden, request, answer), decisionInput(task, uid.New(), answer)} {
		w.wantError(fault.CodeNotFound, w.manager, "answer-decision", in)
	}
	if n := w.count(`SELECT count(*) FROM projects.decision_requests WHERE status <> 'open'`); n != 0 {
		t.Errorf("got %d answered requests, want 0", n)
	}
}

func TestAnswerDecision_ConcurrentAnswersStoreOne(t *testing.T) {
	t.Parallel()
	const answerers, conns = 64, 16
	w := newWorldOf(t, conns)
	task := w.createTask(w.createProject("Apollo"), "Land")
	request := w.createDecisionRequest(task, 0)
	// Lock the row until enough calls wait for it, so that they really run
	// concurrently.
	lock, err := w.owner.Begin(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback()
	if _, err := lock.Exec(t.Context(), `SELECT 1 FROM projects.decision_requests WHERE id = $1 FOR UPDATE`, request); err != nil {
		t.Fatal(err)
	}
	answers := make([]*contract.DecisionRequest, answerers)
	errs := make([]error, answerers)
	var all sync.WaitGroup
	for i := range answerers {
		all.Go(func() {
			out, err := w.call(w.manager, "answer-decision", decisionInput(task, request, fields{"answer": fmt.Sprint("answer ", i)}))
			answers[i], _ = out.(*contract.DecisionRequest)
			errs[i] = err
		})
	}
	pgtest.Eventually(t, time.Minute, "half of the connections wait for the lock", func() bool {
		return w.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= conns/2
	})
	lock.Rollback()
	all.Wait()
	for i, d := range answers {
		switch {
		case errs[i] != nil:
			t.Errorf("answer-decision of caller %d: got %v, want no error", i, errs[i])
		case !reflect.DeepEqual(d, answers[0]):
			t.Errorf("caller %d: got %+v, want the same as caller 0: %+v", i, d, answers[0])
		}
	}
	w.wantAuditAndEvents(1, "decision_request.answered", contract.EventDecisionAnswered, request)
	t.Logf("%d concurrent answers: 1 stored answer, 1 audit entry, 1 event, no errors", answerers)
}

func TestGetTask_ReturnsRequestedDecisionRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.createTask(w.createProject("Apollo"), "Land")
	other := w.createTask(&contract.Project{ProjectSummary: contract.ProjectSummary{ID: task.ProjectID}}, "Other")
	get := func(more ...fields) *contract.DecisionRequest {
		return do[contract.Task](w, w.manager, "get-task", merge(fields{"projectId": task.ProjectID, "task": task.Key}, more...)).DecisionRequest
	}
	if d := get(); d != nil {
		t.Errorf("task without decision requests: got %+v, want none", d)
	}
	first := w.createDecisionRequest(task, time.Hour)
	do[contract.DecisionRequest](w, w.manager, "answer-decision", decisionInput(task, first, fields{"answer": "yes"}))
	second, foreign := w.createDecisionRequest(task, time.Minute, "a", "b"), w.createDecisionRequest(other, 0)
	if d := get(); d == nil || d.ID != second || d.Status != contract.DecisionOpen || d.Question != "Which way?" || len(d.Options) != 2 || d.TaskKey != task.Key || d.Answer != "" {
		t.Errorf("latest request: got %+v, want %s", d, second)
	}
	if d := get(fields{"decisionRequestId": first}); d == nil || d.ID != first || d.Answer != "yes" {
		t.Errorf("got %+v, want %s", d, first)
	}
	for _, id := range []op.UUID{foreign, uid.New()} {
		w.wantError(fault.CodeNotFound, w.manager, "get-task", fields{"projectId": task.ProjectID, "task": task.Key, "decisionRequestId": id})
	}
}

func TestListDecisionRequests_LatestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task, other := w.createTask(p, "Land"), w.createTask(p, "Other")
	var want []op.UUID
	for i := range 5 {
		id := w.createDecisionRequest(task, time.Duration(10-i)*time.Minute)
		want = append([]op.UUID{id}, want...)
		if i < 4 {
			do[contract.DecisionRequest](w, w.manager, "answer-decision", decisionInput(task, id, fields{"answer": "yes"}))
		}
	}
	w.createDecisionRequest(other, 0)
	var got []op.UUID
	cursor := ""
	for {
		in := fields{"projectId": p.ID, "task": task.Key, "limit": 2}
		if cursor != "" {
			in["cursor"] = cursor
		}
		page := do[op.Page[contract.DecisionRequest]](w, w.manager, "list-decision-requests", in)
		for _, d := range page.Items {
			got = append(got, d.ID)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	open := do[op.Page[contract.DecisionRequest]](w, w.manager, "list-decision-requests", fields{"projectId": p.ID, "task": task.Key, "status": "open"})
	if len(open.Items) != 1 || open.Items[0].ID != want[0] {
		t.Errorf("open requests: got %+v, want %s", open.Items, want[0])
	}
	w.wantError(fault.CodeForbidden, w.addPerson(person{}), "list-decision-requests", fields{"projectId": p.ID, "task": task.Key})
	w.wantError(fault.CodeNotFound, w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}}), "list-decision-requests", fields{"projectId": p.ID, "task": task.Key})
	w.wantError(fault.CodeValidation, w.manager, "list-decision-requests", fields{"projectId": p.ID, "task": task.Key, "cursor": "x"})
}

func TestListTasks_AwaitingDecisionOldestRequestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, otherProject := w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Gemini", fields{"prefix": "GEM"})
	requests := map[string]op.UUID{}
	for i, ago := range []int{1, 4, 2, 5, 3} {
		task := w.createTask(p, fmt.Sprint("Task ", i), fields{"labels": []string{"x"}, "priority": "HIGH"})
		requests[task.Key] = w.createDecisionRequest(task, time.Duration(ago)*time.Hour)
	}
	w.createTask(p, "Waits for nothing")
	w.createDecisionRequest(w.createTask(otherProject, "Other"), 9*time.Hour)
	done := w.createTask(p, "Decided")
	do[contract.DecisionRequest](w, w.manager, "answer-decision", decisionInput(done, w.createDecisionRequest(done, 10*time.Hour), fields{"answer": "yes"}))

	in := fields{"projectId": p.ID, "awaitingDecision": true, "limit": 2}
	var got []contract.TaskSummary
	for range 4 {
		page := do[op.Page[contract.TaskSummary]](w, w.manager, "list-tasks", in)
		got = append(got, page.Items...)
		if page.NextCursor == "" {
			break
		}
		if len(page.Items) != 2 {
			t.Errorf("page size: got %d, want 2", len(page.Items))
		}
		in["cursor"] = page.NextCursor
	}
	if keys(got) != "APO-4 APO-2 APO-5 APO-3 APO-1" {
		t.Errorf("list-tasks with awaitingDecision: got %s, want APO-4 APO-2 APO-5 APO-3 APO-1", keys(got))
	}
	for _, item := range got {
		if item.DecisionRequestID != requests[item.Key] || item.ProjectID != p.ID || item.Priority != "HIGH" || len(item.Labels) != 1 {
			t.Errorf("got %+v, want the request %s", item, requests[item.Key])
		}
	}
	// Other filters can be combined with awaitingDecision.
	for want, more := range map[string]fields{"APO-2": {"search": "Task 1"}, "": {"status": "DONE"}} {
		page := do[op.Page[contract.TaskSummary]](w, w.manager, "list-tasks", merge(fields{"projectId": p.ID, "awaitingDecision": true}, more))
		if keys(page.Items) != want {
			t.Errorf("%v: got %q, want %q", more, keys(page.Items), want)
		}
	}
	// A cursor is rejected by a list with another order or of another project.
	plain := do[op.Page[contract.TaskSummary]](w, w.manager, "list-tasks", fields{"projectId": p.ID, "limit": 1})
	w.wantError(fault.CodeValidation, w.manager, "list-tasks", fields{"projectId": p.ID, "awaitingDecision": true, "cursor": plain.NextCursor})
	w.wantError(fault.CodeValidation, w.manager, "list-tasks", fields{"projectId": p.ID, "cursor": in["cursor"]})
	w.wantError(fault.CodeValidation, w.manager, "list-tasks", fields{"projectId": otherProject.ID, "awaitingDecision": true, "cursor": in["cursor"]})

	// A caller without access to the project gets an error, not an empty list.
	w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Member"}, projects: []op.UUID{otherProject.ID}}), "list-tasks", fields{"projectId": p.ID, "awaitingDecision": true})
	w.wantError(fault.CodeNotFound, w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}}), "list-tasks", fields{"projectId": p.ID, "awaitingDecision": true})
}

func TestDecisionRequest_DeletedWithTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task := w.createTask(p, "Land")
	w.createDecisionRequest(task, 0)
	w.createDecisionRequest(w.createTask(p, "Other"), 0)
	do[op.None](w, w.manager, "delete-task", fields{"projectId": p.ID, "task": task.Key})
	if n := w.count(`SELECT count(*) FROM projects.decision_requests`); n != 1 {
		t.Errorf("after deleting the task: got %d decision requests, want 1", n)
	}
	do[op.None](w, w.manager, "delete-project", fields{"projectId": p.ID})
	if n := w.count(`SELECT count(*) FROM projects.decision_requests`); n != 0 {
		t.Errorf("after deleting the project: got %d decision requests, want 0", n)
	}
}
