package tracker_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// queueKeys returns the keys of the tasks in a queue of the project, as the caller sees
// it.
func (w *world) queueKeys(who *person, p *contract.Project, queue string, more ...fields) string {
	w.t.Helper()
	return keys(do[op.Page[contract.TaskSummary]](w, who, "list-tasks", merge(fields{"projectId": p.ID, queue: true}, more...)).Items)
}

func TestReadySet_ContainsStartableTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Gemini", fields{"prefix": "GEM"})
	member, colleague := w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{roles: []string{"Member"}})
	free := w.createTask(p, "Free")
	w.createTask(p, "Backlog", fields{"status": "BACKLOG"})
	w.createTask(p, "Begun", fields{"status": "IN_PROGRESS"})
	w.createTask(p, "In review", fields{"status": "IN_REVIEW"})
	done := w.createTask(p, "Done", fields{"status": "DONE"})
	cancelled := w.createTask(p, "Cancelled", fields{"status": "CANCELLED"})
	w.createTask(p, "Epic", fields{"issueType": "EPIC"})
	w.createTask(p, "Mine", fields{"assignee": member.id})
	w.createTask(p, "Theirs", fields{"assignee": colleague.id})
	blocked, unblocked, crossProject := w.createTask(p, "Blocked"), w.createTask(p, "Depends on final tasks"), w.createTask(p, "Blocked by other project")
	w.addDependency(blocked, free)
	w.addDependency(unblocked, done)
	w.addDependency(unblocked, cancelled)
	blocker := w.createTask(other, "Blocker")
	w.addDependency(crossProject, blocker)
	awaiting := w.createTask(p, "Awaiting decision")
	w.exec(`INSERT INTO projects.decision_requests (tenant_id, id, project_id, task_id, question, raised_by, created_at) VALUES ($1, $2, $3, $4, 'Which?', $1, now())`,
		w.acme, uid.New(), p.ID, awaiting.ID)
	if got, want := w.queueKeys(member, p, "ready"), "APO-1 APO-2 APO-8 APO-11"; got != want {
		t.Errorf("ready: got %s, want %s", got, want)
	}
	if got, want := w.queueKeys(colleague, p, "ready"), "APO-1 APO-2 APO-9 APO-11"; got != want {
		t.Errorf("ready for the colleague: got %s, want %s", got, want)
	}
	if got, want := w.queueKeys(member, p, "review"), "APO-4"; got != want {
		t.Errorf("review: got %s, want %s", got, want)
	}
	if got, want := w.queueKeys(member, p, "awaitingDecision"), "APO-13"; got != want {
		t.Errorf("awaitingDecision: got %s, want %s", got, want)
	}
	// Resolved requests and finished or deleted dependencies no longer block.
	w.exec(`UPDATE projects.decision_requests SET status = 'cancelled', resolved_at = now(), resolved_by = tenant_id`)
	do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": free.Key, "status": "DONE"})
	do[op.None](w, w.manager, "delete-task", fields{"projectId": other.ID, "task": blocker.Key})
	if got, want := w.queueKeys(member, p, "ready"), "APO-2 APO-8 APO-10 APO-11 APO-12 APO-13"; got != want {
		t.Errorf("ready after unblocking: got %s, want %s", got, want)
	}
	// The filters of the plain list also apply to queues.
	if got := w.queueKeys(member, p, "ready", fields{"assignee": member.id}); got != "APO-8" {
		t.Errorf("ready and assigned to the member: got %s, want APO-8", got)
	}
	if got := w.queueKeys(member, p, "ready", fields{"status": "BACKLOG"}); got != "APO-2" {
		t.Errorf("ready with status BACKLOG: got %s, want APO-2", got)
	}
	for _, c := range []struct{ field, with string }{{"awaitingDecision", "ready"}, {"awaitingDecision", "review"}, {"review", "ready"}} {
		if f := w.wantError(fault.CodeValidation, member, "list-tasks", fields{"projectId": p.ID, c.field: true, c.with: true}); f.Field != c.field {
			t.Errorf("%s with %s: got an error for field %q, want %q", c.field, c.with, f.Field, c.field)
		}
	}
	otherTenantUser := w.addPerson(person{tenant: w.globex, roles: []string{"Project Manager"}})
	w.wantError(fault.CodeNotFound, otherTenantUser, "list-tasks", fields{"projectId": p.ID, "ready": true})
}

