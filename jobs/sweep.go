package jobs

import (
	"context"

	"github.com/riverqueue/river"
)

// sweepArgs are the arguments of a job that dispatches events once. While the dispatcher is
// connected, the job finds nothing to do. It limits the delay while the dispatcher cannot
// connect, and with a connection pooler in transaction mode, where LISTEN does not work.
type sweepArgs struct{}

// Kind implements river.JobArgs.
func (sweepArgs) Kind() string { return "outbox_sweep" }

type drainer interface {
	Drain(ctx context.Context) (int, error)
}

type sweepWorker struct {
	river.WorkerDefaults[sweepArgs]
	dispatcher drainer
}

// Work implements river.Worker. It delivers the due events.
func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[sweepArgs]) error {
	_, err := w.dispatcher.Drain(ctx)
	return err
}
