package cli

import (
	"time"

	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// Values of the fixtures. hostileText contains terminal escape sequences and invisible
// characters.
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

	hostileText = "The \x1b[2Jhatch | \u202esticks\u200b"
	body        = "# Not a heading\nline \u009b31m two\n"

	projectPath = "/api/projects/" + apollo
	taskPath    = projectPath + "/tasks/APOLLO-17"
)

var (
	createdTime = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	updatedTime = time.Date(2026, 11, 2, 9, 30, 0, 0, time.UTC)
)

func exampleTask() tracker.TaskSummary {
	return tracker.TaskSummary{
		ID: taskID, Key: "APOLLO-17", ProjectID: apollo, Title: hostileText, Status: "IN_PROGRESS", StatusCategory: "IN_PROGRESS", IssueType: "TASK",
		Priority: "HIGH", Progress: 40, Assignee: worker, DueDate: "2027-03-31", Labels: []string{"flight"}, CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime,
	}
}

func exampleProject() tracker.ProjectSummary {
	return tracker.ProjectSummary{
		ID: apollo, Name: hostileText, Prefix: "APOLLO", Status: "ACTIVE", Classification: "INTERNAL", StartDate: "2027-01-04",
		InitiativeID: initiativeID, CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime,
	}
}

func exampleIssue() tracker.Issue {
	return tracker.Issue{
		IssueSummary: tracker.IssueSummary{
			ID: issueID, Key: "ISS-4", ProjectID: apollo, Title: hostileText, Severity: "HIGH", Status: "RESOLVED", Resolution: "FIXED", Assignee: worker, DueDate: "2027-03-31",
			FirstResponseDueAt: createdTime.Add(4 * time.Hour), FirstRespondedAt: &updatedTime, FirstResponseOverdue: true,
			ResolutionDueAt: createdTime.Add(24 * time.Hour), ResolvedAt: &updatedTime, ResolutionOverdue: true, PromotedTaskID: taskID,
			CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime,
		},
		Description: body, PromotedTaskKey: "APOLLO-17",
	}
}

func issueGoldens() goldenGroup {
	one := jsonReply(exampleIssue())
	path := "/api/issues/ISS-4"
	return goldenGroup{
		routes: map[string]reply{
			"GET /api/issues":                         jsonReply(op.Page[tracker.IssueSummary]{Items: []tracker.IssueSummary{exampleIssue().IssueSummary}, NextCursor: "bmV4dA"}),
			"GET /api/issues?limit=50&search=nothing": okReply(`{"items":[]}`),
			"POST /api/issues":                        one, "GET " + path: one, "PATCH " + path: one, "DELETE " + path: {status: 204},
			"POST " + path + "/assign": one, "POST " + path + "/escalate": one, "POST " + path + "/transition": one, "POST " + path + "/resolve": one,
			"POST " + path + "/promote": okReply(taskJSON),
		},
		cases: []goldenCase{
			{"list-issues", []string{"list-issues", "--project", "APOLLO", "--severity", "high", "--status", "OPEN", "--search", "hatch", "--assignee", worker}, environment{}},
			{"list-issues-tenant", []string{"list-issues"}, environment{}},
			{"list-issues-empty", []string{"list-issues", "--search", "nothing"}, environment{}},
			{"get-issue", []string{"get-issue", "ISS-4"}, environment{}},
			{"create-issue", []string{"create-issue", "--project", "APOLLO", "--title", "The hatch", "--description", "-", "--severity", "HIGH", "--due", "2027-03-31"}, environment{stdin: "It sticks.\n"}},
			{"update-issue", []string{"update-issue", "ISS-4", "--title", "New", "--description", "", "--due", ""}, environment{}},
			{"assign-issue", []string{"assign-issue", "ISS-4", "--assignee", worker}, environment{}},
			{"assign-issue-nobody", []string{"assign-issue", "ISS-4", "--assignee", ""}, environment{}},
			{"escalate-issue", []string{"escalate-issue", "ISS-4", "--severity", "critical"}, environment{}},
			{"transition-issue", []string{"transition-issue", "ISS-4", "--to", "REOPENED"}, environment{}},
			{"resolve-issue", []string{"resolve-issue", "ISS-4", "--resolution", "WONT_FIX"}, environment{}},
			{"promote-issue", []string{"promote-issue", "ISS-4", "--idempotency-key", "k"}, environment{}},
			{"delete-issue", []string{"delete-issue", "ISS-4", "--yes"}, environment{}},
		},
	}
}

