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

func deliverableStory() story {
	criterion := tracker.Criterion{ID: criterionID, ProjectID: apollo, DeliverableID: deliverableID, Text: hostile, Met: true, MetBy: worker, MetAt: &later, CreatedBy: worker, CreatedAt: made, UpdatedAt: later}
	failed := tracker.Criterion{ID: keyID, ProjectID: apollo, DeliverableID: deliverableID, Text: "Costs are known", Failed: true, CreatedBy: worker, CreatedAt: made, UpdatedAt: later}
	summary := tracker.DeliverableSummary{
		ID: deliverableID, ProjectID: apollo, TaskID: taskID, Title: hostile, Status: "REJECTED", Owner: worker, DueDate: "2027-03-31", CreatedBy: worker, CreatedAt: made, UpdatedAt: later,
		SubmittedBy: worker, SubmittedAt: &made, ReviewedBy: worker, ReviewedAt: &later,
	}
	one := answer(tracker.Deliverable{DeliverableSummary: summary, Description: body, ReviewReason: hostile, Criteria: []tracker.Criterion{criterion, failed}})
	other := summary
	other.ID, other.Title, other.TaskID = keyID, "Flight plan", ""
	all := project + "/deliverables"
	path, criteria := all+"/"+deliverableID, project+"/criteria"
	return story{
		routes: map[string]reply{
			"GET " + all: answer(op.Page[tracker.DeliverableSummary]{Items: []tracker.DeliverableSummary{summary, other}}), "POST " + all: one,
			"GET " + path: one, "PATCH " + path: one, "DELETE " + all + "/" + keyID: {status: 204}, "POST " + path + "/submit": one, "POST " + path + "/start-review": one,
			"POST " + path + "/accept": one, "POST " + path + "/reject": one, "POST " + path + "/revise": one,
			"GET " + criteria: answer(op.Page[tracker.Criterion]{Items: []tracker.Criterion{criterion, failed}}), "POST " + criteria: answer(criterion),
			"PATCH " + criteria + "/" + criterionID: answer(criterion), "DELETE " + criteria + "/" + criterionID: {status: 204},
		},
		cases: []goldenCase{
			{"list-deliverables", []string{"list-deliverables", apollo, "--status", "rejected", "--task", taskID}, world{}},
			{"get-deliverable", []string{"get-deliverable", apollo, "hatch"}, world{}},
			{"create-deliverable", []string{"create-deliverable", apollo, "--title", "Flight plan", "--description", "-", "--criterion", "One, two", "--criterion", "Three", "--owner", worker, "--due", "2027-03-31"}, world{stdin: "Text.\n"}},
			{"update-deliverable", []string{"update-deliverable", apollo, deliverableID, "--task", "", "--due", ""}, world{}},
			{"submit-deliverable", []string{"submit-deliverable", apollo, deliverableID}, world{}},
			{"start-deliverable-review", []string{"start-deliverable-review", apollo, deliverableID}, world{}},
			{"accept-deliverable", []string{"accept-deliverable", apollo, deliverableID, "--reason", "Fine"}, world{}},
			{"reject-deliverable", []string{"reject-deliverable", apollo, deliverableID, "--failed-criteria", criterionID + "," + keyID, "--reason", "Costs"}, world{}},
			{"reject-deliverable-none", []string{"reject-deliverable", apollo, deliverableID}, world{}},
			{"revise-deliverable", []string{"revise-deliverable", apollo, deliverableID, "--reason", "Costs"}, world{}},
			{"delete-deliverable", []string{"delete-deliverable", apollo, "Flight plan", "--yes"}, world{}},
			{"list-criteria", []string{"list-criteria", apollo, "--deliverable", deliverableID}, world{}},
			{"create-criterion", []string{"create-criterion", apollo, "--task", "APOLLO-17", "--text", "Tests pass"}, world{}},
			{"update-criterion", []string{"update-criterion", apollo, criterionID, "--met"}, world{}},
			{"update-criterion-unmet", []string{"update-criterion", apollo, criterionID, "--met=false"}, world{}},
			{"delete-criterion", []string{"delete-criterion", apollo, criterionID, "--yes"}, world{}},
		},
	}
}

