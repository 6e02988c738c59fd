package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// AgentRuns is what carries out what agents are given.
type AgentRuns struct {
	// Execute makes one attempt at a run, and says after which time to call again
	// where that is not zero. Without it this process takes no runs: they wait for
	// one that does.
	Execute func(ctx context.Context, tenant, run op.UUID) (again time.Duration, err error)
	// Timeout is the time that Execute takes at most.
	Timeout time.Duration
}

const (
	// agentQueue is the queue of runs: only processes that have a command work it.
	agentQueue = "agents"
	// agentWorkers is how many commands run in one process at a time.
	agentWorkers = 2
)

type agentRunArgs struct {
	Tenant op.UUID `json:"tenant"`
	Run    op.UUID `json:"run"`
}

// Kind is the job's name.
func (agentRunArgs) Kind() string { return "agent_run" }

type agentRunWorker struct {
	river.WorkerDefaults[agentRunArgs]
	runs AgentRuns
}

// Timeout is longer than other jobs': so much longer than the run's own that this
// one is never what ends it.
func (w *agentRunWorker) Timeout(*river.Job[agentRunArgs]) time.Duration {
	return w.runs.Timeout + time.Minute
}

// Work makes one attempt.
func (w *agentRunWorker) Work(ctx context.Context, job *river.Job[agentRunArgs]) error {
	if w.runs.Execute == nil {
		return errors.New("agent runs are not carried out here")
	}
	again, err := w.runs.Execute(ctx, job.Args.Tenant, job.Args.Run)
	if err != nil {
		return err
	}
	if again > 0 {
		return river.JobSnooze(again)
	}
	return nil
}

// agentRunQueue turns queued runs into jobs.
type agentRunQueue struct{ client *river.Client[pgx.Tx] }

// subscriber hears of runs. The job is inserted in the transaction that notes the
// event as processed: there is one job a run.
func (q *agentRunQueue) subscriber() events.Subscriber {
	return events.Subscriber{Name: "agent runs", Types: []string{contract.EventRunQueued}, Handle: q.insert}
}

func (q *agentRunQueue) insert(ctx context.Context, tx postgres.Querier, list []events.Event) error {
	raw, ok := tx.(pgx.Tx)
	if !ok {
		return fmt.Errorf("jobs: a subscriber was given a %T", tx)
	}
	var jobs []river.InsertManyParams
	for _, e := range list {
		run, err := op.ParseUUID(e.AggregateID)
		if err != nil {
			return fmt.Errorf("jobs: %s names no run: %w", e.Type, err)
		}
		jobs = append(jobs, river.InsertManyParams{
			Args: agentRunArgs{Tenant: e.TenantID, Run: run}, InsertOpts: &river.InsertOpts{Queue: agentQueue},
		})
	}
	_, err := q.client.InsertManyTx(ctx, raw, jobs)
	return err
}

// scoreArgs asks for a round of scoring.
type scoreArgs struct{}

// Kind is the job's name.
func (scoreArgs) Kind() string { return "agent_run_scoring" }

type scoreWorker struct {
	river.WorkerDefaults[scoreArgs]
	score func(ctx context.Context) error
}

// Work scores what is finished.
func (w *scoreWorker) Work(ctx context.Context, _ *river.Job[scoreArgs]) error {
	if w.score == nil {
		return nil
	}
	return w.score(ctx)
}
