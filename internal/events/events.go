// Package events owns the outbox: how a domain event is written with its change,
// how it reaches every subscriber, and what becomes of it afterwards.
//
// It promises:
//   - An event exists exactly when its change does: Append runs in the change's
//     transaction.
//   - Every subscriber is given every event of the types it wants, at least once,
//     and its effect happens once: the effect, the id of the processed event and
//     the end of the delivery are one transaction.
//   - The events of one aggregate reach a subscriber in the order in which they
//     were written, however many dispatchers run. An event that fails holds up
//     later events of its aggregate until it succeeds or is parked, and nothing
//     else; a slow subscriber holds up no other.
//   - An event that keeps failing is parked after a bounded number of attempts
//     and stays for a person to look at.
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

// NoTenant stands in the outbox for the tenant of an event that has none.
const NoTenant op.UUID = "00000000-0000-0000-0000-000000000000"

// Event is the envelope of a domain event.
type Event struct {
	// ID is a version 7 UUID; Append makes one where it is empty.
	ID op.UUID `json:"id"`
	// Type is <area>.<entity>.<past-tense verb>.
	Type string `json:"type"`
	// TenantID is empty for an event without a tenant.
	TenantID      op.UUID `json:"tenantId"`
	AggregateType string  `json:"aggregateType"`
	AggregateID   string  `json:"aggregateId"`
	// Sequence rises with each event of an aggregate; gaps mean nothing. It is
	// the database's: what a caller sets is ignored.
	Sequence int64 `json:"sequence"`
	// OccurredAt is now where a caller leaves it empty.
	OccurredAt    time.Time `json:"occurredAt"`
	ActorID       op.UUID   `json:"actorId,omitempty"`
	CorrelationID op.UUID   `json:"correlationId"`
	// Payload is {"resource": the changed resource's public form, "changed": for
	// updates, the names of the changed fields, "notify": the users whom the feed
	// of notifications is to tell, where the event names them, "classification": that
	// of the resource}. Empty is {}.
	Payload json.RawMessage `json:"payload"`
}

// Batcher is where statements are written: a postgres.Tx or a pgx.Tx.
type Batcher interface {
	postgres.Querier
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

const sqlAppend = `
INSERT INTO events.outbox
	(tenant_id, id, type, aggregate_type, aggregate_id, occurred_at, actor_id, correlation_id, payload)
SELECT tenant_id, id, type, aggregate_type, aggregate_id, occurred_at, nullif(actor_id, '')::uuid, correlation_id, payload::jsonb
FROM unnest(@tenants::uuid[], @ids::uuid[], @types::text[], @aggregate_types::text[], @aggregate_ids::text[],
            @occurred::timestamptz[], @actors::text[], @correlations::uuid[], @payloads::text[])
     WITH ORDINALITY AS e (tenant_id, id, type, aggregate_type, aggregate_id, occurred_at, actor_id, correlation_id, payload, n)
ORDER BY n`

// Channel is what the dispatcher listens to.
const Channel = "parapet_outbox"

// A NOTIFY takes a lock of the whole database at commit, so that notices from
// every transaction would put all commits in one line. One notice under way at a
// time is enough: whoever finds this lock taken knows that the dispatcher is
// about to wake, and it looks again shortly after it has found something.
const sqlNotify = `SELECT pg_notify('` + Channel + `', '') WHERE pg_try_advisory_xact_lock(8101823740001)`

// Append writes events to the outbox in q's transaction, in their order.
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

// Queue puts what Append does into a batch, for a caller who has more to send in
// the same round trip.
func Queue(batch *pgx.Batch, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	args, err := columns(events)
	if err != nil {
		return err
	}
	batch.Queue(sqlAppend, args)
	batch.Queue(sqlNotify)
	return nil
}

const sqlAppendOnce = sqlAppend + `
ON CONFLICT (tenant_id, id) DO NOTHING`

// AppendOnce is Append for events whose ids are made from what they tell, so that
// telling it again is no second event. It says how many were new.
func AppendOnce(ctx context.Context, q postgres.Querier, events []Event) (int64, error) {
	if len(events) == 0 {
		return 0, nil
	}
	args, err := columns(events)
	if err != nil {
		return 0, err
	}
	tag, err := q.Exec(ctx, sqlAppendOnce, args)
	if err != nil {
		return 0, postgres.MapError(err)
	}
	if _, err := q.Exec(ctx, sqlNotify); err != nil {
		return 0, postgres.MapError(err)
	}
	return tag.RowsAffected(), nil
}

// columns turns events into one array a column.
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
			return nil, fmt.Errorf("events: %s has no aggregate", e.Type)
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

var typeForm = regexp.MustCompile(`^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$`)

// CheckType tells whether a type is <area>.<entity>.<past-tense verb>.
func CheckType(name string) error {
	if !typeForm.MatchString(name) {
		return fmt.Errorf("events: %q is not <area>.<entity>.<past-tense verb>", name)
	}
	word := name[strings.LastIndexAny(name, "._")+1:]
	if len(word) > 3 && strings.HasSuffix(word, "ed") {
		return nil
	}
	switch word {
	case "sent", "set", "unset", "put", "made", "left", "lost", "won", "held", "given", "taken", "begun", "written", "withdrawn", "overrun", "shown":
		return nil
	}
	return fmt.Errorf("events: %q does not end in a verb of the past tense", name)
}

// Matches tells whether an event's type is the pattern, or begins with what
// stands before the pattern's final star.
func Matches(pattern, eventType string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(eventType, prefix)
	}
	return pattern == eventType
}
