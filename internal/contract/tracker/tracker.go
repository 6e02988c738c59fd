// Package tracker defines the public API of the tracker module: its operations,
// resource types and event names. It contains no logic, so that clients can import
// it without linking server code.
package tracker

import "parapet/internal/op"

// Module is the module's name in operations, policies, the audit log and the
// decision log.
const Module = "tracker"

// Contract contains the module's operations.
var Contract = op.NewModule(Module)

// The permissions that the module's operations require.
const (
	PermProjectsRead   = "projects.read"
	PermProjectCreate  = "project.create"
	PermProjectUpdate  = "project.update"
	PermProjectDelete  = "project.delete"
	PermTasksRead      = "tasks.read"
	PermTaskCreate     = "task.create"
	PermTaskUpdate     = "task.update"
	PermTaskDelete     = "task.delete"
	PermTasksUpdateAny = "tasks.update.any"
	PermTaskClaim      = "task.claim"
	PermDecisionAnswer = "decision.answer"

	PermInitiativesRead  = "initiatives.read"
	PermInitiativeCreate = "initiative.create"
	PermInitiativeUpdate = "initiative.update"
	PermInitiativeDelete = "initiative.delete"

	PermStagesRead  = "stages.read"
	PermStageCreate = "stage.create"
	PermStageUpdate = "stage.update"
	PermStageDelete = "stage.delete"
	PermGateCreate  = "gate.create"
	PermGateUpdate  = "gate.update"
	PermGateDelete  = "gate.delete"
	PermGateReview  = "gate.review"
	PermGatesWaive  = "gates.waive"

	PermIssuesRead    = "issues.read"
	PermIssueCreate   = "issue.create"
	PermIssueUpdate   = "issue.update"
	PermIssueAssign   = "issue.assign"
	PermIssueEscalate = "issue.escalate"
	PermIssueDelete   = "issue.delete"

	PermDeliverablesRead  = "deliverables.read"
	PermDeliverableCreate = "deliverable.create"
	PermDeliverableUpdate = "deliverable.update"
	PermDeliverableReview = "deliverable.review"
	PermDeliverableDelete = "deliverable.delete"

	PermCommentsRead  = "comments.read"
	PermCommentCreate = "comment.create"
	PermCommentUpdate = "comment.update.own"
	PermCommentDelete = "comment.delete"

	PermTimeEntriesRead = "time_entries.read"
	PermTimeEntryCreate = "time_entry.create"
	PermTimeEntryUpdate = "time_entry.update"
	PermTimeEntryDelete = "time_entry.delete"

	PermDelegationsRead  = "delegations.read"
	PermDelegationCreate = "delegation.create"
	PermDelegationRevoke = "delegation.revoke"

	PermRunsRead = "runs.read"
)

// The events that the module emits. The payload is the resource: Project, Task,
// Initiative, Stage or Gate.
const (
	EventProjectCreated = "projects.project.created"
	EventProjectUpdated = "projects.project.updated"
	EventProjectDeleted = "projects.project.deleted"
	EventTaskCreated    = "projects.task.created"
	EventTaskUpdated    = "projects.task.updated"
	EventTaskDeleted    = "projects.task.deleted"

	EventTaskClaimed           = "projects.task.claimed"
	EventTaskClaimRenewed      = "projects.task.claim_renewed"
	EventTaskClaimReleased     = "projects.task.claim_released"
	EventTaskClaimLapsed       = "projects.task.claim_lapsed"
	EventTaskDependencyAdded   = "projects.task.dependency_added"
	EventTaskDependencyRemoved = "projects.task.dependency_removed"
	EventInitiativeCreated     = "projects.initiative.created"
	// EventInitiativeUpdated is also emitted when a project is added to or removed
	// from the initiative; the changed field is then "projects".
	EventInitiativeUpdated         = "projects.initiative.updated"
	EventInitiativeDeleted         = "projects.initiative.deleted"
	EventInitiativeProgressUpdated = "projects.initiative.progress_updated"
	// EventProgrammeProgressUpdated is the legacy name of
	// EventInitiativeProgressUpdated. Both are emitted until consumers have migrated.
	EventProgrammeProgressUpdated = "projects.programme.progress_updated"

	EventStageCreated    = "projects.stage.created"
	EventStageUpdated    = "projects.stage.updated"
	EventStageProgressed = "projects.stage.progressed"
	EventStageDeleted    = "projects.stage.deleted"
	EventGateCreated     = "projects.gate.created"
	EventGateUpdated     = "projects.gate.updated"
	EventGateReviewed    = "projects.gate.reviewed"
	EventGateDeleted     = "projects.gate.deleted"
)

// CascadeRule is the sentence about cascading deletes in the descriptions of
// delete operations.
const CascadeRule = "Fails with CONFLICT (reason CASCADE_DENIED, with the number of records) if the deletion would delete or change records that you may not delete or change yourself."
