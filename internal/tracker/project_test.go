package tracker_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func TestCreateProject_SetsDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := do[contract.Project](w, w.manager, "create-project", fields{
		"name": "  Lunar Lander  ", "startDate": "2027-01-04", "endDate": "2027-12-31", "description": "Touch down.",
		"storyPointScale": []float64{1, 2, 3.5},
	})
	switch {
	case p.Name != "Lunar Lander" || p.Prefix != "LL" || p.Status != "ACTIVE" || p.Classification != "UNCLASSIFIED":
		t.Errorf("created project: got %+v, want Lunar Lander, LL, ACTIVE, UNCLASSIFIED", p)
	case p.IssuePrefix != "ISS" || p.OrganisationID != w.orgA || p.OwnerID != w.manager.id || p.CreatedBy != w.manager.id:
		t.Errorf("created project: got %+v, want the issue prefix ISS, and the manager and its organisation", p)
	case !slices.Equal(p.CustomStatuses, contract.DefaultStatuses()) || !slices.Equal(p.StoryPointScale, []float64{1, 2, 3.5}):
		t.Errorf("created project: got %+v, want the default statuses and the scale 1, 2, 3.5", p)
	case p.StartDate != "2027-01-04" || p.EndDate != "2027-12-31":
		t.Errorf("created project: got %+v, want the dates of the request", p)
	}
	w.wantAuditAndEvents(1, "project.created", contract.EventProjectCreated, p.ID)
	got := do[contract.Project](w, w.manager, "get-project", fields{"projectId": p.ID})
	if got.Name != p.Name || got.Description != "Touch down." || !got.CreatedAt.Equal(p.CreatedAt) || !slices.Equal(got.CustomStatuses, p.CustomStatuses) {
		t.Errorf("get-project: got %+v, want the created project with its description", got)
	}
	if bare := w.createProject("Bare"); bare.StoryPointScale != nil {
		t.Errorf("default storyPointScale: got %v, want none", bare.StoryPointScale)
	}
}

func TestProjectPrefix_IsUniqueInTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, want := range []string{"APOL", "APOL2", "APOL3"} {
		if p := w.createProject("Apollo"); p.Prefix != want {
			t.Errorf("project %d: got prefix %s, want %s", i, p.Prefix, want)
		}
	}
	if p := w.createProject("Gemini", fields{"prefix": "gem"}); p.Prefix != "GEM" {
		t.Errorf("prefix gem: got %s, want GEM", p.Prefix)
	}
	w.wantError(fault.CodeConflict, w.manager, "create-project", fields{"name": "x", "startDate": "2027-01-04", "prefix": "GEM"})
	// Another tenant can use the same prefix.
	otherTenantUser := w.addPerson(person{tenant: w.globex, roles: []string{"Project Manager"}})
	if p := do[contract.Project](w, otherTenantUser, "create-project", fields{"name": "x", "startDate": "2027-01-04", "prefix": "GEM"}); p.Prefix != "GEM" {
		t.Errorf("prefix of another tenant's project: got %s, want GEM", p.Prefix)
	}
	w.createProject("A", fields{"issuePrefix": "BUG"})
	w.wantError(fault.CodeConflict, w.manager, "create-project", fields{"name": "B", "startDate": "2027-01-04", "issuePrefix": "bug"})
	w.createProject("C", fields{"issuePrefix": "ISS"})
	w.createProject("D", fields{"issuePrefix": "iss"})
}

func TestCreateProject_ValidationErrorsNameTheField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guest := w.addPerson(person{roles: []string{"Guest Customer"}})
	for field, in := range map[string]fields{
		"name":                      {"name": "  "},
		"startDate":                 {"startDate": "tomorrow"},
		"endDate":                   {"endDate": "2026-01-01"},
		"prefix":                    {"prefix": "1X"},
		"classification":            {"classification": "TOP"},
		"organisationId":            {"organisationId": w.orgG},
		"ownerId":                   {"ownerId": guest.id},
		"storyPointScale.1":         {"storyPointScale": []float64{1, 1}},
		"customStatuses.1.name":     {"customStatuses": []fields{{"name": "a", "category": "TODO"}, {"name": "A", "category": "DONE"}}},
		"customStatuses.0.category": {"customStatuses": []fields{{"name": "a", "category": "X"}}},
		"customStatuses":            {"customStatuses": []fields{{"name": "a", "category": "TODO"}}},
		"tenantId":                  {"tenantId": w.globex},
	} {
		f := w.wantError(fault.CodeValidation, w.manager, "create-project", merge(fields{"name": "x", "startDate": "2027-01-04"}, in))
		if f.Field != field {
			t.Errorf("%v: got an error for field %q, want %q", in, f.Field, field)
		}
	}
	if n := w.count(`SELECT count(*) FROM projects.projects`); n != 0 {
		t.Errorf("got %d projects after rejected requests, want 0", n)
	}
}

