package tracker_test

import (
	"fmt"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func TestRenameStatuses_TasksFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	todo, doing := w.createTask(p, "Land"), w.createTask(p, "Orbit", fields{"status": "IN_PROGRESS"})
	rename := func(more fields, renames ...string) *contract.Project {
		var list []fields
		for i := 0; i < len(renames); i += 2 {
			list = append(list, fields{"from": renames[i], "to": renames[i+1]})
		}
		return do[contract.Project](w, w.manager, "update-project", merge(fields{"projectId": p.ID, "renameStatuses": list}, more))
	}
	status := func(task *contract.Task) string {
		got := do[contract.Task](w, w.manager, "get-task", fields{"projectId": p.ID, "task": task.Key})
		return got.Status + " " + got.StatusCategory
	}
	got := rename(nil, "IN_PROGRESS", "Doing")
	if text := fmt.Sprint(got.CustomStatuses); text != "[{BACKLOG TODO} {TODO TODO} {Doing IN_PROGRESS} {IN_REVIEW REVIEW} {DONE DONE} {CANCELLED CANCELLED}]" {
		t.Errorf("statuses after the rename: got %s, want Doing in place of IN_PROGRESS", text)
	}
	if s := status(doing); s != "Doing IN_PROGRESS" {
		t.Errorf("status of the task after the rename: got %s, want Doing IN_PROGRESS", s)
	}
	w.wantAuditAndEvents(1, "project.updated", contract.EventProjectUpdated, p.ID)
	// Changing the case of a name is a rename; renaming to the same name is no change.
	rename(nil, "Doing", "DOING")
	rename(nil, "DOING", "DOING")
	if s := status(doing); s != "DOING IN_PROGRESS" {
		t.Errorf("status of the task after a change of case: got %s, want DOING IN_PROGRESS", s)
	}
	w.wantAuditAndEvents(2, "project.updated", contract.EventProjectUpdated, p.ID)
	// Renames apply simultaneously: names can be swapped, and one rename can reuse a freed name.
	rename(nil, "TODO", "DOING", "DOING", "TODO")
	if a, b := status(todo), status(doing); a != "DOING TODO" || b != "TODO IN_PROGRESS" {
		t.Errorf("statuses of the tasks after swapped names: got %s and %s, want DOING TODO and TODO IN_PROGRESS", a, b)
	}
	rename(nil, "DOING", "New", "BACKLOG", "DOING")
	if s := status(todo); s != "New TODO" {
		t.Errorf("status of the task after the reuse of a name: got %s, want New TODO", s)
	}
	// A request can combine renames with new statuses, which use the new names.
	rename(fields{"customStatuses": []fields{{"name": "Fresh", "category": "TODO"}, {"name": "TODO", "category": "REVIEW"}, {"name": "DONE", "category": "DONE"}}}, "New", "Fresh")
	if a, b := status(todo), status(doing); a != "Fresh TODO" || b != "TODO REVIEW" {
		t.Errorf("statuses of the tasks after renames with new statuses: got %s and %s, want Fresh TODO and TODO REVIEW", a, b)
	}
	if n := w.count(`SELECT count(*) FROM projects.statuses WHERE project_id = $1`, p.ID); n != 3 {
		t.Errorf("got %d statuses, want 3", n)
	}
	for field, list := range map[string][]fields{
		"renameStatuses.0.from": {{"from": "Nothing", "to": "x"}},
		"renameStatuses.1.from": {{"from": "Fresh", "to": "x"}, {"from": "Fresh", "to": "y"}},
		"renameStatuses.0.to":   {{"from": "Fresh", "to": " x"}},
		"renameStatuses":        {{"from": "Fresh", "to": "done"}},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "update-project", fields{"projectId": p.ID, "renameStatuses": list}); f.Field != field {
			t.Errorf("%v: got an error for field %q, want %q", list, f.Field, field)
		}
	}
	// Statuses that use the old name would delete the renamed status, which tasks still have.
	w.wantError(fault.CodeConflict, w.manager, "update-project", fields{"projectId": p.ID, "renameStatuses": []fields{{"from": "Fresh", "to": "Newer"}},
		"customStatuses": []fields{{"name": "Fresh", "category": "TODO"}, {"name": "TODO", "category": "REVIEW"}, {"name": "DONE", "category": "DONE"}}})
	if s := status(todo); s != "Fresh TODO" {
		t.Errorf("status after a rejected update: got %s, want Fresh TODO", s)
	}
}

func TestStatus_NameMatchesInAnyCase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	task := w.createTask(p, "Write", fields{"status": "In_Progress"})
	updated := do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": task.Key, "status": "in_review"})
	if task.Status != "IN_PROGRESS" || updated.Status != "IN_REVIEW" {
		t.Errorf("got the statuses %s and %s, want the names of the project", task.Status, updated.Status)
	}
	w.createTask(p, "Read", fields{"status": "IN_REVIEW"})
	first := do[op.Page[contract.TaskSummary]](w, w.manager, "list-tasks", fields{"projectId": p.ID, "status": "in_review", "limit": 1})
	if len(first.Items) != 1 || first.NextCursor == "" {
		t.Fatalf("list-tasks with status in_review: got %+v, want one task and a cursor", first)
	}
	second := do[op.Page[contract.TaskSummary]](w, w.manager, "list-tasks", fields{"projectId": p.ID, "status": "in_review", "cursor": first.NextCursor})
	if len(second.Items) != 1 || second.Items[0].Key != task.Key {
		t.Errorf("next page: got %+v, want %s", second, task.Key)
	}
}
