// Package tracker implements the tracker module: initiatives, projects, tasks, issues and
// their related records, and the import of another tracker's items. It owns the database
// schema projects and is its only writer.
//
// It guarantees the following:
//
//   - Task keys of a project are unique and consecutive, also under concurrent creation.
//   - A task's epic and parent are in its tenant. Epics have no epic and sub-tasks have no
//     sub-tasks.
//   - Lists and single reads show the same records, because both apply the same policy rule.
//   - Epics in projects that the caller may not read are redacted in every response.
//   - The first answer to a decision request wins. Waiters in any process are woken when it
//     is committed.
//   - Assigning a task to an agent queues one run in the same transaction. The agent's
//     command never runs twice concurrently for one run.
//
// Searches (search.go) and the duplicate check (duplicate.go) use an index of terms. Only a
// database function can read it, within the tenant of the transaction.
//
// Each record type has a file with its rules (project.go) and one with its SQL
// (project_store.go).
package tracker

import (
	"log/slog"

	"parapet/internal/contract/identity"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Deps are the dependencies of the module.
type Deps struct {
	// Executor runs the operations. It must be created for contract.Module.
	Executor *executor.Module
	// Directory looks up users and organisations of the identity module.
	Directory identity.Directory
	// Notifications wake waiters for decisions. Without them a wait always lasts until its
	// timeout.
	Notifications *postgres.Notifications
	// DuplicateCheckDisabled disables the duplicate check of create-task.
	DuplicateCheckDisabled bool
	// Jobs is the connection pool of the role parapet_jobs, which can select the tenants
	// that have expired leases.
	Jobs *postgres.Pool
	// Agent executes agent runs. If it is nil, runs stay queued.
	Agent AgentCommand
	// Scoring is the share of finished agent runs to score, from 0 to 1, by tenant. Runs
	// of other tenants are not scored.
	Scoring map[op.UUID]float64
	Log     *slog.Logger
}

// Service implements the operations and background work of the tracker module.
type Service struct {
	executor        *executor.Module
	directory       identity.Directory
	jobs            *postgres.Pool
	decisionWaiters *waiters
	agent           AgentCommand
	scoring         map[op.UUID]float64
	log             *slog.Logger

	duplicateCheckDisabled bool
}

// New returns the module's service. It starts listening for decisions if
// d.Notifications is set.
func New(d Deps) *Service {
	s := &Service{
		executor: d.Executor, directory: d.Directory, jobs: d.Jobs, decisionWaiters: newWaiters(),
		agent: d.Agent, scoring: d.Scoring, log: d.Log, duplicateCheckDisabled: d.DuplicateCheckDisabled,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if d.Notifications != nil {
		s.listenForDecisions(d.Notifications)
	}
	return s
}

// Operations returns the module's operations, bound to their handlers.
func (s *Service) Operations() []op.Bound {
	return []op.Bound{
		listRedacted(s.executor, contract.ListProjects, projectColumns, s.listProjects),
		handleRedacted(s.executor, contract.CreateProject, s.createProjectHandler()),
		listRedacted(s.executor, contract.FindProject, projectColumns, s.findProject),
		handleRedacted(s.executor, contract.GetProject, s.getProjectHandler()),
		handleRedacted(s.executor, contract.UpdateProject, s.updateProjectHandler()),
		handleRedacted(s.executor, contract.DeleteProject, s.deleteProjectHandler()),
		listRedacted(s.executor, contract.ListInitiatives, initiativeColumns, s.listInitiatives),
		handleRedacted(s.executor, contract.CreateInitiative, s.createInitiativeHandler()),
		listRedacted(s.executor, contract.FindInitiative, initiativeColumns, s.findInitiative),
		handleRedacted(s.executor, contract.GetInitiative, s.getInitiativeHandler()),
		handleRedacted(s.executor, contract.UpdateInitiative, s.updateInitiativeHandler()),
		handleRedacted(s.executor, contract.DeleteInitiative, s.deleteInitiativeHandler()),
		executor.CustomDecision(s.executor, contract.GetProjectOverview, s.getProjectOverview),
		handleRedacted(s.executor, contract.BindRepo, s.bindRepoHandler()),
		handleRedacted(s.executor, contract.UnbindRepo, s.unbindRepoHandler()),
		executor.Authenticated(s.executor, contract.GetWorkspace, s.workspace),
		executor.Authenticated(s.executor, contract.GetInbox, s.inbox),
		handleRedacted(s.executor, contract.ListStages, s.listStagesHandler()),
		handleRedacted(s.executor, contract.CreateStage, s.createStageHandler()),
		handleRedacted(s.executor, contract.UpdateStage, s.updateStageHandler()),
		handleRedacted(s.executor, contract.StartStage, s.startStageHandler()),
		handleRedacted(s.executor, contract.CompleteStage, s.completeStageHandler()),
		handleRedacted(s.executor, contract.DeleteStage, s.deleteStageHandler()),
		handleRedacted(s.executor, contract.CreateGate, s.createGateHandler()),
		handleRedacted(s.executor, contract.UpdateGate, s.updateGateHandler()),
		handleRedacted(s.executor, contract.DeleteGate, s.deleteGateHandler()),
		handleRedacted(s.executor, contract.ReviewGate, s.reviewGateHandler()),
		handleRedacted(s.executor, contract.ImportItems, s.importItemsHandler()),
		listRedacted(s.executor, contract.ExportItems, taskColumns, s.exportItems),
		listRedacted(s.executor, contract.ListDelegations, delegationColumns, s.listDelegations),
		handleRedacted(s.executor, contract.CreateDelegation, s.createDelegationHandler()),
		handleRedacted(s.executor, contract.GetDelegation, s.getDelegationHandler()),
		handleRedacted(s.executor, contract.RevokeDelegation, s.revokeDelegationHandler()),
		listRedacted(s.executor, contract.ListTasks, taskColumns, s.listTasks),
		handleRedacted(s.executor, contract.CreateTask, s.createTaskHandler()),
		handleRedacted(s.executor, contract.GetTask, s.getTaskHandler()),
		handleRedacted(s.executor, contract.UpdateTask, s.updateTaskHandler()),
		handleRedacted(s.executor, contract.DeleteTask, s.deleteTaskHandler()),
		handleRedacted(s.executor, contract.MarkAwaitingDecision, s.markAwaitingDecisionHandler()),
		handleRedacted(s.executor, contract.ListDecisionRequests, s.listDecisionsHandler()),
		handleRedacted(s.executor, contract.AnswerDecision, s.answerDecisionHandler()),
		handleRedacted(s.executor, contract.CancelDecision, s.cancelDecisionHandler()),
		s.waitDecision(),
		listRedacted(s.executor, contract.ListRuns, runColumns, s.listRuns),
		handleRedacted(s.executor, contract.GetRun, s.getRunHandler()),
		handleRedacted(s.executor, contract.ClaimNextReady, s.claimNextReadyHandler()),
		handleRedacted(s.executor, contract.ListDependencies, s.listDependenciesHandler()),
		handleRedacted(s.executor, contract.AddDependency, s.addDependencyHandler()),
		handleRedacted(s.executor, contract.RemoveDependency, s.removeDependencyHandler()),
		handleRedacted(s.executor, contract.KeepClaim, s.keepClaimHandler()),
		handleRedacted(s.executor, contract.ReleaseClaim, s.releaseClaimHandler()),
		listRedacted(s.executor, contract.ListEpicChildren, taskColumns, s.listEpicChildren),
		listRedacted(s.executor, contract.SearchTasks, taskColumns, s.searchAllTasks),
		listRedacted(s.executor, contract.ListDeliverables, deliverableColumns, s.listDeliverables),
		handleRedacted(s.executor, contract.CreateDeliverable, s.createDeliverableHandler()),
		handleRedacted(s.executor, contract.GetDeliverable, s.getDeliverableHandler()),
		handleRedacted(s.executor, contract.UpdateDeliverable, s.updateDeliverableHandler()),
		handleRedacted(s.executor, contract.SubmitDeliverable, deliverableTransitionHandler(contract.DeliverableSubmitted, deliverableRef, nil)),
		handleRedacted(s.executor, contract.StartDeliverableReview, deliverableTransitionHandler(contract.DeliverableUnderReview, deliverableRef, nil)),
		handleRedacted(s.executor, contract.AcceptDeliverable, deliverableTransitionHandler(contract.DeliverableAccepted, reviewRef, nil)),
		handleRedacted(s.executor, contract.RejectDeliverable, deliverableTransitionHandler(contract.DeliverableRejected, rejectionRef, markFailedCriteria)),
		handleRedacted(s.executor, contract.ReviseDeliverable, deliverableTransitionHandler(contract.DeliverableRevised, reviewRef, nil)),
		handleRedacted(s.executor, contract.DeleteDeliverable, s.deleteDeliverableHandler()),
		listRedacted(s.executor, contract.ListCriteria, criterionColumns, s.listCriteria),
		handleRedacted(s.executor, contract.CreateCriterion, s.createCriterionHandler()),
		handleRedacted(s.executor, contract.UpdateCriterion, s.updateCriterionHandler()),
		handleRedacted(s.executor, contract.DeleteCriterion, s.deleteCriterionHandler()),
		listRedacted(s.executor, contract.ListCustomFields, projectColumns, s.listCustomFields),
		handleRedacted(s.executor, contract.CreateCustomField, s.createCustomFieldHandler()),
		handleRedacted(s.executor, contract.UpdateCustomField, s.updateCustomFieldHandler()),
		handleRedacted(s.executor, contract.DeleteCustomField, s.deleteCustomFieldHandler()),
		handleRedacted(s.executor, contract.SetCustomFieldValues, s.setCustomFieldValuesHandler()),
		listRedacted(s.executor, contract.ListIssues, issueColumns, s.listIssues),
		handleRedacted(s.executor, contract.CreateIssue, s.createIssueHandler()),
		handleRedacted(s.executor, contract.GetIssue, s.getIssueHandler()),
		handleRedacted(s.executor, contract.UpdateIssue, s.updateIssueHandler()),
		handleRedacted(s.executor, contract.DeleteIssue, s.deleteIssueHandler()),
		handleRedacted(s.executor, contract.AssignIssue, s.assignIssueHandler()),
		handleRedacted(s.executor, contract.EscalateIssue, s.escalateIssueHandler()),
		handleRedacted(s.executor, contract.TransitionIssue, s.transitionIssueHandler()),
		handleRedacted(s.executor, contract.ResolveIssue, s.resolveIssueHandler()),
		handleRedacted(s.executor, contract.PromoteIssue, s.promoteIssueHandler()),
		listRedacted(s.executor, contract.ListComments, commentColumns, s.listComments),
		handleRedacted(s.executor, contract.CreateComment, s.createCommentHandler()),
		handleRedacted(s.executor, contract.UpdateComment, s.updateCommentHandler()),
		handleRedacted(s.executor, contract.DeleteComment, s.deleteCommentHandler()),
		listRedacted(s.executor, contract.ListTimeEntries, timeEntryColumns, s.listTimeEntries),
		handleRedacted(s.executor, contract.CreateTimeEntry, s.createTimeEntryHandler()),
		handleRedacted(s.executor, contract.UpdateTimeEntry, s.updateTimeEntryHandler()),
		handleRedacted(s.executor, contract.DeleteTimeEntry, s.deleteTimeEntryHandler()),
	}
}
