package cli

import (
	"strings"

	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

const (
	deliverableID = "018f3c5e-0000-7000-8000-000000000071"
	criterionID   = "018f3c5e-0000-7000-8000-000000000072"
	fieldID       = "018f3c5e-0000-7000-8000-000000000073"
	delegationID  = "018f3c5e-0000-7000-8000-000000000074"
	runID         = "018f3c5e-0000-7000-8000-000000000075"
)

func deliverableGoldens() goldenGroup {
	criterion := tracker.Criterion{ID: criterionID, ProjectID: apollo, DeliverableID: deliverableID, Text: hostileText, Met: true, MetBy: worker, MetAt: &updatedTime, CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime}
	failed := tracker.Criterion{ID: keyID, ProjectID: apollo, DeliverableID: deliverableID, Text: "Costs are known", Failed: true, CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime}
	summary := tracker.DeliverableSummary{
		ID: deliverableID, ProjectID: apollo, TaskID: taskID, Title: hostileText, Status: "REJECTED", Owner: worker, DueDate: "2027-03-31", CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime,
		SubmittedBy: worker, SubmittedAt: &createdTime, ReviewedBy: worker, ReviewedAt: &updatedTime,
	}
	one := jsonReply(tracker.Deliverable{DeliverableSummary: summary, Description: body, ReviewReason: hostileText, Criteria: []tracker.Criterion{criterion, failed}})
	other := summary
	other.ID, other.Title, other.TaskID = keyID, "Flight plan", ""
	all := projectPath + "/deliverables"
	path, criteria := all+"/"+deliverableID, projectPath+"/criteria"
	return goldenGroup{
		routes: map[string]reply{
			"GET " + all: jsonReply(op.Page[tracker.DeliverableSummary]{Items: []tracker.DeliverableSummary{summary, other}}), "POST " + all: one,
			"GET " + path: one, "PATCH " + path: one, "DELETE " + all + "/" + keyID: {status: 204}, "POST " + path + "/submit": one, "POST " + path + "/start-review": one,
			"POST " + path + "/accept": one, "POST " + path + "/reject": one, "POST " + path + "/revise": one,
			"GET " + criteria: jsonReply(op.Page[tracker.Criterion]{Items: []tracker.Criterion{criterion, failed}}), "POST " + criteria: jsonReply(criterion),
			"PATCH " + criteria + "/" + criterionID: jsonReply(criterion), "DELETE " + criteria + "/" + criterionID: {status: 204},
		},
		cases: []goldenCase{
			{"list-deliverables", []string{"list-deliverables", apollo, "--status", "rejected", "--task", taskID}, environment{}},
			{"get-deliverable", []string{"get-deliverable", apollo, "hatch"}, environment{}},
			{"create-deliverable", []string{"create-deliverable", apollo, "--title", "Flight plan", "--description", "-", "--criterion", "One, two", "--criterion", "Three", "--owner", worker, "--due", "2027-03-31"}, environment{stdin: "Text.\n"}},
			{"update-deliverable", []string{"update-deliverable", apollo, deliverableID, "--task", "", "--due", ""}, environment{}},
			{"submit-deliverable", []string{"submit-deliverable", apollo, deliverableID}, environment{}},
			{"start-deliverable-review", []string{"start-deliverable-review", apollo, deliverableID}, environment{}},
			{"accept-deliverable", []string{"accept-deliverable", apollo, deliverableID, "--reason", "Fine"}, environment{}},
			{"reject-deliverable", []string{"reject-deliverable", apollo, deliverableID, "--failed-criteria", criterionID + "," + keyID, "--reason", "Costs"}, environment{}},
			{"reject-deliverable-none", []string{"reject-deliverable", apollo, deliverableID}, environment{}},
			{"revise-deliverable", []string{"revise-deliverable", apollo, deliverableID, "--reason", "Costs"}, environment{}},
			{"delete-deliverable", []string{"delete-deliverable", apollo, "Flight plan", "--yes"}, environment{}},
			{"list-criteria", []string{"list-criteria", apollo, "--deliverable", deliverableID}, environment{}},
			{"create-criterion", []string{"create-criterion", apollo, "--task", "APOLLO-17", "--text", "Tests pass"}, environment{}},
			{"update-criterion", []string{"update-criterion", apollo, criterionID, "--met"}, environment{}},
			{"update-criterion-unmet", []string{"update-criterion", apollo, criterionID, "--met=false"}, environment{}},
			{"delete-criterion", []string{"delete-criterion", apollo, criterionID, "--yes"}, environment{}},
		},
	}
}

func customFieldGoldens() goldenGroup {
	field := tracker.CustomField{ID: fieldID, ProjectID: apollo, Name: "Crew \u202e", Type: "CHOICE", Options: []string{"Red", hostileText}, CreatedAt: createdTime, UpdatedAt: updatedTime}
	t := tracker.Task{TaskSummary: exampleTask(), CustomFields: []tracker.CustomFieldValue{{FieldID: fieldID, Name: field.Name, Type: "CHOICE", Value: "Red"}}}
	all := projectPath + "/custom-fields"
	progress := 40
	children := []tracker.EpicChild{
		{ID: taskID, Key: "APOLLO-17", Title: hostileText, ProjectID: apollo, Status: "TODO", StatusCategory: "TODO", IssueType: "TASK", Priority: "HIGH", Progress: &progress},
		{ID: keyID, Key: tracker.Redacted, Title: tracker.Redacted, IsCrossProject: true},
	}
	return goldenGroup{
		routes: map[string]reply{
			"GET " + all: jsonReply(op.Page[tracker.CustomField]{Items: []tracker.CustomField{field}}), "POST " + all: jsonReply(field),
			"PATCH " + all + "/" + fieldID: jsonReply(field), "DELETE " + all + "/" + fieldID: {status: 204}, "PATCH " + taskPath + "/custom-fields": jsonReply(t),
			"GET /api/tasks/" + taskID + "/children": jsonReply(op.Page[tracker.EpicChild]{Items: children}),
		},
		cases: []goldenCase{
			{"list-custom-fields", []string{"list-custom-fields", apollo}, environment{}},
			{"create-custom-field", []string{"create-custom-field", apollo, "--name", "Crew", "--type", "choice", "--options", "Red, Blue"}, environment{}},
			{"update-custom-field", []string{"update-custom-field", apollo, "crew", "--options", "Red"}, environment{}},
			{"delete-custom-field", []string{"delete-custom-field", apollo, fieldID, "--yes"}, environment{}},
			{"set-custom-field-values", []string{"set-custom-field-values", apollo, "APOLLO-17", "--value", "Crew=a=b", "--value", "Window="}, environment{}},
			{"list-epic-children", []string{"list-epic-children", "APOLLO-17"}, environment{}},
			{"create-task-duplicate", []string{"create-task", "--project", apollo, "--title", "Write", "--allow-duplicate"}, environment{}},
		},
	}
}

func delegationGoldens() goldenGroup {
	one := tracker.Delegation{
		ID: delegationID, DelegatorID: worker, DelegateID: keyID, Scope: "PROJECT", ProjectID: apollo, Permissions: []string{"task.update", "decision.answer"},
		From: createdTime, Until: updatedTime, State: "REVOKED", CreatedBy: worker, CreatedAt: createdTime, RevokedAt: &updatedTime, RevokedBy: worker,
	}
	path := "/api/delegations/" + delegationID
	return goldenGroup{
		routes: map[string]reply{
			"GET /api/delegations": jsonReply(op.Page[tracker.Delegation]{Items: []tracker.Delegation{one}}), "POST /api/delegations": jsonReply(one),
			"GET " + path: jsonReply(one), "DELETE " + path: jsonReply(one),
		},
		cases: []goldenCase{
			{"list-delegations", []string{"list-delegations", "--state", "active", "--delegate", keyID, "--delegator", worker}, environment{}},
			{"get-delegation", []string{"get-delegation", delegationID}, environment{}},
			{"create-delegation", []string{"create-delegation", "--delegate", keyID, "--permissions", "task.update,decision.answer", "--until", "2027-03-31T17:00:00Z", "--project", "APOLLO"}, environment{}},
			{"create-delegation-everywhere", []string{"create-delegation", "--delegate", keyID, "--permissions", "task.update", "--until", "2027-03-31T17:00:00Z"}, environment{env: map[string]string{"PT_PROJECT": "APOLLO"}}},
			{"revoke-delegation", []string{"revoke-delegation", delegationID, "--yes"}, environment{}},
		},
	}
}

func auditGoldens() goldenGroup {
	byKey := identity.AuditEntry{
		ID: runID, Seq: 7, TenantID: apollo, ActorID: worker, ActorType: "user", Action: "api_key.revoked", ResourceType: "api_key", ResourceID: taskID,
		Module: "identity", Changes: map[string]any{"reason": hostileText}, CorrelationID: runID, CreatedAt: createdTime, CredentialKind: "api_key", CredentialID: keyID, Hash: "00",
	}
	bySystem := identity.AuditEntry{
		ID: taskID, Seq: 6, TenantID: apollo, ActorType: "system", Action: "task.claim_lapsed", ResourceType: "task", ResourceID: taskID,
		Resource: &op.Reference{ID: taskID, Key: "APOLLO-17", Name: hostileText}, Module: "tracker", CorrelationID: runID, CreatedAt: createdTime, Hash: "00",
	}
	hidden := bySystem
	hidden.Resource = &op.Reference{ID: taskID, Name: op.Redacted}
	denied := identity.DecisionEntry{
		ID: runID, DecidedAt: createdTime, ActorID: string(worker), Rule: "parapet/access/allow", Permission: "task.delete", Module: "tracker",
		Input: map[string]any{"effect": "write"}, Reasons: []string{"not_own"}, Revision: "2c26b46b68ffc68f", RequestID: string(runID),
		CredentialKind: "api_key", CredentialID: keyID, SubjectDigest: strings.Repeat("2c", 32),
	}
	allowed := identity.DecisionEntry{
		ID: taskID, DecidedAt: createdTime, Rule: "parapet/work/start_run", Module: "tracker", Input: map[string]any{}, Allow: true, Reasons: []string{},
		Revision: "2c26b46b68ffc68f", RequestID: string(runID),
	}
	return goldenGroup{
		routes: map[string]reply{
			"GET /api/audit/entries": jsonReply(op.Page[identity.AuditEntry]{Items: []identity.AuditEntry{byKey, bySystem, hidden}}),
			"GET /api/decisions":     jsonReply(op.Page[identity.DecisionEntry]{Items: []identity.DecisionEntry{denied, allowed}}),
			"GET /api/decisions/" + runID: jsonReply(identity.Decision{
				DecisionEntry: denied, SubjectStatus: identity.SubjectVerified, Subject: map[string]any{"input": map[string]any{"roles": map[string]any{hostileText: []string{"task.update"}}}},
			}),
			"GET /api/decisions/" + taskID: jsonReply(identity.Decision{DecisionEntry: allowed, SubjectStatus: identity.SubjectAltered}),
		},
		cases: []goldenCase{
			{"list-audit-entries", []string{"list-audit-entries", "--credential", keyID, "--action", "api_key.revoked"}, environment{}},
			{"audit-export", []string{"audit", "export", "--format", "csv"}, environment{}},
			{"list-decisions", []string{"list-decisions", "--credential", keyID, "--allow=false"}, environment{}},
			{"get-decision", []string{"get-decision", runID}, environment{}},
			{"get-decision-altered", []string{"get-decision", taskID}, environment{}},
		},
	}
}

func runGoldens() goldenGroup {
	half := 0.5
	summary := tracker.AgentRunSummary{
		ID: runID, ProjectID: apollo, TaskID: taskID, TaskKey: "APOLLO-17", Agent: worker, Status: "SUCCEEDED", Attempts: 1, CreatedBy: worker, CreatedAt: createdTime,
		StartedAt: &createdTime, FinishedAt: &updatedTime, Summary: hostileText, Score: &half, ScoreComponents: map[string]float64{"speed": 0.25, "outcome": 0.75},
	}
	return goldenGroup{
		routes: map[string]reply{
			"GET /api/runs":          jsonReply(op.Page[tracker.AgentRunSummary]{Items: []tracker.AgentRunSummary{summary}}),
			"GET /api/runs/" + runID: jsonReply(tracker.AgentRun{AgentRunSummary: summary, Outcome: map[string]any{"status": "done", "text": hostileText}}),
		},
		cases: []goldenCase{
			{"list-runs", []string{"list-runs", "--project", "APOLLO", "--task", taskID, "--agent", worker, "--status", "succeeded"}, environment{}},
			{"get-run", []string{"get-run", runID}, environment{}},
		},
	}
}