func customFieldStory() story {
	field := tracker.CustomField{ID: fieldID, ProjectID: apollo, Name: "Crew \u202e", Type: "CHOICE", Options: []string{"Red", hostile}, CreatedAt: made, UpdatedAt: later}
	t := tracker.Task{TaskSummary: aTask(), CustomFields: []tracker.CustomFieldValue{{FieldID: fieldID, Name: field.Name, Type: "CHOICE", Value: "Red"}}}
	all := project + "/custom-fields"
	progress := 40
	children := []tracker.EpicChild{
		{ID: taskID, Key: "APOLLO-17", Title: hostile, ProjectID: apollo, Status: "TODO", StatusCategory: "TODO", IssueType: "TASK", Priority: "HIGH", Progress: &progress},
		{ID: keyID, Key: tracker.Redacted, Title: tracker.Redacted, IsCrossProject: true},
	}
	return story{
		routes: map[string]reply{
			"GET " + all: answer(op.Page[tracker.CustomField]{Items: []tracker.CustomField{field}}), "POST " + all: answer(field),
			"PATCH " + all + "/" + fieldID: answer(field), "DELETE " + all + "/" + fieldID: {status: 204}, "PATCH " + work + "/custom-fields": answer(t),
			"GET /api/tasks/" + taskID + "/children": answer(op.Page[tracker.EpicChild]{Items: children}),
		},
		cases: []goldenCase{
			{"list-custom-fields", []string{"list-custom-fields", apollo}, world{}},
			{"create-custom-field", []string{"create-custom-field", apollo, "--name", "Crew", "--type", "choice", "--options", "Red, Blue"}, world{}},
			{"update-custom-field", []string{"update-custom-field", apollo, "crew", "--options", "Red"}, world{}},
			{"delete-custom-field", []string{"delete-custom-field", apollo, fieldID, "--yes"}, world{}},
			{"set-custom-field-values", []string{"set-custom-field-values", apollo, "APOLLO-17", "--value", "Crew=a=b", "--value", "Window="}, world{}},
			{"list-epic-children", []string{"list-epic-children", "APOLLO-17"}, world{}},
			{"create-task-duplicate", []string{"create-task", "--project", apollo, "--title", "Write", "--allow-duplicate"}, world{}},
		},
	}
}

func delegationStory() story {
	one := tracker.Delegation{
		ID: delegationID, DelegatorID: worker, DelegateID: keyID, Scope: "PROJECT", ProjectID: apollo, Permissions: []string{"task.update", "decision.answer"},
		From: made, Until: later, State: "REVOKED", CreatedBy: worker, CreatedAt: made, RevokedAt: &later, RevokedBy: worker,
	}
	path := "/api/delegations/" + delegationID
	return story{
		routes: map[string]reply{
			"GET /api/delegations": answer(op.Page[tracker.Delegation]{Items: []tracker.Delegation{one}}), "POST /api/delegations": answer(one),
			"GET " + path: answer(one), "DELETE " + path: answer(one),
		},
		cases: []goldenCase{
			{"list-delegations", []string{"list-delegations", "--state", "active", "--delegate", keyID, "--delegator", worker}, world{}},
			{"get-delegation", []string{"get-delegation", delegationID}, world{}},
			{"create-delegation", []string{"create-delegation", "--delegate", keyID, "--permissions", "task.update,decision.answer", "--until", "2027-03-31T17:00:00Z", "--project", "APOLLO"}, world{}},
			{"create-delegation-everywhere", []string{"create-delegation", "--delegate", keyID, "--permissions", "task.update", "--until", "2027-03-31T17:00:00Z"}, world{env: map[string]string{"PT_PROJECT": "APOLLO"}}},
			{"revoke-delegation", []string{"revoke-delegation", delegationID, "--yes"}, world{}},
		},
	}
}

