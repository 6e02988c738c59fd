package tracker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func TestTask_CreateGetUpdateDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO", "storyPointScale": []float64{1, 2, 3}})
	member := w.addPerson(person{roles: []string{"Member"}})
	task := w.createTask(p, " Land ", fields{"description": "Softly.", "priority": "URGENT", "issueType": "FEATURE", "assignee": member.id, "dueDate": "2027-03-01", "estimatePoints": 2, "labels": []string{"b", "a", "b"}})
	switch {
	case task.Key != "APO-1" || task.Title != "Land" || task.Status != "TODO" || task.Progress != 0 || task.ProjectID != p.ID:
		t.Errorf("created task: got %+v, want APO-1 with the trimmed title, TODO, progress 0", task)
	case task.Assignee != member.id || task.DueDate != "2027-03-01" || *task.EstimatePoints != 2 || !slices.Equal(task.Labels, []string{"a", "b"}):
		t.Errorf("created task: got %+v, want the assignee, due date, estimate and sorted labels of the request", task)
	}
	w.wantAuditAndEvents(1, "task.created", contract.EventTaskCreated, task.ID)
	for _, name := range []string{"APO-1", "apo-1", string(task.ID)} {
		if got := do[contract.Task](w, member, "get-task", fields{"projectId": p.ID, "task": name}); got.ID != task.ID || got.Description != "Softly." {
			t.Errorf("get-task %s: got %+v, want the task with its description", name, got)
		}
	}
	done := do[contract.Task](w, member, "update-task", fields{"projectId": p.ID, "task": "APO-1", "status": "DONE", "progress": 40})
	if done.Progress != 100 || done.StatusCategory != "DONE" || done.CompletedAt == nil || done.Title != "Land" {
		t.Errorf("done task: got %+v, want DONE, progress 100 and a completion time", done.TaskSummary)
	}
	w.wantAuditAndEvents(1, "task.updated", contract.EventTaskUpdated, task.ID)
	cleared := do[contract.Task](w, member, "update-task", fields{"projectId": p.ID, "task": "APO-1", "status": "IN_PROGRESS", "progress": 10, "assignee": nil, "dueDate": nil, "estimatePoints": nil, "labels": nil, "description": nil})
	if cleared.CompletedAt != nil || cleared.Progress != 10 || cleared.Assignee != "" || cleared.DueDate != "" || cleared.EstimatePoints != nil || len(cleared.Labels) != 0 || cleared.Description != "" {
		t.Errorf("task with cleared fields: got %+v, want progress 10 and the other fields empty", cleared)
	}
	do[contract.Task](w, member, "update-task", fields{"projectId": p.ID, "task": "APO-1", "progress": 10})
	w.wantAuditAndEvents(2, "task.updated", contract.EventTaskUpdated, task.ID)
	do[op.None](w, w.manager, "delete-task", fields{"projectId": p.ID, "task": "APO-1"})
	w.wantAuditAndEvents(1, "task.deleted", contract.EventTaskDeleted, task.ID)
	w.wantError(fault.CodeNotFound, member, "get-task", fields{"projectId": p.ID, "task": "APO-1"})
	// Numbers are not reused.
	if next := w.createTask(p, "Next"); next.Key != "APO-2" {
		t.Errorf("task after a deletion: got %s, want APO-2", next.Key)
	}
}

func TestGetTask_NotFoundInOtherProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Gemini", fields{"prefix": "GEM"})
	task := w.createTask(p, "Land")
	for _, in := range []fields{{"projectId": other.ID, "task": task.ID}, {"projectId": other.ID, "task": "APO-1"}, {"projectId": p.ID, "task": "GEM-1"}, {"projectId": p.ID, "task": "APO-2"}, {"projectId": w.acme, "task": "APO-1"}} {
		w.wantError(fault.CodeNotFound, w.manager, "get-task", in)
	}
	for _, name := range []string{"x", "APO-", "APO-0", "APO--1", "APO-1x", "APO-99999999999999999999", "-1", "APO-+1"} {
		w.wantError(fault.CodeValidation, w.manager, "get-task", fields{"projectId": p.ID, "task": name})
	}
}

