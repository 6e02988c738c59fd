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

// addDependency adds a dependency: task depends on the task on.
func (w *world) addDependency(task, on *contract.Task) *contract.Dependency {
	w.t.Helper()
	return do[contract.Dependency](w, w.manager, "add-dependency", fields{"projectId": task.ProjectID, "task": task.ID, "dependsOn": on.ID})
}

// dependencyKeys lists a task's dependencies as the caller sees them, for example
// "by APO-1, blocks APO-2".
func (w *world) dependencyKeys(who *person, task *contract.Task) string {
	w.t.Helper()
	page := do[op.Page[contract.Dependency]](w, who, "list-dependencies", fields{"projectId": task.ProjectID, "task": task.ID})
	return formatDependencies(page.Items)
}

func formatDependencies(list []contract.Dependency) string {
	var names []string
	for _, d := range list {
		names = append(names, map[string]string{contract.DirectionBlockedBy: "by ", contract.DirectionBlocks: "blocks "}[d.Direction]+d.Task.Key)
	}
	return strings.Join(names, ", ")
}

func TestDependency_AddListRemove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Gemini", fields{"prefix": "GEM"})
	a, b, far := w.createTask(p, "A"), w.createTask(p, "B"), w.createTask(other, "Far")
	taskInput := fields{"projectId": p.ID, "task": a.Key}
	added := do[contract.Dependency](w, w.manager, "add-dependency", merge(fields{"dependsOn": "gem-1"}, taskInput))
	if added.Direction != contract.DirectionBlockedBy || added.Task.ID != far.ID || added.Task.Key != "GEM-1" || added.Task.Title != "Far" ||
		added.Task.ProjectID != other.ID || added.Task.StatusCategory != "TODO" || !added.Task.IsCrossProject {
		t.Errorf("added dependency: got %+v, want BLOCKED_BY GEM-1 of the other project", added)
	}
	existing := *added
	existing.Existed = true
	if again := do[contract.Dependency](w, w.manager, "add-dependency", merge(fields{"dependsOn": far.ID}, taskInput)); *again != existing || added.Existed {
		t.Errorf("adding it again: got %+v, want %+v", again, existing)
	}
	w.wantAuditAndEvents(1, "task.dependency_added", contract.EventTaskDependencyAdded, a.ID)
	w.addDependency(a, b)
	w.addDependency(b, far)
	for task, want := range map[*contract.Task]string{a: "by GEM-1, by APO-2", b: "by GEM-1, blocks APO-1", far: "blocks APO-1, blocks APO-2"} {
		if got := w.dependencyKeys(w.manager, task); got != want {
			t.Errorf("dependencies of %s: got %s, want %s", task.Key, got, want)
		}
	}
	only := do[op.Page[contract.Dependency]](w, w.manager, "list-dependencies", fields{"projectId": p.ID, "task": b.Key, "direction": "BLOCKS"})
	if got := formatDependencies(only.Items); got != "blocks APO-1" {
		t.Errorf("direction BLOCKS: got %s, want blocks APO-1", got)
	}
	counts := func(task *contract.Task) string {
		got := do[contract.Task](w, w.manager, "get-task", fields{"projectId": task.ProjectID, "task": task.ID})
		return fmt.Sprint(got.BlockedBy, " ", got.Blocks)
	}
	if got := counts(a) + ", " + counts(b) + ", " + counts(far); got != "2 0, 1 1, 0 2" {
		t.Errorf("blockedBy and blocks counts of A, B and GEM-1: got %s, want 2 0, 1 1, 0 2", got)
	}
	do[contract.Task](w, w.manager, "update-task", fields{"projectId": other.ID, "task": far.Key, "status": "CANCELLED"})
	if got := counts(a) + ", " + counts(b) + ", " + counts(far); got != "1 0, 0 1, 0 2" {
		t.Errorf("blockedBy and blocks counts after GEM-1 was cancelled: got %s, want 1 0, 0 1, 0 2", got)
	}
	do[op.None](w, w.manager, "remove-dependency", merge(fields{"dependsOnId": "GEM-1"}, taskInput))
	w.wantAuditAndEvents(1, "task.dependency_removed", contract.EventTaskDependencyRemoved, a.ID)
	w.wantError(fault.CodeNotFound, w.manager, "remove-dependency", merge(fields{"dependsOnId": "GEM-1"}, taskInput))
	do[op.None](w, w.manager, "remove-dependency", merge(fields{"dependsOnId": b.ID}, taskInput))
	w.wantError(fault.CodeNotFound, w.manager, "remove-dependency", merge(fields{"dependsOnId": uid.New()}, taskInput))
	// Deleting a task deletes its dependencies.
	do[op.None](w, w.manager, "delete-project", fields{"projectId": other.ID})
	if n := w.count(`SELECT count(*) FROM projects.dependencies`); n != 0 {
		t.Errorf("after deleting the project: got %d dependencies, want 0", n)
	}
}

