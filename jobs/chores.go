package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"

	"parapet/internal/clock"
)

// maintenanceArgs asks for what the modules do by themselves and soon: what falls due
// within minutes, where retention has hours.
type maintenanceArgs struct{}

// Kind is the job's name.
func (maintenanceArgs) Kind() string { return "chores" }

type maintenanceWorker struct {
	river.WorkerDefaults[maintenanceArgs]
	clock       clock.Clock
	log         *slog.Logger
	maintenance []Housekeeper
}

// Work does one after the other; the failure of one holds up no other.
func (w *maintenanceWorker) Work(ctx context.Context, _ *river.Job[maintenanceArgs]) error {
	var failures error
	for _, h := range w.maintenance {
		n, err := h.Run(ctx, w.clock.Now())
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("chores: %s: %w", h.Name, err))
			continue
		}
		if n > 0 {
			w.log.InfoContext(ctx, "chores", "of", h.Name, "done", n)
		}
	}
	return failures
}
