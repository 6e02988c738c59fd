package tracker_test

import (
	"sync"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func TestPromoteIssue_CreatesTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	member := w.addPerson(person{roles: []string{"Member"}})
	// A task with the same title exists: promote-issue does not check for duplicates.
	w.createTask(p, "CRITICAL")
	for i, c := range []struct{ severity, priority string }{{"CRITICAL", "URGENT"}, {"HIGH", "HIGH"}, {"MEDIUM", "MEDIUM"}, {"LOW", "LOW"}} {
		issue := w.createIssue(p, c.severity, fields{"severity": c.severity, "description": "Drips.", "dueDate": "2027-03-01"})
		do[contract.Issue](w, w.manager, "assign-issue", fields{"issue": issue.Key, "assignee": member.id})
		task := do[contract.Task](w, member, "promote-issue", fields{"issue": issue.Key})
		switch {
		case task.Title != c.severity || task.Description != "Drips." || task.DueDate != "2027-03-01" || task.Assignee != member.id:
			t.Errorf("promoted task: got %+v, want title, description, due date and assignee of the issue", task)
		case task.Priority != c.priority || task.IssueType != "BUG" || task.Status != "TODO" || task.ProjectID != p.ID || task.CreatedBy != member.id:
			t.Errorf("promoted task: got %+v, want a BUG in TODO with the priority %s, created by the member", task.TaskSummary, c.priority)
		case task.Issue == nil || task.Issue.ID != issue.ID || task.Issue.Key != issue.Key:
			t.Errorf("issue of the task: got %+v, want %s", task.Issue, issue.Key)
		}
		w.wantAuditAndEvents(1, "issue.promoted", contract.EventIssuePromoted, issue.ID)
		w.wantAuditAndEvents(1, "task.created", contract.EventTaskCreated, task.ID)
		got := do[contract.Issue](w, member, "get-issue", fields{"issue": issue.Key})
		if got.PromotedTaskID != task.ID || got.PromotedTaskKey != task.Key || got.Status != "OPEN" {
			t.Errorf("promoted issue: got %+v, want OPEN with the task %s", got, task.Key)
		}
		list := do[op.Page[contract.IssueSummary]](w, member, "list-issues", fields{"search": issue.Key})
		if len(list.Items) != 1 || list.Items[0].PromotedTaskID != task.ID {
			t.Errorf("list-issues: got %+v, want the issue with its task", list.Items)
		}
		if read := do[contract.Task](w, member, "get-task", fields{"projectId": p.ID, "task": task.Key}); read.Issue == nil || read.Issue.Key != issue.Key {
			t.Errorf("get-task: got issue %+v, want %s", read.Issue, issue.Key)
		}
		// Promoting again returns the same task.
		if again := do[contract.Task](w, w.manager, "promote-issue", fields{"issue": string(issue.ID)}); again.ID != task.ID || again.Issue == nil {
			t.Errorf("promote-issue again: got %+v, want the same task", again)
		}
		w.wantAuditAndEvents(1, "issue.promoted", contract.EventIssuePromoted, issue.ID)
		if n := w.count(`SELECT count(*) FROM projects.tasks`); n != 2+i {
			t.Errorf("got %d tasks, want %d", n, 2+i)
		}
	}
}

func TestPromoteIssue_RequiresTaskCreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	issue := w.createIssue(p, "Leak")
	w.addRole("Mover", "issues.read", "issue.update", "tasks.read")
	if f := w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Mover"}}), "promote-issue", fields{"issue": issue.Key}); f.Permission != "task.create" {
		t.Errorf("promote-issue: got the missing permission %q, want task.create", f.Permission)
	}
	// If the issue's assignee is no longer assignable, the task is unassigned.
	member := w.addPerson(person{roles: []string{"Member"}})
	do[contract.Issue](w, w.manager, "assign-issue", fields{"issue": issue.Key, "assignee": member.id})
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "classification": "SECRET"})
	if task := do[contract.Task](w, w.manager, "promote-issue", fields{"issue": issue.Key}); task.Assignee != "" {
		t.Errorf("assignee of the task: got %s, want none", task.Assignee)
	}
}

func TestPromoteIssue_AssignedToAgentQueuesRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	agent, issue := w.addAgent(), w.createIssue(p, "Leak")
	do[contract.Issue](w, w.manager, "assign-issue", fields{"issue": issue.Key, "assignee": agent.id})
	task := do[contract.Task](w, w.manager, "promote-issue", fields{"issue": issue.Key})
	if run := w.requireOneRun(); run.TaskID != task.ID || run.Agent != agent.id {
		t.Errorf("queued run: got %+v, want one of the agent for the task", run)
	}
}

func TestPromoteIssue_ConcurrentCallsCreateOneTask(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 16)
	p := w.createProject("Apollo")
	issue := w.createIssue(p, "Leak")
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[op.UUID]bool{}
	for range 16 {
		all.Go(func() {
			out, err := w.call(w.manager, "promote-issue", fields{"issue": issue.Key})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			seen[out.(*contract.Task).ID] = true
		})
	}
	all.Wait()
	if n := w.count(`SELECT count(*) FROM projects.tasks`); n != 1 || len(seen) != 1 {
		t.Errorf("got %d tasks and %d distinct responses, want 1 and 1", n, len(seen))
	}
	w.wantAuditAndEvents(1, "issue.promoted", contract.EventIssuePromoted, issue.ID)
}

func TestPromoteIssue_AgainAfterTaskDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	issue := w.createIssue(p, "Leak")
	task := do[contract.Task](w, w.manager, "promote-issue", fields{"issue": issue.Key})
	do[op.None](w, w.manager, "delete-task", fields{"projectId": p.ID, "task": task.Key})
	if got := do[contract.Issue](w, w.manager, "get-issue", fields{"issue": issue.Key}); got.PromotedTaskID != "" || got.PromotedTaskKey != "" {
		t.Errorf("promoted task of the issue: got %q, want none", got.PromotedTaskKey)
	}
	w.wantAuditAndEvents(1, "issue.updated", contract.EventIssueUpdated, issue.ID)
	next := do[contract.Task](w, w.manager, "promote-issue", fields{"issue": issue.Key})
	if next.ID == task.ID || next.Key == task.Key {
		t.Errorf("task after the second promotion: got %s, want a new one", next.Key)
	}
	// Deleting the issue keeps the task.
	do[op.None](w, w.manager, "delete-issue", fields{"issue": issue.Key})
	if got := do[contract.Task](w, w.manager, "get-task", fields{"projectId": p.ID, "task": next.Key}); got.Issue != nil {
		t.Errorf("issue of the task after the deletion of the issue: got %+v, want none", got.Issue)
	}
}
