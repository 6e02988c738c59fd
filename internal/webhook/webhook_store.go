package webhook

import (
	"context"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const noun = "webhook"

// unclassified is the classification of webhooks themselves.
const unclassified = "UNCLASSIFIED"

// webhookType maps the policy attributes of a webhook to columns of the alias w.
var webhookType = authz.NewRecordType(noun, authz.Attributes[webhookRow]{
	Tenant:         authz.TenantColumn[webhookRow]("w.tenant_id"),
	ID:             authz.NewAttribute("w.id", func(r *webhookRow) string { return string(r.ID) }),
	Creator:        authz.NewAttribute("w.created_by", func(r *webhookRow) string { return string(r.CreatedBy) }),
	Owner:          authz.NewAttribute("w.owner_id", func(r *webhookRow) string { return string(r.OwnerID) }),
	Classification: authz.FixedAttribute[webhookRow](unclassified),
})

// webhookRow is a webhook without its secrets.
type webhookRow struct {
	contract.Webhook
	CreatedBy op.UUID
}

func (r *webhookRow) resource(tenant op.UUID) authz.Resource {
	return webhookType.Resource(string(tenant), r)
}

const webhookSelect = `
SELECT w.id, w.url, w.description, w.event_types, w.max_classification, w.owner_id, w.enabled, coalesce(w.disabled_reason, '') AS disabled_reason,
       w.disabled_at, w.failures AS consecutive_failures, w.paused_until, w.last_success_at, w.previous_secret_until, w.created_at, w.updated_at, w.created_by
FROM events.webhooks w
WHERE w.tenant_id = @tenant AND `

const (
	getWebhookSQL   = webhookSelect + `w.id = @id`
	lockWebhookSQL  = getWebhookSQL + ` FOR UPDATE OF w`
	listWebhooksSQL = webhookSelect + `(@before = '' OR w.id < nullif(@before, '')::uuid) AND `
)

func readWebhook(ctx context.Context, c *executor.Call, sql string, id op.UUID) (webhookRow, error) {
	row, err := postgres.One[webhookRow](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant, "id": id})
	if postgres.IsNoRows(err) {
		return row, fault.NotFound(noun)
	}
	return row, err
}

const countWebhooksSQL = `SELECT count(*) FROM events.webhooks w WHERE w.tenant_id = @tenant`

const insertWebhookSQL = `
INSERT INTO events.webhooks (tenant_id, id, owner_id, url, description, event_types, max_classification, enabled, secret, created_by, created_at, updated_at)
VALUES (@tenant, @id, @owner, @url, @description, @types, @max, true, @secret, @owner, @now, @now)`

func insertWebhook(ctx context.Context, c *executor.Call, w *contract.Webhook, secret []byte) error {
	_, err := c.DB.Exec(ctx, insertWebhookSQL, postgres.Args{
		"tenant": c.Tenant, "id": w.ID, "owner": w.OwnerID, "url": w.URL, "description": w.Description, "types": w.EventTypes,
		"max": w.MaxClassification, "secret": secret, "now": c.Now,
	})
	return err
}

// updateWebhookSQL also ends a pause and forgets earlier failures, because the change may have
// mended their cause.
const updateWebhookSQL = `
UPDATE events.webhooks SET url = @url, description = @description, event_types = @types, max_classification = @max, enabled = @enabled,
       disabled_reason = nullif(@reason, ''), disabled_at = @disabled, failures = 0, failing_since = NULL, paused_until = NULL,
       run_at = CASE WHEN @enabled THEN run_at END, updated_at = @now
WHERE tenant_id = @tenant AND id = @id`

func updateWebhookRow(ctx context.Context, q postgres.Querier, tenant op.UUID, w *contract.Webhook, now time.Time) error {
	_, err := q.Exec(ctx, updateWebhookSQL, postgres.Args{
		"tenant": tenant, "id": w.ID, "url": w.URL, "description": w.Description, "types": w.EventTypes, "max": w.MaxClassification,
		"enabled": w.Enabled, "reason": w.DisabledReason, "disabled": w.DisabledAt, "now": now,
	})
	return err
}

const (
	deleteDeliveriesSQL = `DELETE FROM events.webhook_deliveries WHERE tenant_id = @tenant AND webhook_id = @id`
	deleteWebhookSQL    = `DELETE FROM events.webhooks WHERE tenant_id = @tenant AND id = @id`
)

// rotateSecretSQL keeps the present secret until the given time. The previous one before it
// ends immediately.
const rotateSecretSQL = `
UPDATE events.webhooks SET previous_secret = secret, previous_secret_until = @until, secret = @secret, updated_at = @now
WHERE tenant_id = @tenant AND id = @id`

// replaceSecretSQL replaces a secret that cannot be decrypted, so it cannot sign any more.
const replaceSecretSQL = `
UPDATE events.webhooks SET previous_secret = NULL, previous_secret_until = NULL, secret = @secret, updated_at = @now
WHERE tenant_id = @tenant AND id = @id`

const secretSQL = `SELECT secret FROM events.webhooks WHERE tenant_id = @tenant AND id = @id`
