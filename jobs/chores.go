package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"

	"parapet/internal/clock"
)

// choresArgs asks for what the modules do by themselves and soon: what falls due
// within minutes, where retention has hours.
type choresArgs struct{}

// Kind is the job's name.
func (choresArgs) Kind() string { return "chores" }

type choresWorker struct {
	river.WorkerDefaults[choresArgs]
	clock  clock.Clock
	log    *slog.Logger
	chores []Housekeeper
}

// Work does one after the other; the failure of one holds up no other.
func (w *choresWorker) Work(ctx context.Context, _ *river.Job[choresArgs]) error {
	var failures error
	for _, h := range w.chores {
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
