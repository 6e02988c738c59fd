package tracker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func (w *world) createTimeEntryAs(who *person, in fields) *contract.TimeEntry {
	w.t.Helper()
	return do[contract.TimeEntry](w, who, "create-time-entry", merge(fields{"date": "2027-03-01", "minutes": 60}, in))
}

// formatTimeEntries formats a page as the notes of its entries and its total minutes, or -1
// without a total.
func formatTimeEntries(page *contract.TimeEntryPage) string {
	var notes []string
	for _, e := range page.Items {
		notes = append(notes, e.Note)
	}
	total := int64(-1)
	if page.TotalMinutes != nil {
		total = *page.TotalMinutes
	}
	return fmt.Sprint(strings.Join(notes, " "), " = ", total)
}

func TestTimeEntry_CreateListUpdateDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setTime(time.Date(2027, 3, 10, 12, 0, 0, 0, time.UTC))
	p, other := w.createProject("Apollo"), w.createProject("Gemini")
	task, issue := w.createTask(p, "Land"), w.createIssue(p, "Leak")
	member, colleague := w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{roles: []string{"Member"}})
	a := w.createTimeEntryAs(member, fields{"taskId": task.ID, "note": "a", "billable": true})
	if a.ProjectID != p.ID || a.TaskID != task.ID || a.UserID != member.id || a.Date != "2027-03-01" || a.Minutes != 60 || !a.Billable || a.CreatedBy != member.id {
		t.Errorf("created time entry: got %+v, want 60 billable minutes of the member on the task", a)
	}
	w.wantAuditAndEvents(1, "time_entry.created", contract.EventTimeEntryCreated, a.ID)
	w.createTimeEntryAs(member, fields{"issueId": issue.ID, "projectId": p.ID, "note": "b", "date": "2027-03-02", "minutes": 1440})
	w.createTimeEntryAs(member, fields{"projectId": other.ID, "note": "c", "date": "2027-03-03", "minutes": 1})
	if d := w.createTimeEntryAs(w.manager, fields{"taskId": task.ID, "userId": colleague.id, "note": "d", "date": "2027-03-04"}); d.UserID != colleague.id || d.CreatedBy != w.manager.id {
		t.Errorf("time entry for a colleague: got %+v, want the colleague as user and the manager as creator", d)
	}
	for _, c := range []struct {
		who  *person
		in   fields
		want string
	}{
		{w.manager, fields{}, "d c b a = 1561"},
		{member, fields{}, "c b a = 1501"},
		{colleague, fields{}, "d = 60"},
		{w.manager, fields{"projectId": p.ID}, "d b a = 1560"},
		{w.manager, fields{"taskId": task.ID}, "d a = 120"},
		{w.manager, fields{"issueId": issue.ID}, "b = 1440"},
		{w.manager, fields{"userId": member.id}, "c b a = 1501"},
		{w.manager, fields{"from": "2027-03-02"}, "d c b = 1501"},
		{w.manager, fields{"to": "2027-03-02"}, "b a = 1500"},
		{w.manager, fields{"from": "2027-03-02", "to": "2027-03-03", "userId": member.id, "projectId": other.ID}, "c = 1"},
		{w.manager, fields{"from": "2028-01-01"}, " = 0"},
		{colleague, fields{"userId": member.id}, " = 0"},
		{colleague, fields{"issueId": issue.ID}, " = 0"},
		{w.manager, fields{"limit": 1}, "d = 1561"},
	} {
		if got := formatTimeEntries(do[contract.TimeEntryPage](w, c.who, "list-time-entries", c.in)); got != c.want {
			t.Errorf("%v: got %q, want %q", c.in, got, c.want)
		}
	}
	changed := do[contract.TimeEntry](w, member, "update-time-entry", fields{"timeEntryId": a.ID, "date": "2027-03-11", "minutes": 5, "note": nil, "billable": false})
	if changed.Date != "2027-03-11" || changed.Minutes != 5 || changed.Note != "" || changed.Billable || changed.TaskID != task.ID {
		t.Errorf("update-time-entry: got %+v, want 5 minutes on 2027-03-11, not billable, without a note, on the same task", changed)
	}
	do[contract.TimeEntry](w, member, "update-time-entry", fields{"timeEntryId": a.ID, "minutes": 5})
	w.wantAuditAndEvents(1, "time_entry.updated", contract.EventTimeEntryUpdated, a.ID)
	// Permissions for own time entries apply to the user who spent the time.
	for name, permission := range map[string]string{"update-time-entry": "time_entry.update", "delete-time-entry": "time_entry.delete"} {
		in := fields{"timeEntryId": a.ID}
		if name == "update-time-entry" {
			in["minutes"] = 1
		}
		if f := w.wantError(fault.CodeForbidden, colleague, name, in); f.Permission != permission {
			t.Errorf("%s: got the missing permission %q, want %q", name, f.Permission, permission)
		}
	}
	if f := w.wantError(fault.CodeForbidden, member, "create-time-entry", fields{"projectId": p.ID, "userId": colleague.id, "date": "2027-03-01", "minutes": 1}); f.Permission != "time_entry.create" {
		t.Errorf("create-time-entry: got the missing permission %q, want time_entry.create", f.Permission)
	}
	do[op.None](w, member, "delete-time-entry", fields{"timeEntryId": a.ID})
	w.wantAuditAndEvents(1, "time_entry.deleted", contract.EventTimeEntryDeleted, a.ID)
	w.wantError(fault.CodeNotFound, member, "delete-time-entry", fields{"timeEntryId": a.ID})
}