func commentGoldens() goldenGroup {
	one := tracker.Comment{ID: commentID, ProjectID: apollo, TaskID: taskID, Body: body, AuthorID: worker, Edited: true, CreatedAt: createdTime, UpdatedAt: updatedTime}
	path := "/api/comments/" + commentID
	return goldenGroup{
		routes: map[string]reply{
			"GET /api/comments": jsonReply(op.Page[tracker.Comment]{Items: []tracker.Comment{one}}),
			"GET /api/comments?issueId=" + issueID + "&limit=50": okReply(`{"items":[]}`),
			"POST /api/comments": jsonReply(one), "PATCH " + path: jsonReply(one), "DELETE " + path: {status: 204},
		},
		cases: []goldenCase{
			{"list-comments", []string{"list-comments", "--task", taskID}, environment{}},
			{"list-comments-by-key", []string{"list-comments", "--task", "APOLLO-17"}, environment{}},
			{"list-comments-empty", []string{"list-comments", "--issue", "ISS-4"}, environment{}},
			{"create-comment", []string{"create-comment", "--issue", issueID, "--body", "-"}, environment{stdin: "From the\ninput.\n"}},
			{"update-comment", []string{"update-comment", commentID, "--body", "Better."}, environment{}},
			{"delete-comment", []string{"delete-comment", commentID, "--yes"}, environment{}},
		},
	}
}

func timeEntryGoldens() goldenGroup {
	one := tracker.TimeEntry{ID: entryID, ProjectID: apollo, TaskID: taskID, UserID: worker, Date: "2026-11-20", Minutes: 90, Note: hostileText, Billable: true, CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime}
	total := int64(1530)
	path := "/api/time-entries/" + entryID
	return goldenGroup{
		routes: map[string]reply{
			"GET /api/time-entries": jsonReply(tracker.TimeEntryPage{Page: op.Page[tracker.TimeEntry]{Items: []tracker.TimeEntry{one}, NextCursor: "bmV4dA"}, TotalMinutes: &total}),
			"GET /api/time-entries?cursor=bmV4dA&limit=200&userId=" + worker: jsonReply(tracker.TimeEntryPage{Page: op.Page[tracker.TimeEntry]{Items: []tracker.TimeEntry{one}}}),
			"POST /api/time-entries": jsonReply(one), "PATCH " + path: jsonReply(one), "DELETE " + path: {status: 204},
		},
		cases: []goldenCase{
			{"list-time-entries", []string{"list-time-entries", "--project", apollo, "--from", "2026-11-01", "--to", "2026-11-30"}, environment{}},
			{"list-time-entries-all", []string{"list-time-entries", "--user", worker, "--all"}, environment{}},
			{"create-time-entry", []string{"create-time-entry", "--task", "APOLLO-17", "--minutes", "90", "--note", "Draft", "--billable"}, environment{env: map[string]string{"PT_PROJECT": "LUNA"}}},
			{"create-time-entry-project", []string{"create-time-entry", "--minutes", "30", "--date", "2026-11-19"}, environment{env: map[string]string{"PT_PROJECT": apollo}}},
			{"update-time-entry", []string{"update-time-entry", entryID, "--minutes", "45", "--note", "", "--billable=false"}, environment{}},
			{"delete-time-entry", []string{"delete-time-entry", entryID, "--yes"}, environment{}},
		},
	}
}

func exampleDecision(status string) tracker.DecisionRequest {
	r := tracker.DecisionRequest{
		ID: decisionID, ProjectID: apollo, TaskID: taskID, TaskKey: "APOLLO-17", Question: hostileText + "\nWhich one?", Options: []string{"F-1", "J-2 \x07"}, Status: status,
		RaisedBy: worker, SessionID: "run-42", CreatedAt: createdTime,
	}
	if status == tracker.DecisionAnswered {
		one := 1
		r.Answer, r.ChosenOptionIndex, r.ResolvedAt, r.ResolvedBy = "J-2 \x07", &one, &updatedTime, worker
	}
	if status == tracker.DecisionCancelled {
		r.ResolvedAt, r.ResolvedBy = &updatedTime, worker
	}
	return r
}

