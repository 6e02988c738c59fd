package tracker_test

import (
	"fmt"
	"strings"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/op"
)

func TestQueryPlans_IssuesCommentsTimeEntriesUseIndexes(t *testing.T) {
	t.Parallel()
	w := newWorldAmongManyTenants(t)
	p := w.createProject("Apollo", fields{"prefix": "APO", "issuePrefix": "APO"})
	member := w.addPerson(person{roles: []string{"Member"}})
	task := w.createTask(p, "Land")
	issue := w.createIssue(p, "Leak")
	do[contract.Task](w, w.manager, "promote-issue", fields{"issue": issue.Key})
	w.addTasks(p, 500)
	w.ownCrowd().addIssuesAndTimeEntries(p, 1500)
	w.exec(`ANALYZE`)
	e := &queryRecorder{}
	w.recordQueries(e)
	last := func(part string) recordedQuery {
		for i := len(e.queries) - 1; i > 0; i-- {
			if strings.Contains(e.queries[i].sql, part) {
				return e.queries[i]
			}
		}
		t.Fatalf("no recorded statement contains %s", part)
		return recordedQuery{}
	}

	do[op.Page[contract.IssueSummary]](w, w.manager, "list-issues", fields{})
	e.roundTrips = 0
	first := do[op.Page[contract.IssueSummary]](w, w.manager, "list-issues", fields{})
	if len(first.Items) != 50 || e.roundTrips != 1 {
		t.Errorf("got %d issues in %d round trips, want 50 in 1", len(first.Items), e.roundTrips)
	}
	for _, c := range []struct {
		in    fields
		index string
	}{
		{fields{}, "issues_by_creation"},
		{fields{"cursor": first.NextCursor}, "issues_by_creation"},
		{fields{"projectId": p.ID}, "issues_by_project"},
		{fields{"projectId": p.ID, "cursor": first.NextCursor}, "issues_by_project"},
		{fields{"projectId": p.ID, "status": "OPEN"}, ""},
		{fields{"status": "REOPENED"}, ""},
		{fields{"severity": "CRITICAL"}, ""},
		{fields{"assignee": w.acme}, ""},
		{fields{"search": "number 7"}, ""},
		{fields{"search": "7", "projectId": p.ID}, ""},
		{fields{"search": "iss-3"}, ""},
	} {
		for _, who := range []*person{w.manager, member} {
			do[op.Page[contract.IssueSummary]](w, who, "list-issues", c.in)
			h := last("projects.issues i")
			w.wantIndexed(fmt.Sprint("list-issues ", c.in), h)
			// The planner may sort the rows after a cursor, if they are few.
			sorted := c.index != "" && c.in["cursor"] == nil
			if plan := w.explain(h, true); !strings.Contains(plan, c.index) || sorted && strings.Contains(plan, "Sort") {
				t.Errorf("list-issues %v does not scan the index %s:\n%s", c.in, c.index, plan)
			}
		}
	}
	for _, c := range []struct {
		in    fields
		index string
	}{{fields{"issueId": issue.ID}, "comments_by_issue"}, {fields{"taskId": task.ID}, "comments_by_task"}} {
		do[contract.Comment](w, w.manager, "create-comment", merge(fields{"body": "x"}, c.in))
		for _, sort := range []string{"oldest", "newest"} {
			do[op.Page[contract.Comment]](w, member, "list-comments", merge(fields{"sort": sort}, c.in))
			h := last("projects.comments m")
			w.wantIndexed(fmt.Sprint("list-comments ", sort, c.in), h)
			if plan := w.explain(h, true); !strings.Contains(plan, c.index) || strings.Contains(plan, "Sort") {
				t.Errorf("list-comments %v, %s first, does not scan the index %s in its order:\n%s", c.in, sort, c.index, plan)
			}
		}
	}
	entries := do[contract.TimeEntryPage](w, w.manager, "list-time-entries", fields{})
	for _, c := range []struct {
		in    fields
		index string
	}{
		{fields{}, "time_entries_by_day"},
		{fields{"cursor": entries.NextCursor}, "time_entries_by_day"},
		{fields{"projectId": p.ID}, "time_entries_by_project"},
		{fields{"taskId": task.ID}, "time_entries_by_task"},
		{fields{"issueId": issue.ID}, "time_entries_by_issue"},
		{fields{"userId": w.manager.id}, "time_entries_by_user"},
		{fields{"from": "2027-03-01", "to": "2027-03-01"}, "time_entries_by_day"},
	} {
		do[contract.TimeEntryPage](w, w.manager, "list-time-entries", c.in)
		h := last("projects.time_entries e")
		w.wantIndexed(fmt.Sprint("list-time-entries ", c.in), h)
		if plan := w.explain(h, true); !strings.Contains(plan, c.index) {
			t.Errorf("list-time-entries %v does not scan the index %s:\n%s", c.in, c.index, plan)
		}
	}
	do[contract.TimeEntryPage](w, member, "list-time-entries", fields{"userId": member.id})
	w.wantIndexed("list-time-entries, own entries", last("projects.time_entries e"))

	for name, in := range map[string]fields{
		"get-issue": {"issue": issue.Key}, "update-issue": {"issue": issue.ID, "title": "x"},
	} {
		if _, err := w.call(w.manager, name, in); err != nil {
			t.Fatal(err)
		}
		w.wantIndexed(name, last("projects.issues i"))
	}
}
