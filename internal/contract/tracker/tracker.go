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
var (
	EventProjectCreated = op.DeclareEvent[Project](Contract, "projects.project.created", "A project was created.")
	EventProjectUpdated = op.DeclareEvent[Project](Contract, "projects.project.updated", "A project changed.")
	EventProjectDeleted = op.DeclareEvent[Project](Contract, "projects.project.deleted", "A project was deleted with its records.")
	EventTaskCreated    = op.DeclareEvent[Task](Contract, "projects.task.created", "A task was created.")
	EventTaskUpdated    = op.DeclareEvent[Task](Contract, "projects.task.updated", "A task changed.")
	EventTaskDeleted    = op.DeclareEvent[Task](Contract, "projects.task.deleted", "A task was deleted.")

	EventTaskClaimed               = op.DeclareEvent[Task](Contract, "projects.task.claimed", "A user claimed a ready task.")
	EventTaskClaimRenewed          = op.DeclareEvent[Task](Contract, "projects.task.claim_renewed", "The lease of a claimed task was renewed.")
	EventTaskClaimReleased         = op.DeclareEvent[Task](Contract, "projects.task.claim_released", "A claimed task was released before its lease ended.")
	EventTaskClaimLapsed           = op.DeclareEvent[Task](Contract, "projects.task.claim_lapsed", "The lease of a claimed task ended, and the task is ready again.")
	EventTaskDependencyAdded       = op.DeclareEvent[Task](Contract, "projects.task.dependency_added", "A task now depends on another task.")
	EventTaskDependencyRemoved     = op.DeclareEvent[Task](Contract, "projects.task.dependency_removed", "A task no longer depends on another task.")
	EventInitiativeCreated         = op.DeclareEvent[Initiative](Contract, "projects.initiative.created", "An initiative was created.")
	EventInitiativeUpdated         = op.DeclareEvent[Initiative](Contract, "projects.initiative.updated", "An initiative changed, or a project was added to it or removed. The changed field is then projects.")
	EventInitiativeDeleted         = op.DeclareEvent[Initiative](Contract, "projects.initiative.deleted", "An initiative was deleted.")
	EventInitiativeProgressUpdated = op.DeclareEvent[Initiative](Contract, "projects.initiative.progress_updated", "The progress of an initiative changed.")
	EventProgrammeProgressUpdated  = op.DeclareEvent[Initiative](Contract, "projects.programme.progress_updated", "The legacy name of projects.initiative.progress_updated. Both are emitted until consumers have migrated.")

	EventStageCreated    = op.DeclareEvent[Stage](Contract, "projects.stage.created", "A stage was created.")
	EventStageUpdated    = op.DeclareEvent[Stage](Contract, "projects.stage.updated", "A stage changed.")
	EventStageProgressed = op.DeclareEvent[Stage](Contract, "projects.stage.progressed", "A stage was started or completed.")
	EventStageDeleted    = op.DeclareEvent[Stage](Contract, "projects.stage.deleted", "A stage was deleted.")
	EventGateCreated     = op.DeclareEvent[Gate](Contract, "projects.gate.created", "A gate was created.")
	EventGateUpdated     = op.DeclareEvent[Gate](Contract, "projects.gate.updated", "A gate changed.")
	EventGateReviewed    = op.DeclareEvent[Gate](Contract, "projects.gate.reviewed", "A gate was reviewed.")
	EventGateDeleted     = op.DeclareEvent[Gate](Contract, "projects.gate.deleted", "A gate was deleted.")
)

// CascadeRule is the sentence about cascading deletes in the descriptions of
// delete operations.
const CascadeRule = "Fails with CONFLICT (reason CASCADE_DENIED, with the number of records) if the deletion would delete or change records that you may not delete or change yourself."
