package tracker_test

import (
	"fmt"
	"strings"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// The queues are read in index order, and the scan stops after a page or a claimed task: plans
// contain neither a sort nor a sequential scan.
func TestQueryPlans_QueuesUseIndexes(t *testing.T) {
	t.Parallel()
	w := newWorldAmongManyTenants(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	member := w.addPerson(person{roles: []string{"Member"}})
	hub, far := w.createTask(p, "Hub"), w.createTask(p, "Far")
	w.addDependency(hub, far)
	w.addTasks(p, 4000)
	w.ownCrowd().addDependenciesAndLeases()
	w.exec(`ANALYZE`)
	e := &queryRecorder{}
	w.recordQueries(e)
	wantIndexScan := func(name, part, index string, in fields, op string) {
		t.Helper()
		e.queries = nil
		if _, err := w.call(member, op, in); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found := false
		for _, h := range e.queries {
			if !strings.Contains(h.sql, part) {
				continue
			}
			found = true
			w.wantIndexed(name, h)
			for _, generic := range []bool{false, true} {
				plan := w.explain(toPositional(t, h), generic)
				if !strings.Contains(plan, index) || strings.Contains(plan, "Sort") {
					t.Errorf("%s (generic plan: %v) does not scan the index %s:\n%s", name, generic, index, plan)
				}
				if generic && name == "ready" {
					t.Logf("%s:\n%s", name, plan)
				}
			}
		}
		if !found {
			t.Errorf("%s: no recorded statement contains %q", name, part)
		}
	}
	const pressure = "using tasks_by_pressure on tasks t"
	page := do[op.Page[contract.TaskSummary]](w, member, "list-tasks", fields{"projectId": p.ID, "ready": true, "limit": 50})
	if len(page.Items) != 50 || page.NextCursor == "" {
		t.Fatalf("list-tasks: got %d ready tasks, want a full page of 50", len(page.Items))
	}
	for name, in := range map[string]fields{
		"ready": {"ready": true}, "ready, second page": {"ready": true, "cursor": page.NextCursor}, "ready and high": {"ready": true, "priority": "HIGH"},
		"review": {"review": true},
	} {
		wantIndexScan(name, "FROM projects.tasks t", pressure, merge(fields{"projectId": p.ID, "limit": 50}, in), "list-tasks")
	}
	// The tasks of all projects.
	for index, in := range map[string]fields{
		"tasks_by_update": {}, "tasks_by_update on": {"label": "red"}, "tasks_by_urgency": {"ready": true}, "tasks_by_urgency on": {"review": true},
		"tasks_by_due": {"sort": "due"}, "tasks_by_due on": {"open": true, "sort": "due"},
		"tasks_by_urgency on tasks t": {"sort": "priority"}, "using tasks_by_urgency": {"open": true, "sort": "priority"},
	} {
		wantIndexScan(fmt.Sprint("search-tasks ", in), "projects.tasks t", index, merge(fields{"limit": 50}, in), "search-tasks")
	}
	// Small sets of tasks, which are sorted.
	for index, in := range map[string]fields{"decision_requests_awaiting_any": {"awaitingDecision": true}, "tasks_by_assignee": {"assignee": w.manager.id, "open": true}} {
		e.queries = nil
		do[op.Page[contract.TaskSummary]](w, member, "search-tasks", in)
		h := e.queries[len(e.queries)-1]
		if w.wantIndexed(fmt.Sprint("search-tasks ", in), h); !strings.Contains(w.explain(h, true), index) {
			t.Errorf("search-tasks %v does not scan the index %s:\n%s", in, index, w.explain(h, true))
		}
	}
	wantIndexScan("claim", "SELECT t.id FROM projects.tasks t, projects.projects p", pressure, fields{"projectId": p.ID}, "claim-next-ready")
	wantIndexScan("dependencies", "po.prefix", "dependencies_of_task on dependencies d", fields{"projectId": p.ID, "task": hub.Key, "direction": "BLOCKED_BY"}, "list-dependencies")
	wantIndexScan("dependents", "po.prefix", "dependencies_by_target on dependencies d", fields{"projectId": p.ID, "task": far.Key, "direction": "BLOCKS"}, "list-dependencies")
	wantIndexScan("export", "t.number >", "Index Scan using tasks_number_once on tasks t", fields{"projectId": p.ID, "limit": 50}, "export-items")
	// All other statements of these operations.
	for name, in := range map[string]fields{
		"claim-next-ready": {"projectId": p.ID, "leaseSeconds": 60}, "add-dependency": {"projectId": p.ID, "task": far.Key, "dependsOn": w.createTask(p, "Third").Key},
		"export-items": {"projectId": p.ID, "limit": 200},
		"import-items": {"projectId": p.ID, "items": []fields{{"id": "a", "title": "A", "dependencies": link("b", "blocks")}, {"id": "b", "title": "B"}}},
	} {
		e.queries = nil
		if _, err := w.call(w.manager, name, in); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, h := range e.queries {
			// The tenant check of every request has its own test.
			if sql := strings.TrimSpace(h.sql); !strings.Contains(sql, "tenant_context") && (strings.HasPrefix(sql, "SELECT") || strings.HasPrefix(sql, "WITH RECURSIVE")) && strings.Contains(sql, "projects.") {
				w.wantIndexed(fmt.Sprint(name, ": ", sql), h)
			}
		}
	}
}
