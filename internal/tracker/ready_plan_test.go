package tracker_test

import (
	"fmt"
	"strings"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// addDependenciesAndLeases adds dependencies to tasks of every tenant, half of them on finished tasks, and
// leases and import items to some.
func (w *world) addDependenciesAndLeases() {
	w.t.Helper()
	w.exec(`
INSERT INTO projects.dependencies (tenant_id, id, task_id, depends_on_id, created_by, created_at)
SELECT t.tenant_id, gen_random_uuid(), t.id, o.id, t.created_by, now()
FROM projects.tasks t JOIN projects.tasks o ON o.tenant_id = t.tenant_id AND o.project_id = t.project_id AND o.number = t.number + 1 + t.number % 2
WHERE t.status_category = 'TODO'`)
	w.exec(`
INSERT INTO projects.claims (tenant_id, id, project_id, task_id, holder_id, former_status, seconds, claimed_by, claimed_at, expires_at)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, t.id, t.created_by, 'TODO', 60, t.created_by, now(), now() + t.number * interval '1 minute'
FROM projects.tasks t WHERE t.status_category = 'IN_PROGRESS'`)
	w.exec(`
INSERT INTO projects.import_items (tenant_id, project_id, source_id, task_id, fingerprint, source, imported_at)
SELECT t.tenant_id, t.project_id, 'i-' || t.number, t.id, '', '{}', now() FROM projects.tasks t WHERE t.number % 2 = 0`)
	w.exec(`
INSERT INTO projects.import_links (tenant_id, project_id, source_id, depends_on_id, type, position)
SELECT i.tenant_id, i.project_id, i.source_id, 'nowhere-' || i.source_id, 'blocks', 0 FROM projects.import_items i`)
	w.exec(`INSERT INTO projects.counters (tenant_id, project_id, last_number) SELECT p.tenant_id, p.id, 5000 FROM projects.projects p ON CONFLICT DO NOTHING`)
	w.exec(`ANALYZE`)
}

// The queues are read in index order, and the scan stops after a page or a claimed task: plans
// contain neither a sort nor a sequential scan.
func TestQueryPlans_QueuesUseIndexes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	member := w.addPerson(person{roles: []string{"Member"}})
	hub, far := w.createTask(p, "Hub"), w.createTask(p, "Far")
	w.addDependency(hub, far)
	w.addManyTenants(p, 100, 20, 4000)
	w.addDependenciesAndLeases()
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