func TestTimeEntryOperations_ValidationErrorsNameTheField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setTime(time.Date(2027, 3, 10, 23, 30, 0, 0, time.UTC))
	p, other := w.createProject("Apollo"), w.createProject("Gemini")
	task, issue := w.createTask(p, "Land"), w.createIssue(p, "Leak")
	guest := w.addPerson(person{roles: []string{"Guest Customer"}})
	foreigner := w.addPerson(person{roles: []string{"Member"}, tenant: w.globex})
	entry := w.createTimeEntryAs(w.manager, fields{"taskId": task.ID})
	create := func(more fields) fields {
		return merge(fields{"projectId": p.ID, "date": "2027-03-01", "minutes": 1}, more)
	}
	change := func(more fields) fields { return merge(fields{"timeEntryId": entry.ID}, more) }
	for _, c := range []struct {
		operation, field string
		in               fields
	}{
		{"create-time-entry", "projectId", fields{"date": "2027-03-01", "minutes": 1}},
		{"create-time-entry", "issueId", create(fields{"taskId": task.ID, "issueId": issue.ID})},
		{"create-time-entry", "taskId", create(fields{"projectId": other.ID, "taskId": task.ID})},
		{"create-time-entry", "issueId", create(fields{"projectId": other.ID, "issueId": issue.ID})},
		{"create-time-entry", "minutes", create(fields{"minutes": 0})},
		{"create-time-entry", "minutes", create(fields{"minutes": 1441})},
		{"create-time-entry", "minutes", create(fields{"minutes": -5})},
		{"create-time-entry", "minutes", create(fields{"minutes": 1.5})},
		{"create-time-entry", "minutes", fields{"projectId": p.ID, "date": "2027-03-01"}},
		{"create-time-entry", "date", fields{"projectId": p.ID, "minutes": 1}},
		{"create-time-entry", "date", create(fields{"date": "2027-03-12"})},
		{"create-time-entry", "date", create(fields{"date": "yesterday"})},
		{"create-time-entry", "note", create(fields{"note": strings.Repeat("x", 2001)})},
		{"create-time-entry", "billable", create(fields{"billable": "yes"})},
		{"create-time-entry", "userId", create(fields{"userId": guest.id})},
		{"create-time-entry", "userId", create(fields{"userId": foreigner.id})},
		{"create-time-entry", "userId", create(fields{"userId": w.acme})},
		{"create-time-entry", "createdBy", create(fields{"createdBy": guest.id})},
		{"update-time-entry", "minutes", change(fields{"minutes": 1441})},
		{"update-time-entry", "minutes", change(fields{"minutes": nil})},
		{"update-time-entry", "date", change(fields{"date": nil})},
		{"update-time-entry", "date", change(fields{"date": "2027-03-12"})},
		{"update-time-entry", "billable", change(fields{"billable": nil})},
		{"update-time-entry", "userId", change(fields{"userId": guest.id})},
		{"update-time-entry", "projectId", change(fields{"projectId": other.ID})},
		{"list-time-entries", "to", fields{"from": "2027-03-02", "to": "2027-03-01"}},
		{"list-time-entries", "from", fields{"from": "now"}},
		{"list-time-entries", "userId", fields{"userId": "nobody"}},
		{"list-time-entries", "cursor", fields{"cursor": "x"}},
		{"list-time-entries", "limit", fields{"limit": 1000}},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, c.operation, c.in); f.Field != c.field {
			t.Errorf("%s %.120s: got an error for field %q, want %q", c.operation, fmt.Sprint(c.in), f.Field, c.field)
		}
	}
	for _, in := range []fields{{"projectId": w.acme}, {"taskId": issue.ID}, {"issueId": task.ID}} {
		w.wantError(fault.CodeNotFound, w.manager, "create-time-entry", merge(fields{"date": "2027-03-01", "minutes": 1}, in))
		w.wantError(fault.CodeNotFound, w.manager, "list-time-entries", in)
	}
	// Tomorrow is allowed, because it has begun in some time zones.
	w.createTimeEntryAs(w.manager, fields{"projectId": p.ID, "date": "2027-03-11"})
	if n := w.count(`SELECT count(*) FROM projects.time_entries`); n != 2 {
		t.Errorf("got %d entries, want 2", n)
	}
}