func TestUpdateProject_ChangesOnlyGivenFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"description": "d", "endDate": "2027-12-31"})
	got := do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "status": "COMPLETED", "endDate": nil, "prefix": "moon", "organisationId": w.orgB, "ownerId": nil})
	if got.Status != "COMPLETED" || got.EndDate != "" || got.Prefix != "MOON" || got.Description != "d" || got.Name != "Apollo" || got.OrganisationID != w.orgB || got.OwnerID != "" {
		t.Errorf("updated project: got %+v, want COMPLETED, MOON, another organisation, no end date and owner, and the other fields unchanged", got)
	}
	w.wantAuditAndEvents(1, "project.updated", contract.EventProjectUpdated, p.ID)
	if n := w.count(`SELECT count(*) FROM events.outbox WHERE type = $1 AND payload->'changed' @> '["status","endDate","prefix"]'`, contract.EventProjectUpdated.Name); n != 1 {
		t.Errorf("events with the changed fields: got %d, want 1", n)
	}
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "status": "COMPLETED"})
	w.wantAuditAndEvents(1, "project.updated", contract.EventProjectUpdated, p.ID)
	for _, in := range []fields{{"name": nil}, {"name": ""}, {"startDate": nil}, {"status": "DONE"}, {"startDate": "2028-01-01", "endDate": "2027-01-01"}, {"id": w.acme}} {
		w.wantError(fault.CodeValidation, w.manager, "update-project", merge(fields{"projectId": p.ID}, in))
	}
	w.createProject("Gemini", fields{"prefix": "GEM"})
	w.wantError(fault.CodeConflict, w.manager, "update-project", fields{"projectId": p.ID, "prefix": "GEM"})
	// Task keys use the new prefix.
	task := w.createTask(got, "Land")
	if task.Key != "MOON-1" {
		t.Errorf("task after a change of the prefix: got %s, want MOON-1", task.Key)
	}
}

func TestUpdateProject_CannotRaiseClassificationAboveClearance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	low := w.addPerson(person{roles: []string{"Project Manager"}, clearance: "INTERNAL"})
	w.wantError(fault.CodeNotFound, low, "update-project", fields{"projectId": p.ID, "classification": "SECRET"})
	w.wantError(fault.CodeNotFound, low, "create-project", fields{"name": "x", "startDate": "2027-01-04", "classification": "SECRET"})
	do[contract.Project](w, low, "update-project", fields{"projectId": p.ID, "classification": "INTERNAL"})
	if n := w.count(`SELECT count(*) FROM events.outbox WHERE type = 'audit.entry.created'`); n != 1 {
		t.Errorf("got %d critical audit entries, want 1 for the changed classification", n)
	}
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "classification": "SECRET"})
	w.wantError(fault.CodeNotFound, low, "get-project", fields{"projectId": p.ID})
	w.wantError(fault.CodeNotFound, low, "list-tasks", fields{"projectId": p.ID})
}

func TestUpdateProject_ReplacesCustomStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"customStatuses": []fields{{"name": "New", "category": "TODO"}, {"name": "Doing", "category": "IN_PROGRESS"}, {"name": "Shipped", "category": "DONE"}}})
	task := w.createTask(p, "Land")
	if task.Status != "New" || task.StatusCategory != "TODO" {
		t.Errorf("status of a new task: got %s %s, want New TODO", task.Status, task.StatusCategory)
	}
	doing := w.createTask(p, "Orbit", fields{"status": "Doing"})
	f := w.wantError(fault.CodeConflict, w.manager, "update-project", fields{"projectId": p.ID, "customStatuses": []fields{{"name": "New", "category": "TODO"}, {"name": "Shipped", "category": "DONE"}}})
	if names, ok := f.Details["statuses"].([]string); !ok || !slices.Equal(names, []string{"Doing"}) {
		t.Errorf("got details %v, want the status Doing, which is in use", f.Details)
	}
	// Changing the category of a status updates its tasks.
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "customStatuses": []fields{{"name": "Shipped", "category": "DONE"}, {"name": "Doing", "category": "DONE"}, {"name": "New", "category": "TODO"}}})
	got := do[contract.Task](w, w.manager, "get-task", fields{"projectId": p.ID, "task": doing.Key})
	if got.StatusCategory != "DONE" || got.Progress != 100 || got.CompletedAt == nil {
		t.Errorf("task whose status changed to the category DONE: got %+v, want DONE, progress 100 and a completion time", got.TaskSummary)
	}
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "customStatuses": []fields{{"name": "Shipped", "category": "DONE"}, {"name": "Doing", "category": "IN_PROGRESS"}, {"name": "New", "category": "TODO"}}})
	got = do[contract.Task](w, w.manager, "get-task", fields{"projectId": p.ID, "task": doing.Key})
	if got.StatusCategory != "IN_PROGRESS" || got.CompletedAt != nil {
		t.Errorf("task whose status changed to the category IN_PROGRESS: got %+v, want no completion time", got.TaskSummary)
	}
}

