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
)

// queue is one subscriber's deliveries.
type queue struct {
	cfg        Config
	subscriber Subscriber
	wakeSignal chan struct{}

	mu sync.Mutex
	// size is how many events the next batch may hold: one after a batch that
	// took too long, twice as many after each success.
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
	loop(ctx, q.cfg.Tick, q.wakeSignal, func() bool {
		n, err := q.deliver(ctx)
		if err != nil && ctx.Err() == nil {
			q.cfg.Log.ErrorContext(ctx, "events: a batch was not delivered", "subscriber", q.subscriber.Name, "error", err)
		}
		return n > 0 && err == nil
	})
}

// A queue is read from its beginning, in the order of its index, until a batch is
// full. With wrong statistics the server would rather read and sort all that waits,
// for each batch anew. So the other ways are off in the transaction while the queue
// is read; sqlAnyOrder allows them again before a subscriber's own statements.
const sqlAnyOrder = `
SET LOCAL enable_seqscan TO DEFAULT; SET LOCAL enable_bitmapscan TO DEFAULT; SET LOCAL enable_sort TO DEFAULT`

// sqlTurn lets one dispatcher at a time deliver to a subscriber, and bounds the
// statements of the transaction, so that the server ends a slow one and the
// transaction can go on without it.
const sqlTurn = `
SELECT set_config('statement_timeout', @timeout, true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
       pg_advisory_xact_lock(hashtextextended('parapet events ' || @subscriber::text, 0))`

// freshPlan makes the server plan a statement for the tables and the arguments as
// they are at each execution. A plan that it made and kept while a queue was empty
// would go through the whole queue once for each row of it.
const freshPlan = pgx.QueryExecModeCacheDescribe

// sqlDue takes what is due, in order, and locks it. It leaves out what stands
// behind an event of the same aggregate that waits for another attempt. Those
// events are collected once, whatever the plan: NOT IN looks each row up in a hash
// table, where NOT EXISTS could become a scan of the queue for each row. LIMIT 1
// makes the look-up of each event one by its key, where a join could read the whole
// outbox for each batch.
const sqlDue = `
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
		Sequence: d.Position, OccurredAt: d.OccurredAt.UTC(), CorrelationID: d.CorrelationID, Payload: d.Payload,
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

// errTooLong says that a handler used up its time and took the connection with
// it.
var errTooLong = errors.New("events: the subscriber took too long")

// errNotRemoved says that a batch was handled and its deliveries could not be
// deleted. The whole transaction is rolled back, and no attempt is counted.
var errNotRemoved = errors.New("events: the deliveries were not removed")

// deliver gives the subscriber one batch and says how many deliveries it is rid
// of. The effect, the processed ids and the end of the deliveries are one
// transaction: killed anywhere, it happened whole or not at all.
func (q *queue) deliver(ctx context.Context) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var due []delivery
	done := 0
	err := q.deliverInOrder(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		var err error
		due, err = postgres.Collect[delivery](ctx, tx, sqlDue, freshPlan, postgres.Args{"subscriber": q.subscriber.Name, "batch": q.size})
		if err != nil || len(due) == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, sqlAnyOrder, pgx.QueryExecModeSimpleProtocol); err != nil {
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
	case errors.Is(err, errTooLong) && ctx.Err() == nil && len(due) == 1:
		return 0, q.deliverInOrder(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			return q.postpone(ctx, tx, &due[0], err)
		})
	case errors.Is(err, errTooLong):
		q.size = 1
		return 0, err
	case err != nil:
		return 0, err
	}
	q.size = min(2*q.size, q.cfg.Batch)
	return done, nil
}

// deliverInOrder runs f in a transaction that has the subscriber's turn.
func (q *queue) deliverInOrder(ctx context.Context, f func(context.Context, *postgres.Tx) error) error {
	return q.cfg.Pool.InTx(ctx, "", nil, func(tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, sqlTurn, postgres.Args{
			"subscriber": q.subscriber.Name,
			"timeout":    strconv.FormatInt(max(q.cfg.HandleTimeout.Milliseconds()*9/10, 1), 10),
		})
		if err != nil {
			return err
		}
		// The check comes after the lock on the turn, so the previous holder's
		// transaction has ended.
		if err := checkLease(ctx, tx); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}

// isConnectionLost tells whether a failure is not the events': the work was called off, or
// the connection is gone. Then nothing is counted, and nothing can be written.
func isConnectionLost(ctx context.Context, tx *postgres.Tx) bool {
	return ctx.Err() != nil || tx.Raw().Conn().IsClosed()
}

const (
	sqlProcessed = `
