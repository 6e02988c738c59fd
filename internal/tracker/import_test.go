package tracker_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func isNotFoundOrInvalid(err error) bool {
	return fault.HasCode(err, fault.CodeNotFound) || fault.HasCode(err, fault.CodeValidation)
}

func (w *world) importItems(p *contract.Project, items ...fields) *contract.ImportItemsOut {
	w.t.Helper()
	return do[contract.ImportItemsOut](w, w.manager, "import-items", fields{"projectId": p.ID, "items": items})
}

func (w *world) importedTask(p *contract.Project, r contract.ImportResult) *contract.Task {
	w.t.Helper()
	return do[contract.Task](w, w.manager, "get-task", fields{"projectId": p.ID, "task": r.TaskID})
}

func TestImportItems_CreatesTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	out := w.importItems(p,
		fields{"id": "x-1", "title": "One", "description": "Text", "status": "closed", "priority": 0, "issue_type": "bug", "labels": []string{"b", "a"},
			"created_at": "2025-11-02T21:58:07.295058-08:00", "closed_at": "2025-11-03T20:56:22.7Z"},
		fields{"id": "x-2", "title": "Two", "status": "hooked", "issue_type": "merge-request", "priority": 4},
		fields{"id": "x-3", "title": "Three", "status": "in_review"},
		fields{"id": "x-4", "title": "Four"},
	)
	if out.Created != 4 || out.Failed+out.Updated+out.Unchanged != 0 {
		t.Fatalf("import: got %+v, want 4 created", out)
	}
	for i, want := range []struct{ key, status, kind, priority, labels string }{
		{"APO-1", "DONE", "BUG", "URGENT", "[a b]"}, {"APO-2", "IN_PROGRESS", "TASK", "LOW", "[type:merge-request]"},
		{"APO-3", "IN_REVIEW", "TASK", "MEDIUM", "[]"}, {"APO-4", "TODO", "TASK", "MEDIUM", "[]"},
	} {
		r := out.Results[i]
		task := w.importedTask(p, r)
		if r.Key != want.key || task.Key != want.key || task.Status != want.status || task.IssueType != want.kind || task.Priority != want.priority || fmt.Sprint(task.Labels) != want.labels {
			t.Errorf("item %d: got task %+v, want %+v", i, task, want)
		}
		w.wantAuditAndEvents(1, "task.created", contract.EventTaskCreated, task.ID)
	}
	one := w.importedTask(p, out.Results[0])
	if one.Progress != 100 || one.Description != "Text" || !one.CreatedAt.Equal(time.Date(2025, 11, 3, 5, 58, 7, 295058000, time.UTC)) ||
		one.CompletedAt == nil || !one.CompletedAt.Equal(time.Date(2025, 11, 3, 20, 56, 22, 700000000, time.UTC)) {
		t.Errorf("imported closed item: got %+v, want progress 100, the description, and the times of the item", one)
	}
	// The next task gets the number after the last imported task.
	if task := w.createTask(p, "Next"); task.Key != "APO-5" {
		t.Errorf("task after the import: got %s, want APO-5", task.Key)
	}
}

func TestImportItems_InvalidItemsFailIndividually(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	out := w.importItems(p,
		fields{"id": "ok-1", "title": "Good"},
		fields{"title": "No id"},
		fields{"id": "b-2"},
		fields{"id": "b-3", "title": "x", "status": "wontfix"},
		fields{"id": "b-4", "title": "x", "priority": 9},
		fields{"id": "b-5", "title": "x", "priority": "high"},
		fields{"id": "b-6", "title": "x", "colour": "red"},
		fields{"id": "ok-1", "title": "Again"},
		fields{"id": "b-8", "title": "x", "labels": []string{""}},
		fields{"id": "b-9", "title": "x", "dependencies": []fields{{"depends_on_id": "b-9", "type": "blocks"}}},
		fields{"id": "b-10", "title": "x\u0000"},
		fields{"id": "b-11", "title": "x", "created_at": "yesterday"},
		fields{"id": "ok-2", "title": "Good too"},
	)
	if out.Created != 2 || out.Failed != 11 || len(out.Results) != 13 {
		t.Fatalf("import with invalid items: got %+v, want 2 created, 11 failed and 13 results", out)
	}
	for i, r := range out.Results {
		want := contract.OutcomeFailed
		if i == 0 || i == 12 {
			want = contract.OutcomeCreated
		}
		if r.Index != i || r.Outcome != want || (want == contract.OutcomeFailed) != (r.Reason != "") {
			t.Errorf("item %d: got result %+v, want the outcome %s, with a reason if it failed", i, r, want)
		}
	}
	if n := w.count(`SELECT count(*) FROM projects.tasks`); n != 2 {
		t.Errorf("got %d tasks, want 2", n)
	}
}

func TestImportItems_RepeatedImportCreatesNoDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	items := []fields{{"id": "a", "title": "A", "status": "closed"}, {"id": "b", "title": "B"}, {"id": "c", "title": "C"}}
	first := w.importItems(p, items[:2]...)
	// Changes of the task are kept as long as the item is unchanged.
	do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": first.Results[1].Key, "title": "B, edited"})
	entries := w.count(`SELECT count(*) FROM audit.entries`)
	again := w.importItems(p, items[:2]...)
	if again.Unchanged != 2 || again.Results[0].TaskID != first.Results[0].TaskID || again.Results[1].Key != first.Results[1].Key {
		t.Errorf("repeated import: got %+v, want both unchanged with the same tasks", again)
	}
	if n := w.count(`SELECT count(*) FROM audit.entries`); n != entries {
		t.Errorf("importing unchanged items: got %d audit entries, want 0", n-entries)
	}
	if task := w.importedTask(p, again.Results[1]); task.Title != "B, edited" {
		t.Errorf("title after the repeated import: got %s, want B, edited", task.Title)
	}
	items[0]["status"], items[1]["title"] = "open", "B2"
	third := w.importItems(p, items...)
	if third.Updated != 2 || third.Created != 1 {
		t.Errorf("import of changed items: got %+v, want 2 updated and 1 created", third)
	}
	if a := w.importedTask(p, third.Results[0]); a.Status != "TODO" || a.Progress != 0 || a.CompletedAt != nil {
		t.Errorf("reopened task: got %+v, want TODO with progress 0 and no completion time", a.TaskSummary)
	}
	if b := w.importedTask(p, third.Results[1]); b.Title != "B2" {
		t.Errorf("title after the import of a changed item: got %s, want B2", b.Title)
	}
	w.wantAuditAndEvents(1, "task.updated", contract.EventTaskUpdated, third.Results[0].TaskID)
	// Another project can import the same items.
	if other := w.importItems(w.createProject("Gemini"), items...); other.Created != 3 {
		t.Errorf("import into another project: got %+v, want 3 created", other)
	}
	// Importing the item of a deleted task creates a new task.
	do[op.None](w, w.manager, "delete-task", fields{"projectId": p.ID, "task": third.Results[2].Key})
	if back := w.importItems(p, items...); back.Created != 1 || back.Unchanged != 2 {
		t.Errorf("import after the deletion of a task: got %+v, want 1 created and 2 unchanged", back)
	}
}

func TestImportItems_ConcurrentImportsCreateNoDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 8)
	p := w.createProject("Apollo")
	var items []fields
	for i := range 200 {
		items = append(items, fields{"id": fmt.Sprint("i-", i), "title": fmt.Sprint("Item ", i)})
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := w.call(w.manager, "import-items", fields{"projectId": p.ID, "items": items}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := w.count(`SELECT count(*) FROM projects.tasks`); n != 200 {
		t.Errorf("got %d tasks, want 200", n)
	}
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action = 'task.created'`); n != 200 {
		t.Errorf("got %d audit entries, want 200", n)
	}
}

func link(to, kind string) []fields { return []fields{{"depends_on_id": to, "type": kind}} }

func TestImportItems_LinksParentsImportedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	first := w.importItems(p,
		fields{"id": "child", "title": "Child of an epic", "dependencies": link("epic", "parent-child")},
		fields{"id": "sub", "title": "Sub-task", "dependencies": link("task", "parent-child")},
		fields{"id": "task", "title": "Task"},
		fields{"id": "deep", "title": "Below a sub-task", "dependencies": link("sub", "parent-child")},
		fields{"id": "lost", "title": "Never", "dependencies": link("nowhere", "parent-child")},
		fields{"id": "waits", "title": "Waits", "dependencies": link("task", "blocks")},
	)
	if first.Created != 6 || first.Linked != 1 || first.SubTasks != 1 {
		t.Fatalf("first import: got %+v, want 6 created and 1 linked sub-task", first)
	}
	if sub := w.importedTask(p, first.Results[1]); sub.ParentTaskID != first.Results[2].TaskID {
		t.Errorf("sub-task: got %+v, want its parent in the same import", sub.TaskSummary)
	}
	for _, i := range []int{0, 3, 4, 5} {
		if task := w.importedTask(p, first.Results[i]); task.ParentTaskID != "" || task.EpicID != "" {
			t.Errorf("item %s: got %+v, want no parent and no epic", first.Results[i].ID, task.TaskSummary)
		}
	}
	w.wantAuditAndEvents(0, "task.updated", contract.EventTaskUpdated, first.Results[1].TaskID)
	second := w.importItems(p, fields{"id": "epic", "title": "Epic", "issue_type": "epic", "dependencies": link("task", "parent-child")})
	if second.Created != 1 || second.Linked != 1 || second.SubTasks != 0 {
		t.Fatalf("import of the epic: got %+v, want 1 created and 1 linked", second)
	}
	if child := w.importedTask(p, first.Results[0]); child.EpicID != second.Results[0].TaskID {
		t.Errorf("child after the import of its epic: got %+v, want the epic", child.TaskSummary)
	}
	w.wantAuditAndEvents(1, "task.updated", contract.EventTaskUpdated, first.Results[0].TaskID)
	// Changing the parent of an item moves its task; removing it clears the parent.
	third := w.importItems(p, fields{"id": "child", "title": "Child", "dependencies": link("task", "parent-child")}, fields{"id": "sub", "title": "Sub-task"})
	if child := w.importedTask(p, third.Results[0]); child.EpicID != "" || child.ParentTaskID != first.Results[2].TaskID {
		t.Errorf("child with another parent: got %+v, want that parent and no epic", child.TaskSummary)
	}
	if sub := w.importedTask(p, third.Results[1]); sub.ParentTaskID != "" {
		t.Errorf("sub-task without its parent link: got %+v, want no parent", sub.TaskSummary)
	}
	// An epic with children cannot change its type, and a child cannot become an epic.
	w.importItems(p, fields{"id": "kid", "title": "Kid", "dependencies": link("epic", "parent-child")})
	bad := w.importItems(p, fields{"id": "epic", "title": "Epic", "issue_type": "task"}, fields{"id": "kid", "title": "Kid", "issue_type": "epic"})
	if bad.Failed != 2 {
		t.Errorf("import of impossible types: got %+v, want 2 failed", bad)
	}
	if n := w.count(`SELECT count(*) FROM projects.import_links WHERE type = 'blocks' AND source_id = 'waits' AND depends_on_id = 'task'`); n != 1 {
		t.Errorf("stored blocks links of the item waits: got %d, want 1", n)
	}
}

func TestImportItems_UpdatesOnlyTasksTheCallerMayUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	w.importItems(p, fields{"id": "a", "title": "A"}, fields{"id": "kid", "title": "Kid", "dependencies": link("e", "parent-child")})
	agent := w.addPerson(person{roles: []string{"Agent"}})
	out := do[contract.ImportItemsOut](w, agent, "import-items", fields{"projectId": p.ID, "items": []fields{
		{"id": "a", "title": "A, taken over"}, {"id": "b", "title": "B"}, {"id": "e", "title": "E", "issue_type": "epic"},
	}})
	if out.Failed != 1 || out.Created != 2 || out.Results[0].Outcome != contract.OutcomeFailed || out.Linked != 0 {
		t.Errorf("import by the agent: got %+v, want the first item failed, 2 created and none linked", out)
	}
	if task := w.importedTask(p, out.Results[0]); task.Title != "A" {
		t.Errorf("title of a task that the agent may not update: got %s, want A", task.Title)
	}
}

func TestImportItems_FullBatchesWithinTimeLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	const batches = 4
	started := time.Now()
	for b := range batches {
		var items []fields
		for i := range contract.MaxImportItems {
			n := b*contract.MaxImportItems + i
			item := fields{"id": fmt.Sprint("i-", n), "title": fmt.Sprint("Item ", n), "description": "A text of some length, as people write.", "status": []string{"open", "closed"}[n%2]}
			if n%7 == 0 {
				item["issue_type"] = "epic"
			} else if n%3 == 0 {
				item["dependencies"] = link(fmt.Sprint("i-", n-n%7), "parent-child")
			}
			items = append(items, item)
		}
		if out := w.importItems(p, items...); out.Created != contract.MaxImportItems {
			t.Fatalf("import of a full batch: got %+v, want %d created", out, contract.MaxImportItems)
		}
	}
	took := time.Since(started)
	t.Logf("%d items in %s", batches*contract.MaxImportItems, took)
	if took > 30*time.Second {
		t.Errorf("importing %d items took %s, want at most 30s", batches*contract.MaxImportItems, took)
	}
	if n := w.count(`SELECT count(*) FROM projects.tasks t JOIN projects.tasks e ON e.tenant_id = t.tenant_id AND e.id = t.epic_id WHERE e.issue_type = 'EPIC'`); n < 400 {
		t.Errorf("got %d children with an epic, want at least 400", n)
	}
}
