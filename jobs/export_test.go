package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"parapet/internal/clock"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// WatchKeys runs the key expiry job once.
func WatchKeys(ctx context.Context, pool *postgres.Pool, c clock.Clock) error {
	return (&keyExpiryWorker{pool: pool, clock: c, log: slog.New(slog.DiscardHandler)}).Work(ctx, nil)
}

// Retain runs the retention job once.
func Retain(ctx context.Context, pool *postgres.Pool, c clock.Clock, others ...Housekeeper) error {
	w := &retentionWorker{pool: pool, clock: c, log: slog.New(slog.DiscardHandler), keep: Retention{}.withDefaults(), others: others}
	return w.Work(ctx, nil)
}

// WarningID is the id of a day's warning.
func WarningID(tenant, jti op.UUID, now time.Time) op.UUID { return warningID(tenant, jti, now) }

// Kinds are the kinds of all jobs that have a schedule.
func Kinds() []string {
	var kinds []string
	for _, s := range schedules(Deps{}, nil) {
		kinds = append(kinds, s.args.Kind())
	}
	return kinds
}

// TimesFit tells whether a job that is still allowed to run is never rescued.
func TimesFit() bool { return jobTimeout < rescueAfter && rescueAfter+30*time.Second <= 2*time.Minute }

// RunPeriodic gives River the schedules, to see that it takes them.
func RunPeriodic(d Deps) []*river.PeriodicJob { return periodic(schedules(d, nil), d) }
