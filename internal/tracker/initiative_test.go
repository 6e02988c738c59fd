package tracker_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func (w *world) createInitiative(name string, more ...fields) *contract.Initiative {
	w.t.Helper()
	return do[contract.Initiative](w, w.manager, "create-initiative", merge(fields{"name": name, "startDate": "2027-01-04"}, more...))
}

func initiativeRequests(s scene) map[string]fields {
	return map[string]fields{
		"list-initiatives":  {},
		"create-initiative": {"name": "New", "startDate": "2027-01-04"},
		"initiative":        {"hint": string(s.initiative)},
		"get-initiative":    {"initiativeId": s.initiative},
		"update-initiative": {"initiativeId": s.initiative, "name": "Renamed"},
		"delete-initiative": {"initiativeId": s.initiative},
	}
}

func TestCreateInitiative_StartsActiveWithoutProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.createInitiative("  Moon  ", fields{"endDate": "2027-12-31", "description": "Go.", "classification": "INTERNAL"})
	switch {
	case i.Name != "Moon" || i.Status != "ACTIVE" || i.Classification != "INTERNAL" || i.Progress != 0 || i.OrganisationID != w.orgA:
		t.Errorf("created initiative: got %+v, want the trimmed name, ACTIVE, INTERNAL, progress 0 and the caller's organisation", i)
	case i.StartDate != "2027-01-04" || i.EndDate != "2027-12-31" || i.Description != "Go." || i.CreatedBy != w.manager.id:
		t.Errorf("created initiative: got %+v, want the dates and the description of the request, created by the manager", i)
	}
	w.wantAuditAndEvents(1, "initiative.created", contract.EventInitiativeCreated, i.ID)
	got := do[contract.InitiativeDetail](w, w.manager, "get-initiative", fields{"initiativeId": i.ID})
	if got.Name != "Moon" || got.Projects == nil || len(got.Projects) != 0 || got.MoreProjects {
		t.Errorf("get-initiative: got %+v, want Moon without projects", got)
	}
	for field, in := range map[string]fields{
		"name": {"name": " "}, "startDate": {"startDate": "soon"}, "endDate": {"endDate": "2026-01-01"},
		"classification": {"classification": "TOP"}, "organisationId": {"organisationId": w.orgG},
		// These fields cannot be set on creation.
		"status": {"status": "ON_HOLD"}, "projects": {"projects": []string{}},
	} {
		f := w.wantError(fault.CodeValidation, w.manager, "create-initiative", merge(fields{"name": "x", "startDate": "2027-01-04"}, in))
		if f.Field != field {
			t.Errorf("%v: got an error for field %q, want %q", in, f.Field, field)
		}
	}
	if n := w.count(`SELECT count(*) FROM projects.initiatives`); n != 1 {
		t.Errorf("got %d initiatives, want 1", n)
	}
}

func TestUpdateInitiative_ChangesOnlyGivenFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.createInitiative("Moon", fields{"endDate": "2027-12-31", "description": "Go."})
	got := do[contract.Initiative](w, w.manager, "update-initiative", fields{"initiativeId": i.ID, "status": "ON_HOLD", "endDate": nil, "name": "Mars"})
	if got.Status != "ON_HOLD" || got.EndDate != "" || got.Name != "Mars" || got.Description != "Go." || got.StartDate != "2027-01-04" {
		t.Errorf("updated initiative: got %+v, want a new status and name, no end date, and the other fields unchanged", got)
	}
	w.wantAuditAndEvents(1, "initiative.updated", contract.EventInitiativeUpdated, i.ID)
	do[contract.Initiative](w, w.manager, "update-initiative", fields{"initiativeId": i.ID, "status": "ON_HOLD"})
	w.wantAuditAndEvents(1, "initiative.updated", contract.EventInitiativeUpdated, i.ID)
	if n := w.count(`SELECT count(*) FROM events.outbox WHERE type = $1 AND payload->'changed' @> '["status","endDate","name"]'`, contract.EventInitiativeUpdated.Name); n != 1 {
		t.Errorf("events with the changed fields: got %d, want 1", n)
	}
	for field, in := range map[string]fields{
		"name": {"name": nil}, "status": {"status": "DONE"}, "startDate": {"startDate": nil}, "endDate": {"endDate": "2026-01-01"},
		"classification": {"classification": nil}, "organisationId": {"organisationId": w.orgG}, "progress": {"progress": 5},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "update-initiative", merge(fields{"initiativeId": i.ID}, in)); f.Field != field {
			t.Errorf("%v: got an error for field %q, want %q", in, f.Field, field)
		}
	}
	// The caller cannot raise the classification above its clearance, and a change of the
	// classification writes a critical audit entry.
	low := w.addPerson(person{roles: []string{"Project Manager"}, clearance: "INTERNAL"})
	w.wantError(fault.CodeNotFound, low, "update-initiative", fields{"initiativeId": i.ID, "classification": "SECRET"})
	do[contract.Initiative](w, w.manager, "update-initiative", fields{"initiativeId": i.ID, "classification": "SECRET"})
	w.wantError(fault.CodeNotFound, low, "get-initiative", fields{"initiativeId": i.ID})
	if n := w.count(`SELECT count(*) FROM events.outbox WHERE type = 'audit.entry.created'`); n != 1 {
		t.Errorf("got %d critical audit entries, want 1 for the changed classification", n)
	}
}

