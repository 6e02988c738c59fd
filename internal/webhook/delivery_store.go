package webhook

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// deliveryType maps the policy attributes of a delivery to columns of the alias d. A delivery
// has the classification of its event.
var deliveryType = authz.NewRecordType("webhook delivery", authz.Attributes[deliveryRow]{
	Tenant:         authz.TenantColumn[deliveryRow]("d.tenant_id"),
	ID:             authz.NewAttribute("d.id", func(r *deliveryRow) string { return string(r.ID) }),
	Classification: authz.NewAttribute("d.classification", func(r *deliveryRow) string { return r.Classification }),
})

// deliveryRow is a delivery with the classification of its event.
type deliveryRow struct {
	contract.WebhookDelivery
	Classification string
}

func (r *deliveryRow) resource(tenant op.UUID) authz.Resource {
	return deliveryType.Resource(string(tenant), r)
}

const deliverySelect = `
SELECT d.id, d.webhook_id, coalesce(d.event_id::text, '') AS event_id, d.event_type, d.status, d.attempts, d.created_at, d.next_attempt_at, d.first_attempt_at,
       d.last_attempt_at, d.finished_at, coalesce(d.outcome, '') AS outcome, coalesce(d.message, '') AS message,
       coalesce(d.response_status, 0) AS response_status, coalesce(d.response_excerpt, '') AS response_excerpt,
       coalesce(d.duration_ms, 0) AS duration_ms, d.classification
FROM events.webhook_deliveries d
WHERE d.tenant_id = @tenant AND d.webhook_id = @webhook`

const (
	getDeliverySQL    = deliverySelect + ` AND d.id = @id`
	listDeliveriesSQL = deliverySelect + `
  AND (@before = '' OR d.id < nullif(@before, '')::uuid) AND (@status = '' OR d.status = @status) AND (@type = '' OR d.event_type = @type) AND `
)

func readDelivery(ctx context.Context, c *executor.Call, webhook, id op.UUID) (deliveryRow, error) {
	row, err := postgres.One[deliveryRow](ctx, c.DB, getDeliverySQL, postgres.Args{"tenant": c.Tenant, "webhook": webhook, "id": id})
	if postgres.IsNoRows(err) {
		return row, fault.NotFound("webhook delivery")
	}
	return row, err
}

const insertTestSQL = `
INSERT INTO events.webhook_deliveries (tenant_id, id, webhook_id, event_type, classification, status, created_at, next_attempt_at)
VALUES (@tenant, @id, @webhook, @type, @classification, 'PENDING', @now, @now)`

// A redelivery starts anew: it has all its attempts again.
const (
	redeliverSet = `
UPDATE events.webhook_deliveries d SET status = 'PENDING', attempts = 0, first_attempt_at = NULL, next_attempt_at = @now, finished_at = NULL
WHERE d.tenant_id = @tenant AND d.webhook_id = @webhook AND `
	redeliverSQL         = redeliverSet + `d.id = @id`
	redeliverFailedStart = redeliverSet + `d.id IN (
	SELECT d.id FROM events.webhook_deliveries d
	WHERE d.tenant_id = @tenant AND d.webhook_id = @webhook AND d.status = 'FAILED'
	  AND (@from::timestamptz IS NULL OR d.created_at >= @from::timestamptz)
	  AND (@until::timestamptz IS NULL OR d.created_at < @until::timestamptz)
	  AND `
	redeliverFailedEnd = ` ORDER BY d.id LIMIT @limit)`
)

const failPendingSQL = `
UPDATE events.webhook_deliveries SET status = 'FAILED', next_attempt_at = NULL, finished_at = @now, outcome = 'WEBHOOK_DISABLED',
       message = 'The webhook was disabled before the event was delivered.'
WHERE tenant_id = @tenant AND webhook_id = @webhook AND status = 'PENDING'`

// failPending ends the pending deliveries of a webhook that is disabled. They can be sent again
// later.
func failPending(ctx context.Context, c *executor.Call, webhook op.UUID) error {
	_, err := c.DB.Exec(ctx, failPendingSQL, postgres.Args{"tenant": c.Tenant, "webhook": webhook, "now": c.Now})
	return err
}

// PruneDeliveries deletes finished deliveries of every tenant in small statements.
const pruneDeliveriesSQL = `
DELETE FROM events.webhook_deliveries WHERE (tenant_id, id) IN (
	SELECT d.tenant_id, d.id FROM events.webhook_deliveries d WHERE d.created_at < @before AND d.status <> 'PENDING' LIMIT @batch)`
