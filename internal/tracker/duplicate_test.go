package tracker_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func candidates(f *fault.Error) []contract.DuplicateCandidate {
	found, _ := f.Details["candidates"].([]contract.DuplicateCandidate)
	return found
}

func TestCreateTask_RejectsTitleSimilarToOpenTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Gemini")
	create := func(title string, more ...fields) (*contract.Task, error) {
		out, err := w.call(w.manager, "create-task", merge(fields{"projectId": p.ID, "title": title}, more...))
		task, _ := out.(*contract.Task)
		return task, err
	}
	first, err := create("Fix the login page")
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"Fix the login page", "fix THE Login-page!", "Fix the login pages", "page login the fix"} {
		_, err := create(title)
		f := fault.From(err)
		got := []contract.DuplicateCandidate(nil)
		if fault.HasCode(err, fault.CodeDuplicateTask) {
			got = candidates(f)
		}
		if len(got) != 1 || got[0].ID != first.ID || got[0].Key != "APO-1" || got[0].Title != first.Title || got[0].Similarity < 0.6 || !strings.Contains(f.Message, "APO-1") || !strings.Contains(f.Message, "allowDuplicate") {
			t.Errorf("create-task %q: got %v with candidates %+v, want DUPLICATE_TASK with APO-1", title, err, got)
		}
	}
	for _, title := range []string{"Fix the logout button", "Login", "Something else"} {
		if _, err := create(title); err != nil {
			t.Errorf("create-task %q: got %v, want no error", title, err)
		}
	}
	before := w.count(`SELECT count(*) FROM projects.tasks`)
	// The check ignores tasks of other projects, sub-tasks and closed tasks.
	if _, err := w.call(w.manager, "create-task", fields{"projectId": other.ID, "title": first.Title}); err != nil {
		t.Error(err)
	}
	sub, err := create(first.Title, fields{"parentTaskId": first.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []op.UUID{first.ID, sub.ID} {
		do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": string(id), "status": "CANCELLED"})
	}
	again, err := create(first.Title)
	if err != nil {
		t.Fatal(err)
	}
	w.wantError(fault.CodeDuplicateTask, w.manager, "create-task", fields{"projectId": p.ID, "title": first.Title})
	allowed, err := create(first.Title, fields{"allowDuplicate": true})
	if err != nil {
		t.Fatal(err)
	}
	if n := w.count(`SELECT count(*) FROM projects.tasks`) - before; n != 4 {
		t.Errorf("got %d created tasks, want 4", n)
	}
	// Imports are exempt.
	out := do[contract.ImportItemsOut](w, w.manager, "import-items", fields{"projectId": p.ID, "items": []fields{{"id": "a", "title": first.Title}}})
	if len(out.Results) != 1 {
		t.Errorf("import: got %+v, want one result", out)
	}
	for id, want := range map[op.UUID]string{
		first.ID: `{"outcome":"NONE","overridden":false,"candidates":[]}`, sub.ID: ``, again.ID: `{"outcome":"NONE","overridden":false,"candidates":[]}`,
		allowed.ID: fmt.Sprintf(`{"outcome":"FOUND","overridden":true,"candidates":[{"id":"%s","similarity":1}]}`, again.ID),
	} {
		w.wantDuplicateCheck(id, want)
	}
}

// wantDuplicateCheck compares the duplicateCheck of a task's audit entry with want.
func (w *world) wantDuplicateCheck(task op.UUID, want string) {
	w.t.Helper()
	var got string
	err := w.owner.QueryRow(w.t.Context(), `SELECT coalesce(changes->>'duplicateCheck', '') FROM audit.entries WHERE action = 'task.created' AND resource_id = $1`, string(task)).Scan(&got)
	if err != nil {
		w.t.Fatal(err)
	}
	var a, b any
	if want != "" && (json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b)) || (want == "") != (got == "") {
		w.t.Errorf("duplicateCheck in the audit entry: got %q, want %q", got, want)
	}
}

// A task that the caller cannot read is not a candidate and does not block the creation.
func TestDuplicateCheck_IgnoresUnreadableTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addRole("Blind Creator", "task.create")
	p := w.createProject("Apollo")
	unreadable := w.createTask(p, "Fix the login page")
	creator := w.addPerson(person{roles: []string{"Blind Creator"}})
	created := do[contract.Task](w, creator, "create-task", fields{"projectId": p.ID, "title": "Fix the login page"})
	w.wantDuplicateCheck(created.ID, `{"outcome":"NONE","overridden":false,"candidates":[]}`)
	both := candidates(w.wantError(fault.CodeDuplicateTask, w.manager, "create-task", fields{"projectId": p.ID, "title": "Fix the login page!"}))
	if len(both) != 2 || (both[0].ID != unreadable.ID && both[1].ID != unreadable.ID) {
		t.Errorf("candidates for the manager: got %+v, want both tasks", both)
	}
}

