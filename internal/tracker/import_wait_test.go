package tracker_test

import (
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/op"
)

func TestImportItems_BlocksLinksBecomeDependencies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	first := w.importItems(p,
		fields{"id": "a", "title": "A", "dependencies": []fields{{"depends_on_id": "b", "type": "blocks"}, {"depends_on_id": "later", "type": "blocks"}, {"depends_on_id": "c", "type": "related"}}},
		fields{"id": "b", "title": "B", "dependencies": link("c", "blocks")},
		fields{"id": "c", "title": "C", "dependencies": link("a", "blocks")},
		fields{"id": "d", "title": "D", "status": "closed"},
		fields{"id": "e", "title": "E", "dependencies": link("d", "blocks")},
	)
	// The link that would close the cycle is stored but not applied.
	if first.Created != 5 || first.Waiting != 3 || first.Linked != 0 {
		t.Fatalf("first import: got %+v, want 5 created and 3 dependencies", first)
	}
	a := w.importedTask(p, first.Results[0])
	if got := w.dependencyKeys(w.manager, a); got != "by APO-2" {
		t.Errorf("dependencies of A: got %q, want by APO-2", got)
	}
	if got := w.queueKeys(w.manager, p, "ready"); got != "APO-3 APO-5" {
		t.Errorf("ready set: got %q, want APO-3 APO-5", got)
	}
	w.wantAuditAndEvents(0, "task.updated", contract.EventTaskUpdated, a.ID)
	second := w.importItems(p, fields{"id": "later", "title": "Later"})
	if second.Waiting != 1 {
		t.Errorf("import of the missing item: got %+v, want 1 dependency", second)
	}
	w.wantAuditAndEvents(1, "task.updated", contract.EventTaskUpdated, a.ID)
	if got := w.dependencyKeys(w.manager, a); got != "by APO-2, by APO-6" {
		t.Errorf("dependencies of A after the import of the missing item: got %q, want by APO-2, by APO-6", got)
	}
	// A changed item replaces its dependencies. A dependency that a user removed stays removed
	// while its item is unchanged.
	do[op.None](w, w.manager, "remove-dependency", fields{"projectId": p.ID, "task": "APO-2", "dependsOnId": "APO-3"})
	third := w.importItems(p, fields{"id": "a", "title": "A", "dependencies": link("later", "blocks")}, fields{"id": "b", "title": "B", "dependencies": link("c", "blocks")})
	if third.Updated != 1 || third.Unchanged != 1 || third.Waiting != 1 {
		t.Errorf("import of a changed and an unchanged item: got %+v, want 1 updated, 1 unchanged and 1 dependency", third)
	}
	// The removed dependency breaks the cycle, so the link that would have closed it is applied.
	if got := w.dependencyKeys(w.manager, a); got != "by APO-6, blocks APO-3" {
		t.Errorf("dependencies of A after the third import: got %q, want by APO-6, blocks APO-3", got)
	}
	b := w.importedTask(p, first.Results[1])
	if got := w.dependencyKeys(w.manager, b); got != "" {
		t.Errorf("dependencies of B: got %q, want none", got)
	}
}

func TestImportItems_AddsDependenciesOnlyToTasksTheCallerMayUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	first := w.importItems(p, fields{"id": "a", "title": "A", "dependencies": link("b", "blocks")})
	agent := w.addPerson(person{roles: []string{"Agent"}})
	out := do[contract.ImportItemsOut](w, agent, "import-items", fields{"projectId": p.ID, "items": []fields{{"id": "b", "title": "B"}}})
	if out.Created != 1 || out.Waiting != 0 {
		t.Errorf("import by the agent: got %+v, want 1 created and no dependency", out)
	}
	if got := w.dependencyKeys(w.manager, w.importedTask(p, first.Results[0])); got != "" {
		t.Errorf("dependencies of A: got %q, want none", got)
	}
}