// The most urgent task comes first, and the pages together contain each task once.
func TestQueues_OrderByUrgency(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	var tasks []*contract.Task
	for i := range 36 {
		more := fields{"priority": []string{"LOW", "MEDIUM", "URGENT", "HIGH"}[i*7%4], "status": []string{"TODO", "IN_REVIEW", "BACKLOG"}[i%3]}
		if i%5 < 3 {
			more["dueDate"] = []string{"2027-03-01", "2026-01-15", "2027-03-02"}[i%5]
		}
		tasks = append(tasks, w.createTask(p, fmt.Sprint("Task ", i), more))
	}
	// Tasks with equal creation times are ordered by id.
	w.exec(`UPDATE projects.tasks SET created_at = '2026-01-01' WHERE number % 2 = 0`)
	for _, task := range tasks {
		*task = *do[contract.Task](w, w.manager, "get-task", fields{"projectId": p.ID, "task": task.ID})
	}
	rank := map[string]string{"URGENT": "0", "HIGH": "1", "MEDIUM": "2", "LOW": "3"}
	sortKey := func(t *contract.Task) string {
		due := string(t.DueDate)
		if due == "" {
			due = "none"
		}
		return rank[t.Priority] + " " + due + " " + op.CursorTime(t.CreatedAt) + " " + string(t.ID)
	}
	slices.SortFunc(tasks, func(a, b *contract.Task) int { return strings.Compare(sortKey(a), sortKey(b)) })
	rapid.Check(t, func(t *rapid.T) {
		queue := rapid.SampledFrom([]string{"ready", "review"}).Draw(t, "queue")
		limit := rapid.SampledFrom([]int{2, 5, 200}).Draw(t, "limit")
		priority := rapid.SampledFrom([]string{"", "HIGH", "LOW"}).Draw(t, "priority")
		in := fields{"projectId": p.ID, queue: true}
		if priority != "" {
			in["priority"] = priority
		}
		var want []contract.TaskSummary
		for _, task := range tasks {
			if (queue == "review") == (task.StatusCategory == contract.CategoryReview) && (priority == "" || task.Priority == priority) {
				want = append(want, task.TaskSummary)
			}
		}
		if got := readAllPages[contract.TaskSummary](t, w, w.manager, "list-tasks", in, limit); keys(got) != keys(want) {
			t.Fatalf("%v, limit %d: got %s, want %s", in, limit, keys(got), keys(want))
		}
	})
	// A cursor of another list is rejected.
	page := do[op.Page[contract.TaskSummary]](w, w.manager, "list-tasks", fields{"projectId": p.ID, "ready": true, "limit": 1})
	for _, in := range []fields{{"review": true}, {}, {"ready": true, "projectId": w.createProject("Gemini").ID}} {
		if f := w.wantError(fault.CodeValidation, w.manager, "list-tasks", merge(fields{"projectId": p.ID, "cursor": page.NextCursor}, in)); f.Field != "cursor" {
			t.Errorf("%v: got an error for field %q, want cursor", in, f.Field)
		}
	}
	for _, forged := range [][]string{{"x", "infinity", "2026-01-01T00:00:00.000000Z", string(p.ID)}, {"1", "soon", "2026-01-01T00:00:00.000000Z", string(p.ID)},
		{"1", "infinity", "now", string(p.ID)}, {"1", "infinity", "2026-01-01T00:00:00.000000Z", "x"}, {"99999", "infinity", "2026-01-01T00:00:00.000000Z", string(p.ID)}} {
		cursor := op.NewCursor("list-tasks ready", w.acme, append([]string{string(p.ID)}, forged...)...)
		w.wantError(fault.CodeValidation, w.manager, "list-tasks", fields{"projectId": p.ID, "ready": true, "cursor": cursor})
	}
}

func TestClaimNextReady_ConcurrentClaimersGetDistinctTasks(t *testing.T) {
	t.Parallel()
	const claimers, ready = 64, 50
	w := newWorldOf(t, 16)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	for i := range ready {
		w.createTask(p, fmt.Sprint("Task ", i))
	}
	people := make([]*person, claimers)
	for i := range people {
		people[i] = w.addPerson(person{roles: []string{"Member"}})
	}
	outs, errs := make([]*contract.ClaimNextReadyOut, claimers), make([]error, claimers)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range claimers {
		all.Go(func() {
			<-start
			out, err := w.call(people[i], "claim-next-ready", fields{"projectId": p.ID, "leaseSeconds": 600})
			outs[i], _ = out.(*contract.ClaimNextReadyOut)
			errs[i] = err
		})
	}
	close(start)
	all.Wait()
	winners, empty, failed := map[string]bool{}, 0, 0
	for i, out := range outs {
		switch {
		case errs[i] != nil:
			failed++
			t.Errorf("claimer %d: got %v, want no error", i, errs[i])
		case out.Claimed:
			if winners[out.Task.Key] {
				t.Errorf("claimer %d: got %s again, want another task", i, out.Task.Key)
			}
			winners[out.Task.Key] = true
			if out.Task.Assignee != people[i].id || out.Task.Status != "IN_PROGRESS" || out.Lease == nil {
				t.Errorf("claimer %d: got %+v, want the task in progress, assigned to the claimer, with a lease", i, out.Task.TaskSummary)
			}
		case out.Task == nil && out.Lease == nil:
			empty++
		default:
			t.Errorf("claimer %d: got %+v, want a task, or neither task nor lease", i, out)
		}
	}
	t.Logf("%d claimers on %d tasks: %d distinct tasks, %d empty responses, %d errors", claimers, ready, len(winners), empty, failed)
	if len(winners) != ready || empty != claimers-ready || failed != 0 {
		t.Errorf("want %d distinct tasks, %d empty responses, no error", ready, claimers-ready)
	}
	for _, c := range []string{
		`SELECT count(*) FROM projects.tasks WHERE status = 'IN_PROGRESS'`, `SELECT count(DISTINCT assignee_id) FROM projects.tasks`,
		`SELECT count(*) FROM projects.claims`, `SELECT count(*) FROM audit.entries WHERE action = 'task.claimed'`,
		`SELECT count(*) FROM events.outbox WHERE type = 'projects.task.claimed'`,
	} {
		if n := w.count(c); n != ready {
			t.Errorf("%s: got %d, want 50", c, n)
		}
	}
}
