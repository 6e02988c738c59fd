package agentrun

import (
	"context"
	"fmt"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/events"
	"parapet/internal/module"
	"parapet/internal/op"
	"parapet/jobs"
)

const (
	// queue is the queue of the jobs that execute runs. Only processes with an agent
	// command take jobs from it.
	queue = "agents"
	// workers is the number of commands that one process runs concurrently.
	workers = 2
	// scoreInterval is the period in which finished runs are scored.
	scoreInterval = 5 * time.Minute
)

// Jobs returns the background jobs, which execute and score runs.
func (s *Service) Jobs() []jobs.Job {
	execute := jobs.Settings{Queue: queue}
	if s.Command != nil {
		// The timeout is longer than that of the command, so that River never ends an
		// attempt first.
		execute.Workers, execute.Timeout = workers, s.Command.Timeout()+time.Minute
	}
	score := jobs.Settings{}
	if len(s.Scoring) > 0 {
		score.Every = scoreInterval
	}
	return []jobs.Job{
		jobs.New(execute, func(ctx context.Context, a runArgs) (time.Duration, error) { return s.Execute(ctx, a.Tenant, a.Run) }),
		jobs.New(score, func(ctx context.Context, _ scoreArgs) (time.Duration, error) {
			_, err := s.Score(ctx)
			return 0, err
		}),
	}
}

// Triggers returns the trigger that inserts a job for each queued run.
func (s *Service) Triggers() []jobs.Trigger {
	return []jobs.Trigger{{Name: "agent runs", Events: []*op.EventType{contract.EventRunQueued}, Args: queuedRunArgs}}
}

// Cron returns the work that an external scheduler can start.
func (s *Service) Cron() []module.Cron {
	return []module.Cron{{
		Name: "cron run-scores", Path: "/api/cron/run-scores/process",
		Run: func(ctx context.Context) (any, error) { return s.Score(ctx) },
	}}
}

// runArgs are the arguments of a job that executes an agent run.
type runArgs struct {
	Tenant op.UUID `json:"tenant"`
	Run    op.UUID `json:"run"`
}

// Kind implements jobs.Args.
func (runArgs) Kind() string { return "agent_run" }

// queuedRunArgs returns the job for the event about a queued run.
func queuedRunArgs(e events.Event) (jobs.Args, error) {
	run, err := op.ParseUUID(e.AggregateID)
	if err != nil {
		return nil, fmt.Errorf("the aggregate is not a run id: %w", err)
	}
	return runArgs{Tenant: e.TenantID, Run: run}, nil
}

// scoreArgs are the arguments of the job that scores finished runs.
type scoreArgs struct{}

// Kind implements jobs.Args.
func (scoreArgs) Kind() string { return "agent_run_scoring" }