func TestTaskOperations_ValidationErrorsNameTheField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo", fields{"classification": "INTERNAL"}), w.createProject("Gemini")
	guest := w.addPerson(person{roles: []string{"Guest Customer"}, clearance: "SECRET"})
	uncleared := w.addPerson(person{roles: []string{"Member"}})
	foreigner := w.addPerson(person{roles: []string{"Member"}, tenant: w.globex, clearance: "SECRET"})
	epic, plain := w.createTask(p, "E", fields{"issueType": "EPIC"}), w.createTask(other, "T")
	parent := w.createTask(p, "P")
	sub := w.createTask(p, "S", fields{"parentTaskId": parent.ID})
	for _, c := range []struct {
		field string
		in    fields
	}{
		{"title", fields{"title": " "}},
		{"title", fields{"title": strings.Repeat("x", 501)}},
		{"status", fields{"status": "NOPE"}},
		{"priority", fields{"priority": "P0"}},
		{"issueType", fields{"issueType": "STORY"}},
		{"progress", fields{"progress": 101}},
		{"assignee", fields{"assignee": guest.id}},
		{"assignee", fields{"assignee": uncleared.id}},
		{"assignee", fields{"assignee": foreigner.id}},
		{"assignee", fields{"assignee": "nobody"}},
		{"estimatePoints", fields{"estimatePoints": 3}},
		{"labels.0", fields{"labels": []string{" a"}}},
		{"epicId", fields{"epicId": plain.ID}},
		{"epicId", fields{"epicId": w.acme}},
		{"epicId", fields{"epicId": epic.ID, "issueType": "EPIC"}},
		{"parentTaskId", fields{"parentTaskId": plain.ID}},
		{"parentTaskId", fields{"parentTaskId": sub.ID}},
		{"parentTaskId", fields{"parentTaskId": epic.ID}},
		{"parentTaskId", fields{"parentTaskId": parent.ID, "issueType": "EPIC"}},
		{"key", fields{"key": "X-1"}},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "create-task", merge(fields{"projectId": p.ID, "title": "x"}, c.in)); f.Field != c.field {
			t.Errorf("%v: got an error for field %q, want %q", c.in, f.Field, c.field)
		}
		if c.field == "parentTaskId" && c.in["issueType"] != nil {
			continue
		}
		in := merge(fields{"projectId": p.ID, "task": parent.Key}, c.in)
		if _, err := w.call(w.manager, "update-task", in); err == nil {
			t.Errorf("update-task %v: got no error, want VALIDATION or CONFLICT", in)
		}
	}
	w.wantError(fault.CodeConflict, w.manager, "update-task", fields{"projectId": p.ID, "task": parent.Key, "issueType": "EPIC"})
	w.wantError(fault.CodeValidation, w.manager, "update-task", fields{"projectId": p.ID, "task": parent.Key, "parentTaskId": parent.ID})
	w.wantError(fault.CodeConflict, w.manager, "update-task", fields{"projectId": p.ID, "task": parent.Key, "parentTaskId": w.createTask(p, "Q").ID})
	w.createTask(p, "C", fields{"epicId": epic.ID})
	w.wantError(fault.CodeConflict, w.manager, "update-task", fields{"projectId": p.ID, "task": epic.Key, "issueType": "TASK"})
	for _, field := range []string{"title", "status", "issueType", "priority", "progress"} {
		if f := w.wantError(fault.CodeValidation, w.manager, "update-task", fields{"projectId": p.ID, "task": parent.Key, field: nil}); f.Field != field {
			t.Errorf("%s: got an error for field %q, want %q", field, f.Field, field)
		}
	}
	if n := w.count(`SELECT count(*) FROM projects.tasks WHERE project_id = $1 AND number > 5`, p.ID); n != 0 {
		t.Errorf("got %d tasks after rejected requests, want 0", n)
	}
}

func TestDeleteTask_DeletesSubTasksAndDetachesChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo"), w.createProject("Gemini")
	epic := w.createTask(p, "E", fields{"issueType": "EPIC"})
	near, far := w.createTask(p, "Near", fields{"epicId": epic.ID}), w.createTask(other, "Far", fields{"epicId": epic.ID})
	sub := w.createTask(p, "Sub", fields{"parentTaskId": near.ID})
	do[op.None](w, w.manager, "delete-task", fields{"projectId": p.ID, "task": epic.Key})
	for _, task := range []*contract.Task{near, far} {
		if got := do[contract.Task](w, w.manager, "get-task", fields{"projectId": task.ProjectID, "task": task.Key}); got.EpicID != "" {
			t.Errorf("%s after the deletion of its epic: got epic %s, want none", got.Key, got.EpicID)
		}
		w.wantAuditAndEvents(1, "task.updated", contract.EventTaskUpdated, task.ID)
	}
	do[op.None](w, w.manager, "delete-task", fields{"projectId": p.ID, "task": near.Key})
	w.wantAuditAndEvents(1, "task.deleted", contract.EventTaskDeleted, sub.ID)
	w.wantError(fault.CodeNotFound, w.manager, "get-task", fields{"projectId": p.ID, "task": sub.Key})
}