func decisionGoldens() goldenGroup {
	path := taskPath + "/decision-requests"
	waiting := projectPath + "/tasks/APOLLO-18"
	answeredTask := tracker.Task{TaskSummary: exampleTask(), Description: body}
	open, answered := exampleDecision(tracker.DecisionOpen), exampleDecision(tracker.DecisionAnswered)
	answeredTask.DecisionRequest = &answered
	pending := answeredTask
	pending.DecisionRequest = &open
	return goldenGroup{
		routes: map[string]reply{
			"POST " + path: jsonReply(open),
			"GET " + path:  jsonReply(op.Page[tracker.DecisionRequest]{Items: []tracker.DecisionRequest{open, answered}}),
			"GET " + path + "?limit=50&status=cancelled":           okReply(`{"items":[]}`),
			"POST " + path + "/" + decisionID + "/answer":          jsonReply(answered),
			"POST " + path + "/" + decisionID + "/cancel":          jsonReply(exampleDecision(tracker.DecisionCancelled)),
			"GET " + path + "/" + decisionID + "/wait":             jsonReply(answered),
			"GET " + taskPath + "?decisionRequestId=" + decisionID: jsonReply(answeredTask),
			"GET " + waiting: jsonReply(pending),
			"GET " + waiting + "/decision-requests/" + decisionID + "/wait": jsonReply(exampleDecision(tracker.DecisionCancelled)),
		},
		cases: []goldenCase{
			{"mark-awaiting-decision", []string{"mark-awaiting-decision", "APOLLO", "APOLLO-17", "--question", "Which?", "--options", "F-1, J-2", "--options", "none", "--agent", "agent+builder@acme.example", "--session-id", "run-42"}, environment{}},
			{"mark-awaiting-decision-text", []string{"mark-awaiting-decision", apollo, "APOLLO-17", "--question", "-"}, environment{stdin: "Which\none?\n"}},
			{"answer-decision", []string{"answer-decision", apollo, "APOLLO-17", "--request-id", decisionID, "--chosen-option-index", "0"}, environment{}},
			{"answer-decision-text", []string{"answer-decision", apollo, "APOLLO-17", "--request-id", decisionID, "--answer", "Neither"}, environment{}},
			{"answer-decision-both", []string{"answer-decision", apollo, "APOLLO-17", "--request-id", decisionID, "--answer", "a", "--chosen-option-index", "1"}, environment{}},
			{"answer-decision-neither", []string{"answer-decision", apollo, "APOLLO-17", "--request-id", decisionID}, environment{}},
			{"cancel-decision", []string{"cancel-decision", apollo, "APOLLO-17", "--request-id", decisionID}, environment{}},
			{"list-decision-requests", []string{"list-decision-requests", apollo, "APOLLO-17"}, environment{}},
			{"list-decision-requests-empty", []string{"list-decision-requests", apollo, "APOLLO-17", "--status", "cancelled"}, environment{}},
			{"get-task-decision", []string{"get-task", apollo, "APOLLO-17", "--decision-request-id", decisionID}, environment{}},
			{"wait-decision", []string{"wait-decision", apollo, "APOLLO-17", "--request-id", decisionID, "--timeout", "20s"}, environment{}},
			{"wait-decision-none", []string{"wait-decision", "APOLLO-17"}, environment{}},
			{"wait-decision-cancelled", []string{"wait-decision", apollo, "APOLLO-18"}, environment{}},
		},
	}
}

