package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/telemetry"
)

// queue holds one subscriber's deliveries.
type queue struct {
	cfg        Config
	subscriber Subscriber
	wakeSignal chan struct{}

	mu sync.Mutex
	// size is the maximum number of events in the next batch: one after a batch that
	// timed out, doubled after each success.
	size int
}

func newQueue(cfg Config, s Subscriber) *queue {
	return &queue{cfg: cfg, subscriber: s, wakeSignal: make(chan struct{}, 1), size: cfg.Batch}
}

func (q *queue) wake() {
	select {
	case q.wakeSignal <- struct{}{}:
	default:
	}
}

func (q *queue) run(ctx context.Context) {
	pollLoop(ctx, q.cfg.Tick, q.wakeSignal, func() bool {
		n, err := q.deliver(ctx)
		if err != nil && ctx.Err() == nil {
			q.cfg.Log.ErrorContext(ctx, "events: delivering a batch failed", "subscriber", q.subscriber.Name, "error", err)
		}
		return n > 0 && err == nil
	})
}

// resetPlannerSQL enables all plan types again before the subscriber's own statements.
// While the queue is read they are disabled: it must be read in index order until the
// batch is full, but with wrong statistics the planner would read and sort the whole
// queue for each batch.
const resetPlannerSQL = `
SET LOCAL enable_seqscan TO DEFAULT; SET LOCAL enable_bitmapscan TO DEFAULT; SET LOCAL enable_sort TO DEFAULT`

// deliveryLockSQL lets one dispatcher at a time deliver to a subscriber. It also limits
// the statements of the transaction, so the server ends a slow one and the transaction can
// continue.
const deliveryLockSQL = `
SELECT set_config('statement_timeout', @timeout, true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
       pg_advisory_xact_lock(hashtextextended('parapet events ' || @subscriber::text, 0))`

// freshPlan makes the server plan a statement at each execution. A cached plan that was
// made while a queue was empty would scan the whole queue once for each of its rows.
const freshPlan = pgx.QueryExecModeCacheDescribe

// dueSQL selects and locks the due deliveries in order. It skips deliveries that follow an
// event of the same aggregate that waits for a retry. NOT IN looks each row up in a hash
// table, where NOT EXISTS could become a scan of the queue for each row. LIMIT 1 makes
// the server look up each event by its key, where a join could read the whole outbox for
// each batch.
const dueSQL = `
WITH waiting AS MATERIALIZED (
	SELECT f.tenant_id, f.aggregate_type, f.aggregate_id, f.position
	FROM events.deliveries f
	WHERE f.subscriber = @subscriber AND f.attempts > 0 AND f.parked_at IS NULL AND f.next_attempt_at > now()
)
SELECT d.tenant_id, d.event_id AS id, d.position, o.type, d.aggregate_type, d.aggregate_id, o.occurred_at,
       o.actor_id, o.correlation_id, o.payload, d.attempts
FROM events.deliveries d
CROSS JOIN LATERAL (
	SELECT e.type, e.occurred_at, e.actor_id, e.correlation_id, e.payload
	FROM events.outbox e WHERE e.tenant_id = d.tenant_id AND e.id = d.event_id LIMIT 1) o
WHERE d.subscriber = @subscriber AND d.parked_at IS NULL AND d.next_attempt_at <= now()
  AND ((d.tenant_id, d.aggregate_type, d.aggregate_id) NOT IN (
		SELECT f.tenant_id, f.aggregate_type, f.aggregate_id FROM waiting f)
	OR d.position < (
		SELECT min(f.position) FROM waiting f
		WHERE f.tenant_id = d.tenant_id AND f.aggregate_type = d.aggregate_type AND f.aggregate_id = d.aggregate_id))
ORDER BY d.position
LIMIT @batch
FOR UPDATE OF d`

type delivery struct {
	TenantID      op.UUID
	ID            op.UUID
	Position      int64
	Type          string
	AggregateType string
	AggregateID   string
	OccurredAt    time.Time
	ActorID       *op.UUID
	CorrelationID op.UUID
	Payload       json.RawMessage
	Attempts      int
}

func (d *delivery) event() Event {
	e := Event{
		ID: d.ID, Type: d.Type, TenantID: d.TenantID, AggregateType: d.AggregateType, AggregateID: d.AggregateID,
		Sequence: d.Position, OccurredAt: d.OccurredAt, CorrelationID: d.CorrelationID, Payload: d.Payload,
	}
	if d.ActorID != nil {
		e.ActorID = *d.ActorID
	}
	if e.TenantID == NoTenant {
		e.TenantID = ""
	}
	return e
}

