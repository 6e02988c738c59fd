package tracker_test

import (
	"testing"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/op"
)

func TestIssueSLA_DeadlinesFollowSeverityAndCreationTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	created := time.Date(2027, 3, 1, 9, 30, 0, 123456000, time.UTC)
	for severity, hours := range map[string][2]int{"CRITICAL": {1, 8}, "HIGH": {4, 24}, "MEDIUM": {8, 72}, "LOW": {24, 168}} {
		w.setTime(created)
		issue := w.createIssue(p, severity, fields{"severity": severity})
		want := func(note string, i *contract.Issue) {
			respond, resolve := created.Add(time.Duration(hours[0])*time.Hour), created.Add(time.Duration(hours[1])*time.Hour)
			if !i.CreatedAt.Equal(created) || !i.FirstResponseDueAt.Equal(respond) || !i.ResolutionDueAt.Equal(resolve) {
				t.Errorf("%s %s: got created %s, response due %s, resolution due %s; want %s, %s, %s", severity, note, i.CreatedAt, i.FirstResponseDueAt, i.ResolutionDueAt, created, respond, resolve)
			}
		}
		want("created", issue)
		// After an escalation the deadlines are still counted from the creation.
		for _, other := range []string{"LOW", "CRITICAL", "MEDIUM", "HIGH"} {
			if other == severity {
				continue
			}
			w.setTime(created.Add(30 * time.Hour))
			do[contract.Issue](w, w.manager, "escalate-issue", fields{"issue": issue.Key, "severity": other})
			back := do[contract.Issue](w, w.manager, "escalate-issue", fields{"issue": issue.Key, "severity": severity})
			if back.Severity != severity {
				t.Errorf("escalate-issue: got severity %s, want %s", back.Severity, severity)
			}
			want("escalated from "+other, back)
		}
		want("read", do[contract.Issue](w, w.manager, "get-issue", fields{"issue": issue.Key}))
		w.wantAuditAndEvents(6, "issue.escalated", contract.EventIssueEscalated, issue.ID)
		do[contract.Issue](w, w.manager, "escalate-issue", fields{"issue": issue.Key, "severity": severity})
		w.wantAuditAndEvents(6, "issue.escalated", contract.EventIssueEscalated, issue.ID)
	}
}

func TestIssueSLA_OverdueFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	member := w.addPerson(person{roles: []string{"Member"}})
	created := time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)
	issue := func() *contract.Issue {
		w.setTime(created)
		return w.createIssue(p, "Leak", fields{"severity": "CRITICAL"})
	}
	want := func(note string, i *contract.Issue, response, resolution bool) {
		t.Helper()
		for _, got := range []*contract.Issue{i, do[contract.Issue](w, member, "get-issue", fields{"issue": i.Key})} {
			if got.FirstResponseOverdue != response || got.ResolutionOverdue != resolution {
				t.Errorf("%s: got response overdue %v, resolution overdue %v; want %v, %v", note, got.FirstResponseOverdue, got.ResolutionOverdue, response, resolution)
			}
		}
		list := do[op.Page[contract.IssueSummary]](w, member, "list-issues", fields{"projectId": p.ID, "limit": 200})
		for _, item := range list.Items {
			if item.ID == i.ID && (item.FirstResponseOverdue != response || item.ResolutionOverdue != resolution) {
				t.Errorf("%s, in list-issues: got response overdue %v, resolution overdue %v; want %v, %v", note, item.FirstResponseOverdue, item.ResolutionOverdue, response, resolution)
			}
		}
	}
	unanswered := issue()
	want("new", unanswered, false, false)
	for _, c := range []struct {
		after                time.Duration
		response, resolution bool
	}{{time.Hour, false, false}, {time.Hour + time.Microsecond, true, false}, {8 * time.Hour, true, false}, {8*time.Hour + time.Microsecond, true, true}} {
		w.setTime(created.Add(c.after))
		want(c.after.String(), do[contract.Issue](w, member, "get-issue", fields{"issue": unanswered.Key}), c.response, c.resolution)
	}

	// The flags of resolved issues do not change later.
	for _, c := range []struct {
		note                     string
		respondAfter, closeAfter time.Duration
		response, resolution     bool
	}{
		{"both in time", 30 * time.Minute, 7 * time.Hour, false, false},
		{"late to respond", 2 * time.Hour, 7 * time.Hour, true, false},
		{"late to resolve", 30 * time.Minute, 9 * time.Hour, false, true},
	} {
		i := issue()
		w.setTime(created.Add(c.respondAfter))
		i = do[contract.Issue](w, member, "transition-issue", fields{"issue": i.Key, "to": "IN_PROGRESS"})
		if i.FirstRespondedAt == nil || !i.FirstRespondedAt.Equal(created.Add(c.respondAfter)) {
			t.Errorf("%s: got first response at %v, want %s", c.note, i.FirstRespondedAt, created.Add(c.respondAfter))
		}
		w.setTime(created.Add(c.closeAfter))
		i = do[contract.Issue](w, member, "resolve-issue", fields{"issue": i.Key, "resolution": "FIXED"})
		if i.ResolvedAt == nil || !i.ResolvedAt.Equal(created.Add(c.closeAfter)) {
			t.Errorf("%s: got resolution at %v, want %s", c.note, i.ResolvedAt, created.Add(c.closeAfter))
		}
		w.setTime(created.Add(1000 * time.Hour))
		want(c.note, i, c.response, c.resolution)
		// The resolution of a reopened issue is overdue again.
		i = do[contract.Issue](w, member, "transition-issue", fields{"issue": i.Key, "to": "REOPENED"})
		want(c.note+", reopened", i, c.response, true)
	}
	// An issue that its creator closed needs no response.
	i := issue()
	w.setTime(created.Add(time.Minute))
	i = do[contract.Issue](w, w.manager, "transition-issue", fields{"issue": i.Key, "to": "CLOSED"})
	w.setTime(created.Add(1000 * time.Hour))
	want("closed by its creator", i, false, false)
}