func TestHiddenEpic_IsRedacted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret, open := w.createProject("Secret", fields{"classification": "SECRET", "prefix": "SEC"}), w.createProject("Open")
	epic := w.createTask(secret, "Hidden", fields{"issueType": "EPIC"})
	one := w.createTask(open, "One", fields{"epicId": epic.ID})
	two := w.createTask(open, "Two", fields{"epicId": epic.ID})
	member := w.addPerson(person{roles: []string{"Member"}})
	got := do[contract.Task](w, member, "get-task", fields{"projectId": open.ID, "task": one.Key})
	again := do[contract.Task](w, member, "get-task", fields{"projectId": open.ID, "task": two.Key})
	if got.Epic == nil || got.Epic.Key != "REDACTED" || got.Epic.Title != "REDACTED" || !got.Epic.IsCrossProject || got.EpicID == epic.ID || got.Epic.ID != got.EpicID {
		t.Errorf("hidden epic: got %+v with the id %s, want it redacted with an opaque id", got.Epic, got.EpicID)
	}
	if again.EpicID != got.EpicID {
		t.Errorf("opaque id of the same epic: got %s and %s, want the same", got.EpicID, again.EpicID)
	}
	list := do[op.Page[contract.TaskSummary]](w, member, "list-tasks", fields{"projectId": open.ID})
	for _, item := range list.Items {
		if item.EpicID != got.EpicID {
			t.Errorf("list-tasks: got epic %s, want the opaque id", item.EpicID)
		}
	}
	if list := do[op.Page[contract.TaskSummary]](w, member, "list-tasks", fields{"projectId": open.ID, "epicId": epic.ID}); len(list.Items) != 0 {
		t.Errorf("list-tasks with a hidden epic as filter: got %+v, want no tasks, because they reveal the epic", list.Items)
	}
	changed := do[contract.Task](w, member, "update-task", fields{"projectId": open.ID, "task": one.Key, "title": "Uno"})
	if changed.EpicID != got.EpicID || changed.Title != "Uno" {
		t.Errorf("update-task: got %+v, want the title Uno and the opaque epic id", changed)
	}
	if n := w.count(`SELECT count(*) FROM projects.tasks WHERE epic_id = $1`, epic.ID); n != 2 {
		t.Errorf("tasks of the epic after an update by a caller who cannot see it: got %d, want 2", n)
	}
	w.wantError(fault.CodeValidation, member, "create-task", fields{"projectId": open.ID, "title": "x", "epicId": epic.ID})
	full := do[op.Page[contract.TaskSummary]](w, w.manager, "list-tasks", fields{"projectId": open.ID, "epicId": epic.ID})
	if len(full.Items) != 2 || full.Items[0].EpicID != epic.ID {
		t.Errorf("list-tasks for a caller who may read the epic: got %+v, want 2 tasks with the epic id", full.Items)
	}
}

func TestListTasks_FiltersAndSearches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	member := w.addPerson(person{roles: []string{"Member"}})
	epic := w.createTask(p, "Epic", fields{"issueType": "EPIC"})
	w.createTask(p, "100% of it", fields{"epicId": epic.ID, "priority": "LOW"})
	w.createTask(p, "under_score", fields{"assignee": member.id, "description": "Hay with a needle in it"})
	w.createTask(p, "Done", fields{"status": "DONE"})
	for _, c := range []struct {
		in   fields
		want string
	}{
		{fields{}, "APO-4 APO-3 APO-2 APO-1"},
		{fields{"status": "DONE"}, "APO-4"},
		{fields{"status": "CANCELLED"}, ""},
		{fields{"assignee": member.id}, "APO-3"},
		{fields{"epicId": epic.ID}, "APO-2"},
		{fields{"issueType": "EPIC"}, "APO-1"},
		{fields{"priority": "LOW"}, "APO-2"},
		{fields{"search": "NEEDLE"}, "APO-3"},
		{fields{"search": "%"}, "APO-2"},
		{fields{"search": "r_s"}, ""},
		{fields{"search": "r_score"}, ""},
		{fields{"search": "under_sc"}, "APO-3"},
		{fields{"search": "nder"}, "APO-3"},
		{fields{"search": `\`}, ""},
		{fields{"search": "apo-4"}, "APO-4"},
		{fields{"search": "needle", "priority": "LOW"}, ""},
	} {
		if got := keys(do[op.Page[contract.TaskSummary]](w, member, "list-tasks", merge(fields{"projectId": p.ID}, c.in)).Items); got != c.want {
			t.Errorf("%v: got %q, want %q", c.in, got, c.want)
		}
	}
	for _, in := range []fields{{"limit": 0}, {"limit": 201}, {"cursor": "x"}, {"assignee": "nobody"}, {"epicId": "x"}, {"order": "asc"}} {
		w.wantError(fault.CodeValidation, member, "list-tasks", merge(fields{"projectId": p.ID}, in))
	}
	// A cursor of another project or another tenant is rejected.
	page := do[op.Page[contract.TaskSummary]](w, member, "list-tasks", fields{"projectId": p.ID, "limit": 1})
	other := w.createProject("Gemini")
	w.wantError(fault.CodeValidation, member, "list-tasks", fields{"projectId": other.ID, "cursor": page.NextCursor})
	otherTenantUser := w.addPerson(person{roles: []string{"Member"}, tenant: w.globex})
	w.wantError(fault.CodeValidation, otherTenantUser, "list-tasks", fields{"projectId": p.ID, "cursor": page.NextCursor})
	for i := range 3 {
		w.createProject(fmt.Sprintf("P%d needle", i))
	}
	if got := do[op.Page[contract.ProjectSummary]](w, member, "list-projects", fields{"search": "needle"}); len(got.Items) != 3 || got.Items[0].Name != "P0 needle" {
		t.Errorf("list-projects with search: got %+v, want 3, sorted by name", got.Items)
	}
	if got := do[op.Page[contract.ProjectSummary]](w, member, "list-projects", fields{"status": "COMPLETED"}); len(got.Items) != 0 {
		t.Errorf("list-projects with the status COMPLETED: got %+v, want none", got.Items)
	}
}
