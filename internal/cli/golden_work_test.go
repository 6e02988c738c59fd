package cli

import (
	"time"

	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// What the fixtures are made of: ids, moments, and text that somebody hostile
// wrote.
const (
	issueID      = "018f3c5e-0000-7000-8000-000000000061"
	commentID    = "018f3c5e-0000-7000-8000-000000000062"
	entryID      = "018f3c5e-0000-7000-8000-000000000063"
	stageID      = "018f3c5e-0000-7000-8000-000000000064"
	gateID       = "018f3c5e-0000-7000-8000-000000000065"
	initiativeID = "018f3c5e-0000-7000-8000-000000000066"
	decisionID   = "018f3c5e-0000-7000-8000-000000000067"
	leaseID      = "018f3c5e-0000-7000-8000-000000000068"
	bindingID    = "018f3c5e-0000-7000-8000-000000000069"
	epicID       = "018f3c5e-0000-7000-8000-000000000099"

	hostile = "The \x1b[2Jhatch | \u202esticks\u200b"
	body    = "# Not a heading\nline \u009b31m two\n"

	project = "/api/projects/" + apollo
	work    = project + "/tasks/APOLLO-17"
)

var (
	made  = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	later = time.Date(2026, 11, 2, 9, 30, 0, 0, time.UTC)
)

func aTask() tracker.TaskSummary {
	return tracker.TaskSummary{
		ID: taskID, Key: "APOLLO-17", ProjectID: apollo, Title: hostile, Status: "IN_PROGRESS", StatusCategory: "IN_PROGRESS", IssueType: "TASK",
		Priority: "HIGH", Progress: 40, Assignee: worker, DueDate: "2027-03-31", Labels: []string{"flight"}, CreatedBy: worker, CreatedAt: made, UpdatedAt: later,
	}
}

func aProject() tracker.ProjectSummary {
	return tracker.ProjectSummary{
		ID: apollo, Name: hostile, Prefix: "APOLLO", Status: "ACTIVE", Classification: "INTERNAL", StartDate: "2027-01-04",
		InitiativeID: initiativeID, CreatedBy: worker, CreatedAt: made, UpdatedAt: later,
	}
}

func anIssue() tracker.Issue {
	return tracker.Issue{
		IssueSummary: tracker.IssueSummary{
			ID: issueID, Key: "ISS-4", ProjectID: apollo, Title: hostile, Severity: "HIGH", Status: "RESOLVED", Resolution: "FIXED", Assignee: worker, DueDate: "2027-03-31",
			FirstResponseDueAt: made.Add(4 * time.Hour), FirstRespondedAt: &later, FirstResponseOverdue: true,
			ResolutionDueAt: made.Add(24 * time.Hour), ResolvedAt: &later, ResolutionOverdue: true, PromotedTaskID: taskID,
			CreatedBy: worker, CreatedAt: made, UpdatedAt: later,
		},
		Description: body, PromotedTaskKey: "APOLLO-17",
	}
}

func issueStory() story {
	one := answer(anIssue())
	path := "/api/issues/ISS-4"
	return story{
		routes: map[string]reply{
			"GET /api/issues":                         answer(op.Page[tracker.IssueSummary]{Items: []tracker.IssueSummary{anIssue().IssueSummary}, NextCursor: "bmV4dA"}),
			"GET /api/issues?limit=50&search=nothing": ok(`{"items":[]}`),
			"POST /api/issues":                        one, "GET " + path: one, "PATCH " + path: one, "DELETE " + path: {status: 204},
			"POST " + path + "/assign": one, "POST " + path + "/escalate": one, "POST " + path + "/transition": one, "POST " + path + "/resolve": one,
			"POST " + path + "/promote": ok(taskJSON),
		},
		cases: []goldenCase{
			{"list-issues", []string{"list-issues", "--project", "APOLLO", "--severity", "high", "--status", "OPEN", "--search", "hatch", "--assignee", worker}, world{}},
			{"list-issues-tenant", []string{"list-issues"}, world{}},
			{"list-issues-empty", []string{"list-issues", "--search", "nothing"}, world{}},
			{"get-issue", []string{"get-issue", "ISS-4"}, world{}},
			{"create-issue", []string{"create-issue", "--project", "APOLLO", "--title", "The hatch", "--description", "-", "--severity", "HIGH", "--due", "2027-03-31"}, world{stdin: "It sticks.\n"}},
			{"update-issue", []string{"update-issue", "ISS-4", "--title", "New", "--description", "", "--due", ""}, world{}},
			{"assign-issue", []string{"assign-issue", "ISS-4", "--assignee", worker}, world{}},
			{"assign-issue-nobody", []string{"assign-issue", "ISS-4", "--assignee", ""}, world{}},
			{"escalate-issue", []string{"escalate-issue", "ISS-4", "--severity", "critical"}, world{}},
			{"transition-issue", []string{"transition-issue", "ISS-4", "--to", "REOPENED"}, world{}},
			{"resolve-issue", []string{"resolve-issue", "ISS-4", "--resolution", "WONT_FIX"}, world{}},
			{"promote-issue", []string{"promote-issue", "ISS-4", "--idempotency-key", "k"}, world{}},
			{"delete-issue", []string{"delete-issue", "ISS-4", "--yes"}, world{}},
		},
	}
}

func commentStory() story {
	one := tracker.Comment{ID: commentID, ProjectID: apollo, TaskID: taskID, Body: body, AuthorID: worker, Edited: true, CreatedAt: made, UpdatedAt: later}
	path := "/api/comments/" + commentID
	return story{
		routes: map[string]reply{
			"GET /api/comments": answer(op.Page[tracker.Comment]{Items: []tracker.Comment{one}}),
			"GET /api/comments?issueId=" + issueID + "&limit=50": ok(`{"items":[]}`),
			"POST /api/comments": answer(one), "PATCH " + path: answer(one), "DELETE " + path: {status: 204},
		},
		cases: []goldenCase{
			{"list-comments", []string{"list-comments", "--task", taskID}, world{}},
			{"list-comments-by-key", []string{"list-comments", "--task", "APOLLO-17"}, world{}},
			{"list-comments-empty", []string{"list-comments", "--issue", "ISS-4"}, world{}},
			{"create-comment", []string{"create-comment", "--issue", issueID, "--body", "-"}, world{stdin: "From the\ninput.\n"}},
			{"update-comment", []string{"update-comment", commentID, "--body", "Better."}, world{}},
			{"delete-comment", []string{"delete-comment", commentID, "--yes"}, world{}},
		},
	}
}

func timeEntryStory() story {
	one := tracker.TimeEntry{ID: entryID, ProjectID: apollo, TaskID: taskID, UserID: worker, Date: "2026-11-20", Minutes: 90, Note: hostile, Billable: true, CreatedBy: worker, CreatedAt: made, UpdatedAt: later}
	total := int64(1530)
	path := "/api/time-entries/" + entryID
	return story{
		routes: map[string]reply{
			"GET /api/time-entries": answer(tracker.TimeEntryPage{Page: op.Page[tracker.TimeEntry]{Items: []tracker.TimeEntry{one}, NextCursor: "bmV4dA"}, TotalMinutes: &total}),
			"GET /api/time-entries?cursor=bmV4dA&limit=200&userId=" + worker: answer(tracker.TimeEntryPage{Page: op.Page[tracker.TimeEntry]{Items: []tracker.TimeEntry{one}}}),
			"POST /api/time-entries": answer(one), "PATCH " + path: answer(one), "DELETE " + path: {status: 204},
		},
		cases: []goldenCase{
			{"list-time-entries", []string{"list-time-entries", "--project", apollo, "--from", "2026-11-01", "--to", "2026-11-30"}, world{}},
			{"list-time-entries-all", []string{"list-time-entries", "--user", worker, "--all"}, world{}},
			{"create-time-entry", []string{"create-time-entry", "--task", "APOLLO-17", "--minutes", "90", "--note", "Draft", "--billable"}, world{env: map[string]string{"PT_PROJECT": "LUNA"}}},
			{"create-time-entry-project", []string{"create-time-entry", "--minutes", "30", "--date", "2026-11-19"}, world{env: map[string]string{"PT_PROJECT": apollo}}},
			{"update-time-entry", []string{"update-time-entry", entryID, "--minutes", "45", "--note", "", "--billable=false"}, world{}},
			{"delete-time-entry", []string{"delete-time-entry", entryID, "--yes"}, world{}},
		},
	}
}

func aDecision(status string) tracker.DecisionRequest {
	r := tracker.DecisionRequest{
		ID: decisionID, ProjectID: apollo, TaskID: taskID, TaskKey: "APOLLO-17", Question: hostile + "\nWhich one?", Options: []string{"F-1", "J-2 \x07"}, Status: status,
		RaisedBy: worker, SessionID: "run-42", CreatedAt: made,
	}
	if status == tracker.DecisionAnswered {
		one := 1
		r.Answer, r.ChosenOptionIndex, r.ResolvedAt, r.ResolvedBy = "J-2 \x07", &one, &later, worker
	}
	if status == tracker.DecisionCancelled {
		r.ResolvedAt, r.ResolvedBy = &later, worker
	}
	return r
}

func decisionStory() story {
	path := work + "/decision-requests"
	waiting := project + "/tasks/APOLLO-18"
	asked := tracker.Task{TaskSummary: aTask(), Description: body}
	open, answered := aDecision(tracker.DecisionOpen), aDecision(tracker.DecisionAnswered)
	asked.DecisionRequest = &answered
	pending := asked
	pending.DecisionRequest = &open
	return story{
		routes: map[string]reply{
			"POST " + path: answer(open),
			"GET " + path:  answer(op.Page[tracker.DecisionRequest]{Items: []tracker.DecisionRequest{open, answered}}),
			"GET " + path + "?limit=50&status=cancelled":       ok(`{"items":[]}`),
			"POST " + path + "/" + decisionID + "/answer":      answer(answered),
			"POST " + path + "/" + decisionID + "/cancel":      answer(aDecision(tracker.DecisionCancelled)),
			"GET " + path + "/" + decisionID + "/wait":         answer(answered),
			"GET " + work + "?decisionRequestId=" + decisionID: answer(asked),
			"GET " + waiting: answer(pending),
			"GET " + waiting + "/decision-requests/" + decisionID + "/wait": answer(aDecision(tracker.DecisionCancelled)),
		},
		cases: []goldenCase{
			{"mark-awaiting-decision", []string{"mark-awaiting-decision", "APOLLO", "APOLLO-17", "--question", "Which?", "--options", "F-1, J-2", "--options", "none", "--agent", "agent+builder@acme.example", "--session-id", "run-42"}, world{}},
			{"mark-awaiting-decision-text", []string{"mark-awaiting-decision", apollo, "APOLLO-17", "--question", "-"}, world{stdin: "Which\none?\n"}},
			{"answer-decision", []string{"answer-decision", apollo, "APOLLO-17", "--request-id", decisionID, "--chosen-option-index", "0"}, world{}},
			{"answer-decision-text", []string{"answer-decision", apollo, "APOLLO-17", "--request-id", decisionID, "--answer", "Neither"}, world{}},
			{"answer-decision-both", []string{"answer-decision", apollo, "APOLLO-17", "--request-id", decisionID, "--answer", "a", "--chosen-option-index", "1"}, world{}},
			{"answer-decision-neither", []string{"answer-decision", apollo, "APOLLO-17", "--request-id", decisionID}, world{}},
			{"cancel-decision", []string{"cancel-decision", apollo, "APOLLO-17", "--request-id", decisionID}, world{}},
			{"list-decision-requests", []string{"list-decision-requests", apollo, "APOLLO-17"}, world{}},
			{"list-decision-requests-empty", []string{"list-decision-requests", apollo, "APOLLO-17", "--status", "cancelled"}, world{}},
			{"get-task-decision", []string{"get-task", apollo, "APOLLO-17", "--decision-request-id", decisionID}, world{}},
			{"wait-decision", []string{"wait-decision", apollo, "APOLLO-17", "--request-id", decisionID, "--timeout", "20s"}, world{}},
			{"wait-decision-none", []string{"wait-decision", "APOLLO-17"}, world{}},
			{"wait-decision-cancelled", []string{"wait-decision", apollo, "APOLLO-18"}, world{}},
		},
	}
}

func dependencyStory() story {
	one := tracker.Dependency{Direction: "BLOCKED_BY", Task: tracker.TaskRef{ID: epicID, Key: "APOLLO-3", Title: hostile, ProjectID: apollo, Status: "TODO", StatusCategory: "TODO"}, CreatedAt: made}
	masked := tracker.Dependency{Direction: "BLOCKS", Task: tracker.TaskRef{ID: issueID, Key: "REDACTED", Title: "REDACTED", IsCrossProject: true}, CreatedAt: made}
	path := work + "/dependencies"
	return story{
		routes: map[string]reply{
			"GET " + path: answer(op.Page[tracker.Dependency]{Items: []tracker.Dependency{one, masked}}),
			"GET " + path + "?direction=BLOCKS&limit=50": ok(`{"items":[]}`),
			"POST " + path: answer(one), "DELETE " + path + "/APOLLO-3": {status: 204},
			"POST " + project + "/tasks/APOLLO-3/dependencies": refuse(409, "CONFLICT", "The dependency would create a cycle: APOLLO-17, APOLLO-3, APOLLO-17.", `,"details":{"cycle":["APOLLO-17","APOLLO-3","APOLLO-17"]}`),
		},
		cases: []goldenCase{
			{"list-dependencies", []string{"list-dependencies", apollo, "APOLLO-17"}, world{}},
			{"list-dependencies-empty", []string{"list-dependencies", apollo, "APOLLO-17", "--direction", "BLOCKS"}, world{}},
			{"add-dependency", []string{"add-dependency", apollo, "APOLLO-17", "APOLLO-3"}, world{}},
			{"add-dependency-cycle", []string{"add-dependency", "APOLLO-3", "APOLLO-17"}, world{}},
			{"remove-dependency", []string{"remove-dependency", apollo, "APOLLO-17", "APOLLO-3"}, world{}},
		},
	}
}

func claimStory() story {
	lease := tracker.Lease{ID: leaseID, ExpiresAt: later}
	t := tracker.Task{TaskSummary: aTask(), Description: body, BlockedBy: 1, Blocks: 2, Claim: &tracker.Claim{Holder: worker, ExpiresAt: later}}
	return story{
		routes: map[string]reply{
			"POST " + project + "/claim-next-ready":                    answer(tracker.ClaimNextReadyOut{Claimed: true, Task: &t, Lease: &lease}),
			"POST /api/projects/" + initiativeID + "/claim-next-ready": answer(tracker.ClaimNextReadyOut{}),
			"POST " + work + "/claim/keep":                             answer(lease), "POST " + work + "/claim/release": answer(t),
		},
		cases: []goldenCase{
			{"claim-next-ready", []string{"claim-next-ready", "APOLLO", "--lease", "30m", "--agent", "agent+builder@acme.example"}, world{}},
			{"claim-next-ready-empty", []string{"claim-next-ready", initiativeID}, world{}},
			{"keep-claim", []string{"keep-claim", apollo, "APOLLO-17", "--lease-id", leaseID, "--lease", "45"}, world{}},
			{"release-claim", []string{"release-claim", apollo, "APOLLO-17", "--lease-id", leaseID}, world{}},
		},
	}
}

func peopleStory() story {
	return story{
		routes: map[string]reply{
			"GET /api/people": answer(op.Page[identity.Colleague]{Items: []identity.Colleague{{ID: worker, DisplayName: hostile, Email: "worker@acme.example", PrincipalKind: "HUMAN"}}}),
		},
		cases: []goldenCase{{"list-people", []string{"list-people", "--search", "work"}, world{}}},
	}
}

func taskStory() story {
	awaiting := aTask()
	awaiting.DecisionRequestID = decisionID
	tasks := project + "/tasks?"
	return story{
		routes: map[string]reply{
			"GET " + tasks + "limit=50&ready=true":            answer(op.Page[tracker.TaskSummary]{Items: []tracker.TaskSummary{aTask()}}),
			"GET " + tasks + "limit=50&review=true":           answer(op.Page[tracker.TaskSummary]{Items: []tracker.TaskSummary{aTask()}}),
			"GET " + tasks + "awaitingDecision=true&limit=50": answer(op.Page[tracker.TaskSummary]{Items: []tracker.TaskSummary{awaiting}}),
		},
		cases: []goldenCase{
			{"list-tasks-ready", []string{"list-tasks", apollo, "--ready"}, world{}},
			{"list-tasks-review", []string{"list-tasks", apollo, "--review"}, world{}},
			{"list-tasks-awaiting-decision", []string{"list-tasks", apollo, "--awaiting-decision"}, world{}},
			{"list-tasks-exclusive", []string{"list-tasks", apollo, "--awaiting-decision", "--ready"}, world{}},
			{"create-task-epic", []string{"create-task", "--project", "APOLLO", "--title", "Plan", "--type", "epic", "--initiative", "moon"}, world{}},
		},
	}
}
