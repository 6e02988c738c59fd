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
	w := &retentionWorker{pool: pool, clock: c, log: slog.New(slog.DiscardHandler), retention: Retention{}.withDefaults(), housekeepers: others}
	return w.Work(ctx, nil)
}

// WarningID returns the id of a day's warning.
func WarningID(tenant, jti op.UUID, now time.Time) op.UUID { return warningID(tenant, jti, now) }

// Kinds returns the kinds of all scheduled jobs.
func Kinds() []string {
	var kinds []string
	for _, s := range schedules(Deps{}, nil) {
		kinds = append(kinds, s.args.Kind())
	}
	return kinds
}

// TimesFit reports whether a job times out before it is rescued, and is rescued within two minutes.
func TimesFit() bool { return jobTimeout < rescueAfter && rescueAfter+30*time.Second <= 2*time.Minute }

// RunPeriodic returns the schedules as River's periodic jobs.
func RunPeriodic(d Deps) []*river.PeriodicJob { return periodicJobs(schedules(d, nil), d) }