func (d *delivery) aggregate() string {
	return string(d.TenantID) + " " + d.AggregateType + " " + d.AggregateID
}

// errHandleTimeout means that a handler exceeded its time limit, which also closed the
// connection.
var errHandleTimeout = errors.New("events: the subscriber took too long")

// errNotRemoved means that a batch was handled but its deliveries could not be
// deleted. The whole transaction is rolled back, and no attempt is counted.
var errNotRemoved = errors.New("events: deleting the deliveries failed")

// deliver delivers one batch and returns the number of completed deliveries. The effect,
// the processed ids and the removal of the deliveries are one transaction, so a crash
// leaves either all of them or none.
func (q *queue) deliver(ctx context.Context) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var due []delivery
	done := 0
	err := q.deliverInOrder(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		var err error
		due, err = postgres.Collect[delivery](ctx, tx, dueSQL, freshPlan, postgres.Args{"subscriber": q.subscriber.Name, "batch": q.size})
		if err != nil || len(due) == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, resetPlannerSQL, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		failure := q.attempt(ctx, tx, due)
		switch {
		case failure == nil:
			done = len(due)
			return nil
		case isConnectionLost(ctx, tx), errors.Is(failure, errNotRemoved):
			return failure
		case len(due) > 1:
			done, err = q.isolate(ctx, tx, due)
			return err
		default:
			return q.postpone(ctx, tx, &due[0], failure)
		}
	})
	switch {
	case errors.Is(err, errHandleTimeout) && ctx.Err() == nil && len(due) == 1:
		return 0, q.deliverInOrder(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			return q.postpone(ctx, tx, &due[0], err)
		})
	case errors.Is(err, errHandleTimeout):
		q.size = 1
		return 0, err
	case err != nil:
		return 0, err
	}
	q.size = min(2*q.size, q.cfg.Batch)
	return done, nil
}

// deliverInOrder runs f in a transaction that holds the subscriber's delivery lock.
func (q *queue) deliverInOrder(ctx context.Context, f func(context.Context, *postgres.Tx) error) error {
	return q.cfg.Pool.InTx(ctx, "", nil, func(tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, deliveryLockSQL, postgres.Args{
			"subscriber": q.subscriber.Name,
			"timeout":    strconv.FormatInt(max(q.cfg.HandleTimeout.Milliseconds()*9/10, 1), 10),
		})
		if err != nil {
			return err
		}
		// Check after taking the lock: the previous holder's transaction has ended.
		if err := checkLease(ctx, tx); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}

// isConnectionLost reports whether ctx was cancelled or the connection is gone. Such a
// failure does not count as an attempt, and nothing can be written.
func isConnectionLost(ctx context.Context, tx *postgres.Tx) bool {
	return ctx.Err() != nil || tx.Raw().Conn().IsClosed()
}

const (
	processedSQL = `
INSERT INTO events.processed (tenant_id, subscriber, event_id)
SELECT tenant_id, @subscriber, event_id FROM unnest(@tenants::uuid[], @ids::uuid[]) AS e (tenant_id, event_id)
ON CONFLICT DO NOTHING
RETURNING event_id`
	deliveredSQL = `
DELETE FROM events.deliveries d
USING unnest(@tenants::uuid[], @ids::uuid[]) AS e (tenant_id, event_id)
WHERE d.tenant_id = e.tenant_id AND d.subscriber = @subscriber AND d.event_id = e.event_id`
)

// attempt passes a batch to the subscriber inside a savepoint and then deletes its
// deliveries outside of the savepoint. The transaction itself has locked these rows, so a
// deletion inside the savepoint would leave two transaction ids on each row. The server does
// not remove such rows from the index, and each batch would read all of them again.
func (q *queue) attempt(ctx context.Context, tx *postgres.Tx, due []delivery) error {
	args := postgres.Args{"subscriber": q.subscriber.Name}
	tenants, ids := make([]op.UUID, len(due)), make([]op.UUID, len(due))
	for i, d := range due {
		tenants[i], ids[i] = d.TenantID, d.ID
	}
	args["tenants"], args["ids"] = tenants, ids
	err := tx.Savepoint(ctx, func(sp pgx.Tx) error {
		fresh, err := postgres.CollectScalars[op.UUID](ctx, sp, processedSQL, freshPlan, args)
		if err != nil {
			return err
		}
		events := make([]Event, 0, len(due))
		isNew := make(map[op.UUID]bool, len(fresh))
		for _, id := range fresh {
			isNew[id] = true
		}
		for i := range due {
			if isNew[due[i].ID] {
				events = append(events, due[i].event())
			}
		}
		if len(events) == 0 {
			return nil
		}
		return q.handle(ctx, sp, events)
	})
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, deliveredSQL, freshPlan, args); err != nil {
		return fmt.Errorf("%w: %w", errNotRemoved, err)
	}
	return nil
}

