// Package agentrun is the part of the tracker module about agent runs: the work of an agent on
// a task that is assigned to it. Package tracker composes it.
//
// It guarantees the following:
//
//   - Assigning a task to an agent queues one run in the same transaction.
//   - The agent's command never runs twice concurrently for one run.
//   - A run starts only if the policies still allow the agent to work on its task.
package agentrun

import (
	"context"
	"log/slog"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/lessons"
	"parapet/internal/op"
)

// Command executes agent runs. The input is the task as JSON and the output is
// the outcome as JSON; errors are those of package agentcmd.
type Command interface {
	// Run executes one attempt. run is the id of the run; attempts of a run do not overlap.
	Run(ctx context.Context, run string, input []byte) ([]byte, error)
	// Timeout is the maximum duration of Run.
	Timeout() time.Duration
}

// Task is the task of a run.
type Task struct {
	ID, ProjectID op.UUID
	// AssigneeID is empty if nobody is assigned.
	AssigneeID op.UUID
	// IsFinal reports whether the task is done or cancelled.
	IsFinal bool
	// Resource is the policy input.
	Resource authz.Resource
	// Public is the task as everybody who may read it sees it.
	Public *contract.Task
}

// Deps are the dependencies of the package. All are required, except Command and Scoring.
type Deps struct {
	// Executor runs the operations and the background work of the tracker module.
	Executor *executor.Module
	// Command executes the runs. If it is nil, runs stay queued.
	Command Command
	// Scoring is the share of finished runs to score, from 0 to 1, by tenant. Runs of other
	// tenants are not scored.
	Scoring map[op.UUID]float64
	Log     *slog.Logger
	// LoadTask reads a task. It returns NOT_FOUND if the task does not exist.
	LoadTask func(ctx context.Context, c *executor.Call, id op.UUID) (*Task, error)
	// LoadCandidate reads a user as policy input.
	LoadCandidate func(ctx context.Context, c *executor.Call, idOrEmail string) (authz.Candidate, error)
	// FindLessons returns the lessons of the wiki for a task. It does not fail.
	FindLessons func(ctx context.Context, tenant op.UUID, task *contract.Task) lessons.Lessons
	// RedactTasks replaces the tasks in the runs that the caller may not read, in place.
	RedactTasks func(ctx context.Context, c *executor.Call, runs ...*contract.AgentRunSummary) error
}

// Service implements the operations and background work of agent runs.
type Service struct{ Deps }

// New returns the service.
func New(d Deps) *Service { return &Service{d} }

// Operations returns the operations about runs, bound to their handlers.
func (s *Service) Operations() []op.Bound {
	return []op.Bound{
		executor.List(s.Executor, contract.ListRuns, Type.Columns(), s.list),
		executor.Handle(s.Executor, contract.GetRun, loadToRead, s.get),
	}
}