func TestListTimeEntries_Pages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setTime(time.Date(2027, 3, 10, 12, 0, 0, 0, time.UTC))
	p := w.createProject("Apollo")
	for i := range 9 {
		w.createTimeEntryAs(w.manager, fields{"projectId": p.ID, "date": fmt.Sprintf("2027-03-0%d", 1+i/3), "minutes": 10})
	}
	all := do[contract.TimeEntryPage](w, w.manager, "list-time-entries", fields{})
	var want []string
	for i, e := range all.Items {
		if want = append(want, string(e.ID)); i > 0 && e.Date > all.Items[i-1].Date {
			t.Errorf("list-time-entries: got %s after %s, want the latest day first", e.Date, all.Items[i-1].Date)
		}
	}
	for _, limit := range []int{1, 2, 3, 9} {
		var got []string
		in := fields{"limit": limit}
		for {
			page := do[contract.TimeEntryPage](w, w.manager, "list-time-entries", in)
			if first := in["cursor"] == nil; first != (page.TotalMinutes != nil) || first && *page.TotalMinutes != 90 {
				t.Errorf("limit %d: got total %v, want 90 on the first page only", limit, page.TotalMinutes)
			}
			for _, e := range page.Items {
				got = append(got, string(e.ID))
			}
			if page.NextCursor == "" {
				break
			}
			in["cursor"] = page.NextCursor
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: got %v, want %v", limit, got, want)
		}
	}
	otherTenantUser := w.addPerson(person{roles: []string{"Admin"}, tenant: w.globex})
	page := do[contract.TimeEntryPage](w, w.manager, "list-time-entries", fields{"limit": 1})
	w.wantError(fault.CodeValidation, otherTenantUser, "list-time-entries", fields{"cursor": page.NextCursor})
	if got := formatTimeEntries(do[contract.TimeEntryPage](w, otherTenantUser, "list-time-entries", fields{})); got != " = 0" {
		t.Errorf("time entries for a caller of another tenant: got %q, want none", got)
	}
}

func TestListTimeEntries_TotalExcludesHiddenEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open, secret := w.createProject("Open"), w.createProject("Secret", fields{"classification": "SECRET"})
	w.createTimeEntryAs(w.manager, fields{"projectId": open.ID, "note": "o", "date": "2026-01-01", "minutes": 10})
	w.createTimeEntryAs(w.manager, fields{"projectId": secret.ID, "note": "s", "date": "2026-01-02", "minutes": 100})
	for _, c := range []struct {
		who  person
		want string
	}{
		{person{roles: []string{"Auditor"}, clearance: "SECRET"}, "s o = 110"},
		{person{roles: []string{"Auditor"}}, "o = 10"},
		{person{roles: []string{"Auditor"}, clearance: "SECRET", projects: []op.UUID{secret.ID}}, "s = 100"},
		{person{roles: []string{"Auditor"}, clearance: "SECRET", caveats: []string{"project:" + string(open.ID)}}, "o = 10"},
		{person{roles: []string{"Member"}, clearance: "SECRET"}, " = 0"},
	} {
		if got := formatTimeEntries(do[contract.TimeEntryPage](w, w.addPerson(c.who), "list-time-entries", fields{})); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.who, got, c.want)
		}
	}
}

func TestTimeEntry_KeptWhenTaskIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task, issue := w.createTask(p, "Land"), w.createIssue(p, "Leak")
	w.createTimeEntryAs(w.manager, fields{"taskId": task.ID, "note": "t", "date": "2026-01-02"})
	w.createTimeEntryAs(w.manager, fields{"issueId": issue.ID, "note": "i", "date": "2026-01-01"})
	do[op.None](w, w.manager, "delete-task", fields{"projectId": p.ID, "task": task.Key})
	do[op.None](w, w.manager, "delete-issue", fields{"issue": issue.Key})
	page := do[contract.TimeEntryPage](w, w.manager, "list-time-entries", fields{"projectId": p.ID})
	if got := formatTimeEntries(page); got != "t i = 120" || page.Items[0].TaskID != "" || page.Items[1].IssueID != "" {
		t.Errorf("time entries after the deletion of their task and issue: got %q, %+v; want both without them", got, page.Items)
	}
	do[op.None](w, w.manager, "delete-project", fields{"projectId": p.ID})
	if n := w.count(`SELECT count(*) FROM projects.time_entries`); n != 0 {
		t.Errorf("%d entries left, want 0", n)
	}
}