func TestFindProject_ResolvesHint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	apollo := w.createProject("Apollo Programme", fields{"prefix": "APO"})
	w.createProject("Apollo Legacy", fields{"prefix": "LEG"})
	soyuz := w.createProject("Soyuz", fields{"prefix": "SOY"})
	w.createProject("leg", fields{"prefix": "XYZ"})
	secret := w.createProject("Soyuz Secret", fields{"prefix": "SSS", "classification": "SECRET"})
	reader := w.addPerson(person{roles: []string{"Member"}})
	for hint, want := range map[string]op.UUID{
		string(apollo.ID): apollo.ID, strings.ToUpper(string(apollo.ID)): apollo.ID, "apo": apollo.ID, "apollo programme": apollo.ID,
		"PROGRAMME": apollo.ID, "soyuz": soyuz.ID, "oyu": soyuz.ID,
	} {
		if got := do[contract.Project](w, reader, "find-project", fields{"hint": hint}); got.ID != want {
			t.Errorf("hint %q: got %s, want %s", hint, got.ID, want)
		}
	}
	for _, hint := range []string{"Apollo", "LEG"} {
		f := w.wantError(fault.CodeConflict, reader, "find-project", fields{"hint": hint})
		if c, ok := f.Details["candidates"].([]contract.ProjectCandidate); !ok || len(c) != 2 {
			t.Errorf("hint %q: got candidates %v, want 2", hint, f.Details)
		}
	}
	for _, hint := range []string{"%", "_", "Mir", string(secret.ID), "SSS", "Soyuz Secret", string(w.acme)} {
		w.wantError(fault.CodeNotFound, reader, "find-project", fields{"hint": hint})
	}
	w.wantError(fault.CodeValidation, reader, "find-project", fields{"hint": " "})
}

func TestDeleteProject_DeletesAllItsRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo"), w.createProject("Gemini")
	epic := w.createTask(p, "Epic", fields{"issueType": "EPIC"})
	parent := w.createTask(p, "Parent", fields{"epicId": epic.ID})
	w.createTask(p, "Child", fields{"parentTaskId": parent.ID})
	foreign := w.createTask(other, "Foreign child", fields{"epicId": epic.ID})
	if foreign.Epic == nil || !foreign.Epic.IsCrossProject || foreign.Epic.Key != epic.Key {
		t.Errorf("epic of a task in another project: got %+v, want the epic of the first project", foreign.Epic)
	}
	do[contract.ImportItemsOut](w, w.manager, "import-items", fields{"projectId": p.ID, "items": []fields{{"id": "a", "title": "b"}}})
	issue := w.createIssue(p, "Leak")
	w.createStage(p.ID, "Design")
	do[contract.Comment](w, w.manager, "create-comment", fields{"issueId": issue.ID, "body": "Pumping."})
	do[contract.Comment](w, w.manager, "create-comment", fields{"taskId": parent.ID, "body": "Begun."})
	do[contract.TimeEntry](w, w.manager, "create-time-entry", fields{"taskId": parent.ID, "date": "2026-01-01", "minutes": 5})
	// Check every table with a project_id column, including future ones.
	rows, err := w.owner.Query(t.Context(), `SELECT c.table_name::text FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
WHERE c.table_schema = 'projects' AND c.column_name = 'project_id' AND t.table_type = 'BASE TABLE' ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"tasks", "issues", "stages", "comments", "time_entries", "statuses", "import_items"} {
		if !slices.Contains(tables, table) || w.count(`SELECT count(*) FROM projects.`+table+` WHERE project_id = $1`, p.ID) == 0 {
			t.Errorf("rows of projects.%s before the deletion: got none of the project, want some", table)
		}
	}
	do[op.None](w, w.manager, "delete-project", fields{"projectId": p.ID})
	w.wantAuditAndEvents(1, "project.deleted", contract.EventProjectDeleted, p.ID)
	w.wantError(fault.CodeNotFound, w.manager, "get-project", fields{"projectId": p.ID})
	for _, table := range tables {
		if n := w.count(`SELECT count(*) FROM projects.`+table+` WHERE project_id = $1`, p.ID); n != 0 {
			t.Errorf("%d rows of projects.%s left, want 0", n, table)
		}
	}
	got := do[contract.Task](w, w.manager, "get-task", fields{"projectId": other.ID, "task": foreign.Key})
	if got.EpicID != "" || got.Epic != nil {
		t.Errorf("child in another project: got epic %+v, want none", got.Epic)
	}
	w.wantAuditAndEvents(1, "task.updated", contract.EventTaskUpdated, foreign.ID)
	w.wantError(fault.CodeNotFound, w.manager, "delete-project", fields{"projectId": p.ID})
}
