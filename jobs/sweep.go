package jobs

import (
	"context"

	"github.com/riverqueue/river"
)

// sweepArgs asks for one round of dispatching. The dispatcher does not need it
// while it has its connection; behind a transaction-mode pooler, where a lock of
// a session and a LISTEN mean nothing, or while its connection cannot be made,
// this is what bounds the wait.
type sweepArgs struct{}

// Kind is the job's name.
func (sweepArgs) Kind() string { return "outbox_sweep" }

type drainer interface {
	Drain(ctx context.Context) (int, error)
}

type sweepWorker struct {
	river.WorkerDefaults[sweepArgs]
	dispatcher drainer
}

// Work delivers what is due.
func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[sweepArgs]) error {
	_, err := w.dispatcher.Drain(ctx)
	return err
}