func TestIssueSLA_FirstResponseIsNotFromCreator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	member := w.addPerson(person{roles: []string{"Member"}})
	created := time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)
	for name, in := range map[string]fields{
		"assign-issue": {"assignee": member.id}, "transition-issue": {"to": "IN_PROGRESS"}, "resolve-issue": {"resolution": "FIXED"},
	} {
		w.setTime(created)
		issue := w.createIssue(p, "Leak")
		request := merge(fields{"issue": issue.Key}, in)
		if got := do[contract.Issue](w, w.manager, name, request); got.FirstRespondedAt != nil {
			t.Errorf("%s by the creator: got first response at %v, want none", name, got.FirstRespondedAt)
		}
		do[contract.Issue](w, w.manager, "transition-issue", fields{"issue": issue.Key, "to": "REOPENED"})
		do[contract.Issue](w, w.manager, "assign-issue", fields{"issue": issue.Key, "assignee": ""})
		w.setTime(created.Add(time.Hour))
		for other, in := range map[string]fields{"escalate-issue": {"severity": "LOW"}, "update-issue": {"title": "x"}} {
			if got := do[contract.Issue](w, member, other, merge(fields{"issue": issue.Key}, in)); got.FirstRespondedAt != nil {
				t.Errorf("%s by another user: got first response at %v, want none", other, got.FirstRespondedAt)
			}
		}
		// A request that changes nothing is not a response.
		if got := do[contract.Issue](w, member, "assign-issue", fields{"issue": issue.Key, "assignee": ""}); got.FirstRespondedAt != nil {
			t.Errorf("assign-issue without a change: got first response at %v, want none", got.FirstRespondedAt)
		}
		if got := do[contract.Issue](w, member, "transition-issue", fields{"issue": issue.Key, "to": "REOPENED"}); got.FirstRespondedAt != nil {
			t.Errorf("transition-issue without a change: got first response at %v, want none", got.FirstRespondedAt)
		}
		w.setTime(created.Add(2 * time.Hour))
		if got := do[contract.Issue](w, member, name, request); got.FirstRespondedAt == nil || !got.FirstRespondedAt.Equal(created.Add(2*time.Hour)) {
			t.Errorf("%s by another user: got first response at %v, want %s", name, got.FirstRespondedAt, created.Add(2*time.Hour))
		}
		w.setTime(created.Add(3 * time.Hour))
		if got := do[contract.Issue](w, member, "transition-issue", fields{"issue": issue.Key, "to": "OPEN"}); !got.FirstRespondedAt.Equal(created.Add(2 * time.Hour)) {
			t.Errorf("after a second response: got first response at %v, want %s", got.FirstRespondedAt, created.Add(2*time.Hour))
		}
	}
}