func auditStory() story {
	byKey := identity.AuditEntry{
		ID: runID, Seq: 7, TenantID: apollo, ActorID: worker, ActorType: "user", Action: "api_key.revoked", ResourceType: "api_key", ResourceID: taskID,
		Module: "identity", Changes: map[string]any{"reason": hostile}, CorrelationID: runID, CreatedAt: made, CredentialKind: "api_key", CredentialID: keyID, Hash: "00",
	}
	bySystem := identity.AuditEntry{
		ID: taskID, Seq: 6, TenantID: apollo, ActorType: "system", Action: "task.claim_lapsed", ResourceType: "task", Module: "tracker", CorrelationID: runID, CreatedAt: made, Hash: "00",
	}
	denied := identity.DecisionEntry{
		ID: runID, DecidedAt: made, ActorID: string(worker), Rule: "parapet/access/allow", Permission: "task.delete", Module: "tracker",
		Input: map[string]any{"effect": "write"}, Reasons: []string{"not_own"}, Revision: "2c26b46b68ffc68f", RequestID: string(runID),
		CredentialKind: "api_key", CredentialID: keyID, SubjectDigest: strings.Repeat("2c", 32),
	}
	allowed := identity.DecisionEntry{
		ID: taskID, DecidedAt: made, Rule: "parapet/work/start_run", Module: "tracker", Input: map[string]any{}, Allow: true, Reasons: []string{},
		Revision: "2c26b46b68ffc68f", RequestID: string(runID),
	}
	return story{
		routes: map[string]reply{
			"GET /api/audit/entries": answer(op.Page[identity.AuditEntry]{Items: []identity.AuditEntry{byKey, bySystem}}),
			"GET /api/decisions":     answer(op.Page[identity.DecisionEntry]{Items: []identity.DecisionEntry{denied, allowed}}),
			"GET /api/decisions/" + runID: answer(identity.Decision{
				DecisionEntry: denied, SubjectStatus: identity.SubjectVerified, Subject: map[string]any{"input": map[string]any{"roles": map[string]any{hostile: []string{"task.update"}}}},
			}),
			"GET /api/decisions/" + taskID: answer(identity.Decision{DecisionEntry: allowed, SubjectStatus: identity.SubjectAltered}),
		},
		cases: []goldenCase{
			{"list-audit-entries", []string{"list-audit-entries", "--credential", keyID, "--action", "api_key.revoked"}, world{}},
			{"list-decisions", []string{"list-decisions", "--credential", keyID, "--allow=false"}, world{}},
			{"get-decision", []string{"get-decision", runID}, world{}},
			{"get-decision-altered", []string{"get-decision", taskID}, world{}},
		},
	}
}

func runStory() story {
	half := 0.5
	summary := tracker.AgentRunSummary{
		ID: runID, ProjectID: apollo, TaskID: taskID, TaskKey: "APOLLO-17", Agent: worker, Status: "SUCCEEDED", Attempts: 1, CreatedBy: worker, CreatedAt: made,
		StartedAt: &made, FinishedAt: &later, Summary: hostile, Score: &half, ScoreComponents: map[string]float64{"speed": 0.25, "outcome": 0.75},
	}
	return story{
		routes: map[string]reply{
			"GET /api/runs":          answer(op.Page[tracker.AgentRunSummary]{Items: []tracker.AgentRunSummary{summary}}),
			"GET /api/runs/" + runID: answer(tracker.AgentRun{AgentRunSummary: summary, Outcome: map[string]any{"status": "done", "text": hostile}}),
		},
		cases: []goldenCase{
			{"list-runs", []string{"list-runs", "--project", "APOLLO", "--task", taskID, "--agent", worker, "--status", "succeeded"}, world{}},
			{"get-run", []string{"get-run", runID}, world{}},
		},
	}
}
