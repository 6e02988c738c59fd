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

// Retention says how long what is done with is kept.
type Retention struct {
	// Events are dispatched events, processed ids and notifications; 30 days if zero.
	Events time.Duration
	// Decisions are lines of the decision log; 90 days if zero.
	Decisions time.Duration
	// IdempotencyKeys are kept answers; 24 hours if zero.
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

// Housekeeper is a module's own retention: a module is the only writer of its
// schema, so it deletes what it need not keep (ended sessions, say) itself.
type Housekeeper struct {
	Name string
	// Run deletes what is not needed at now, or does what is due, and says how many
	// rows those were.
	Run func(ctx context.Context, now time.Time) (int64, error)
}

type retentionArgs struct{}

// Kind is the job's name.
func (retentionArgs) Kind() string { return "retention" }

type retentionWorker struct {
	river.WorkerDefaults[retentionArgs]
	pool   *postgres.Pool
	clock  clock.Clock
	log    *slog.Logger
	keep   Retention
	others []Housekeeper
}

const sqlPruneIdempotency = `DELETE FROM events.idempotency_keys WHERE created_at < @before`

// Work prunes one after the other; the failure of one holds up no other.
func (w *retentionWorker) Work(ctx context.Context, _ *river.Job[retentionArgs]) error {
	now := w.clock.Now()
	all := append([]Housekeeper{
		{"events", func(ctx context.Context, now time.Time) (int64, error) {
			return events.Prune(ctx, w.pool, now.Add(-w.keep.Events))
		}},
		{"decision log", func(ctx context.Context, now time.Time) (int64, error) {
			return decisionlog.Prune(ctx, w.pool, now.Add(-w.keep.Decisions))
		}},
		{"idempotency keys", func(ctx context.Context, now time.Time) (int64, error) {
			tag, err := w.pool.Exec(ctx, sqlPruneIdempotency, postgres.Args{"before": now.Add(-w.keep.IdempotencyKeys)})
			return tag.RowsAffected(), err
		}},
	}, w.others...)
	var failures error
	for _, h := range all {
		n, err := h.Run(ctx, now)
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("retention: %s: %w", h.Name, err))
			continue
		}
		if n > 0 {
			w.log.InfoContext(ctx, "retention", "of", h.Name, "deleted", n)
		}
	}
	return failures
}
