package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres"
	"parapet/internal/telemetry"
)

// Subscriber consumes events. Handle receives a batch in order, inside a
// transaction of parapet_jobs. It must write only through tx, because other effects are
// not rolled back with the batch. If Handle returns an error, the events of the batch are
// delivered again one by one.
type Subscriber struct {
	// Name identifies the subscriber's queue and its processed events, so it must never change.
	Name string
	// Types are event types or prefixes with a star: directory.user.*
	Types  []string
	Handle func(ctx context.Context, tx pgx.Tx, events []Event) error
}

// Config configures a Dispatcher.
type Config struct {
	// Pool is a pool of parapet_jobs.
	Pool        *postgres.Pool
	Subscribers []Subscriber
	Log         *slog.Logger
	// Tracer traces deliveries; nil if tracing is off.
	Tracer *telemetry.Tracer
	// Tick is how often the leader polls the outbox without a notification; 1 s if zero.
	Tick time.Duration
	// Batch is how many events are moved per transaction; 500 if zero.
	Batch int
	// MaxAttempts is the number of failures after which an event is parked; 8 if zero.
	MaxAttempts int
	// Backoff returns the wait after the n-th failure; 1 s, 2 s, 4 s … 5 min if nil.
	Backoff func(attempt int) time.Duration
	// HandleTimeout limits one call of Handle; 30 s if zero.
	HandleTimeout time.Duration
}

// Dispatcher moves events from the outbox to the subscribers' queues and delivers them
// from the queues to the subscribers.
type Dispatcher struct {
	cfg    Config
	queues []*queue
}

// NewDispatcher validates the configuration and returns a Dispatcher.
func NewDispatcher(cfg Config) (*Dispatcher, error) {
	if cfg.Pool == nil {
		return nil, errors.New("events: a dispatcher needs a pool")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Tick = orDefault(cfg.Tick, time.Second)
	cfg.Batch = orDefault(cfg.Batch, 500)
	cfg.MaxAttempts = orDefault(cfg.MaxAttempts, 8)
	cfg.HandleTimeout = orDefault(cfg.HandleTimeout, 30*time.Second)
	if cfg.Backoff == nil {
		cfg.Backoff = func(attempt int) time.Duration {
			return min(time.Second<<min(attempt-1, 10), 5*time.Minute)
		}
	}
	d := &Dispatcher{cfg: cfg}
	names := make(map[string]bool)
	for _, s := range cfg.Subscribers {
		if s.Name == "" || s.Handle == nil || len(s.Types) == 0 || names[s.Name] {
			return nil, fmt.Errorf("events: subscriber %q needs a unique name, types and a handler", s.Name)
		}
		names[s.Name] = true
		d.queues = append(d.queues, newQueue(cfg, s))
	}
	return d, nil
}

func orDefault[T int | time.Duration](v, or T) T {
	if v <= 0 {
		return or
	}
	return v
}

// routingLockSQL lets one dispatcher at a time move events to the queues. It also makes
// the server read the outbox in index order (see resetPlannerSQL).
const routingLockSQL = `
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
       pg_advisory_xact_lock(hashtextextended('parapet routing', 0))`

// routeSQL moves one batch. It locks the rows in order and does not skip locked rows, so
// a second dispatcher waits for the first and then continues after its rows. A
// locked row does not move, so its ctid finds it without a join.
const routeSQL = `
WITH batch AS MATERIALIZED (
	SELECT ctid AS location, tenant_id, id, position, type, aggregate_type, aggregate_id
	FROM events.outbox
	WHERE dispatched_at IS NULL
	ORDER BY position
	LIMIT @batch
	FOR UPDATE
), routed AS (
	INSERT INTO events.deliveries (tenant_id, subscriber, event_id, position, aggregate_type, aggregate_id)
	SELECT DISTINCT b.tenant_id, s.name, b.id, b.position, b.aggregate_type, b.aggregate_id
	FROM batch b
	JOIN unnest(@subscribers::text[], @patterns::text[]) AS s (name, pattern)
	  ON b.type = s.pattern OR (right(s.pattern, 1) = '*' AND starts_with(b.type, left(s.pattern, -1)))
	ON CONFLICT DO NOTHING
), marked AS (
	UPDATE events.outbox o SET dispatched_at = now()
	WHERE o.ctid = ANY (ARRAY (SELECT b.location FROM batch b))
)
SELECT count(*) FROM batch`

// route moves up to one batch from the outbox to the queues and returns the number of
// events.
func (d *Dispatcher) route(ctx context.Context) (int, error) {
	var names, patterns []string
	for _, s := range d.cfg.Subscribers {
		for _, t := range s.Types {
			names, patterns = append(names, s.Name), append(patterns, t)
		}
	}
	var n int
	err := d.cfg.Pool.InTx(ctx, "", nil, func(tx *postgres.Tx) error {
		if _, err := tx.Exec(ctx, routingLockSQL); err != nil {
			return err
		}
		// Check after taking the lock: the previous holder's transaction has ended, and the next leader
		// waits for the end of this one.
		if err := checkLease(ctx, tx); err != nil {
			return err
		}
		return tx.QueryRow(ctx, routeSQL, freshPlan, postgres.Args{
			"batch": d.cfg.Batch, "subscribers": names, "patterns": patterns,
		}).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("events: route: %w", err)
	}
	return n, nil
}

// Drain routes and delivers events until none is due, and returns how many events it
// moved. Events that are parked or wait for a retry remain.
func (d *Dispatcher) Drain(ctx context.Context) (int, error) {
	moved := 0
	for {
		n, err := d.route(ctx)
		if err != nil {
			return moved, err
		}
		moved += n
		for _, q := range d.queues {
			for {
				delivered, err := q.deliver(ctx)
				if err != nil {
					return moved, err
				}
				if delivered == 0 {
					break
				}
			}
		}
		if n == 0 {
			return moved, nil
		}
	}
}

// dispatch dispatches until ctx ends. Each subscriber is served by its own goroutine.
func (d *Dispatcher) dispatch(ctx context.Context, woken <-chan struct{}) {
	var running sync.WaitGroup
	for _, q := range d.queues {
		running.Go(func() { q.run(ctx) })
	}
	defer running.Wait()
	pollLoop(ctx, d.cfg.Tick, woken, func() bool {
		n, err := d.route(ctx)
		if err != nil {
			if ctx.Err() == nil {
				d.cfg.Log.ErrorContext(ctx, "events: routing events from the outbox failed", "error", err)
			}
			return false
		}
		if n > 0 {
			for _, q := range d.queues {
				q.wake()
			}
		}
		return n > 0
	})
}

// After a loop has found work, it polls recheckCount times at recheckInterval before it
// waits for the next tick, because a notification may have been skipped (see notifySQL).
const (
	recheckInterval = 20 * time.Millisecond
	recheckCount    = 15
)

// pollLoop calls work when woken and at each tick, and repeats it while work reports that
// it found something.
func pollLoop(ctx context.Context, tick time.Duration, woken <-chan struct{}, work func() bool) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	rechecks := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-woken:
			rechecks = recheckCount
		case <-timer.C:
			rechecks = max(rechecks-1, 0)
		}
		for work() {
			rechecks = recheckCount
			if ctx.Err() != nil {
				return
			}
		}
		if rechecks > 0 {
			timer.Reset(min(recheckInterval, tick))
		} else {
			timer.Reset(tick)
		}
	}
}
