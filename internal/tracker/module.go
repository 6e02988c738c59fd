package tracker

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
	// agentQueue is the queue of the jobs that execute agent runs. Only processes with an
	// agent command take jobs from it.
	agentQueue = "agents"
	// agentWorkers is the number of commands that one process runs concurrently.
	agentWorkers = 2
	// scoreInterval is the period in which finished agent runs are scored.
	scoreInterval = 5 * time.Minute
)

// Module returns what the module adds to a process.
func (s *Service) Module() module.Module {
	execute := jobs.Settings{Queue: agentQueue}
	if s.agent != nil {
		// The timeout is longer than that of the command, so that River never ends an
		// attempt first.
		execute.Workers, execute.Timeout = agentWorkers, s.agent.Timeout()+time.Minute
	}
	score := jobs.Settings{}
	if len(s.scoring) > 0 {
		score.Every = scoreInterval
	}
	return module.Module{
		Operations:  s.Operations(),
		Subscribers: s.Subscribers(),
		Jobs: []jobs.Job{
			jobs.New(execute, func(ctx context.Context, a runArgs) (time.Duration, error) { return s.ExecuteRun(ctx, a.Tenant, a.Run) }),
			jobs.New(score, func(ctx context.Context, _ scoreArgs) (time.Duration, error) {
				_, err := s.ScoreRuns(ctx)
				return 0, err
			}),
		},
		Triggers:    []jobs.Trigger{{Name: "agent runs", Events: []*op.EventType{contract.EventRunQueued}, Args: queuedRunArgs}},
		Maintenance: []jobs.Housekeeper{{Name: "expired leases", Run: s.ReturnExpiredLeases}},
		Cron: []module.Cron{{
			Name: "cron run-scores", Path: "/api/cron/run-scores/process",
			Run: func(ctx context.Context) (any, error) { return s.ScoreRuns(ctx) },
		}},
		Gauges: []module.Gauge{{
			Name: "parapet_wait_decision_calls", Help: "Calls of wait-decision that wait for an answer.",
			Value: func() float64 { return float64(s.WaitDecisionCalls()) },
		}},
		EndWaits: s.EndWaits,
	}
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
