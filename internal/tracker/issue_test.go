package tracker_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func (w *world) createIssue(p *contract.Project, title string, more ...fields) *contract.Issue {
	w.t.Helper()
	return do[contract.Issue](w, w.manager, "create-issue", merge(fields{"projectId": p.ID, "title": title}, more...))
}

func issueKeys(page *op.Page[contract.IssueSummary]) string {
	names := make([]string, len(page.Items))
	for i, item := range page.Items {
		names[i] = item.Key
	}
	return strings.Join(names, " ")
}

func TestIssue_CreateGetUpdateDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	member := w.addPerson(person{roles: []string{"Member"}})
	issue := w.createIssue(p, " Leak ", fields{"description": "Drips.", "severity": "HIGH", "dueDate": "2027-03-01"})
	switch {
	case issue.Key != "ISS-1" || issue.Title != "Leak" || issue.Description != "Drips." || issue.ProjectID != p.ID || issue.CreatedBy != w.manager.id:
		t.Errorf("created issue: got %+v, want ISS-1 with the trimmed title and the description, created by the manager", issue)
	case issue.Status != "OPEN" || issue.Severity != "HIGH" || issue.Assignee != "" || issue.Resolution != "" || issue.DueDate != "2027-03-01":
		t.Errorf("created issue: got %+v, want OPEN, HIGH, due 2027-03-01, without assignee and resolution", issue)
	case issue.FirstRespondedAt != nil || issue.ResolvedAt != nil || issue.PromotedTaskID != "" || issue.PromotedTaskKey != "":
		t.Errorf("created issue: got %+v, want no response, resolution or task yet", issue)
	}
	w.wantAuditAndEvents(1, "issue.created", contract.EventIssueCreated, issue.ID)
	if plain := w.createIssue(p, "Plain"); plain.Severity != "MEDIUM" {
		t.Errorf("default severity: got %s, want MEDIUM", plain.Severity)
	}
	for _, name := range []string{"ISS-1", "iss-1", string(issue.ID), strings.ToUpper(string(issue.ID))} {
		if got := do[contract.Issue](w, member, "get-issue", fields{"issue": name}); got.ID != issue.ID || got.Description != "Drips." {
			t.Errorf("get-issue %s: got %+v, want ISS-1 with its description", name, got)
		}
	}
	changed := do[contract.Issue](w, member, "update-issue", fields{"issue": "ISS-1", "title": "Wet", "description": nil, "dueDate": nil})
	if changed.Title != "Wet" || changed.Description != "" || changed.DueDate != "" || changed.Severity != "HIGH" || changed.Status != "OPEN" {
		t.Errorf("update-issue: got %+v, want the title Wet, no description and due date, and the other fields unchanged", changed)
	}
	w.wantAuditAndEvents(1, "issue.updated", contract.EventIssueUpdated, issue.ID)
	do[contract.Issue](w, member, "update-issue", fields{"issue": "ISS-1", "title": "Wet"})
	w.wantAuditAndEvents(1, "issue.updated", contract.EventIssueUpdated, issue.ID)
	do[op.None](w, w.manager, "delete-issue", fields{"issue": "ISS-1"})
	w.wantAuditAndEvents(1, "issue.deleted", contract.EventIssueDeleted, issue.ID)
	w.wantError(fault.CodeNotFound, member, "get-issue", fields{"issue": "ISS-1"})
	w.wantError(fault.CodeNotFound, member, "update-issue", fields{"issue": "ISS-1", "title": "x"})
	// Audit entries contain no user-generated text.
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE changes::text ~ 'Leak|Drips|Wet'`); n != 0 {
		t.Errorf("got %d audit entries with user-generated text, want 0", n)
	}
}

func TestIssueOperations_ValidationErrorsNameTheField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"classification": "INTERNAL"})
	issue := w.createIssue(p, "Leak")
	guest := w.addPerson(person{roles: []string{"Guest Customer"}, clearance: "SECRET"})
	uncleared := w.addPerson(person{roles: []string{"Member"}})
	foreigner := w.addPerson(person{roles: []string{"Member"}, tenant: w.globex, clearance: "SECRET"})
	for _, c := range []struct {
		operation, field string
		in               fields
	}{
		{"create-issue", "title", fields{"projectId": p.ID, "title": " "}},
		{"create-issue", "title", fields{"projectId": p.ID, "title": strings.Repeat("x", 501)}},
		{"create-issue", "title", fields{"projectId": p.ID}},
		{"create-issue", "projectId", fields{"title": "x"}},
		{"create-issue", "projectId", fields{"projectId": "APO", "title": "x"}},
		{"create-issue", "severity", fields{"projectId": p.ID, "title": "x", "severity": "URGENT"}},
		{"create-issue", "dueDate", fields{"projectId": p.ID, "title": "x", "dueDate": "soon"}},
		{"create-issue", "description", fields{"projectId": p.ID, "title": "x", "description": strings.Repeat("x", 100001)}},
		{"create-issue", "assignee", fields{"projectId": p.ID, "title": "x", "assignee": w.manager.id}},
		{"create-issue", "status", fields{"projectId": p.ID, "title": "x", "status": "CLOSED"}},
		{"create-issue", "key", fields{"projectId": p.ID, "title": "x", "key": "ISS-9"}},
		{"update-issue", "title", fields{"issue": issue.Key, "title": ""}},
		{"update-issue", "title", fields{"issue": issue.Key, "title": " "}},
		{"update-issue", "title", fields{"issue": issue.Key, "title": nil}},
		{"update-issue", "severity", fields{"issue": issue.Key, "severity": "LOW"}},
		{"update-issue", "assignee", fields{"issue": issue.Key, "assignee": w.manager.id}},
		{"update-issue", "status", fields{"issue": issue.Key, "status": "CLOSED"}},
		{"update-issue", "dueDate", fields{"issue": issue.Key, "dueDate": "2027-02-30"}},
		{"assign-issue", "assignee", fields{"issue": issue.Key}},
		{"assign-issue", "assignee", fields{"issue": issue.Key, "assignee": "nobody"}},
		{"assign-issue", "assignee", fields{"issue": issue.Key, "assignee": guest.id}},
		{"assign-issue", "assignee", fields{"issue": issue.Key, "assignee": uncleared.id}},
		{"assign-issue", "assignee", fields{"issue": issue.Key, "assignee": foreigner.id}},
		{"assign-issue", "assignee", fields{"issue": issue.Key, "assignee": w.acme}},
		{"escalate-issue", "severity", fields{"issue": issue.Key}},
		{"escalate-issue", "severity", fields{"issue": issue.Key, "severity": ""}},
		{"escalate-issue", "severity", fields{"issue": issue.Key, "severity": "WORSE"}},
		{"transition-issue", "to", fields{"issue": issue.Key}},
		{"transition-issue", "to", fields{"issue": issue.Key, "to": "RESOLVED"}},
		{"transition-issue", "to", fields{"issue": issue.Key, "to": "open"}},
		{"resolve-issue", "resolution", fields{"issue": issue.Key}},
		{"resolve-issue", "resolution", fields{"issue": issue.Key, "resolution": "DONE"}},
		{"list-issues", "severity", fields{"severity": "URGENT"}},
		{"list-issues", "status", fields{"status": "DONE"}},
		{"list-issues", "assignee", fields{"assignee": "nobody"}},
		{"list-issues", "projectId", fields{"projectId": "APO"}},
		{"list-issues", "limit", fields{"limit": 201}},
		{"list-issues", "cursor", fields{"cursor": "x"}},
		{"list-issues", "order", fields{"order": "asc"}},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, c.operation, c.in); f.Field != c.field || f.Message == "" {
			t.Errorf("%s %.80s: got an error for field %q, want %q", c.operation, fmt.Sprint(c.in), f.Field, c.field)
		}
	}
	for _, name := range []string{"x", "ISS-", "ISS-0", "ISS-1x", "-1", "ISS-+1", "ISS-99999999999999999999"} {
		if f := w.wantError(fault.CodeValidation, w.manager, "get-issue", fields{"issue": name}); f.Field != "issue" {
			t.Errorf("%s: got an error for field %q, want issue", name, f.Field)
		}
	}
	for _, name := range []string{"ISS-2", "XYZ-1", string(w.acme)} {
		w.wantError(fault.CodeNotFound, w.manager, "get-issue", fields{"issue": name})
	}
	w.wantError(fault.CodeNotFound, w.manager, "create-issue", fields{"projectId": w.acme, "title": "x"})
	w.wantError(fault.CodeNotFound, w.manager, "list-issues", fields{"projectId": w.acme})
	if again := do[contract.Issue](w, w.manager, "get-issue", fields{"issue": issue.Key}); !again.UpdatedAt.Equal(issue.UpdatedAt) || w.count(`SELECT count(*) FROM projects.issues`) != 1 {
		t.Error("rejected requests: got a changed issue or another number of issues, want 1 unchanged")
	}
	// A rejected creation does not use up a number.
	if next := w.createIssue(p, "Next"); next.Key != "ISS-2" {
		t.Errorf("key of the next issue: got %s, want ISS-2", next.Key)
	}
}

// Tries every transition: from each status to each of the four statuses, and to RESOLVED with
// each resolution.
func TestTransitionIssue_FromAnyStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	member := w.addPerson(person{roles: []string{"Member"}})
	statuses := []string{"OPEN", "IN_PROGRESS", "CLOSED", "RESOLVED", "REOPENED"}
	inStatus := func(status string) *contract.Issue {
		issue := w.createIssue(p, "From "+status)
		switch status {
		case "OPEN":
			return issue
		case "RESOLVED":
			return do[contract.Issue](w, w.manager, "resolve-issue", fields{"issue": issue.Key, "resolution": "FIXED"})
		default:
			return do[contract.Issue](w, w.manager, "transition-issue", fields{"issue": issue.Key, "to": status})
		}
	}
	isFinal := func(status string) bool { return status == "CLOSED" || status == "RESOLVED" }
	for _, from := range statuses {
		for _, to := range []string{"OPEN", "IN_PROGRESS", "CLOSED", "REOPENED"} {
			issue := inStatus(from)
			got := do[contract.Issue](w, member, "transition-issue", fields{"issue": issue.Key, "to": to})
			resolution := ""
			if isFinal(from) && isFinal(to) {
				resolution = issue.Resolution
			}
			if got.Status != to || got.Resolution != resolution || (got.ResolvedAt != nil) != isFinal(to) {
				t.Errorf("from %s to %s: got status %s, resolution %q, resolved at %v; want %s, %q, resolved %t", from, to, got.Status, got.Resolution, got.ResolvedAt, to, resolution, isFinal(to))
			}
			if isFinal(from) && isFinal(to) && !got.ResolvedAt.Equal(*issue.ResolvedAt) {
				t.Errorf("from %s to %s: got the resolution time %s, want the previous one, %s", from, to, got.ResolvedAt, issue.ResolvedAt)
			}
			times := 1
			if to == from {
				times = 0
			}
			if isFinal(from) || from == "OPEN" {
				w.wantAuditAndEvents(times+w.count(`SELECT count(*) FROM audit.entries WHERE action = 'issue.transitioned' AND resource_id = $1 AND actor_id = $2`, string(issue.ID), w.manager.id),
					"issue.transitioned", contract.EventIssueTransitioned, issue.ID)
			}
		}
		for _, resolution := range []string{"FIXED", "WONT_FIX", "DUPLICATE", "DEFERRED"} {
			issue := inStatus(from)
			got := do[contract.Issue](w, member, "resolve-issue", fields{"issue": issue.Key, "resolution": resolution})
			if got.Status != "RESOLVED" || got.Resolution != resolution || got.ResolvedAt == nil {
				t.Errorf("from %s, resolved as %s: got status %s, resolution %q; want RESOLVED with the resolution", from, resolution, got.Status, got.Resolution)
			}
			if again := do[contract.Issue](w, member, "get-issue", fields{"issue": issue.Key}); again.Resolution != resolution {
				t.Errorf("get-issue: got resolution %s, want %s", again.Resolution, resolution)
			}
		}
	}
}

func TestAssignIssue_AssignsAndUnassigns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	issue := w.createIssue(p, "Leak")
	member := w.addPerson(person{roles: []string{"Member"}})
	got := do[contract.Issue](w, member, "assign-issue", fields{"issue": issue.Key, "assignee": strings.ToUpper(string(member.id))})
	if got.Assignee != member.id || got.Status != "OPEN" {
		t.Errorf("assign-issue: got %+v, want the member as assignee and the status OPEN", got)
	}
	do[contract.Issue](w, member, "assign-issue", fields{"issue": issue.Key, "assignee": member.id})
	w.wantAuditAndEvents(1, "issue.assigned", contract.EventIssueAssigned, issue.ID)
	for _, none := range []any{"", nil} {
		do[contract.Issue](w, member, "assign-issue", fields{"issue": issue.Key, "assignee": member.id})
		if got := do[contract.Issue](w, member, "assign-issue", fields{"issue": issue.Key, "assignee": none}); got.Assignee != "" {
			t.Errorf("assignee %v: got %s, want no assignee", none, got.Assignee)
		}
	}
	w.wantAuditAndEvents(4, "issue.assigned", contract.EventIssueAssigned, issue.ID)
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action = 'issue.assigned' AND changes->'assignee'->>'to' = $1`, string(member.id)); n != 2 {
		t.Errorf("got %d audit entries with the new assignee, want 2", n)
	}
}

