package tracker_test

import (
	"regexp"
	"strings"
	"testing"

	"parapet/internal/op"
)

func TestQueryPlans_SearchesAndDeliverablesUseIndexes(t *testing.T) {
	t.Parallel()
	w := newWorldAmongManyTenants(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	epic := w.createTask(p, "Epic", fields{"issueType": "EPIC"})
	child := w.createTask(p, "Child", fields{"epicId": epic.ID})
	d := w.createDeliverable(p, "UNDER_REVIEW", fields{"taskId": child.ID})
	s := scene{}
	w.addDeliverables(p, &s)
	w.addTasks(p, 1000)
	w.ownCrowd().addDeliverables()
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
		{"search-tasks", fields{"search": "number 7"}}, {"search-tasks", fields{"search": "APO-7", "open": true}}, {"search-tasks", fields{"search": "%"}},
		{"search-tasks", fields{"projectId": p.ID, "search": "number 7"}}, {"search-tasks", fields{"projectId": p.ID, "open": true}},
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
			if !strings.Contains(h.sql, "search_tasks(") && !strings.Contains(h.sql, "search_tenant_tasks(") {
				continue
			}
			// The search function must run once, before the tasks are read.
			if plan := w.explain(h, true); !strings.Contains(plan, "Function Scan on search_") && !strings.Contains(plan, "ProjectSet") {
				t.Errorf("%s %v does not scan the result of the search function:\n%s", call.name, call.in, plan)
			}
		}
	}
}
