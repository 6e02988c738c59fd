// Package tracker is the tracker module: projects, their tasks, and the taking
// in of another tracker's items. It owns the schema projects and is its only
// writer.
//
// It promises that task keys of a project are numbered without a gap that
// matters and without a double, whoever creates at the same time; that an edge
// between tasks (epic, sub-task) never leaves the tenant and never forms a chain;
// that lists and single reads agree on what a caller sees, because one rule of
// the policies gives both; and that what a caller may not read of a foreign
// project's epic is redacted wherever it would show.
//
// A decision request is a durable row: the first answer counts, and whoever waits
// for it at any process is woken at its commit. An agent that is given a task has
// one run of it, recorded with the assignment, and its command is never started
// twice at once.
//
// A search (search.go) is answered by an index of terms that only a function of
// the database reads, within the tenant of the transaction; the duplicate guard
// (duplicate.go) asks the same index.
//
// Per noun there is the rule (project.go, task.go, import.go) and its SQL
// (project_store.go, task_store.go, import_store.go).
package tracker

import (
	"log/slog"

	"parapet/internal/contract/identity"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Deps are what the module needs.
type Deps struct {
	// Executor is the module's own gate, made for contract.Module.
	Executor *executor.Module
	// Directory answers who can be given work.
	Directory identity.Directory
	// Notices tell of decisions. Without them a wait lasts its whole time.
	Notices *postgres.Notifications
	// DuplicateGateDisabled turns the duplicate guard of create-task off.
	DuplicateGateDisabled bool
	// Jobs is parapet_jobs' pool, which sees in which tenants leases have lapsed.
	Jobs *postgres.Pool
	// Agent carries out what agents are given. Without it their runs wait.
	Agent AgentCommand
	// Scoring says which share of the finished agent runs of a tenant is scored;
	// a tenant that is not named has none scored.
	Scoring map[op.UUID]float64
	Log     *slog.Logger
}

// Service is the module.
type Service struct {
	executor        *executor.Module
	directory       identity.Directory
	jobs            *postgres.Pool
	decisionWaiters *waiters
	agent           AgentCommand
	scoring         map[op.UUID]float64
	log             *slog.Logger

	duplicateGateDisabled bool
}

// New makes the module.
func New(d Deps) *Service {
	s := &Service{
		executor: d.Executor, directory: d.Directory, jobs: d.Jobs, decisionWaiters: newWaiters(),
		agent: d.Agent, scoring: d.Scoring, log: d.Log, duplicateGateDisabled: d.DuplicateGateDisabled,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if d.Notices != nil {
		s.listenForDecisions(d.Notices)
	}
	return s
}

// Operations binds every operation of the module.
func (s *Service) Operations() []op.Bound {
	return []op.Bound{
		list(s.executor, contract.ListProjects, projectColumns, s.listProjects),
		handle(s.executor, contract.CreateProject, s.createProjectHandler()),
		list(s.executor, contract.FindProject, projectColumns, s.findProject),
		handle(s.executor, contract.GetProject, s.getProjectHandler()),
		handle(s.executor, contract.UpdateProject, s.updateProjectHandler()),
		handle(s.executor, contract.DeleteProject, s.deleteProjectHandler()),
		list(s.executor, contract.ListInitiatives, initiativeColumns, s.listInitiatives),
		handle(s.executor, contract.CreateInitiative, s.createInitiativeHandler()),
		list(s.executor, contract.FindInitiative, initiativeColumns, s.findInitiative),
		handle(s.executor, contract.GetInitiative, s.getInitiativeHandler()),
		handle(s.executor, contract.UpdateInitiative, s.updateInitiativeHandler()),
		handle(s.executor, contract.DeleteInitiative, s.deleteInitiativeHandler()),
		executor.CustomDecision(s.executor, contract.GetProjectOverview, s.getProjectOverview),
		handle(s.executor, contract.BindRepo, s.bindRepoHandler()),
		handle(s.executor, contract.UnbindRepo, s.unbindRepoHandler()),
		executor.Authenticated(s.executor, contract.GetWorkspace, s.workspace),
		handle(s.executor, contract.ListStages, s.listStagesHandler()),
		handle(s.executor, contract.CreateStage, s.createStageHandler()),
		handle(s.executor, contract.UpdateStage, s.updateStageHandler()),
		handle(s.executor, contract.StartStage, s.startStageHandler()),
		handle(s.executor, contract.CompleteStage, s.completeStageHandler()),
		handle(s.executor, contract.DeleteStage, s.deleteStageHandler()),
		handle(s.executor, contract.CreateGate, s.createGateHandler()),
		handle(s.executor, contract.UpdateGate, s.updateGateHandler()),
		handle(s.executor, contract.DeleteGate, s.deleteGateHandler()),
		handle(s.executor, contract.ReviewGate, s.reviewGateHandler()),
		handle(s.executor, contract.ImportItems, s.importItemsHandler()),
		list(s.executor, contract.ExportItems, taskColumns, s.exportItems),
		list(s.executor, contract.ListDelegations, delegationColumns, s.listDelegations),
		handle(s.executor, contract.CreateDelegation, s.createDelegationHandler()),
		handle(s.executor, contract.GetDelegation, s.getDelegationHandler()),
		handle(s.executor, contract.RevokeDelegation, s.revokeDelegationHandler()),
		list(s.executor, contract.ListTasks, taskColumns, s.listTasks),
		handle(s.executor, contract.CreateTask, s.createTaskHandler()),
		handle(s.executor, contract.GetTask, s.getTaskHandler()),
		handle(s.executor, contract.UpdateTask, s.updateTaskHandler()),
		handle(s.executor, contract.DeleteTask, s.deleteTaskHandler()),
		handle(s.executor, contract.MarkAwaitingDecision, s.markAwaitingDecisionHandler()),
		handle(s.executor, contract.ListDecisionRequests, s.listDecisionsHandler()),
		handle(s.executor, contract.AnswerDecision, s.answerDecisionHandler()),
		handle(s.executor, contract.CancelDecision, s.cancelDecisionHandler()),
		s.waitDecision(),
		list(s.executor, contract.ListRuns, runColumns, s.listRuns),
		handle(s.executor, contract.GetRun, s.getRunHandler()),
		handle(s.executor, contract.ClaimNextReady, s.claimNextReadyHandler()),
		handle(s.executor, contract.ListDependencies, s.listDependenciesHandler()),
		handle(s.executor, contract.AddDependency, s.addDependencyHandler()),
		handle(s.executor, contract.RemoveDependency, s.removeDependencyHandler()),
		handle(s.executor, contract.KeepClaim, s.keepClaimHandler()),
		handle(s.executor, contract.ReleaseClaim, s.releaseClaimHandler()),
		list(s.executor, contract.ListEpicChildren, taskColumns, s.listEpicChildren),
		list(s.executor, contract.ListDeliverables, deliverableColumns, s.listDeliverables),
		handle(s.executor, contract.CreateDeliverable, s.createDeliverableHandler()),
		handle(s.executor, contract.GetDeliverable, s.getDeliverableHandler()),
		handle(s.executor, contract.UpdateDeliverable, s.updateDeliverableHandler()),
		handle(s.executor, contract.SubmitDeliverable, deliverableTransitionHandler(contract.DeliverableSubmitted, deliverableRef, nil)),
		handle(s.executor, contract.StartDeliverableReview, deliverableTransitionHandler(contract.DeliverableUnderReview, deliverableRef, nil)),
		handle(s.executor, contract.AcceptDeliverable, deliverableTransitionHandler(contract.DeliverableAccepted, reviewRef, nil)),
		handle(s.executor, contract.RejectDeliverable, deliverableTransitionHandler(contract.DeliverableRejected, rejectionRef, markFailedCriteria)),
		handle(s.executor, contract.ReviseDeliverable, deliverableTransitionHandler(contract.DeliverableRevised, reviewRef, nil)),
		handle(s.executor, contract.DeleteDeliverable, s.deleteDeliverableHandler()),
		list(s.executor, contract.ListCriteria, criterionColumns, s.listCriteria),
		handle(s.executor, contract.CreateCriterion, s.createCriterionHandler()),
		handle(s.executor, contract.UpdateCriterion, s.updateCriterionHandler()),
		handle(s.executor, contract.DeleteCriterion, s.deleteCriterionHandler()),
		list(s.executor, contract.ListCustomFields, projectColumns, s.listCustomFields),
		handle(s.executor, contract.CreateCustomField, s.createCustomFieldHandler()),
		handle(s.executor, contract.UpdateCustomField, s.updateCustomFieldHandler()),
		handle(s.executor, contract.DeleteCustomField, s.deleteCustomFieldHandler()),
		handle(s.executor, contract.SetCustomFieldValues, s.setCustomFieldValuesHandler()),
		list(s.executor, contract.ListIssues, issueColumns, s.listIssues),
		handle(s.executor, contract.CreateIssue, s.createIssueHandler()),
		handle(s.executor, contract.GetIssue, s.getIssueHandler()),
		handle(s.executor, contract.UpdateIssue, s.updateIssueHandler()),
		handle(s.executor, contract.DeleteIssue, s.deleteIssueHandler()),
		handle(s.executor, contract.AssignIssue, s.assignIssueHandler()),
		handle(s.executor, contract.EscalateIssue, s.escalateIssueHandler()),
		handle(s.executor, contract.TransitionIssue, s.transitionIssueHandler()),
		handle(s.executor, contract.ResolveIssue, s.resolveIssueHandler()),
		handle(s.executor, contract.PromoteIssue, s.promoteIssueHandler()),
		list(s.executor, contract.ListComments, commentColumns, s.listComments),
		handle(s.executor, contract.CreateComment, s.createCommentHandler()),
		handle(s.executor, contract.UpdateComment, s.updateCommentHandler()),
		handle(s.executor, contract.DeleteComment, s.deleteCommentHandler()),
		list(s.executor, contract.ListTimeEntries, timeEntryColumns, s.listTimeEntries),
		handle(s.executor, contract.CreateTimeEntry, s.createTimeEntryHandler()),
		handle(s.executor, contract.UpdateTimeEntry, s.updateTimeEntryHandler()),
		handle(s.executor, contract.DeleteTimeEntry, s.deleteTimeEntryHandler()),
	}
}
