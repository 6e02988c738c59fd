package tracker_test

import (
	"regexp"
	"strings"
	"testing"

	"parapet/internal/op"
)

func TestQueryPlans_SearchesAndDeliverablesUseIndexes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	epic := w.createTask(p, "Epic", fields{"issueType": "EPIC"})
	child := w.createTask(p, "Child", fields{"epicId": epic.ID})
	d := w.createDeliverable(p, "UNDER_REVIEW", fields{"taskId": child.ID})
	s := scene{}
	w.addDeliverables(p, &s)
	w.addManyTenants(p, 60, 25, 1000)
	w.exec(`INSERT INTO projects.deliverables (tenant_id, id, project_id, title, status, created_by, created_at, updated_at)
		SELECT p.tenant_id, gen_random_uuid(), p.id, 'D', 'SUBMITTED', p.tenant_id, now(), now() FROM projects.projects p, generate_series(1, 20)`)
	w.exec(`INSERT INTO projects.criteria (tenant_id, id, project_id, deliverable_id, text, created_by, created_at, updated_at)
		SELECT d.tenant_id, gen_random_uuid(), d.project_id, d.id, 'C', d.tenant_id, now(), now() FROM projects.deliverables d`)
	w.exec(`INSERT INTO projects.custom_fields (tenant_id, id, project_id, name, type, created_by, created_at, updated_at)
		SELECT p.tenant_id, gen_random_uuid(), p.id, 'F' || n, 'TEXT', p.tenant_id, now(), now() FROM projects.projects p, generate_series(1, 5) n`)
	w.exec(`INSERT INTO projects.custom_field_values (tenant_id, project_id, task_id, field_id, value)
		SELECT t.tenant_id, t.project_id, t.id, f.id, 'v' FROM projects.tasks t
		JOIN projects.custom_fields f ON f.tenant_id = t.tenant_id AND f.project_id = t.project_id AND f.name = 'F1' WHERE t.number % 5 = 0`)
	w.exec(`UPDATE projects.tasks t SET epic_id = e.id FROM (SELECT DISTINCT ON (tenant_id, project_id) tenant_id, project_id, id, number FROM projects.tasks WHERE issue_type = 'TASK' AND tenant_id <> $1 ORDER BY tenant_id, project_id, number) e
		WHERE t.tenant_id = e.tenant_id AND t.project_id = e.project_id AND t.number > e.number`, w.acme)
	w.exec(`ANALYZE`)
	// Only tables with many rows; small tables are read with a sequential scan.
	filled := regexp.MustCompile(`Seq Scan on (projects|tasks|search_terms|deliverables|criteria|custom_fields|custom_field_values)\b`)
	e := &queryRecorder{}
	w.recordQueries(e)
	at := fields{"projectId": p.ID, "deliverableId": d.ID}
	for _, call := range []struct {
		name string
		in   fields
	}{
		{"list-tasks", fields{"projectId": p.ID, "search": "number 7"}}, {"list-tasks", fields{"projectId": p.ID, "search": "APO-7"}},
		{"list-tasks", fields{"projectId": p.ID, "search": "t"}}, {"list-tasks", fields{"projectId": p.ID, "search": "%"}},
		{"list-tasks", fields{"projectId": p.ID, "search": "umbe OR -text", "status": "DONE"}},
		{"create-task", fields{"projectId": p.ID, "title": "Something that nobody has thought of", "allowDuplicate": true}},
		{"list-epic-children", fields{"epicId": epic.ID}},
		{"list-epic-children", fields{"epicId": epic.ID, "cursor": op.NewCursor("list-epic-children", w.acme, string(epic.ID), string(p.ID), "1", "0")}},
		{"list-deliverables", fields{"projectId": p.ID}}, {"list-deliverables", fields{"projectId": p.ID, "status": "SUBMITTED"}},
		{"list-deliverables", fields{"projectId": p.ID, "taskId": child.ID}}, {"get-deliverable", at},
		{"reject-deliverable", merge(fields{"failedCriteria": []op.UUID{d.Criteria[0].ID}}, at)}, {"delete-deliverable", at},
		{"list-criteria", fields{"projectId": p.ID}}, {"list-criteria", fields{"projectId": p.ID, "deliverableId": s.draft}},
		{"list-criteria", fields{"projectId": p.ID, "taskId": child.ID}},
		{"create-criterion", fields{"projectId": p.ID, "taskId": child.ID, "text": "x"}},
		{"update-criterion", fields{"projectId": p.ID, "criterionId": s.criterion, "met": true}},
		{"list-custom-fields", fields{"projectId": p.ID}},
		{"set-custom-field-values", fields{"projectId": p.ID, "task": child.Key, "values": []fields{{"field": s.field, "value": "x"}}}},
		{"get-task", fields{"projectId": p.ID, "task": child.Key}}, {"delete-custom-field", fields{"projectId": p.ID, "fieldId": s.field}},
	} {
		e.queries = nil
		if _, err := w.call(w.manager, call.name, call.in); err != nil {
			t.Fatal(err)
		}
		for _, h := range e.queries {
			if !strings.Contains(h.sql, "projects.") {
				continue
			}
			h = toPositional(t, h)
			for _, generic := range []bool{false, true} {
				if plan := w.explain(h, generic); filled.MatchString(plan) {
					t.Errorf("%s %v (generic plan: %v) uses a sequential scan:\n%s", call.name, call.in, generic, plan)
				}
			}
			if !strings.Contains(h.sql, "search_tasks(") {
				continue
			}
			// The search function must run once, before the tasks are read.
			if plan := w.explain(h, true); !strings.Contains(plan, "Function Scan on search_tasks") && !strings.Contains(plan, "ProjectSet") {
				t.Errorf("%s %v does not scan the result of search_tasks:\n%s", call.name, call.in, plan)
			}
		}
	}
}
