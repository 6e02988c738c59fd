package tracker_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// exportAll returns all items of a project, requested in pages of limit.
func (w *world) exportAll(who *person, p *contract.Project, limit int) []contract.ImportItem {
	w.t.Helper()
	var items []contract.ImportItem
	for cursor := ""; ; {
		in := fields{"projectId": p.ID, "limit": limit}
		if cursor != "" {
			in["cursor"] = cursor
		}
		page := do[op.Page[contract.ImportItem]](w, who, "export-items", in)
		items = append(items, page.Items...)
		if cursor = page.NextCursor; cursor == "" {
			return items
		}
	}
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// toInput converts items to request input.
func toInput(t testing.TB, items any) []fields {
	t.Helper()
	var list []fields
	if err := json.Unmarshal([]byte(toJSON(t, items)), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestExport_ReturnsImportedItemsUnchanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	items := []fields{
		{"id": "epic", "title": "  Epic \n", "issue_type": "epic", "status": "open", "priority": 0},
		{"id": "x-1", "title": "One", "description": " Text\n", "status": "closed", "priority": 4, "issue_type": "merge-request", "labels": []string{"b", "a", "b"},
			"created_at": "2025-11-02T21:58:07.295058-08:00", "closed_at": "2025-11-03T20:56:22.7Z",
			"dependencies": []fields{{"depends_on_id": "x-2", "type": "related"}, {"depends_on_id": "x-2", "type": "blocks"}, {"depends_on_id": "epic", "type": "parent-child"}, {"depends_on_id": "nowhere", "type": "blocks"}}},
		{"id": "x-2", "title": "Two", "status": "hooked", "dependencies": []fields{{"depends_on_id": "x-1", "type": "blocks"}, {"depends_on_id": "sub", "type": "parent-child"}}},
		{"id": "sub", "title": "Sub", "status": "BACKLOG", "dependencies": link("x-1", "parent-child")},
		{"id": "bare", "title": "Bare"},
		{"id": "over", "title": "Over without a day", "status": "closed", "issue_type": "chore", "priority": 3},
		{"id": "odd", "title": "Closed at a day and open", "closed_at": "2025-11-03T20:56:22.7Z", "issue_type": "event"},
	}
	if out := w.importItems(p, items...); out.Created != len(items) {
		t.Fatalf("first import: got %+v, want %d created", out, len(items))
	}
	want := toInput(t, items)
	for _, limit := range []int{1, 3, 200} {
		if got := w.exportAll(w.manager, p, limit); toJSON(t, toInput(t, got)) != toJSON(t, want) {
			t.Errorf("export with limit %d: got\n%s\nwant\n%s", limit, toJSON(t, got), toJSON(t, want))
		}
	}
	// Import the export into another project and export it again; then import it into
	// the original project.
	other := w.createProject("Gemini")
	if out := w.importItems(other, toInput(t, w.exportAll(w.manager, p, 200))...); out.Created != len(items) {
		t.Fatalf("import of the export into another project: got %+v, want %d created", out, len(items))
	}
	if got := w.exportAll(w.manager, other, 200); toJSON(t, toInput(t, got)) != toJSON(t, want) {
		t.Errorf("export of the second project: got\n%s\nwant\n%s", toJSON(t, got), toJSON(t, want))
	}
	if out := w.importItems(p, toInput(t, w.exportAll(w.manager, p, 200))...); out.Unchanged != len(items) {
		t.Errorf("import into the original project: got %+v, want all unchanged", out)
	}
}

func TestExport_ReflectsChangesAfterImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Gemini", fields{"prefix": "GEM"})
	w.importItems(p,
		fields{"id": "a", "title": "A", "status": "open", "priority": 4, "issue_type": "event", "labels": []string{"x"}, "created_at": "2025-11-02T21:58:07Z",
			"dependencies": []fields{{"depends_on_id": "b", "type": "blocks"}, {"depends_on_id": "c", "type": "blocks"}, {"depends_on_id": "e", "type": "parent-child"}}},
		fields{"id": "b", "title": "B"}, fields{"id": "c", "title": "C"}, fields{"id": "e", "title": "E", "issue_type": "epic"})
	local := w.createTask(p, "Local", fields{"priority": "HIGH", "issueType": "FEATURE", "labels": []string{"z", "y"}, "status": "DONE"})
	far := w.createTask(other, "Far")
	taskInput := fields{"projectId": p.ID, "task": "APO-1"}
	do[contract.Task](w, w.manager, "update-task", merge(fields{"title": "A2", "status": "DONE", "priority": "URGENT", "labels": []string{"n", "type:event"}, "epicId": nil}, taskInput))
	do[op.None](w, w.manager, "remove-dependency", merge(fields{"dependsOnId": "APO-2"}, taskInput))
	for _, id := range []op.UUID{local.ID, far.ID} {
		do[contract.Dependency](w, w.manager, "add-dependency", merge(fields{"dependsOn": id}, taskInput))
	}
	items := w.exportAll(w.manager, p, 200)
	a, localItem := items[0], items[4]
	if a.ID != "a" || a.Title != "A2" || a.Status != "DONE" || *a.Priority != 0 || a.IssueType != "event" || !slices.Equal(a.Labels, []string{"n"}) ||
		a.ClosedAt == nil || a.CreatedAt == nil || fmt.Sprint(a.Dependencies) != fmt.Sprint([]contract.ImportDependency{{DependsOnID: "c", Type: "blocks"}, {DependsOnID: string(local.ID), Type: "blocks"}}) {
		t.Errorf("changed imported task: got item %s, want the id a with the current values and dependencies", toJSON(t, a))
	}
	if localItem.ID != string(local.ID) || localItem.Title != "Local" || *localItem.Priority != 1 || localItem.IssueType != "feature" || localItem.Status != "DONE" ||
		!slices.Equal(localItem.Labels, []string{"y", "z"}) || localItem.ClosedAt == nil || !localItem.CreatedAt.Equal(local.CreatedAt) {
		t.Errorf("task that was not imported: got item %s, want its Parapet id and current values", toJSON(t, localItem))
	}
	// An import into the same project matches tasks that were not imported before.
	back := toInput(t, items)
	if out := w.importItems(p, back...); out.Created != 0 || out.Unchanged != 4 || out.Updated != 1 {
		t.Errorf("import of the export into the same project: got %+v, want 4 unchanged and 1 updated", out)
	}
	w.wantAuditAndEvents(0, "task.updated", contract.EventTaskUpdated, local.ID)
	back[4]["title"], back[4]["dependencies"] = "Local, changed", link("b", "blocks")
	if out := w.importItems(p, back...); out.Created != 0 || out.Updated != 1 || out.Results[4].Key != local.Key || out.Waiting != 1 {
		t.Errorf("import of a changed item of a task that was not imported: got %+v, want it updated with one new dependency", out)
	}
	if again := w.exportAll(w.manager, p, 200); toJSON(t, toInput(t, again)) != toJSON(t, back) {
		t.Errorf("export: got\n%s\nwant\n%s", toJSON(t, again), toJSON(t, back))
	}
	back[4]["dependencies"] = nil
	delete(back[4], "dependencies")
	if out := w.importItems(p, back...); out.Updated != 1 {
		t.Errorf("import of an item without its dependency: got %+v, want it updated", out)
	}
	if got := w.dependencyKeys(w.manager, local); got != "blocks APO-1" {
		t.Errorf("dependencies: got %s, want blocks APO-1", got)
	}
	// In another project the ids match no tasks, so all items are created.
	if out := w.importItems(w.createProject("Mercury"), back...); out.Created != 5 {
		t.Errorf("import into a third project: got %+v, want 5 created", out)
	}
}

// For random items, export after import returns the same items.
func TestExport_RoundTripsThroughImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		p := w.createProject("Apollo")
		n := rapid.IntRange(1, 6).Draw(t, "n")
		var items []fields
		for i := range n {
			item := fields{"id": fmt.Sprint("i", i), "title": rapid.SampledFrom([]string{"T", " T ", "Ünï"}).Draw(t, "title")}
			set := func(name string, values ...any) {
				if v := rapid.SampledFrom(append(values, nil)).Draw(t, name); v != nil {
					item[name] = v
				}
			}
			set("status", "open", "closed", "in_progress", "hooked", "todo", "CANCELLED")
			set("priority", 0, 1, 2, 3, 4)
			set("issue_type", "task", "bug", "epic", "event", "chore")
			set("labels", []string{"b", "a"}, []string{"type:event"})
			set("created_at", "2025-11-02T21:58:07.295058-08:00", "2031-01-01T00:00:00Z")
			set("closed_at", "2025-11-03T20:56:22.7Z")
			if i > 0 && rapid.Bool().Draw(t, "linked") {
				item["dependencies"] = link(fmt.Sprint("i", rapid.IntRange(0, i-1).Draw(t, "to")), rapid.SampledFrom([]string{"blocks", "parent-child", "related"}).Draw(t, "kind"))
			}
			items = append(items, item)
		}
		if out := w.importItems(p, items...); out.Created != n {
			t.Fatalf("import: got %+v, want %d created", out, n)
		}
		if got, want := toJSON(w.t, toInput(w.t, w.exportAll(w.manager, p, 200))), toJSON(w.t, toInput(w.t, items)); got != want {
			t.Fatalf("exported\n%s\nwant\n%s", got, want)
		}
	})
}

func TestExport_RejectsInvalidCursorAndLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	if got := do[op.Page[contract.ImportItem]](w, w.manager, "export-items", fields{"projectId": p.ID}); got.Items == nil || len(got.Items) != 0 {
		t.Errorf("export of an empty project: got %+v, want an empty list", got)
	}
	w.createTask(p, "Task")
	w.createTask(p, "Task")
	page := do[op.Page[contract.ImportItem]](w, w.manager, "export-items", fields{"projectId": p.ID, "limit": 1})
	for _, in := range []fields{{"cursor": "x"}, {"cursor": page.NextCursor, "projectId": w.createProject("Gemini").ID}, {"limit": 0}, {"limit": 201}} {
		w.wantError(fault.CodeValidation, w.manager, "export-items", merge(fields{"projectId": p.ID}, in))
	}
}
