package webhook

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
	"parapet/jobs"
)

// sendArgs are the arguments of the job that sends the deliveries of a webhook. Number is the
// run_number of the webhook; a job with another number was replaced.
type sendArgs struct {
	Tenant  op.UUID `json:"tenant"`
	Webhook op.UUID `json:"webhook"`
	Number  int64   `json:"number"`
}

// Kind implements jobs.Args.
func (sendArgs) Kind() string { return "webhook_send" }

// target identifies a webhook.
type target struct{ tenant, webhook op.UUID }

const subscribedSQL = `
SELECT tenant_id, id, event_types FROM events.webhooks WHERE tenant_id = ANY (@tenants::uuid[]) AND enabled`

// lockTargetsSQL locks webhooks before their deliveries are added. The job of a webhook locks it
// before it looks for due deliveries the last time, so it cannot miss new ones.
const lockTargetsSQL = `
SELECT w.tenant_id, w.id FROM events.webhooks w
WHERE (w.tenant_id, w.id) IN (SELECT * FROM unnest(@tenants::uuid[], @ids::uuid[])) AND w.enabled
ORDER BY w.tenant_id, w.id
FOR NO KEY UPDATE OF w`

const insertDeliveriesSQL = `
INSERT INTO events.webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, classification, status, created_at, next_attempt_at)
SELECT tenant_id, id, webhook_id, event_id, event_type, classification, 'PENDING', @now::timestamptz, @now::timestamptz
FROM unnest(@tenants::uuid[], @ids::uuid[], @webhooks::uuid[], @events::uuid[], @types::text[], @classifications::text[])
     AS d (tenant_id, id, webhook_id, event_id, event_type, classification)
ON CONFLICT ON CONSTRAINT webhook_deliveries_once DO NOTHING`

// startJobsSQL gives each webhook a new job, unless it has one that waits for a worker or runs, or
// that waits for the end of a pause. A job that has not ended its turn for ten minutes is lost.
const startJobsSQL = `
UPDATE events.webhooks w SET run_at = @now::timestamptz, run_number = w.run_number + 1
WHERE (w.tenant_id, w.id) IN (SELECT * FROM unnest(@tenants::uuid[], @ids::uuid[])) AND w.enabled
  AND (w.run_at IS NULL OR w.run_at < @now::timestamptz - interval '10 minutes' OR (w.run_at > @now::timestamptz AND coalesce(w.paused_until, @now::timestamptz) <= @now::timestamptz))
RETURNING w.tenant_id AS tenant, w.id AS webhook, w.run_number AS number`

type subscription struct {
	TenantID   op.UUID
	ID         op.UUID
	EventTypes []string
}

// enqueue adds the deliveries of a batch of events in the subscriber's transaction, and returns
// the jobs that send them.
func (s *Service) enqueue(ctx context.Context, tx pgx.Tx, list []events.Event) ([]jobs.Args, error) {
	targets := map[target]bool{}
	tenants := map[op.UUID][]subscription{}
	for _, e := range list {
		if e.TenantID == "" {
			continue
		}
		tenants[e.TenantID] = nil
		if id, err := op.ParseUUID(e.AggregateID); err == nil && e.AggregateType == noun && strings.HasPrefix(e.Type, "events.webhook.") {
			// The change may have added deliveries.
			targets[target{e.TenantID, id}] = true
		}
	}
	if len(tenants) == 0 {
		return nil, nil
	}
	ids := make([]op.UUID, 0, len(tenants))
	for id := range tenants {
		ids = append(ids, id)
	}
	subscriptions, err := postgres.Collect[subscription](ctx, tx, subscribedSQL, postgres.Args{"tenants": ids})
	if err != nil {
		return nil, err
	}
	for _, w := range subscriptions {
		tenants[w.TenantID] = append(tenants[w.TenantID], w)
	}
	added := newDeliveries(list, tenants)
	for i := range added.tenants {
		targets[target{added.tenants[i], added.webhooks[i]}] = true
	}
	if len(targets) == 0 {
		return nil, nil
	}
	return startSending(ctx, tx, targets, added, s.deps.Clock.Now())
}