func TestIssueKeys_AreUniqueInTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, other := w.createProject("Apollo", fields{"issuePrefix": "BUG"}), w.createProject("Gemini")
	third := w.createProject("Vostok")
	for _, c := range []struct {
		p    *contract.Project
		want string
	}{{own, "BUG-1"}, {other, "ISS-1"}, {third, "ISS-2"}, {own, "BUG-2"}, {other, "ISS-3"}} {
		if got := w.createIssue(c.p, "x"); got.Key != c.want {
			t.Errorf("new issue of %s: got key %s, want %s", c.p.Name, got.Key, c.want)
		}
	}
	// A changed prefix applies to new issues only. Existing keys stay, and no other project
	// gets them again.
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": own.ID, "issuePrefix": "CRASH"})
	if got := w.createIssue(own, "x"); got.Key != "CRASH-1" {
		t.Errorf("issue after a change of the prefix: got %s, want CRASH-1", got.Key)
	}
	if got := do[contract.Issue](w, w.manager, "get-issue", fields{"issue": "bug-2"}); got.ProjectID != own.ID {
		t.Errorf("project of BUG-2: got %s, want %s", got.ProjectID, own.ID)
	}
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": other.ID, "issuePrefix": "BUG"})
	if got := w.createIssue(other, "x"); got.Key != "BUG-3" {
		t.Errorf("first issue with the prefix that another project had: got %s, want BUG-3", got.Key)
	}
	// Deleting a project deletes its issues, but their numbers are not reused.
	do[op.None](w, w.manager, "delete-project", fields{"projectId": other.ID})
	w.wantError(fault.CodeNotFound, w.manager, "get-issue", fields{"issue": "BUG-3"})
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": third.ID, "issuePrefix": "BUG"})
	if got := w.createIssue(third, "x"); got.Key != "BUG-4" {
		t.Errorf("first issue with the prefix of a deleted project: got %s, want BUG-4", got.Key)
	}
	// Each tenant has its own numbers.
	foreign := w.addPerson(person{roles: []string{"Project Manager"}, tenant: w.globex})
	p := do[contract.Project](w, foreign, "create-project", fields{"name": "Mercury", "startDate": "2027-01-04"})
	if got := do[contract.Issue](w, foreign, "create-issue", fields{"projectId": p.ID, "title": "x"}); got.Key != "ISS-1" {
		t.Errorf("first issue of another tenant: got %s, want ISS-1", got.Key)
	}
}

