package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"parapet/internal/events"
	"parapet/internal/op"
)

// Args are the arguments of a job. They marshal to JSON, and contain no secret. Kind
// identifies the job in the database, so it never changes.
type Args = river.JobArgs

// Job is a kind of job that a module provides. New returns one.
type Job struct {
	kind      string
	settings  Settings
	addWorker func(*river.Workers) error
	empty     Args
}

// Settings are the settings of a kind of job. The zero value is a job in the default queue
// with the default timeout, which only triggers insert.
type Settings struct {
	// Every is the period with which the job also runs without a trigger, with empty
	// arguments. It runs once in a period, in one process.
	Every time.Duration
	// Queue is a queue of its own for the job; empty for the default queue.
	Queue string
	// Workers is how many jobs of Queue this process runs at a time. If it is 0, this process
	// inserts jobs and leaves them to other processes.
	Workers int
	// Timeout limits one attempt. Default: one minute.
	Timeout time.Duration
}

// New returns a kind of job. work makes one attempt, and must be idempotent, because an
// interrupted job runs again. If it returns a duration, the job runs again after that time.
// If it returns an error, River retries the job later.
func New[A Args](settings Settings, work func(ctx context.Context, args A) (retryAfter time.Duration, err error)) Job {
	var empty A
	return Job{kind: empty.Kind(), settings: settings, empty: empty, addWorker: func(all *river.Workers) error {
		return river.AddWorkerSafely(all, &worker[A]{work: work, timeout: settings.Timeout})
	}}
}

// worker runs the jobs of one kind.
type worker[A Args] struct {
	river.WorkerDefaults[A]
	work    func(ctx context.Context, args A) (time.Duration, error)
	timeout time.Duration
}

// Timeout implements river.Worker.
func (w *worker[A]) Timeout(*river.Job[A]) time.Duration { return w.timeout }

// Work implements river.Worker. It makes one attempt.
func (w *worker[A]) Work(ctx context.Context, job *river.Job[A]) error {
	retryAfter, err := w.work(ctx, job.Args)
	if err != nil {
		return err
	}
	if retryAfter > 0 {
		return river.JobSnooze(retryAfter)
	}
	return nil
}

// Trigger inserts jobs for events of some types.
type Trigger struct {
	// Name identifies the trigger among the subscribers of events, so it never changes.
	Name string
	// Events are the types of events. Types are more of them, as names or prefixes with a star.
	Events []*op.EventType
	Types  []string
	// Args returns the arguments of the job for an event.
	Args func(events.Event) (Args, error)
	// Batch, if set in place of Args, returns the jobs for a batch of events, perhaps none. It
	// can write with tx, in the transaction that inserts the jobs.
	Batch func(ctx context.Context, tx pgx.Tx, list []events.Event) ([]Args, error)
}

// jobs returns the arguments of the jobs for a batch of events.
func (t Trigger) jobs(ctx context.Context, tx pgx.Tx, list []events.Event) ([]Args, error) {
	if t.Batch != nil {
		return t.Batch(ctx, tx, list)
	}
	all := make([]Args, len(list))
	for n, e := range list {
		var err error
		if all[n], err = t.Args(e); err != nil {
			return nil, fmt.Errorf("jobs: %s: %w", e.Type, err)
		}
	}
	return all, nil
}

// inserter inserts the jobs of triggers. Its client is set when all workers are known.
type inserter struct {
	client *river.Client[pgx.Tx]
	// queues contains the queue of each kind that has one of its own.
	queues map[string]string
}

// subscriber returns the subscriber of a trigger. It inserts the jobs in the transaction that
// marks their events as processed, so no job is lost or inserted twice.
func (i *inserter) subscriber(t Trigger) events.Subscriber {
	types := slices.Clone(t.Types)
	for _, e := range t.Events {
		types = append(types, e.Name)
	}
	return events.Subscriber{Name: t.Name, Types: types, Handle: func(ctx context.Context, tx pgx.Tx, list []events.Event) error {
		all, err := t.jobs(ctx, tx, list)
		if err != nil || len(all) == 0 {
			return err
		}
		inserted := make([]river.InsertManyParams, len(all))
		for n, args := range all {
			inserted[n] = river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{Queue: i.queues[args.Kind()]}}
		}
		_, err = i.client.InsertManyTx(ctx, tx, inserted)
		return err
	}}
}