// startSending stores deliveries and returns the new jobs of the webhooks.
func startSending(ctx context.Context, tx postgres.Querier, targets map[target]bool, added deliveries, now time.Time) ([]jobs.Args, error) {
	var tenants, ids []op.UUID
	for t := range targets {
		tenants, ids = append(tenants, t.tenant), append(ids, t.webhook)
	}
	which := postgres.Args{"tenants": tenants, "ids": ids}
	type lockedRow struct{ TenantID, ID op.UUID }
	locked, err := postgres.Collect[lockedRow](ctx, tx, lockTargetsSQL, which)
	if err != nil || len(locked) == 0 {
		return nil, err
	}
	exists := make(map[target]bool, len(locked))
	for _, r := range locked {
		exists[target{r.TenantID, r.ID}] = true
	}
	if args := added.only(exists); args != nil {
		args["now"] = now
		if _, err := tx.Exec(ctx, insertDeliveriesSQL, args); err != nil {
			return nil, err
		}
	}
	which["now"] = now
	rows, err := postgres.Collect[sendArgs](ctx, tx, startJobsSQL, which)
	if err != nil {
		return nil, err
	}
	started := make([]jobs.Args, len(rows))
	for i, r := range rows {
		started[i] = r
	}
	return started, nil
}

// deliveries are new deliveries, one slice per column.
type deliveries struct {
	tenants, webhooks, events []op.UUID
	types, classifications    []string
}

// newDeliveries returns one delivery for each event and each webhook of its tenant that wants it.
func newDeliveries(list []events.Event, webhooks map[op.UUID][]subscription) deliveries {
	var d deliveries
	for i := range list {
		e := &list[i]
		for _, w := range webhooks[e.TenantID] {
			if !wants(w.EventTypes, e.Type) {
				continue
			}
			d.tenants, d.webhooks, d.events = append(d.tenants, e.TenantID), append(d.webhooks, w.ID), append(d.events, e.ID)
			d.types, d.classifications = append(d.types, e.Type), append(d.classifications, classificationOf(e))
		}
	}
	return d
}

// only returns the arguments of insertDeliveriesSQL for the webhooks that exist, or nil if there
// is no delivery.
func (d deliveries) only(exists map[target]bool) postgres.Args {
	var kept deliveries
	var ids []op.UUID
	for i := range d.tenants {
		if exists[target{d.tenants[i], d.webhooks[i]}] {
			kept.tenants, kept.webhooks, kept.events = append(kept.tenants, d.tenants[i]), append(kept.webhooks, d.webhooks[i]), append(kept.events, d.events[i])
			kept.types, kept.classifications = append(kept.types, d.types[i]), append(kept.classifications, d.classifications[i])
			ids = append(ids, uid.New())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return postgres.Args{
		"tenants": kept.tenants, "ids": ids, "webhooks": kept.webhooks, "events": kept.events, "types": kept.types, "classifications": kept.classifications,
	}
}

// wants reports whether a filter contains a type of event.
func wants(filter []string, eventType string) bool {
	for _, pattern := range filter {
		if prefix, ok := strings.CutSuffix(pattern, "*"); pattern == eventType || ok && strings.HasPrefix(eventType, prefix) {
			return true
		}
	}
	return false
}

// classificationOf returns the classification of an event, as list-events determines it.
func classificationOf(e *events.Event) string {
	var p struct {
		Classification *string `json:"classification"`
	}
	// The payload of an event that cannot be read has no classification.
	_ = json.Unmarshal(e.Payload, &p)
	switch {
	case p.Classification != nil:
		return *p.Classification
	case strings.HasPrefix(e.Type, "directory."):
		return unclassified
	default:
		return "SECRET"
	}
}