func TestFindInitiative_ResolvesHint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moon, mars := w.createInitiative("Moon base"), w.createInitiative("Mars base")
	secret := w.createInitiative("Moon shadow", fields{"classification": "SECRET"})
	w.createProject("Zulu", fields{"initiativeId": moon.ID})
	w.createProject("alpha", fields{"initiativeId": moon.ID})
	w.createProject("Hidden", fields{"initiativeId": moon.ID, "classification": "SECRET"})
	reader := w.addPerson(person{roles: []string{"Member"}})
	for hint, want := range map[string]op.UUID{
		string(moon.ID): moon.ID, strings.ToUpper(string(moon.ID)): moon.ID, "moon": moon.ID, "MARS BASE": mars.ID, "ars": mars.ID,
	} {
		got := do[contract.InitiativeDetail](w, reader, "initiative", fields{"hint": hint})
		if got.ID != want {
			t.Errorf("hint %q: got %s, want %s", hint, got.ID, want)
		}
		if want == moon.ID && (len(got.Projects) != 2 || got.Projects[0].Name != "alpha" || got.Projects[1].Name != "Zulu") {
			t.Errorf("hint %q: got projects %+v, want alpha and Zulu", hint, got.Projects)
		}
	}
	f := w.wantError(fault.CodeConflict, reader, "initiative", fields{"hint": "base"})
	if c, ok := f.Details["candidates"].([]contract.InitiativeCandidate); !ok || len(c) != 2 {
		t.Errorf("got candidates %v, want 2", f.Details)
	}
	for _, hint := range []string{"%", "_", "Venus", string(secret.ID), "shadow", string(w.acme)} {
		w.wantError(fault.CodeNotFound, reader, "initiative", fields{"hint": hint})
	}
	w.wantError(fault.CodeValidation, reader, "initiative", fields{"hint": " "})
	// The manager can read all projects of the initiative.
	if got := do[contract.InitiativeDetail](w, w.manager, "get-initiative", fields{"initiativeId": moon.ID}); len(got.Projects) != 3 {
		t.Errorf("manager: got %d projects, want 3", len(got.Projects))
	}
	page := do[op.Page[contract.ProjectSummary]](w, reader, "list-projects", fields{"initiativeId": moon.ID, "limit": 1})
	if len(page.Items) != 1 || page.Items[0].Name != "alpha" || page.NextCursor == "" {
		t.Errorf("list-projects of the initiative with limit 1: got %+v, want alpha and a cursor", page)
	}
}