func TestCreateIssue_ConcurrentCreatorsGetConsecutiveNumbers(t *testing.T) {
	t.Parallel()
	const creators = 64
	w := newWorldOf(t, 16)
	// All projects share the default prefix, and its counter does not exist yet.
	projects := []*contract.Project{w.createProject("Apollo"), w.createProject("Gemini"), w.createProject("Vostok")}
	issues, errs := make([]*contract.Issue, creators), make([]error, creators)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range creators {
		all.Go(func() {
			<-start
			out, err := w.call(w.manager, "create-issue", fields{"projectId": projects[i%3].ID, "title": fmt.Sprint("Issue ", i)})
			issues[i], _ = out.(*contract.Issue)
			errs[i] = err
		})
	}
	close(start)
	all.Wait()
	seen := map[string]bool{}
	for i, issue := range issues {
		if errs[i] != nil {
			t.Errorf("create-issue of creator %d: got %v, want no error", i, errs[i])
			continue
		}
		seen[issue.Key] = true
	}
	for n := 1; n <= creators; n++ {
		if !seen[fmt.Sprintf("ISS-%d", n)] {
			t.Errorf("keys of %d concurrent creators: got no ISS-%d, want consecutive numbers", creators, n)
		}
	}
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action = 'issue.created'`); n != creators {
		t.Errorf("got %d audit entries, want 64", n)
	}
	if n := w.count(`SELECT count(*) FROM events.outbox WHERE type = 'projects.issue.created'`); n != creators {
		t.Errorf("got %d events, want 64", n)
	}
}

// addIssue adds an issue with a comment and a time entry to the scene.
func (w *world) addIssue(p *contract.Project, s *scene) {
	w.t.Helper()
	s.issue = w.createIssue(p, "Leak").ID
	s.comment = do[contract.Comment](w, w.manager, "create-comment", fields{"issueId": s.issue, "body": "Drips."}).ID
	s.timeEntry = do[contract.TimeEntry](w, w.manager, "create-time-entry", fields{"issueId": s.issue, "date": "2026-01-04", "minutes": 30}).ID
}

func issueRequests(s scene) map[string]fields {
	return map[string]fields{
		"list-issues":      {"projectId": s.project},
		"create-issue":     {"projectId": s.project, "title": "x"},
		"get-issue":        {"issue": s.issue},
		"update-issue":     {"issue": s.issue, "title": "Renamed"},
		"delete-issue":     {"issue": s.issue},
		"assign-issue":     {"issue": s.issue, "assignee": ""},
		"escalate-issue":   {"issue": s.issue, "severity": "LOW"},
		"transition-issue": {"issue": s.issue, "to": "CLOSED"},
		"resolve-issue":    {"issue": s.issue, "resolution": "FIXED"},
		"promote-issue":    {"issue": s.issue},

		"list-comments":  {"issueId": s.issue},
		"create-comment": {"issueId": s.issue, "body": "x"},
		"update-comment": {"commentId": s.comment, "body": "x"},
		"delete-comment": {"commentId": s.comment},

		"list-time-entries": {"projectId": s.project},
		"create-time-entry": {"projectId": s.project, "date": "2026-01-04", "minutes": 5},
		"update-time-entry": {"timeEntryId": s.timeEntry, "minutes": 5},
		"delete-time-entry": {"timeEntryId": s.timeEntry},
	}
}

func TestPromoteIssue_DeniedWithUpdateOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	w.addRole("Own Issues", "issues.read", "issue.update.own", "task.create", "tasks.read")
	caller := w.addPerson(person{roles: []string{"Own Issues"}})
	ownIssue, otherIssue := w.createIssue(p, "Mine"), w.createIssue(p, "Theirs")
	do[contract.Issue](w, w.manager, "assign-issue", fields{"issue": ownIssue.Key, "assignee": caller.id})
	for name, in := range map[string]fields{"update-issue": {"title": "x"}, "transition-issue": {"to": "IN_PROGRESS"}, "resolve-issue": {"resolution": "FIXED"}} {
		do[contract.Issue](w, caller, name, merge(fields{"issue": ownIssue.Key}, in))
		if f := w.wantError(fault.CodeForbidden, caller, name, merge(fields{"issue": otherIssue.Key}, in)); f.Permission != "issue.update" {
			t.Errorf("%s: got the missing permission %q, want issue.update", name, f.Permission)
		}
	}
	for name, permission := range map[string]string{"assign-issue": "issue.assign", "escalate-issue": "issue.escalate", "delete-issue": "issue.delete", "promote-issue": "issue.update"} {
		if f := w.wantError(fault.CodeForbidden, caller, name, issueRequests(scene{issue: ownIssue.ID})[name]); f.Permission != permission {
			t.Errorf("%s: got permission %q, want %q", name, f.Permission, permission)
		}
	}
}

// Runs deletions of a project, an issue and a task concurrently with changes of them: no call
// may deadlock.
func TestDeleteIssue_ConcurrentUpdatesLeaveNoRows(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 16)
	p := w.createProject("Apollo")
	var issues []*contract.Issue
	for i := range 4 {
		issues = append(issues, w.createIssue(p, fmt.Sprint("Issue ", i)))
	}
	task := do[contract.Task](w, w.manager, "promote-issue", fields{"issue": issues[0].Key})
	member := w.addPerson(person{roles: []string{"Project Manager"}})
	var all sync.WaitGroup
	errs := make(chan error, 96)
	for i := range 96 {
		all.Go(func() {
			issue := fields{"issue": issues[i%4].Key}
			var err error
			switch i % 8 {
			case 0:
				_, err = w.call(member, "create-issue", fields{"projectId": p.ID, "title": "x"})
			case 1:
				_, err = w.call(member, "create-comment", fields{"issueId": issues[i/8%4].ID, "body": "x"})
			case 2:
				_, err = w.call(member, "promote-issue", issue)
			case 3:
				_, err = w.call(member, "transition-issue", merge(issue, fields{"to": []string{"OPEN", "CLOSED"}[i/8%2]}))
			case 4:
				_, err = w.call(member, "create-time-entry", fields{"taskId": task.ID, "date": "2026-01-04", "minutes": 5})
			case 5:
				_, err = w.call(member, "create-comment", fields{"taskId": task.ID, "body": "x"})
			case 6:
				_, err = w.call(member, "assign-issue", merge(issue, fields{"assignee": member.id}))
			default:
				switch i {
				case 31:
					_, err = w.call(w.manager, "delete-task", fields{"projectId": p.ID, "task": task.Key})
				case 55:
					_, err = w.call(w.manager, "delete-issue", issue)
				case 79:
					_, err = w.call(w.manager, "delete-project", fields{"projectId": p.ID})
				}
			}
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil && !isNotFoundOrInvalid(err) {
			t.Errorf("concurrent update: got %v, want no error, NOT_FOUND or VALIDATION", err)
		}
	}
	for _, table := range []string{"issues", "comments", "time_entries", "tasks", "issue_terms"} {
		if n := w.count(`SELECT count(*) FROM projects.` + table); n != 0 {
			t.Errorf("%d rows of %s left, want 0", n, table)
		}
	}
}
