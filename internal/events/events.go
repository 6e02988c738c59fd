// Package events implements the transactional outbox: it writes domain events with their
// changes and delivers them to every subscriber.
//
// It guarantees:
//   - An event exists exactly if its change does: Append runs in the change's
//     transaction.
//   - Every subscriber receives every event of its types at least once, and its effect
//     happens once: the effect, the id of the processed event and the removal of the
//     delivery are one transaction.
//   - A subscriber receives the events of one aggregate in the order in which they
//     were written, however many dispatchers run. A failing event delays only later
//     events of the same aggregate, until it succeeds or is parked. A slow subscriber
//     delays no other subscriber.
//   - An event that keeps failing is parked after a limited number of attempts, until
//     an operator unparks it.
package events

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/clock"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// NoTenant is the tenant id that the outbox stores for an event without a tenant.
const NoTenant op.UUID = "00000000-0000-0000-0000-000000000000"

// Event is the envelope of a domain event.
type Event struct {
	// ID is a version 7 UUID; Append generates it if it is empty.
	ID op.UUID `json:"id"`
	// Type is <area>.<entity>.<past-tense verb>.
	Type string `json:"type"`
	// TenantID is empty for an event without a tenant.
	TenantID      op.UUID `json:"tenantId"`
	AggregateType string  `json:"aggregateType"`
	AggregateID   string  `json:"aggregateId"`
	// Sequence increases with each event of an aggregate, possibly with gaps. The
	// database sets it; a value from the caller is ignored.
	Sequence int64 `json:"sequence"`
	// OccurredAt defaults to the current time.
	OccurredAt    time.Time `json:"occurredAt"`
	ActorID       op.UUID   `json:"actorId,omitempty"`
	CorrelationID op.UUID   `json:"correlationId"`
	// Payload is {"resource": the public form of the changed resource, "changed": for
	// updates, the names of the changed fields, "notify": the users to notify in the feed
	// of notifications, if the event names them, "classification": that of the resource}.
	// If it is empty, {} is stored.
	Payload json.RawMessage `json:"payload"`
}

// Batcher executes statements and batches: a postgres.Tx or a pgx.Tx.
type Batcher interface {
	postgres.Querier
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

const appendSQL = `
INSERT INTO events.outbox
	(tenant_id, id, type, aggregate_type, aggregate_id, occurred_at, actor_id, correlation_id, payload)
SELECT tenant_id, id, type, aggregate_type, aggregate_id, occurred_at, nullif(actor_id, '')::uuid, correlation_id, payload::jsonb
FROM unnest(@tenants::uuid[], @ids::uuid[], @types::text[], @aggregate_types::text[], @aggregate_ids::text[],
            @occurred::timestamptz[], @actors::text[], @correlations::uuid[], @payloads::text[])
     WITH ORDINALITY AS e (tenant_id, id, type, aggregate_type, aggregate_id, occurred_at, actor_id, correlation_id, payload, n)
ORDER BY n`

// Channel is the NOTIFY channel that the dispatcher listens to.
const Channel = "parapet_outbox"

// notifySQL wakes the dispatcher. NOTIFY takes a database-wide lock at commit, so
// notifications from every transaction would serialize all commits. One pending
// notification is enough: if another transaction holds the advisory lock, the dispatcher is
// about to wake, and after it finds events it polls again shortly.
const notifySQL = `SELECT pg_notify('` + Channel + `', '') WHERE pg_try_advisory_xact_lock(8101823740001)`

// Append writes events to the outbox in q's transaction, in order.
func Append(ctx context.Context, q Batcher, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	batch := &pgx.Batch{}
	if err := Queue(batch, events); err != nil {
		return err
	}
	return postgres.MapError(q.SendBatch(ctx, batch).Close())
}

// Queue adds the statements of Append to a batch, for callers that send more statements
// in the same round trip.
func Queue(batch *pgx.Batch, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	args, err := columns(events)
	if err != nil {
		return err
	}
	batch.Queue(appendSQL, args)
	batch.Queue(notifySQL)
	return nil
}

const appendOnceSQL = appendSQL + `
ON CONFLICT (tenant_id, id) DO NOTHING`

// AppendOnce is Append for events whose ids are derived from their content: it skips
// events that exist already, and returns how many were new.
func AppendOnce(ctx context.Context, q postgres.Querier, events []Event) (int64, error) {
	if len(events) == 0 {
		return 0, nil
	}
	args, err := columns(events)
	if err != nil {
		return 0, err
	}
	tag, err := q.Exec(ctx, appendOnceSQL, args)
	if err != nil {
		return 0, postgres.MapError(err)
	}
	if _, err := q.Exec(ctx, notifySQL); err != nil {
		return 0, postgres.MapError(err)
	}
	return tag.RowsAffected(), nil
}

// columns converts events to one array per column.
func columns(events []Event) (postgres.Args, error) {
	n := len(events)
	var (
		tenants, ids, correlations     = make([]string, n), make([]string, n), make([]string, n)
		types, aggregates, aggregateID = make([]string, n), make([]string, n), make([]string, n)
		actors, payloads               = make([]string, n), make([]string, n)
		occurred                       = make([]time.Time, n)
	)
	for i, e := range events {
		if err := CheckType(e.Type); err != nil {
			return nil, err
		}
		if e.AggregateType == "" || e.AggregateID == "" {
			return nil, fmt.Errorf("events: an event of type %s needs AggregateType and AggregateID", e.Type)
		}
		if e.ID == "" {
			e.ID = uid.New()
		}
		if e.TenantID == "" {
			e.TenantID = NoTenant
		}
		if e.CorrelationID == "" {
			e.CorrelationID = uid.New()
		}
		if e.OccurredAt.IsZero() {
			e.OccurredAt = clock.System{}.Now()
		}
		if len(e.Payload) == 0 {
			e.Payload = json.RawMessage(`{}`)
		}
		tenants[i], ids[i], correlations[i] = string(e.TenantID), string(e.ID), string(e.CorrelationID)
		types[i], aggregates[i], aggregateID[i] = e.Type, e.AggregateType, e.AggregateID
		actors[i], payloads[i], occurred[i] = string(e.ActorID), string(e.Payload), e.OccurredAt
	}
	return postgres.Args{
		"tenants": tenants, "ids": ids, "types": types, "aggregate_types": aggregates, "aggregate_ids": aggregateID,
		"occurred": occurred, "actors": actors, "correlations": correlations, "payloads": payloads,
	}, nil
}

var typePattern = regexp.MustCompile(`^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$`)

// CheckType returns an error unless name has the form <area>.<record>.<past-tense verb>. It
// does not check the verb: the contracts declare each type of event.
func CheckType(name string) error {
	if !typePattern.MatchString(name) {
		return fmt.Errorf("events: event type %q must have the form <area>.<record>.<past-tense verb>", name)
	}
	return nil
}

// Matches reports whether eventType equals pattern or, if pattern ends in a star, starts
// with the text before the star.
func Matches(pattern, eventType string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(eventType, prefix)
	}
	return pattern == eventType
}