INSERT INTO events.processed (tenant_id, subscriber, event_id)
SELECT tenant_id, @subscriber, event_id FROM unnest(@tenants::uuid[], @ids::uuid[]) AS e (tenant_id, event_id)
ON CONFLICT DO NOTHING
RETURNING event_id`
	sqlDelivered = `
DELETE FROM events.deliveries d
USING unnest(@tenants::uuid[], @ids::uuid[]) AS e (tenant_id, event_id)
WHERE d.tenant_id = e.tenant_id AND d.subscriber = @subscriber AND d.event_id = e.event_id`
)

// attempt hands a batch to the subscriber inside a savepoint, and then deletes its
// deliveries outside of it. The transaction itself has locked these rows, so a
// deletion in the savepoint would leave two transaction ids on each row. The server
// does not clean the index of such rows, and each batch would read all of them anew.
func (q *queue) attempt(ctx context.Context, tx *postgres.Tx, due []delivery) error {
	args := postgres.Args{"subscriber": q.subscriber.Name}
	tenants, ids := make([]op.UUID, len(due)), make([]op.UUID, len(due))
	for i, d := range due {
		tenants[i], ids[i] = d.TenantID, d.ID
	}
	args["tenants"], args["ids"] = tenants, ids
	err := tx.Savepoint(ctx, func(sp postgres.Querier) error {
		fresh, err := postgres.CollectScalars[op.UUID](ctx, sp, sqlProcessed, freshPlan, args)
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
	if _, err := tx.Exec(ctx, sqlDelivered, freshPlan, args); err != nil {
		return fmt.Errorf("%w: %w", errNotRemoved, err)
	}
	return nil
}

// handle calls the subscriber, bounded in time; a panic is an error like others.
func (q *queue) handle(ctx context.Context, sp postgres.Querier, events []Event) (err error) {
	ctx, cancel := context.WithTimeout(ctx, q.cfg.HandleTimeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("events: subscriber %s panicked: %v", q.subscriber.Name, r)
		}
		if err != nil && ctx.Err() == context.DeadlineExceeded {
			err = fmt.Errorf("%w: %w", errTooLong, err)
		}
	}()
	return q.subscriber.Handle(ctx, sp, slices.Clip(events))
}

// isolate gives the events of a failed batch one by one. The first failure of an
// aggregate leaves its later events for another time.
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

const sqlPostpone = `
UPDATE events.deliveries
SET attempts = @attempts, last_error = @error, next_attempt_at = now() + @wait::interval,
    parked_at = CASE WHEN @park::boolean THEN now() END
WHERE tenant_id = @tenant AND subscriber = @subscriber AND event_id = @id`

// postpone counts a failure, and parks the event when it was the last one that
// is allowed.
func (q *queue) postpone(ctx context.Context, tx *postgres.Tx, d *delivery, failure error) error {
	attempts := d.Attempts + 1
	park := attempts >= q.cfg.MaxAttempts
	_, err := tx.Exec(ctx, sqlPostpone, postgres.Args{
		"attempts": attempts, "error": storableText(failure), "wait": q.cfg.Backoff(attempts), "park": park,
		"tenant": d.TenantID, "subscriber": q.subscriber.Name, "id": d.ID,
	})
	if err != nil {
		return errors.Join(err, failure)
	}
	level, text := q.cfg.Log.WarnContext, "events: a delivery failed and will be tried again"
	if park {
		level, text = q.cfg.Log.ErrorContext, "events: a delivery failed too often and is parked"
	}
	level(ctx, text, "subscriber", q.subscriber.Name, "event", d.ID, "type", d.Type, "tenant", d.TenantID,
		"attempts", attempts, "error", failure)
	return nil
}

// storableText cuts an error's text to what a text column takes.
func storableText(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", ""), "?")
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "")
	}
	return text
}
