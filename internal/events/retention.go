package events

import (
	"context"
	"fmt"
	"time"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Backlog counts events that are not delivered yet.
type Backlog struct {
	// Undispatched counts events that are not in any queue yet.
	Undispatched int64
	// Undelivered counts deliveries in the subscribers' queues.
	Undelivered int64
	// Parked counts deliveries that failed too often.
	Parked int64
}

// Empty reports whether nothing is left to deliver, except parked deliveries.
func (b Backlog) Empty() bool { return b.Undispatched == 0 && b.Undelivered == 0 }

const pendingSQL = `
SELECT (SELECT count(*) FROM events.outbox WHERE dispatched_at IS NULL) AS undispatched,
       (SELECT count(*) FROM events.deliveries WHERE parked_at IS NULL) AS undelivered,
       (SELECT count(*) FROM events.deliveries WHERE parked_at IS NOT NULL) AS parked`

// Pending returns the backlog of all tenants. q must use parapet_jobs.
func Pending(ctx context.Context, q postgres.Querier) (Backlog, error) {
	b, err := postgres.One[Backlog](ctx, q, pendingSQL)
	if err != nil {
		return Backlog{}, postgres.MapError(err)
	}
	return b, nil
}

// pruneBatch limits how many rows one statement of Prune deletes.
const pruneBatch = 5000

var pruneStatements = [...]string{
	`DELETE FROM events.outbox WHERE (tenant_id, id) IN (
		SELECT o.tenant_id, o.id FROM events.outbox o
		WHERE o.dispatched_at < @before
		  AND NOT EXISTS (SELECT 1 FROM events.deliveries d WHERE d.tenant_id = o.tenant_id AND d.event_id = o.id)
		LIMIT @batch)`,
	`DELETE FROM events.processed WHERE (tenant_id, subscriber, event_id) IN (
		SELECT p.tenant_id, p.subscriber, p.event_id FROM events.processed p
		WHERE p.processed_at < @before
		  AND NOT EXISTS (SELECT 1 FROM events.outbox o WHERE o.tenant_id = p.tenant_id AND o.id = p.event_id)
		LIMIT @batch)`,
	`DELETE FROM events.notifications WHERE (tenant_id, id) IN (
		SELECT tenant_id, id FROM events.notifications WHERE created_at < @before LIMIT @batch)`,
}

// Prune deletes events, processed ids and notifications that are older than before, in
// small statements. It keeps events that a queue still contains, including parked ones,
// and the processed ids of events that it keeps.
func Prune(ctx context.Context, q postgres.Querier, before time.Time) (int64, error) {
	var total int64
	for _, sql := range pruneStatements {
		n, err := postgres.DeleteInBatches(ctx, q, pruneBatch, sql, freshPlan, postgres.Args{"before": before, "batch": pruneBatch})
		total += n
		if err != nil {
			return total, fmt.Errorf("events: prune: %w", err)
		}
	}
	return total, nil
}

// Parked is a delivery that failed too often. It stays until it is unparked.
type Parked struct {
	TenantID   op.UUID
	Subscriber string
	EventID    op.UUID
	Type       string
	Attempts   int
	ParkedAt   time.Time
	LastError  string
}

const parkedSQL = `
SELECT d.tenant_id, d.subscriber, d.event_id, o.type, d.attempts, d.parked_at, coalesce(d.last_error, '') AS last_error
FROM events.deliveries d JOIN events.outbox o ON o.tenant_id = d.tenant_id AND o.id = d.event_id
WHERE d.parked_at IS NOT NULL ORDER BY d.parked_at, d.tenant_id, d.event_id LIMIT @limit`

// ListParked returns the oldest parked deliveries of all tenants. q must use
// parapet_jobs.
func ListParked(ctx context.Context, q postgres.Querier, limit int) ([]Parked, error) {
	list, err := postgres.Collect[Parked](ctx, q, parkedSQL, postgres.Args{"limit": limit})
	return list, postgres.MapError(err)
}

const unparkSQL = `
UPDATE events.deliveries SET parked_at = NULL, attempts = 0, next_attempt_at = now()
WHERE parked_at IS NOT NULL AND subscriber = @subscriber`

// Unpark returns a subscriber's parked deliveries to its queue, after the cause of
// their failure was fixed.
func Unpark(ctx context.Context, q postgres.Querier, subscriber string) (int64, error) {
	tag, err := q.Exec(ctx, unparkSQL, postgres.Args{"subscriber": subscriber})
	return tag.RowsAffected(), postgres.MapError(err)
}
