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
//
// Searches (search.go) and the duplicate check (duplicate.go) use an index of terms. Only a
// database function can read it, within the tenant of the transaction.
//
// Agent runs and delegations are packages of their own (agentrun, delegation), which this
// package composes.
//
// Each record type has a file with its rules (project.go) and one with its SQL
// (project_store.go).
package tracker

import (
	"context"
	"log/slog"
	"slices"

	"parapet/internal/agentrun"
	"parapet/internal/contract/identity"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/delegation"
	"parapet/internal/executor"
	"parapet/internal/lessons"
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
	Agent agentrun.Command
	// FindLessons returns the lessons of the wiki for a task. If it is nil, there are none.
	FindLessons func(ctx context.Context, tenant op.UUID, task *contract.Task) lessons.Lessons
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
	runs            *agentrun.Service
	delegations     *delegation.Service
	log             *slog.Logger

	duplicateCheckDisabled bool
}

// New returns the module's service. It starts listening for decisions if
// d.Notifications is set.
func New(d Deps) *Service {
	s := &Service{
		executor: d.Executor, directory: d.Directory, jobs: d.Jobs, decisionWaiters: newWaiters(),
		log: d.Log, duplicateCheckDisabled: d.DuplicateCheckDisabled,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if d.FindLessons == nil {
		d.FindLessons = lessons.New(lessons.Config{Log: s.log}).Find
	}
	s.runs = agentrun.New(agentrun.Deps{
		Executor: d.Executor, Command: d.Agent, Scoring: d.Scoring, Log: s.log, FindLessons: d.FindLessons,
		LoadTask: loadRunTask, LoadCandidate: s.loadCandidate, RedactTasks: redactRunTasks,
	})
	s.delegations = delegation.New(delegation.Deps{
		Executor: d.Executor, LoadCandidate: s.loadCandidate, LockProject: lockProjectResource, LockInitiative: lockInitiativeResource,
		RedactInitiatives: redactInitiatives,
	})
	if d.Notifications != nil {
		s.listenForDecisions(d.Notifications)
	}
	return s
}

// Operations returns the module's operations, bound to their handlers.
func (s *Service) Operations() []op.Bound {
	return slices.Concat(
		s.projectOperations(),
		s.initiativeOperations(),
		s.overviewOperations(),
		s.repoOperations(),
		s.workspaceOperations(),
		s.inboxOperations(),
		s.stageOperations(),
		s.gateOperations(),
		s.importOperations(),
		s.exportOperations(),
		s.delegations.Operations(),
		s.taskOperations(),
		s.decisionOperations(),
		s.runs.Operations(),
		s.leaseOperations(),
		s.dependencyOperations(),
		s.deliverableOperations(),
		s.criterionOperations(),
		s.customFieldOperations(),
		s.issueOperations(),
		s.commentOperations(),
		s.timeEntryOperations(),
	)
}
