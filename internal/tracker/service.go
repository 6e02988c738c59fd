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
	"parapet/internal/gate"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Deps are what the module needs.
type Deps struct {
	// Gate is the module's own gate, made for contract.Module.
	Gate *gate.Module
	// Directory answers who can be given work.
	Directory identity.Directory
	// Notices tell of decisions. Without them a wait lasts its whole time.
	Notices *postgres.Notices
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
	gate      *gate.Module
	directory identity.Directory
	jobs      *postgres.Pool
	waiting   *waiters
	agent     AgentCommand
	scoring   map[op.UUID]float64
	log       *slog.Logger

	duplicateGateDisabled bool
}

// New makes the module.
func New(d Deps) *Service {
	s := &Service{
		gate: d.Gate, directory: d.Directory, jobs: d.Jobs, waiting: newWaiters(),
		agent: d.Agent, scoring: d.Scoring, log: d.Log, duplicateGateDisabled: d.DuplicateGateDisabled,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if d.Notices != nil {
		s.hearDecisions(d.Notices)
	}
	return s
}

// Operations binds every operation of the module.
func (s *Service) Operations() []op.Bound {
	return []op.Bound{
		list(s.gate, contract.ListProjects, projectColumns, s.listProjects),
		handle(s.gate, contract.CreateProject, s.createProject()),
		list(s.gate, contract.FindProject, projectColumns, s.findProject),
		handle(s.gate, contract.GetProject, s.getProject()),
		handle(s.gate, contract.UpdateProject, s.updateProject()),
		handle(s.gate, contract.DeleteProject, s.deleteProject()),
		list(s.gate, contract.ListInitiatives, initiativeColumns, s.listInitiatives),
		handle(s.gate, contract.CreateInitiative, s.createInitiative()),
		list(s.gate, contract.FindInitiative, initiativeColumns, s.findInitiative),
		handle(s.gate, contract.GetInitiative, s.getInitiative()),
		handle(s.gate, contract.UpdateInitiative, s.updateInitiative()),
		handle(s.gate, contract.DeleteInitiative, s.deleteInitiative()),
		gate.Asked(s.gate, contract.GetProjectOverview, s.getProjectOverview),
		handle(s.gate, contract.BindRepo, s.bindRepo()),
		handle(s.gate, contract.UnbindRepo, s.unbindRepo()),
		gate.Open(s.gate, contract.GetWorkspace, s.workspace),
		handle(s.gate, contract.ListStages, s.listStages()),
		handle(s.gate, contract.CreateStage, s.createStage()),
		handle(s.gate, contract.UpdateStage, s.updateStage()),
		handle(s.gate, contract.StartStage, s.startStage()),
		handle(s.gate, contract.CompleteStage, s.completeStage()),
		handle(s.gate, contract.DeleteStage, s.deleteStage()),
		handle(s.gate, contract.CreateGate, s.createGate()),
		handle(s.gate, contract.UpdateGate, s.updateGate()),
		handle(s.gate, contract.DeleteGate, s.deleteGate()),
		handle(s.gate, contract.ReviewGate, s.reviewGate()),
		handle(s.gate, contract.ImportItems, s.importItems()),
		list(s.gate, contract.ExportItems, taskColumns, s.exportItems),
		list(s.gate, contract.ListDelegations, delegationColumns, s.listDelegations),
		handle(s.gate, contract.CreateDelegation, s.createDelegation()),
		handle(s.gate, contract.GetDelegation, s.getDelegation()),
		handle(s.gate, contract.RevokeDelegation, s.revokeDelegation()),
		list(s.gate, contract.ListTasks, taskColumns, s.listTasks),
		handle(s.gate, contract.CreateTask, s.createTask()),
		handle(s.gate, contract.GetTask, s.getTask()),
		handle(s.gate, contract.UpdateTask, s.updateTask()),
		handle(s.gate, contract.DeleteTask, s.deleteTask()),
		handle(s.gate, contract.MarkAwaitingDecision, s.raiseDecision()),
		handle(s.gate, contract.ListDecisionRequests, s.listDecisions()),
		handle(s.gate, contract.AnswerDecision, s.answerDecision()),
		handle(s.gate, contract.CancelDecision, s.cancelDecision()),
		s.waitDecision(),
		list(s.gate, contract.ListRuns, runColumns, s.listRuns),
		handle(s.gate, contract.GetRun, s.getRun()),
		handle(s.gate, contract.ClaimNextReady, s.claimNextReady()),
		handle(s.gate, contract.ListDependencies, s.listDependencies()),
		handle(s.gate, contract.AddDependency, s.addDependency()),
		handle(s.gate, contract.RemoveDependency, s.removeDependency()),
		handle(s.gate, contract.KeepClaim, s.keepClaim()),
		handle(s.gate, contract.ReleaseClaim, s.releaseClaim()),
		list(s.gate, contract.ListEpicChildren, taskColumns, s.listEpicChildren),
		list(s.gate, contract.ListDeliverables, deliverableColumns, s.listDeliverables),
		handle(s.gate, contract.CreateDeliverable, s.createDeliverable()),
		handle(s.gate, contract.GetDeliverable, s.getDeliverable()),
		handle(s.gate, contract.UpdateDeliverable, s.updateDeliverable()),
		handle(s.gate, contract.SubmitDeliverable, moveDeliverable(contract.DeliverableSubmitted, deliverableNamed, nil)),
		handle(s.gate, contract.StartDeliverableReview, moveDeliverable(contract.DeliverableUnderReview, deliverableNamed, nil)),
		handle(s.gate, contract.AcceptDeliverable, moveDeliverable(contract.DeliverableAccepted, reviewNamed, nil)),
		handle(s.gate, contract.RejectDeliverable, moveDeliverable(contract.DeliverableRejected, rejectionNamed, citeFailed)),
		handle(s.gate, contract.ReviseDeliverable, moveDeliverable(contract.DeliverableRevised, reviewNamed, nil)),
		handle(s.gate, contract.DeleteDeliverable, s.deleteDeliverable()),
		list(s.gate, contract.ListCriteria, criterionColumns, s.listCriteria),
		handle(s.gate, contract.CreateCriterion, s.createCriterion()),
		handle(s.gate, contract.UpdateCriterion, s.updateCriterion()),
		handle(s.gate, contract.DeleteCriterion, s.deleteCriterion()),
		list(s.gate, contract.ListCustomFields, projectColumns, s.listCustomFields),
		handle(s.gate, contract.CreateCustomField, s.createCustomField()),
		handle(s.gate, contract.UpdateCustomField, s.updateCustomField()),
		handle(s.gate, contract.DeleteCustomField, s.deleteCustomField()),
		handle(s.gate, contract.SetCustomFieldValues, s.setCustomFieldValues()),
		list(s.gate, contract.ListIssues, issueColumns, s.listIssues),
		handle(s.gate, contract.CreateIssue, s.createIssue()),
		handle(s.gate, contract.GetIssue, s.getIssue()),
		handle(s.gate, contract.UpdateIssue, s.updateIssue()),
		handle(s.gate, contract.DeleteIssue, s.deleteIssue()),
		handle(s.gate, contract.AssignIssue, s.assignIssue()),
		handle(s.gate, contract.EscalateIssue, s.escalateIssue()),
		handle(s.gate, contract.TransitionIssue, s.transitionIssue()),
		handle(s.gate, contract.ResolveIssue, s.resolveIssue()),
		handle(s.gate, contract.PromoteIssue, s.promoteIssue()),
		list(s.gate, contract.ListComments, commentColumns, s.listComments),
		handle(s.gate, contract.CreateComment, s.createComment()),
		handle(s.gate, contract.UpdateComment, s.updateComment()),
		handle(s.gate, contract.DeleteComment, s.deleteComment()),
		list(s.gate, contract.ListTimeEntries, timeEntryColumns, s.listTimeEntries),
		handle(s.gate, contract.CreateTimeEntry, s.createTimeEntry()),
		handle(s.gate, contract.UpdateTimeEntry, s.updateTimeEntry()),
		handle(s.gate, contract.DeleteTimeEntry, s.deleteTimeEntry()),
	}
}
