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
		gate.List(s.gate, contract.ListProjects, projectColumns, s.listProjects),
		gate.Handle(s.gate, contract.CreateProject, s.createProject()),
		gate.List(s.gate, contract.FindProject, projectColumns, s.findProject),
		gate.Handle(s.gate, contract.GetProject, s.getProject()),
		gate.Handle(s.gate, contract.UpdateProject, s.updateProject()),
		gate.Handle(s.gate, contract.DeleteProject, s.deleteProject()),
		gate.List(s.gate, contract.ListInitiatives, initiativeColumns, s.listInitiatives),
		gate.Handle(s.gate, contract.CreateInitiative, s.createInitiative()),
		gate.List(s.gate, contract.FindInitiative, initiativeColumns, s.findInitiative),
		gate.Handle(s.gate, contract.GetInitiative, s.getInitiative()),
		gate.Handle(s.gate, contract.UpdateInitiative, s.updateInitiative()),
		gate.Handle(s.gate, contract.DeleteInitiative, s.deleteInitiative()),
		gate.Asked(s.gate, contract.GetProjectOverview, s.getProjectOverview),
		gate.Handle(s.gate, contract.BindRepo, s.bindRepo()),
		gate.Handle(s.gate, contract.UnbindRepo, s.unbindRepo()),
		gate.Open(s.gate, contract.GetWorkspace, s.workspace),
		gate.Handle(s.gate, contract.ListStages, s.listStages()),
		gate.Handle(s.gate, contract.CreateStage, s.createStage()),
		gate.Handle(s.gate, contract.UpdateStage, s.updateStage()),
		gate.Handle(s.gate, contract.StartStage, s.startStage()),
		gate.Handle(s.gate, contract.CompleteStage, s.completeStage()),
		gate.Handle(s.gate, contract.DeleteStage, s.deleteStage()),
		gate.Handle(s.gate, contract.CreateGate, s.createGate()),
		gate.Handle(s.gate, contract.UpdateGate, s.updateGate()),
		gate.Handle(s.gate, contract.DeleteGate, s.deleteGate()),
		gate.Handle(s.gate, contract.ReviewGate, s.reviewGate()),
		gate.Handle(s.gate, contract.ImportItems, s.importItems()),
		gate.List(s.gate, contract.ExportItems, taskColumns, s.exportItems),
		gate.List(s.gate, contract.ListDelegations, delegationColumns, s.listDelegations),
		gate.Handle(s.gate, contract.CreateDelegation, s.createDelegation()),
		gate.Handle(s.gate, contract.GetDelegation, s.getDelegation()),
		gate.Handle(s.gate, contract.RevokeDelegation, s.revokeDelegation()),
		gate.List(s.gate, contract.ListTasks, taskColumns, s.listTasks),
		gate.Handle(s.gate, contract.CreateTask, s.createTask()),
		gate.Handle(s.gate, contract.GetTask, s.getTask()),
		gate.Handle(s.gate, contract.UpdateTask, s.updateTask()),
		gate.Handle(s.gate, contract.DeleteTask, s.deleteTask()),
		gate.Handle(s.gate, contract.MarkAwaitingDecision, s.raiseDecision()),
		gate.Handle(s.gate, contract.ListDecisionRequests, s.listDecisions()),
		gate.Handle(s.gate, contract.AnswerDecision, s.answerDecision()),
		gate.Handle(s.gate, contract.CancelDecision, s.cancelDecision()),
		s.waitDecision(),
		gate.List(s.gate, contract.ListRuns, runColumns, s.listRuns),
		gate.Handle(s.gate, contract.GetRun, s.getRun()),
		gate.Handle(s.gate, contract.ClaimNextReady, s.claimNextReady()),
		gate.Handle(s.gate, contract.ListDependencies, s.listDependencies()),
		gate.Handle(s.gate, contract.AddDependency, s.addDependency()),
		gate.Handle(s.gate, contract.RemoveDependency, s.removeDependency()),
		gate.Handle(s.gate, contract.KeepClaim, s.keepClaim()),
		gate.Handle(s.gate, contract.ReleaseClaim, s.releaseClaim()),
		gate.List(s.gate, contract.ListEpicChildren, taskColumns, s.listEpicChildren),
		gate.List(s.gate, contract.ListDeliverables, deliverableColumns, s.listDeliverables),
		gate.Handle(s.gate, contract.CreateDeliverable, s.createDeliverable()),
		gate.Handle(s.gate, contract.GetDeliverable, s.getDeliverable()),
		gate.Handle(s.gate, contract.UpdateDeliverable, s.updateDeliverable()),
		gate.Handle(s.gate, contract.SubmitDeliverable, moveDeliverable(contract.DeliverableSubmitted, deliverableNamed, nil)),
		gate.Handle(s.gate, contract.StartDeliverableReview, moveDeliverable(contract.DeliverableUnderReview, deliverableNamed, nil)),
		gate.Handle(s.gate, contract.AcceptDeliverable, moveDeliverable(contract.DeliverableAccepted, reviewNamed, nil)),
		gate.Handle(s.gate, contract.RejectDeliverable, moveDeliverable(contract.DeliverableRejected, rejectionNamed, citeFailed)),
		gate.Handle(s.gate, contract.ReviseDeliverable, moveDeliverable(contract.DeliverableRevised, reviewNamed, nil)),
		gate.Handle(s.gate, contract.DeleteDeliverable, s.deleteDeliverable()),
		gate.List(s.gate, contract.ListCriteria, criterionColumns, s.listCriteria),
		gate.Handle(s.gate, contract.CreateCriterion, s.createCriterion()),
		gate.Handle(s.gate, contract.UpdateCriterion, s.updateCriterion()),
		gate.Handle(s.gate, contract.DeleteCriterion, s.deleteCriterion()),
		gate.List(s.gate, contract.ListCustomFields, projectColumns, s.listCustomFields),
		gate.Handle(s.gate, contract.CreateCustomField, s.createCustomField()),
		gate.Handle(s.gate, contract.UpdateCustomField, s.updateCustomField()),
		gate.Handle(s.gate, contract.DeleteCustomField, s.deleteCustomField()),
		gate.Handle(s.gate, contract.SetCustomFieldValues, s.setCustomFieldValues()),
		gate.List(s.gate, contract.ListIssues, issueColumns, s.listIssues),
		gate.Handle(s.gate, contract.CreateIssue, s.createIssue()),
		gate.Handle(s.gate, contract.GetIssue, s.getIssue()),
		gate.Handle(s.gate, contract.UpdateIssue, s.updateIssue()),
		gate.Handle(s.gate, contract.DeleteIssue, s.deleteIssue()),
		gate.Handle(s.gate, contract.AssignIssue, s.assignIssue()),
		gate.Handle(s.gate, contract.EscalateIssue, s.escalateIssue()),
		gate.Handle(s.gate, contract.TransitionIssue, s.transitionIssue()),
		gate.Handle(s.gate, contract.ResolveIssue, s.resolveIssue()),
		gate.Handle(s.gate, contract.PromoteIssue, s.promoteIssue()),
		gate.List(s.gate, contract.ListComments, commentColumns, s.listComments),
		gate.Handle(s.gate, contract.CreateComment, s.createComment()),
		gate.Handle(s.gate, contract.UpdateComment, s.updateComment()),
		gate.Handle(s.gate, contract.DeleteComment, s.deleteComment()),
		gate.List(s.gate, contract.ListTimeEntries, timeEntryColumns, s.listTimeEntries),
		gate.Handle(s.gate, contract.CreateTimeEntry, s.createTimeEntry()),
		gate.Handle(s.gate, contract.UpdateTimeEntry, s.updateTimeEntry()),
		gate.Handle(s.gate, contract.DeleteTimeEntry, s.deleteTimeEntry()),
	}
}