func TestAddDependency_RejectsInvalidOrUnreadableTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, secret := w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Secret", fields{"prefix": "SEC", "classification": "SECRET"})
	a, secretTask := w.createTask(p, "A"), w.createTask(secret, "Hush")
	member := w.addPerson(person{roles: []string{"Member"}})
	foreign := w.addPerson(person{tenant: w.globex, roles: []string{"Project Manager"}})
	foreignProject := do[contract.Project](w, foreign, "create-project", fields{"name": "Mercury", "startDate": "2027-01-04", "prefix": "MER"})
	foreignTask := do[contract.Task](w, foreign, "create-task", fields{"projectId": foreignProject.ID, "title": "Foreign"})
	messages := map[string]bool{}
	for _, dependsOn := range []string{string(uid.New()), string(secretTask.ID), "SEC-1", "APO-99", "ZZZ-1", string(foreignTask.ID), "MER-1"} {
		f := w.wantError(fault.CodeValidation, member, "add-dependency", fields{"projectId": p.ID, "task": a.Key, "dependsOn": dependsOn})
		messages[f.Field+" "+f.Message] = true
	}
	if len(messages) != 1 {
		t.Errorf("add-dependency for missing and unreadable tasks: got the errors %v, want the same", messages)
	}
	for _, dependsOn := range []string{"", "nonsense", "APO-0", "APO-1", string(a.ID)} {
		if f := w.wantError(fault.CodeValidation, member, "add-dependency", fields{"projectId": p.ID, "task": a.Key, "dependsOn": dependsOn}); f.Field != "dependsOn" {
			t.Errorf("%q: got field %q, want dependsOn", dependsOn, f.Field)
		}
	}
	if f := w.wantError(fault.CodeValidation, member, "remove-dependency", fields{"projectId": p.ID, "task": a.Key, "dependsOnId": "nonsense"}); f.Field != "dependsOnId" {
		t.Errorf("got field %q, want dependsOnId", f.Field)
	}
	w.exec(`INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, status, status_category, issue_type, priority, created_by, created_at, updated_at)
		SELECT $1, gen_random_uuid(), $2, 100 + n, 'x', 'TODO', 'TODO', 'TASK', 'LOW', $1, now(), now() FROM generate_series(1, $3::int) n`, w.acme, p.ID, contract.MaxDependencies)
	w.exec(`INSERT INTO projects.dependencies (tenant_id, id, task_id, depends_on_id, created_by, created_at)
		SELECT $1, gen_random_uuid(), $2, t.id, $1, now() FROM projects.tasks t WHERE t.number > 100`, w.acme, a.ID)
	w.wantError(fault.CodeConflict, member, "add-dependency", fields{"projectId": p.ID, "task": a.Key, "dependsOn": w.createTask(p, "One more").ID})
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action LIKE 'task.dependency%'`); n != 0 {
		t.Errorf("got %d audit entries for rejected requests, want 0", n)
	}
}

// A task that the caller may not read is listed with an opaque id, and the dependency
// can be removed with that id.
func TestListDependencies_MasksUnreadableTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, secret := w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Secret", fields{"prefix": "SEC", "classification": "SECRET"})
	a, secretTask, hidden := w.createTask(p, "A"), w.createTask(secret, "Hush"), w.createTask(secret, "Hidden")
	w.addDependency(a, secretTask)
	w.addDependency(hidden, a)
	member := w.addPerson(person{roles: []string{"Member"}})
	page := do[op.Page[contract.Dependency]](w, member, "list-dependencies", fields{"projectId": p.ID, "task": a.Key})
	if got := formatDependencies(page.Items); got != "by REDACTED, blocks REDACTED" {
		t.Fatalf("dependencies on unreadable tasks: got %s, want by REDACTED, blocks REDACTED", got)
	}
	for _, d := range page.Items {
		if d.Task.ID == secretTask.ID || d.Task.ID == hidden.ID || d.Task.Title != contract.Redacted || !d.Task.IsCrossProject ||
			d.Task.ProjectID != "" || d.Task.Status != "" || d.Task.StatusCategory != "" {
			t.Errorf("unreadable task of a dependency: got %+v, want an opaque id and the title REDACTED only", d.Task)
		}
	}
	first := do[op.Page[contract.Dependency]](w, member, "list-dependencies", fields{"projectId": p.ID, "task": a.Key, "limit": 1})
	keys, err := op.ReadCursor(first.NextCursor, "list-dependencies ", w.acme, 3)
	if err != nil || slices.Contains(keys, string(secretTask.ID)) {
		t.Errorf("cursor: got keys %v (%v), want no id of a hidden task", keys, err)
	}
	for _, id := range []string{string(secretTask.ID), "SEC-1", string(page.Items[1].Task.ID)} {
		w.wantError(fault.CodeNotFound, member, "remove-dependency", fields{"projectId": p.ID, "task": a.Key, "dependsOnId": id})
	}
	do[op.None](w, member, "remove-dependency", fields{"projectId": p.ID, "task": a.Key, "dependsOnId": page.Items[0].Task.ID})
	if got := w.dependencyKeys(w.manager, a); got != "blocks SEC-2" {
		t.Errorf("remaining dependencies: got %s, want blocks SEC-2", got)
	}
}

func TestAddDependency_RejectsCycleAndListsItsKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, secret := w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Secret", fields{"prefix": "SEC", "classification": "SECRET"})
	a, b, c, secretTask := w.createTask(p, "A"), w.createTask(p, "B"), w.createTask(p, "C"), w.createTask(secret, "Hush")
	w.addDependency(a, b)
	w.addDependency(b, secretTask)
	w.addDependency(secretTask, c)
	member := w.addPerson(person{roles: []string{"Member"}})
	for _, try := range []struct {
		who      *person
		task, on *contract.Task
		want     string
	}{
		{w.manager, b, a, "[APO-2 APO-1 APO-2]"},
		{w.manager, c, a, "[APO-3 APO-1 APO-2 SEC-1 APO-3]"},
		{member, c, a, "[APO-3 APO-1 APO-2 REDACTED APO-3]"},
	} {
		f := w.wantError(fault.CodeConflict, try.who, "add-dependency", fields{"projectId": p.ID, "task": try.task.Key, "dependsOn": try.on.Key})
		if got := fmt.Sprint(f.Details["cycle"]); got != try.want || strings.Contains(f.Message, "SEC") != (try.who == w.manager && try.task == c) {
			t.Errorf("%s depends on %s: got message %q and cycle %s, want cycle %s", try.task.Key, try.on.Key, f.Message, got, try.want)
		}
	}
	w.addDependency(a, c)
}

// Concurrent calls add dependencies that together form a cycle. Exactly one of them must
// fail.
func TestAddDependency_ConcurrentCallsCreateNoCycle(t *testing.T) {
	t.Parallel()
	const size, rounds = 4, 8
	w := newWorldOf(t, 16)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	for round := range rounds {
		var ring []*contract.Task
		for i := range size {
			ring = append(ring, w.createTask(p, fmt.Sprint("Task ", round, " ", i)))
		}
		errs := make([]error, size)
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range size {
			all.Go(func() {
				<-start
				_, errs[i] = w.call(w.manager, "add-dependency", fields{"projectId": p.ID, "task": ring[i].ID, "dependsOn": ring[(i+1)%size].ID})
			})
		}
		close(start)
		all.Wait()
		rejected := 0
		for i, err := range errs {
			if err == nil {
				continue
			}
			rejected++
			if !fault.HasCode(err, fault.CodeConflict) {
				t.Errorf("round %d, call %d: got %v, want CONFLICT", round, i, err)
			}
		}
		if rejected != 1 {
			t.Errorf("round %d: got %d of %d calls rejected, want 1", round, rejected, size)
		}
	}
}

func TestListDependencies_PaginatesWithoutDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	hub := w.createTask(p, "Hub")
	var want []string
	for i := range 9 {
		task := w.createTask(p, fmt.Sprint("Task ", i))
		if i%3 == 0 {
			w.addDependency(task, hub)
			want = append(want, "blocks "+task.Key)
		} else {
			w.addDependency(hub, task)
			want = append(want, "by "+task.Key)
		}
	}
	slices.SortStableFunc(want, func(a, b string) int { return strings.Compare(b[:2], a[:2]) })
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		direction := rapid.SampledFrom([]string{"", "BLOCKS", "BLOCKED_BY"}).Draw(t, "direction")
		in, filtered := fields{"projectId": p.ID, "task": hub.Key}, want
		if direction != "" {
			in["direction"] = direction
			filtered = slices.DeleteFunc(slices.Clone(want), func(s string) bool { return (direction == "BLOCKS") != strings.HasPrefix(s, "blocks") })
		}
		if got := formatDependencies(readAllPages[contract.Dependency](t, w, w.manager, "list-dependencies", in, limit)); got != strings.Join(filtered, ", ") {
			t.Fatalf("%v with limit %d: got %s, want %v", in, limit, got, filtered)
		}
	})
}