func TestListInitiatives_OrdersByNameInFullPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var want []string
	for n, name := range []string{"a", "B", "c", "D", "e", "F", "g"} {
		more := fields{"description": "about " + name}
		if n%3 == 1 {
			more["classification"] = "SECRET"
		} else {
			want = append(want, name)
		}
		w.createInitiative(name, more)
	}
	cancelled := w.createInitiative("h")
	do[contract.Initiative](w, w.manager, "update-initiative", fields{"initiativeId": cancelled.ID, "status": "CANCELLED"})
	reader := w.addPerson(person{roles: []string{"Member"}})
	var got []string
	cursor := ""
	for range 10 {
		in := fields{"limit": 2, "status": "ACTIVE"}
		if cursor != "" {
			in["cursor"] = cursor
		}
		page := do[op.Page[contract.Initiative]](w, reader, "list-initiatives", in)
		for _, i := range page.Items {
			got = append(got, i.Name)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
		if len(page.Items) != 2 {
			t.Errorf("got a page of %d items before the last page, want 2", len(page.Items))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("list-initiatives: got %v, want %v", got, want)
	}
	for search, n := range map[string]int{"ABOUT": len(want), "about c": 1, "H": 1, "%": 0} {
		if page := do[op.Page[contract.Initiative]](w, reader, "list-initiatives", fields{"search": search}); len(page.Items) != n+map[string]int{"ABOUT": 0}[search] {
			t.Errorf("search %q: got %d initiatives, want %d", search, len(page.Items), n)
		}
	}
	w.wantError(fault.CodeValidation, reader, "list-initiatives", fields{"cursor": "x"})
	w.wantError(fault.CodeValidation, reader, "list-initiatives", fields{"status": "DONE"})
}

func TestUpdateProject_JoinsAndLeavesInitiative(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moon, mars := w.createInitiative("Moon"), w.createInitiative("Mars")
	secret := w.createInitiative("Secret", fields{"classification": "SECRET"})
	p := w.createProject("Apollo", fields{"initiativeId": moon.ID})
	if p.InitiativeID != moon.ID {
		t.Errorf("project created in an initiative: got initiative %q, want %q", p.InitiativeID, moon.ID)
	}
	p = do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "initiativeId": mars.ID})
	if p.InitiativeID != mars.ID {
		t.Errorf("project moved to an initiative: got initiative %q, want %q", p.InitiativeID, mars.ID)
	}
	// Each initiative emits an event when a project joins or leaves: Moon two, Mars one.
	for id, n := range map[op.UUID]int{moon.ID: 2, mars.ID: 1} {
		if got := w.count(`SELECT count(*) FROM events.outbox WHERE type = $1 AND aggregate_id = $2 AND payload->'changed' = '["projects"]'`, contract.EventInitiativeUpdated.Name, string(id)); got != n {
			t.Errorf("got %d events of the initiative, want %d", got, n)
		}
	}
	for _, id := range []op.UUID{w.globex, w.acme} {
		if f := w.wantError(fault.CodeValidation, w.manager, "update-project", fields{"projectId": p.ID, "initiativeId": id}); f.Field != "initiativeId" {
			t.Errorf("update-project: got an error for field %q, want initiativeId", f.Field)
		}
	}
	low := w.addPerson(person{roles: []string{"Project Manager"}})
	hidden := w.wantError(fault.CodeValidation, low, "update-project", fields{"projectId": p.ID, "initiativeId": secret.ID})
	absent := w.wantError(fault.CodeValidation, low, "create-project", fields{"name": "x", "startDate": "2027-01-04", "initiativeId": w.acme})
	if hidden.Message != absent.Message {
		t.Errorf("hidden and missing initiative: got the messages %q and %q, want the same", hidden.Message, absent.Message)
	}
	// Adding a project to an initiative requires initiative.update.
	limited := w.addPerson(person{roles: []string{"Own Reader", "Initiative Reader"}})
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "ownerId": limited.id})
	if f := w.wantError(fault.CodeForbidden, limited, "update-project", fields{"projectId": p.ID, "initiativeId": moon.ID}); f.Permission != contract.PermInitiativeUpdate {
		t.Errorf("update-project: got the missing permission %q, want %q", f.Permission, contract.PermInitiativeUpdate)
	}
	p = do[contract.Project](w, limited, "update-project", fields{"projectId": p.ID, "initiativeId": nil})
	if p.InitiativeID != "" {
		t.Errorf("project removed from its initiative: got initiative %q, want none", p.InitiativeID)
	}
	w.wantAuditAndEvents(3, "project.updated", contract.EventProjectUpdated, p.ID)
}

func TestUpdateTask_TagsEpicWithAnyInitiative(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moon, mars := w.createInitiative("Moon"), w.createInitiative("Mars")
	p := w.createProject("Apollo", fields{"initiativeId": moon.ID})
	epic := w.createTask(p, "Epic", fields{"issueType": "EPIC", "initiativeId": mars.ID})
	if epic.InitiativeID != mars.ID {
		t.Errorf("created epic: got initiative %q, want %q", epic.InitiativeID, mars.ID)
	}
	plain := w.createTask(p, "Plain")
	for _, in := range []fields{
		{"projectId": p.ID, "task": plain.Key, "initiativeId": moon.ID},
		{"projectId": p.ID, "task": epic.Key, "initiativeId": w.acme},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "update-task", in); f.Field != "initiativeId" {
			t.Errorf("update-task: got an error for field %q, want initiativeId", f.Field)
		}
	}
	w.wantError(fault.CodeValidation, w.manager, "create-task", fields{"projectId": p.ID, "title": "x", "initiativeId": moon.ID})
	w.wantError(fault.CodeValidation, w.manager, "update-task", fields{"projectId": p.ID, "task": epic.Key, "issueType": "TASK"})
	got := do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": epic.Key, "initiativeId": moon.ID})
	if got.InitiativeID != moon.ID {
		t.Errorf("updated epic: got initiative %q, want %q", got.InitiativeID, moon.ID)
	}
	got = do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": epic.Key, "initiativeId": nil, "issueType": "TASK"})
	if got.InitiativeID != "" || got.IssueType != "TASK" {
		t.Errorf("epic that became a task: got %+v, want the type TASK without initiative", got.TaskSummary)
	}
	w.wantAuditAndEvents(2, "task.updated", contract.EventTaskUpdated, epic.ID)
}