// handle calls the subscriber with a time limit. It returns a panic as an error.
func (q *queue) handle(ctx context.Context, sp pgx.Tx, events []Event) (err error) {
	ctx, span := q.startSpan(ctx, events)
	defer func() { span.End(err != nil) }()
	ctx, cancel := context.WithTimeout(ctx, q.cfg.HandleTimeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("events: subscriber %s panicked: %v", q.subscriber.Name, r)
		}
		if err != nil && ctx.Err() == context.DeadlineExceeded {
			err = fmt.Errorf("%w: %w", errHandleTimeout, err)
		}
	}()
	return q.subscriber.Handle(ctx, sp, slices.Clip(events))
}

// startSpan starts the span of one call of the subscriber.
func (q *queue) startSpan(ctx context.Context, events []Event) (context.Context, telemetry.Span) {
	ctx, span := q.cfg.Tracer.Start(ctx, "deliver events")
	if span.IsRecording() {
		span.SetString("parapet.subscriber", q.subscriber.Name)
		span.SetString("parapet.event_type", events[0].Type)
		span.SetInt("parapet.events", len(events))
		if len(events) == 1 {
			// The correlation id of an event is the id of the request that wrote it.
			span.SetString("parapet.tenant", string(events[0].TenantID))
			span.SetString("parapet.request_id", string(events[0].CorrelationID))
		}
	}
	return ctx, span
}

// isolate delivers the events of a failed batch one by one. After the first failure of an
// aggregate, its later events are skipped until the retry.
func (q *queue) isolate(ctx context.Context, tx *postgres.Tx, due []delivery) (done int, err error) {
	waiting := make(map[string]bool)
	for i := range due {
		d := &due[i]
		if waiting[d.aggregate()] {
			continue
		}
		failure := q.attempt(ctx, tx, due[i:i+1])
		if failure == nil {
			done++
			continue
		}
		if isConnectionLost(ctx, tx) || errors.Is(failure, errNotRemoved) {
			return 0, failure
		}
		waiting[d.aggregate()] = true
		if err := q.postpone(ctx, tx, d, failure); err != nil {
			return 0, err
		}
	}
	return done, nil
}

const postponeSQL = `
UPDATE events.deliveries
SET attempts = @attempts, last_error = @error, next_attempt_at = now() + @wait::interval,
    parked_at = CASE WHEN @park::boolean THEN now() END
WHERE tenant_id = @tenant AND subscriber = @subscriber AND event_id = @id`

// postpone records a failure and schedules a retry. After the last allowed attempt it
// parks the event.
func (q *queue) postpone(ctx context.Context, tx *postgres.Tx, d *delivery, failure error) error {
	attempts := d.Attempts + 1
	park := attempts >= q.cfg.MaxAttempts
	_, err := tx.Exec(ctx, postponeSQL, postgres.Args{
		"attempts": attempts, "error": storableText(failure), "wait": q.cfg.Backoff(attempts), "park": park,
		"tenant": d.TenantID, "subscriber": q.subscriber.Name, "id": d.ID,
	})
	if err != nil {
		return errors.Join(err, failure)
	}
	level, text := q.cfg.Log.WarnContext, "events: a delivery failed and will be retried"
	if park {
		level, text = q.cfg.Log.ErrorContext, "events: a delivery failed too often and was parked"
	}
	level(ctx, text, "subscriber", q.subscriber.Name, "event", d.ID, "type", d.Type, "tenant", d.TenantID,
		"attempts", attempts, "error", failure)
	return nil
}

// storableText converts an error's message to valid text of at most 1000 bytes.
func storableText(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", ""), "?")
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "")
	}
	return text
}