func TestDuplicateCheck_CanBeDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deps.DuplicateCheckDisabled = true
	w.rebindOperations()
	p := w.createProject("Apollo")
	for range 2 {
		task := do[contract.Task](w, w.manager, "create-task", fields{"projectId": p.ID, "title": "The same"})
		w.wantDuplicateCheck(task.ID, "")
	}
}

// The check takes no lock: of concurrent similar creations at least one succeeds, and
// later ones are rejected.
func TestDuplicateCheck_ConcurrentCreatesCreateAtLeastOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	var wait sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wait.Go(func() {
			_, errs[i] = w.call(w.manager, "create-task", fields{"projectId": p.ID, "title": "Fix the login page"})
		})
	}
	wait.Wait()
	created := 0
	for _, err := range errs {
		if err == nil {
			created++
		} else if !fault.HasCode(err, fault.CodeDuplicateTask) {
			t.Errorf("concurrent create-task: got %v, want no error or DUPLICATE_TASK", err)
		}
	}
	if n := w.count(`SELECT count(*) FROM projects.tasks`); created == 0 || created != n {
		t.Errorf("got %d successful calls and %d tasks, want equal numbers above 0", created, n)
	}
	w.wantError(fault.CodeDuplicateTask, w.manager, "create-task", fields{"projectId": p.ID, "title": "Fix the login page"})
}

// The check finds the same titles as a comparison of all titles with pg_trgm's
// similarity.
func TestDuplicateCheck_FindsSameTitlesAsPgTrgm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	titles := []string{
		"Fix the login page", "Fix the login page for guests", "Login page is slow", "Make the login page faster", "Write release notes",
		"Write the release notes for 1.2", "Release", "A", "ab", "Zebra crossing quiz", "quiz zebra crossing", "x1 y2 z3", "x1 y2 z4", "Upgrade Go to 1.26", "Upgrade Go to 1.27",
	}
	for _, title := range titles {
		w.createTask(p, title)
	}
	for _, title := range append(titles, "the login page", "Fix login", "release notes", "upgrade go", "zebra crossing") {
		want := map[string]float64{}
		for _, other := range titles {
			var sim float64
			var isSimilar bool
			if err := w.owner.QueryRow(t.Context(), `SELECT similarity($1, $2)::float8, similarity($1, $2) >= 0.6::real`, title, other).Scan(&sim, &isSimilar); err != nil {
				t.Fatal(err)
			}
			if isSimilar {
				want[other] = math.Round(sim*100) / 100
			}
		}
		got := map[string]float64{}
		_, err := w.call(w.manager, "create-task", fields{"projectId": p.ID, "title": title})
		if err != nil {
			last := 1.0
			for _, c := range candidates(fault.From(err)) {
				if got[c.Title] = c.Similarity; c.Similarity > last {
					t.Errorf("%q: got the candidate %q after a less similar one, want them ordered by similarity", title, c.Title)
				}
				last = c.Similarity
			}
		} else {
			do[op.None](w, w.manager, "delete-task", fields{"projectId": p.ID, "task": fmt.Sprintf("APO-%d", w.count(`SELECT max(number) FROM projects.tasks WHERE project_id = $1`, p.ID))})
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: got %v, want %v", title, got, want)
		}
	}
}

// TestDuplicateCheck_ComparesBoundedNumberOfTitles: among many similar titles,
// the identical one is found, even if it is old, and then the newest.
func TestDuplicateCheck_ComparesBoundedNumberOfTitles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	oldSimilar, same := w.createTask(p, "Fix the login pages"), w.createTask(p, "Fix the login page", fields{"allowDuplicate": true})
	w.exec(`
INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, status, status_category, issue_type, priority, progress, created_by, created_at, updated_at)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, 1000 + n, 'Fix the login page now', t.status, t.status_category, 'TASK', 'MEDIUM', 0, t.created_by, now(), now()
FROM projects.tasks t, generate_series(1, 600) n WHERE t.id = $1`, same.ID)
	_, err := w.call(w.manager, "create-task", fields{"projectId": p.ID, "title": "Fix the login page"})
	got := candidates(fault.From(err))
	if !fault.HasCode(err, fault.CodeDuplicateTask) || len(got) != 10 || got[0].ID != same.ID || got[1].ID == oldSimilar.ID {
		t.Errorf("create-task with 600 similar titles: got %v with candidates %+v, want DUPLICATE_TASK with 10, the same title first", err, got)
	}
}