func TestDeleteInitiative_KeepsProjectsAndEpics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moon := w.createInitiative("Moon")
	a, b := w.createProject("A", fields{"initiativeId": moon.ID}), w.createProject("B")
	work := w.createTask(a, "Work")
	epic := w.createTask(b, "Epic", fields{"issueType": "EPIC", "initiativeId": moon.ID})
	w.createDelegation(w.manager, w.addPerson(person{}), []string{contract.PermProjectUpdate}, fields{"scope": "INITIATIVE", "initiativeId": moon.ID})
	do[op.None](w, w.manager, "delete-initiative", fields{"initiativeId": moon.ID})
	w.wantAuditAndEvents(1, "initiative.deleted", contract.EventInitiativeDeleted, moon.ID)
	if n := w.count(`SELECT count(*) FROM projects.delegations`); n != 0 {
		t.Errorf("got %d delegations for the initiative, want 0", n)
	}
	w.wantAuditAndEvents(1, "project.updated", contract.EventProjectUpdated, a.ID)
	w.wantAuditAndEvents(0, "project.updated", contract.EventProjectUpdated, b.ID)
	w.wantAuditAndEvents(1, "task.updated", contract.EventTaskUpdated, epic.ID)
	if got := do[contract.Project](w, w.manager, "get-project", fields{"projectId": a.ID}); got.InitiativeID != "" {
		t.Errorf("project after the deletion: got initiative %s, want none", got.InitiativeID)
	}
	if got := do[contract.Task](w, w.manager, "get-task", fields{"projectId": b.ID, "task": epic.Key}); got.InitiativeID != "" {
		t.Errorf("epic after the deletion: got initiative %s, want none", got.InitiativeID)
	}
	do[contract.Task](w, w.manager, "get-task", fields{"projectId": a.ID, "task": work.Key})
	w.wantError(fault.CodeNotFound, w.manager, "get-initiative", fields{"initiativeId": moon.ID})
	w.wantError(fault.CodeNotFound, w.manager, "delete-initiative", fields{"initiativeId": moon.ID})
}

// Deleting an initiative and adding records to it lock the initiative, so no record can
// refer to a deleted initiative.
func TestDeleteInitiative_ConcurrentUpdatesLeaveNoReferences(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 16)
	moon := w.createInitiative("Moon")
	projects := make([]*contract.Project, 10)
	for i := range projects {
		projects[i] = w.createProject(fmt.Sprint("P", i))
	}
	epic := w.createTask(projects[0], "Epic", fields{"issueType": "EPIC"})
	var all sync.WaitGroup
	errs := make(chan error, 64)
	for i, p := range projects {
		all.Go(func() {
			_, err := w.call(w.manager, "update-project", fields{"projectId": p.ID, "initiativeId": moon.ID})
			errs <- err
		})
		all.Go(func() {
			_, err := w.call(w.manager, "update-task", fields{"projectId": projects[0].ID, "task": epic.Key, "initiativeId": []any{nil, moon.ID}[i%2]})
			errs <- err
		})
		if i == 5 {
			all.Go(func() {
				_, err := w.call(w.manager, "delete-initiative", fields{"initiativeId": moon.ID})
				errs <- err
			})
		}
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil && !fault.HasCode(err, fault.CodeValidation) {
			t.Errorf("concurrent update: got %v, want no error or VALIDATION", err)
		}
	}
	if n := w.count(`SELECT (SELECT count(*) FROM projects.projects WHERE initiative_id IS NOT NULL) + (SELECT count(*) FROM projects.tasks WHERE initiative_id IS NOT NULL)`); n != 0 {
		t.Errorf("got %d references to the deleted initiative, want 0", n)
	}
}
