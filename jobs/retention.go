package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"parapet/internal/clock"
	"parapet/internal/decisionlog"
	"parapet/internal/events"
	"parapet/internal/postgres"
)

// Retention configures how long old rows are kept.
type Retention struct {
	// Events is for dispatched events, processed ids and notifications; 30 days if zero.
	Events time.Duration
	// Decisions is for records of the decision log; 90 days if zero.
	Decisions time.Duration
	// IdempotencyKeys is for stored responses; 24 hours if zero.
	IdempotencyKeys time.Duration
}

func (r Retention) withDefaults() Retention {
	const day = 24 * time.Hour
	if r.Events <= 0 {
		r.Events = 30 * day
	}
	if r.Decisions <= 0 {
		r.Decisions = 90 * day
	}
	if r.IdempotencyKeys <= 0 {
		r.IdempotencyKeys = day
	}
	return r
}

// Housekeeper is a module's own retention or maintenance. Each module deletes its own rows,
// such as ended sessions, because only it writes to its schema.
type Housekeeper struct {
	Name string
	// Run does the work that is due at now, for example deletes expired rows. It returns the
	// number of rows.
	Run func(ctx context.Context, now time.Time) (int64, error)
}

type retentionArgs struct{}

// Kind implements river.JobArgs.
func (retentionArgs) Kind() string { return "retention" }

type retentionWorker struct {
	river.WorkerDefaults[retentionArgs]
	pool  *postgres.Pool
	clock clock.Clock
	log   *slog.Logger
	// retention is for the rows that this package deletes itself.
	retention    Retention
	housekeepers []Housekeeper
}

const pruneIdempotencySQL = `DELETE FROM events.idempotency_keys WHERE created_at < @before`

// Work implements river.Worker. It runs all housekeepers even if one of them fails.
func (w *retentionWorker) Work(ctx context.Context, _ *river.Job[retentionArgs]) error {
	now := w.clock.Now()
	all := append([]Housekeeper{
		{"events", func(ctx context.Context, now time.Time) (int64, error) {
			return events.Prune(ctx, w.pool, now.Add(-w.retention.Events))
		}},
		{"decision log", func(ctx context.Context, now time.Time) (int64, error) {
			return decisionlog.Prune(ctx, w.pool, now.Add(-w.retention.Decisions))
		}},
		{"idempotency keys", func(ctx context.Context, now time.Time) (int64, error) {
			tag, err := w.pool.Exec(ctx, pruneIdempotencySQL, postgres.Args{"before": now.Add(-w.retention.IdempotencyKeys)})
			return tag.RowsAffected(), err
		}},
	}, w.housekeepers...)
	var failures error
	for _, h := range all {
		n, err := h.Run(ctx, now)
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("retention: %s: %w", h.Name, err))
			continue
		}
		if n > 0 {
			w.log.InfoContext(ctx, "retention: old rows deleted", "housekeeper", h.Name, "deleted", n)
		}
	}
	return failures
}
