package events

import (
	"context"
	"errors"
	"time"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Listed is an event of the outbox, for operators.
type Listed struct {
	OccurredAt    time.Time
	TenantID      op.UUID
	ID            op.UUID
	Type          string
	AggregateType string
	AggregateID   string
	// DispatchedAt is nil if the event is not in the queues of its subscribers yet.
	DispatchedAt *time.Time
	// Pending and Parked are the numbers of its deliveries that wait or were parked.
	Pending int
	Parked  int
}

// ListFilter selects events. Empty fields select all.
type ListFilter struct {
	Tenant op.UUID
	// Type is a type of event, or a prefix with a star at its end.
	Type string
	// Aggregate is the id of the record that the events are about.
	Aggregate string
	Since     time.Time
	Limit     int
}

const listSQL = `
SELECT o.occurred_at, o.tenant_id, o.id, o.type, o.aggregate_type, o.aggregate_id, o.dispatched_at,
       (SELECT count(*) FROM events.deliveries d WHERE d.tenant_id = o.tenant_id AND d.event_id = o.id AND d.parked_at IS NULL) AS pending,
       (SELECT count(*) FROM events.deliveries d WHERE d.tenant_id = o.tenant_id AND d.event_id = o.id AND d.parked_at IS NOT NULL) AS parked
FROM events.outbox o
WHERE (@tenant = '' OR o.tenant_id = nullif(@tenant, '')::uuid)
  AND (@type = '' OR o.type = @type OR (right(@type, 1) = '*' AND starts_with(o.type, left(@type, -1))))
  AND (@aggregate = '' OR o.aggregate_id = @aggregate)
  AND o.occurred_at >= @since
ORDER BY o.position DESC
LIMIT @limit`

// List returns events, newest first. q's role must be parapet_jobs, which sees all tenants.
func List(ctx context.Context, q postgres.Querier, f ListFilter) ([]Listed, error) {
	list, err := postgres.Collect[Listed](ctx, q, listSQL, postgres.Args{
		"tenant": string(f.Tenant), "type": f.Type, "aggregate": f.Aggregate, "since": f.Since, "limit": f.Limit,
	})
	return list, postgres.MapError(err)
}

// ErrNoEvent is the error for an event that does not exist, or no longer after its retention.
var ErrNoEvent = errors.New("events: no such event")

// subscribersSQL reads the whole of events.processed, which operators rarely need.
const subscribersSQL = `
SELECT subscriber FROM events.processed UNION SELECT subscriber FROM events.deliveries ORDER BY 1`

// SubscriberNames returns the names of the subscribers that have received an event within the
// retention period, in alphabetical order.
func SubscriberNames(ctx context.Context, q postgres.Querier) ([]string, error) {
	names, err := postgres.CollectScalars[string](ctx, q, subscribersSQL)
	return names, postgres.MapError(err)
}

const (
	dispatchedSQL  = `SELECT 1 FROM events.outbox o WHERE o.id = @id AND o.dispatched_at IS NOT NULL`
	forgetEventSQL = `DELETE FROM events.processed p WHERE p.event_id = @id AND p.subscriber = @subscriber`
	requeueSQL     = `
INSERT INTO events.deliveries (tenant_id, subscriber, event_id, position, aggregate_type, aggregate_id)
SELECT o.tenant_id, @subscriber, o.id, o.position, o.aggregate_type, o.aggregate_id
FROM events.outbox o WHERE o.id = @id
ON CONFLICT (tenant_id, subscriber, event_id) DO UPDATE SET parked_at = NULL, attempts = 0, next_attempt_at = now()`
)

// Replay delivers an event to a subscriber again, also if the subscriber has handled it. The
// caller must know that the subscriber accepts the event twice. An event that is not in the
// queues of its subscribers yet is ErrNoEvent: it is about to be delivered.
func Replay(ctx context.Context, pool *postgres.Pool, id op.UUID, subscriber string) error {
	return pool.InTx(ctx, "", nil, func(tx *postgres.Tx) error {
		args := postgres.Args{"id": id, "subscriber": subscriber}
		var found int
		if err := tx.QueryRow(ctx, dispatchedSQL, postgres.Args{"id": id}).Scan(&found); postgres.IsNoRows(err) {
			return ErrNoEvent
		} else if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, forgetEventSQL, args); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, requeueSQL, args); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, notifySQL)
		return err
	})
}
