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

func TestATaskLikeAnOpenOneIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.project("Apollo", fields{"prefix": "APO"}), w.project("Gemini")
	create := func(title string, more ...fields) (*contract.Task, error) {
		out, err := w.try(w.manager, "create-task", merge(fields{"projectId": p.ID, "title": title}, more...))
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
			t.Errorf("%q: got %v %+v", title, err, got)
		}
	}
	for _, title := range []string{"Fix the logout button", "Login", "Something else"} {
		if _, err := create(title); err != nil {
			t.Errorf("%q: %v", title, err)
		}
	}
	before := w.count(`SELECT count(*) FROM projects.tasks`)
	// Elsewhere, as a sub-task, and once it is over, it is no duplicate.
	if _, err := w.try(w.manager, "create-task", fields{"projectId": other.ID, "title": first.Title}); err != nil {
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
	w.refused(fault.CodeDuplicateTask, w.manager, "create-task", fields{"projectId": p.ID, "title": first.Title})
	allowed, err := create(first.Title, fields{"allowDuplicate": true})
	if err != nil {
		t.Fatal(err)
	}
	if n := w.count(`SELECT count(*) FROM projects.tasks`) - before; n != 4 {
		t.Errorf("%d tasks were created, want 4", n)
	}
	// Import is exempt.
	out := do[contract.ImportItemsOut](w, w.manager, "import-items", fields{"projectId": p.ID, "items": []fields{{"id": "a", "title": first.Title}}})
	if len(out.Results) != 1 {
		t.Errorf("the import gives %+v", out)
	}
	for id, want := range map[op.UUID]string{
		first.ID: `{"outcome":"NONE","overridden":false,"candidates":[]}`, sub.ID: ``, again.ID: `{"outcome":"NONE","overridden":false,"candidates":[]}`,
		allowed.ID: fmt.Sprintf(`{"outcome":"FOUND","overridden":true,"candidates":[{"id":"%s","similarity":1}]}`, again.ID),
	} {
		w.wantCheck(id, want)
	}
}

// wantCheck reads what the audit entry of a creation says of the duplicate guard.
func (w *world) wantCheck(task op.UUID, want string) {
	w.t.Helper()
	var got string
	err := w.owner.QueryRow(w.t.Context(), `SELECT coalesce(changes->>'duplicateCheck', '') FROM audit.entries WHERE action = 'task.created' AND resource_id = $1`, string(task)).Scan(&got)
	if err != nil {
		w.t.Fatal(err)
	}
	var a, b any
	if want != "" && (json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b)) || (want == "") != (got == "") {
		w.t.Errorf("the audit entry says %q, want %q", got, want)
	}
}

// What the caller cannot read is no candidate, and does not stop it.
func TestTheDuplicateGuardTellsOnlyOfWhatCanBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.role("Blind Creator", "task.create")
	p := w.project("Apollo")
	theirs := w.task(p, "Fix the login page")
	creator := w.person(person{roles: []string{"Blind Creator"}})
	mine := do[contract.Task](w, creator, "create-task", fields{"projectId": p.ID, "title": "Fix the login page"})
	w.wantCheck(mine.ID, `{"outcome":"NONE","overridden":false,"candidates":[]}`)
	both := candidates(w.refused(fault.CodeDuplicateTask, w.manager, "create-task", fields{"projectId": p.ID, "title": "Fix the login page!"}))
	if len(both) != 2 || (both[0].ID != theirs.ID && both[1].ID != theirs.ID) {
		t.Errorf("the manager's candidates are %+v", both)
	}
}

func TestTheDuplicateGuardCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deps.DuplicateGateDisabled = true
	w.remake()
	p := w.project("Apollo")
	for range 2 {
		task := do[contract.Task](w, w.manager, "create-task", fields{"projectId": p.ID, "title": "The same"})
		w.wantCheck(task.ID, "")
	}
}

// Nothing is locked: of many at once at least one comes to be, and whoever comes
// after them is refused.
func TestAlikeTasksAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	var wait sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wait.Go(func() {
			_, errs[i] = w.try(w.manager, "create-task", fields{"projectId": p.ID, "title": "Fix the login page"})
		})
	}
	wait.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !fault.HasCode(err, fault.CodeDuplicateTask) {
			t.Errorf("got %v", err)
		}
	}
	if n := w.count(`SELECT count(*) FROM projects.tasks`); made == 0 || made != n {
		t.Errorf("%d were acknowledged and %d are there", made, n)
	}
	w.refused(fault.CodeDuplicateTask, w.manager, "create-task", fields{"projectId": p.ID, "title": "Fix the login page"})
}

// The similarity is that of pg_trgm, and what the index is asked for misses
// nothing that is as similar.
func TestSimilarityIsThatOfTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo", fields{"prefix": "APO"})
	stems := []string{
		"Fix the login page", "Fix the login page for guests", "Login page is slow", "Make the login page faster", "Write release notes",
		"Write the release notes for 1.2", "Release", "A", "ab", "Zebra crossing quiz", "quiz zebra crossing", "x1 y2 z3", "x1 y2 z4", "Upgrade Go to 1.26", "Upgrade Go to 1.27",
	}
	for _, title := range stems {
		w.task(p, title)
	}
	for _, title := range append(stems, "the login page", "Fix login", "release notes", "upgrade go", "zebra crossing") {
		want := map[string]float64{}
		for _, other := range stems {
			var sim float64
			var alike bool
			if err := w.owner.QueryRow(t.Context(), `SELECT similarity($1, $2)::float8, similarity($1, $2) >= 0.6::real`, title, other).Scan(&sim, &alike); err != nil {
				t.Fatal(err)
			}
			if alike {
				want[other] = math.Round(sim*100) / 100
			}
		}
		got := map[string]float64{}
		_, err := w.try(w.manager, "create-task", fields{"projectId": p.ID, "title": title})
		if err != nil {
			last := 1.0
			for _, c := range candidates(fault.From(err)) {
				if got[c.Title] = c.Similarity; c.Similarity > last {
					t.Errorf("%q: the most similar does not come first", title)
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

// TestTheDuplicateGuardIsBounded: among very many titles that could be alike the very
// same one is found, however old, and then the newest are looked at.
func TestTheDuplicateGuardIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	closest, same := w.task(p, "Fix the login pages"), w.task(p, "Fix the login page", fields{"allowDuplicate": true})
	w.exec(`
INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, status, status_category, issue_type, priority, progress, created_by, created_at, updated_at)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, 1000 + n, 'Fix the login page now', t.status, t.status_category, 'TASK', 'MEDIUM', 0, t.created_by, now(), now()
FROM projects.tasks t, generate_series(1, 600) n WHERE t.id = $1`, same.ID)
	_, err := w.try(w.manager, "create-task", fields{"projectId": p.ID, "title": "Fix the login page"})
	got := candidates(fault.From(err))
	if !fault.HasCode(err, fault.CodeDuplicateTask) || len(got) != 10 || got[0].ID != same.ID || got[1].ID == closest.ID {
		t.Errorf("got %v %+v", err, got)
	}
}
