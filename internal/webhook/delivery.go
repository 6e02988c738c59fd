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
	"parapet/internal/uid"
)

// maxRedeliveries limits the deliveries that one request sends again.
const maxRedeliveries = 10_000

// The statuses of a delivery, as the contract lists them.
const (
	statusPending   = "PENDING"
	statusDelivered = "DELIVERED"
	statusFailed    = "FAILED"
	statusSkipped   = "SKIPPED"
)

func (s *Service) deliveryOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListWebhookDeliveries, deliveryType.Columns(), listDeliveries),
		executor.Handle(s.executor, contract.GetWebhookDelivery, loadDelivery, getDelivery),
		executor.Handle(s.executor, contract.TestWebhook, lockWebhook, testWebhook),
		executor.Handle(s.executor, contract.RedeliverWebhookDelivery, loadDelivery, redeliver),
		executor.Handle(s.executor, contract.RedeliverWebhook, loadWebhookToRedeliver, redeliverFailed),
	}
}

func listDeliveries(ctx context.Context, c *executor.Call, in *contract.ListWebhookDeliveriesIn, f authz.Filter) (*op.Page[contract.WebhookDelivery], error) {
	row, err := readWebhook(ctx, c, getWebhookSQL, in.WebhookID)
	if err == nil {
		err = c.Decide(ctx, contract.PermWebhooksRead, row.resource(c.Tenant))
	}
	if err != nil {
		return nil, err
	}
	args := postgres.Args{"tenant": c.Tenant, "webhook": in.WebhookID, "status": in.Status, "type": in.EventType, "limit": in.Limit + 1}
	if err := addCursor(c, args, contract.ListWebhookDeliveries.Operation, in.Cursor); err != nil {
		return nil, err
	}
	f.AddTo(args)
	rows, err := postgres.Collect[deliveryRow](ctx, c.DB, listDeliveriesSQL+f.SQL()+` ORDER BY d.id DESC LIMIT @limit`, args)
	if err != nil {
		return nil, err
	}
	page := op.NewPage(rows, in.Limit, func(r *deliveryRow) string {
		return op.NewCursor(contract.ListWebhookDeliveries.Name, c.Tenant, string(r.ID))
	})
	return op.MapPage(page, func(r *deliveryRow) contract.WebhookDelivery { return r.WebhookDelivery }), nil
}

func loadDelivery(ctx context.Context, c *executor.Call, in *contract.WebhookDeliveryIn) (deliveryRow, authz.Resource, error) {
	row, err := readDelivery(ctx, c, in.WebhookID, in.DeliveryID)
	return row, row.resource(c.Tenant), err
}

func getDelivery(_ context.Context, _ *executor.Call, _ *contract.WebhookDeliveryIn, row deliveryRow) (*contract.WebhookDelivery, error) {
	return &row.WebhookDelivery, nil
}

func requireEnabled(w *contract.Webhook) error {
	if w.Enabled {
		return nil
	}
	return fault.Conflict("The webhook is disabled. Enable it first.").WithReason("WEBHOOK_DISABLED")
}

// testWebhook queues a delivery without an event. The event of the change starts the job that
// sends it.
func testWebhook(ctx context.Context, c *executor.Call, _ *contract.WebhookIn, row webhookRow) (*contract.WebhookDelivery, error) {
	if err := requireEnabled(&row.Webhook); err != nil {
		return nil, err
	}
	d := contract.WebhookDelivery{
		ID: uid.New(), WebhookID: row.ID, EventType: contract.EventWebhookTested.Name, Status: statusPending, CreatedAt: c.Now, NextAttemptAt: &c.Now,
	}
	_, err := c.DB.Exec(ctx, insertTestSQL, postgres.Args{
		"tenant": c.Tenant, "id": d.ID, "webhook": row.ID, "type": d.EventType, "classification": unclassified, "now": c.Now,
	})
	if err != nil {
		return nil, err
	}
	record(c, &row.Webhook, contract.ActionWebhookTested, contract.EventWebhookTested, nil, map[string]any{"delivery": d.ID})
	return &d, nil
}

func redeliver(ctx context.Context, c *executor.Call, in *contract.WebhookDeliveryIn, _ deliveryRow) (*contract.WebhookDelivery, error) {
	// The webhook is locked before its deliveries, as everywhere.
	w, err := readWebhook(ctx, c, lockWebhookSQL, in.WebhookID)
	if err != nil {
		return nil, err
	}
	if err := requireEnabled(&w.Webhook); err != nil {
		return nil, err
	}
	if _, err := c.DB.Exec(ctx, redeliverSQL, postgres.Args{"tenant": c.Tenant, "webhook": w.ID, "id": in.DeliveryID, "now": c.Now}); err != nil {
		return nil, err
	}
	row, err := readDelivery(ctx, c, in.WebhookID, in.DeliveryID)
	if err != nil {
		return nil, err
	}
	record(c, &w.Webhook, contract.ActionWebhookRedelivered, contract.EventWebhookRedelivered, nil, map[string]any{"delivery": in.DeliveryID})
	return &row.WebhookDelivery, nil
}

func loadWebhookToRedeliver(ctx context.Context, c *executor.Call, in *contract.RedeliverWebhookIn) (webhookRow, authz.Resource, error) {
	row, err := readWebhook(ctx, c, lockWebhookSQL, in.WebhookID)
	return row, row.resource(c.Tenant), err
}

func redeliverFailed(ctx context.Context, c *executor.Call, in *contract.RedeliverWebhookIn, row webhookRow) (*contract.WebhookRedelivery, error) {
	if err := requireEnabled(&row.Webhook); err != nil {
		return nil, err
	}
	args := postgres.Args{"tenant": c.Tenant, "webhook": row.ID, "now": c.Now, "limit": maxRedeliveries}
	for name, text := range map[string]string{"from": in.From, "until": in.Until} {
		args[name] = nil
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, fault.Validation(name, "The field "+name+" must be a time such as 2027-03-31T17:00:00Z.")
		}
		args[name] = at
	}
	f, err := c.Filter(ctx, contract.PermWebhookManage, deliveryType.Columns())
	if err != nil {
		return nil, err
	}
	f.AddTo(args)
	tag, err := c.DB.Exec(ctx, redeliverFailedStart+f.SQL()+redeliverFailedEnd, args)
	if err != nil {
		return nil, err
	}
	out := &contract.WebhookRedelivery{Count: int(tag.RowsAffected()), More: tag.RowsAffected() == maxRedeliveries}
	if out.Count > 0 {
		record(c, &row.Webhook, contract.ActionWebhookRedelivered, contract.EventWebhookRedelivered, nil, map[string]any{"deliveries": out.Count})
	}
	return out, nil
}