func dependencyGoldens() goldenGroup {
	one := tracker.Dependency{Direction: "BLOCKED_BY", Task: tracker.TaskRef{ID: epicID, Key: "APOLLO-3", Title: hostileText, ProjectID: apollo, Status: "TODO", StatusCategory: "TODO"}, CreatedAt: createdTime}
	masked := tracker.Dependency{Direction: "BLOCKS", Task: tracker.TaskRef{ID: issueID, Key: "REDACTED", Title: "REDACTED", IsCrossProject: true}, CreatedAt: createdTime}
	path := taskPath + "/dependencies"
	return goldenGroup{
		routes: map[string]reply{
			"GET " + path: jsonReply(op.Page[tracker.Dependency]{Items: []tracker.Dependency{one, masked}}),
			"GET " + path + "?direction=BLOCKS&limit=50": okReply(`{"items":[]}`),
			"POST " + path: jsonReply(one), "DELETE " + path + "/APOLLO-3": {status: 204},
			"POST " + projectPath + "/tasks/APOLLO-3/dependencies": errorReply(409, "CONFLICT", "The dependency would create a cycle: APOLLO-17, APOLLO-3, APOLLO-17.", `,"details":{"cycle":["APOLLO-17","APOLLO-3","APOLLO-17"]}`),
		},
		cases: []goldenCase{
			{"list-dependencies", []string{"list-dependencies", apollo, "APOLLO-17"}, environment{}},
			{"list-dependencies-empty", []string{"list-dependencies", apollo, "APOLLO-17", "--direction", "BLOCKS"}, environment{}},
			{"add-dependency", []string{"add-dependency", apollo, "APOLLO-17", "APOLLO-3"}, environment{}},
			{"add-dependency-cycle", []string{"add-dependency", "APOLLO-3", "APOLLO-17"}, environment{}},
			{"remove-dependency", []string{"remove-dependency", apollo, "APOLLO-17", "APOLLO-3"}, environment{}},
		},
	}
}

func claimGoldens() goldenGroup {
	lease := tracker.Lease{ID: leaseID, ExpiresAt: updatedTime}
	t := tracker.Task{TaskSummary: exampleTask(), Description: body, BlockedBy: 1, Blocks: 2, Claim: &tracker.Claim{Holder: worker, ExpiresAt: updatedTime}}
	return goldenGroup{
		routes: map[string]reply{
			"POST " + projectPath + "/claim-next-ready":                jsonReply(tracker.ClaimNextReadyOut{Claimed: true, Task: &t, Lease: &lease}),
			"POST /api/projects/" + initiativeID + "/claim-next-ready": jsonReply(tracker.ClaimNextReadyOut{}),
			"POST " + taskPath + "/claim/keep":                         jsonReply(lease), "POST " + taskPath + "/claim/release": jsonReply(t),
		},
		cases: []goldenCase{
			{"claim-next-ready", []string{"claim-next-ready", "APOLLO", "--lease", "30m", "--agent", "agent+builder@acme.example"}, environment{}},
			{"claim-next-ready-empty", []string{"claim-next-ready", initiativeID}, environment{}},
			{"keep-claim", []string{"keep-claim", apollo, "APOLLO-17", "--lease-id", leaseID, "--lease", "45"}, environment{}},
			{"release-claim", []string{"release-claim", apollo, "APOLLO-17", "--lease-id", leaseID}, environment{}},
		},
	}
}

func peopleGoldens() goldenGroup {
	return goldenGroup{
		routes: map[string]reply{
			"GET /api/people": jsonReply(op.Page[identity.Colleague]{Items: []identity.Colleague{{ID: worker, DisplayName: hostileText, Email: "worker@acme.example", EmailVerified: true, PrincipalKind: "HUMAN"}}}),
		},
		cases: []goldenCase{{"list-people", []string{"list-people", "--search", "work"}, environment{}}},
	}
}

func taskGoldens() goldenGroup {
	awaiting := exampleTask()
	awaiting.DecisionRequestID = decisionID
	tasks := projectPath + "/tasks?"
	return goldenGroup{
		routes: map[string]reply{
			"GET " + tasks + "limit=50&ready=true":            jsonReply(op.Page[tracker.TaskSummary]{Items: []tracker.TaskSummary{exampleTask()}}),
			"GET " + tasks + "limit=50&review=true":           jsonReply(op.Page[tracker.TaskSummary]{Items: []tracker.TaskSummary{exampleTask()}}),
			"GET " + tasks + "awaitingDecision=true&limit=50": jsonReply(op.Page[tracker.TaskSummary]{Items: []tracker.TaskSummary{awaiting}}),
		},
		cases: []goldenCase{
			{"list-tasks-ready", []string{"list-tasks", apollo, "--ready"}, environment{}},
			{"list-tasks-review", []string{"list-tasks", apollo, "--review"}, environment{}},
			{"list-tasks-awaiting-decision", []string{"list-tasks", apollo, "--awaiting-decision"}, environment{}},
			{"list-tasks-exclusive", []string{"list-tasks", apollo, "--awaiting-decision", "--ready"}, environment{}},
			{"create-task-epic", []string{"create-task", "--project", "APOLLO", "--title", "Plan", "--type", "epic", "--initiative", "moon"}, environment{}},
		},
	}
}
