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

// AgentRuns executes queued agent runs.
type AgentRuns struct {
	// Execute makes one attempt at a run. If retryAfter is not zero, the job runs again after
	// that time. If Execute is nil, this process executes no runs; they stay queued until a
	// process with an agent command takes them.
	Execute func(ctx context.Context, tenant, run op.UUID) (retryAfter time.Duration, err error)
	// Timeout limits one call of Execute.
	Timeout time.Duration
}

const (
	// agentQueue is the River queue of runs. Only processes with an agent command take jobs
	// from it.
	agentQueue = "agents"
	// agentWorkers is the number of commands that one process runs concurrently.
	agentWorkers = 2
)

type agentRunArgs struct {
	Tenant op.UUID `json:"tenant"`
	Run    op.UUID `json:"run"`
}

// Kind implements river.JobArgs.
func (agentRunArgs) Kind() string { return "agent_run" }

type agentRunWorker struct {
	river.WorkerDefaults[agentRunArgs]
	runs AgentRuns
}

// Timeout implements river.Worker. It is longer than the run's own timeout, so River never
// ends an attempt first.
func (w *agentRunWorker) Timeout(*river.Job[agentRunArgs]) time.Duration {
	return w.runs.Timeout + time.Minute
}

// Work implements river.Worker. It makes one attempt.
func (w *agentRunWorker) Work(ctx context.Context, job *river.Job[agentRunArgs]) error {
	if w.runs.Execute == nil {
		return errors.New("this process has no agent command configured")
	}
	retryAfter, err := w.runs.Execute(ctx, job.Args.Tenant, job.Args.Run)
	if err != nil {
		return err
	}
	if retryAfter > 0 {
		return river.JobSnooze(retryAfter)
	}
	return nil
}

// agentRunQueue inserts a job for each queued run.
type agentRunQueue struct{ client *river.Client[pgx.Tx] }

// subscriber returns the subscriber for queued runs. It inserts the job in the transaction
// that marks the event as processed, so there is one job per run.
func (q *agentRunQueue) subscriber() events.Subscriber {
	return events.Subscriber{Name: "agent runs", Types: []string{contract.EventRunQueued}, Handle: q.insert}
}

func (q *agentRunQueue) insert(ctx context.Context, tx postgres.Querier, list []events.Event) error {
	raw, ok := tx.(pgx.Tx)
	if !ok {
		return fmt.Errorf("jobs: a subscriber needs a pgx.Tx, got %T", tx)
	}
	var jobs []river.InsertManyParams
	for _, e := range list {
		run, err := op.ParseUUID(e.AggregateID)
		if err != nil {
			return fmt.Errorf("jobs: the aggregate of %s is not a run id: %w", e.Type, err)
		}
		jobs = append(jobs, river.InsertManyParams{
			Args: agentRunArgs{Tenant: e.TenantID, Run: run}, InsertOpts: &river.InsertOpts{Queue: agentQueue},
		})
	}
	_, err := q.client.InsertManyTx(ctx, raw, jobs)
	return err
}

// scoreArgs are the arguments of a job that scores finished runs.
type scoreArgs struct{}

// Kind implements river.JobArgs.
func (scoreArgs) Kind() string { return "agent_run_scoring" }

type scoreWorker struct {
	river.WorkerDefaults[scoreArgs]
	score func(ctx context.Context) error
}

// Work implements river.Worker.
func (w *scoreWorker) Work(ctx context.Context, _ *river.Job[scoreArgs]) error {
	if w.score == nil {
		return nil
	}
	return w.score(ctx)
}
