package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"

	"parapet/internal/clock"
)

// maintenanceArgs are the arguments of the job that runs the modules' maintenance. It runs
// every minute, and retention every hour.
type maintenanceArgs struct{}

// Kind implements river.JobArgs. The database stores the kind, so it never changes.
func (maintenanceArgs) Kind() string { return "chores" }

type maintenanceWorker struct {
	river.WorkerDefaults[maintenanceArgs]
	clock       clock.Clock
	log         *slog.Logger
	maintenance []Housekeeper
}

// Work implements river.Worker. It runs all tasks even if one of them fails.
func (w *maintenanceWorker) Work(ctx context.Context, _ *river.Job[maintenanceArgs]) error {
	var failures error
	for _, h := range w.maintenance {
		n, err := h.Run(ctx, w.clock.Now())
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("maintenance: %s: %w", h.Name, err))
			continue
		}
		if n > 0 {
			w.log.InfoContext(ctx, "maintenance task done", "task", h.Name, "count", n)
		}
	}
	return failures
}
