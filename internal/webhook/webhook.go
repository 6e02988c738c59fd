package webhook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

const (
	maxWebhooks = 50
	// secretOverlap is how long the previous secret signs after a rotation.
	secretOverlap = 24 * time.Hour
)

// The reasons why a webhook is disabled, as the contract lists them.
const (
	disabledRequested  = "REQUESTED"
	disabledFailing    = "FAILING"
	disabledGone       = "GONE"
	disabledUnreadable = "SECRET_UNREADABLE"
)

func (s *Service) webhookOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListWebhooks, webhookType.Columns(), listWebhooks),
		executor.Handle(s.executor, contract.GetWebhook, loadWebhook, getWebhook),
		executor.HandleReturning(s.executor, contract.CreateWebhook, loadWebhookToCreate, s.createWebhook, loadCreatedWebhook),
		executor.Handle(s.executor, contract.UpdateWebhook, loadWebhookToUpdate, s.updateWebhook),
		executor.Handle(s.executor, contract.DeleteWebhook, lockWebhook, deleteWebhook),
		executor.Handle(s.executor, contract.RotateWebhookSecret, lockWebhook, s.rotateSecret),
	}
}

func listWebhooks(ctx context.Context, c *executor.Call, in *contract.ListWebhooksIn, f authz.Filter) (*op.Page[contract.Webhook], error) {
	args := postgres.Args{"tenant": c.Tenant, "limit": in.Limit + 1}
	if err := addCursor(c, args, contract.ListWebhooks.Operation, in.Cursor); err != nil {
		return nil, err
	}
	f.AddTo(args)
	rows, err := postgres.Collect[webhookRow](ctx, c.DB, listWebhooksSQL+f.SQL()+` ORDER BY w.id DESC LIMIT @limit`, args)
	if err != nil {
		return nil, err
	}
	page := op.NewPage(rows, in.Limit, func(r *webhookRow) string {
		return op.NewCursor(contract.ListWebhooks.Name, c.Tenant, string(r.ID))
	})
	return op.MapPage(page, func(r *webhookRow) contract.Webhook { return r.Webhook }), nil
}

// addCursor adds the argument before: the id in a cursor, empty for the first page.
func addCursor(c *executor.Call, args postgres.Args, o *op.Operation, cursor string) error {
	args["before"] = ""
	keys, err := op.ReadCursor(cursor, o.Name, c.Tenant, 1)
	if err != nil || keys == nil {
		return err
	}
	if _, err := op.ParseUUID(keys[0]); err != nil {
		return op.WrongCursor()
	}
	args["before"] = keys[0]
	return nil
}

func loadWebhook(ctx context.Context, c *executor.Call, in *contract.WebhookIn) (webhookRow, authz.Resource, error) {
	row, err := readWebhook(ctx, c, getWebhookSQL, in.WebhookID)
	return row, row.resource(c.Tenant), err
}

func lockWebhook(ctx context.Context, c *executor.Call, in *contract.WebhookIn) (webhookRow, authz.Resource, error) {
	row, err := readWebhook(ctx, c, lockWebhookSQL, in.WebhookID)
	return row, row.resource(c.Tenant), err
}

func getWebhook(_ context.Context, _ *executor.Call, _ *contract.WebhookIn, row webhookRow) (*contract.Webhook, error) {
	return &row.Webhook, nil
}

func loadWebhookToCreate(_ context.Context, c *executor.Call, _ *contract.CreateWebhookIn) (webhookRow, authz.Resource, error) {
	row := webhookRow{Webhook: contract.Webhook{OwnerID: c.Actor.UserID}, CreatedBy: c.Actor.UserID}
	return row, row.resource(c.Tenant), nil
}

func loadCreatedWebhook(ctx context.Context, c *executor.Call, out *contract.WebhookWithSecret) (authz.Resource, error) {
	row, err := readWebhook(ctx, c, getWebhookSQL, out.Webhook.ID)
	return row.resource(c.Tenant), err
}

func (s *Service) createWebhook(ctx context.Context, c *executor.Call, in *contract.CreateWebhookIn, _ webhookRow) (*contract.WebhookWithSecret, error) {
	if c.Actor.Kind == authz.KindService {
		return nil, fault.Conflict("A service principal cannot own a webhook, because its authority depends on its key. Create the webhook as a person.").WithReason("SERVICE_PRINCIPAL")
	}
	w := contract.Webhook{
		ID: uid.New(), URL: in.URL, Description: strings.TrimSpace(in.Description), EventTypes: in.EventTypes,
		MaxClassification: cmp.Or(in.MaxClassification, c.Actor.Clearance(), unclassified), OwnerID: c.Actor.UserID, Enabled: true, CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	if err := s.validate(&w); err != nil {
		return nil, err
	}
	if err := requireEvents(ctx, c, &w); err != nil {
		return nil, err
	}
	var n int
	if err := c.DB.QueryRow(ctx, countWebhooksSQL, postgres.Args{"tenant": c.Tenant}).Scan(&n); err != nil {
		return nil, err
	}
	if n >= maxWebhooks {
		return nil, fault.Conflict(fmt.Sprintf("The tenant has %d webhooks, the largest number allowed. Delete one first.", n)).WithReason("TOO_MANY_WEBHOOKS")
	}
	key, text := newSecret()
	if err := insertWebhook(ctx, c, &w, s.vault.seal(c.Tenant, w.ID, key)); err != nil {
		return nil, err
	}
	record(c, &w, contract.ActionWebhookCreated, contract.EventWebhookCreated, nil,
		map[string]any{"eventTypes": w.EventTypes, "maxClassification": w.MaxClassification})
	return &contract.WebhookWithSecret{Secret: text, Webhook: w}, nil
}

// validate checks the URL and the types of events.
func (s *Service) validate(w *contract.Webhook) error {
	if err := s.allowed.checkURL("url", w.URL); err != nil {
		return err
	}
	for _, pattern := range w.EventTypes {
		known := slices.Contains(s.eventTypes, pattern)
		if prefix, ok := strings.CutSuffix(pattern, ".*"); ok {
			known = slices.ContainsFunc(s.eventTypes, func(name string) bool { return strings.HasPrefix(name, prefix+".") })
		}
		if !known {
			return fault.Validation("eventTypes", fmt.Sprintf("No type of event is %q. Use the name of a type, such as projects.task.created, or a prefix, such as projects.task.*", pattern))
		}
	}
	slices.Sort(w.EventTypes)
	w.EventTypes = slices.Compact(w.EventTypes)
	return nil
}

// requireEvents requires that the caller may read every event that the webhook can deliver.
// Otherwise a caller with less authority than the owner could send itself the owner's events.
func requireEvents(ctx context.Context, c *executor.Call, w *contract.Webhook) error {
	return c.Decide(ctx, contract.ListEvents.Permission, authz.Resource{Type: "event", Tenant: string(c.Tenant), Classification: w.MaxClassification})
}

func loadWebhookToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateWebhookIn) (webhookRow, authz.Resource, error) {
	row, err := readWebhook(ctx, c, lockWebhookSQL, in.WebhookID)
	return row, row.resource(c.Tenant), err
}

func (s *Service) updateWebhook(ctx context.Context, c *executor.Call, in *contract.UpdateWebhookIn, row webhookRow) (*contract.Webhook, error) {
	var p op.Patch
	w := row.Webhook
	op.Set(&p, "url", &w.URL, in.URL)
	op.SetOrClear(&p, "description", &w.Description, in.Description)
	op.Set(&p, "eventTypes", &w.EventTypes, in.EventTypes)
	op.Set(&p, "maxClassification", &w.MaxClassification, in.MaxClassification)
	op.Set(&p, "enabled", &w.Enabled, in.Enabled)
	changed, err := p.Changed()
	if err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		return &row.Webhook, c.Decide(ctx, contract.PermWebhooksRead, row.resource(c.Tenant))
	}
	if canSendMore(changed, w.Enabled) {
		if err := s.validate(&w); err != nil {
			return nil, err
		}
		// Both limits, because events above the new one may be on their way.
		for _, webhook := range []*contract.Webhook{&row.Webhook, &w} {
			if err := requireEvents(ctx, c, webhook); err != nil {
				return nil, err
			}
		}
	}
	w.UpdatedAt, w.ConsecutiveFailures, w.PausedUntil = c.Now, 0, nil
	switch {
	case w.Enabled:
		w.DisabledReason, w.DisabledAt = "", nil
	case row.Enabled:
		w.DisabledReason, w.DisabledAt = disabledRequested, &c.Now
		if err := failPending(ctx, c, w.ID); err != nil {
			return nil, err
		}
	}
	if err := updateWebhookRow(ctx, c.DB, c.Tenant, &w, c.Now); err != nil {
		return nil, err
	}
	record(c, &w, contract.ActionWebhookUpdated, contract.EventWebhookUpdated, changed,
		map[string]any{"fields": changed, "eventTypes": w.EventTypes, "maxClassification": w.MaxClassification, "enabled": w.Enabled})
	return &w, nil
}

// canSendMore reports whether an update can make a webhook send other events, or send them
// elsewhere.
func canSendMore(changed []string, enabled bool) bool {
	return slices.ContainsFunc(changed, func(field string) bool {
		return field != "description" && (field != "enabled" || enabled)
	})
}

func deleteWebhook(ctx context.Context, c *executor.Call, _ *contract.WebhookIn, row webhookRow) (*op.None, error) {
	for _, sql := range []string{deleteDeliveriesSQL, deleteWebhookSQL} {
		if _, err := c.DB.Exec(ctx, sql, postgres.Args{"tenant": c.Tenant, "id": row.ID}); err != nil {
			return nil, err
		}
	}
	record(c, &row.Webhook, contract.ActionWebhookDeleted, contract.EventWebhookDeleted, nil, nil)
	return &op.None{}, nil
}

func (s *Service) rotateSecret(ctx context.Context, c *executor.Call, _ *contract.WebhookIn, row webhookRow) (*contract.WebhookWithSecret, error) {
	w := row.Webhook
	var old []byte
	if err := c.DB.QueryRow(ctx, secretSQL, postgres.Args{"tenant": c.Tenant, "id": w.ID}).Scan(&old); err != nil {
		return nil, err
	}
	key, text := newSecret()
	args := postgres.Args{"tenant": c.Tenant, "id": w.ID, "secret": s.vault.seal(c.Tenant, w.ID, key), "now": c.Now}
	sql := replaceSecretSQL
	w.UpdatedAt, w.PreviousSecretUntil = c.Now, nil
	if _, _, err := s.vault.open(c.Tenant, w.ID, old); err == nil {
		until := c.Now.Add(secretOverlap)
		sql, args["until"], w.PreviousSecretUntil = rotateSecretSQL, until, &until
	}
	if _, err := c.DB.Exec(ctx, sql, args); err != nil {
		return nil, err
	}
	record(c, &w, contract.ActionWebhookSecretRotated, contract.EventWebhookSecretRotated, nil, nil)
	return &contract.WebhookWithSecret{Secret: text, Webhook: w}, nil
}

// record adds the audit entry and the event of a change. Neither contains the URL.
func record(c *executor.Call, w *contract.Webhook, action string, event *op.EventType, changed []string, details map[string]any) {
	change := executor.Change{
		Action: action, Type: noun, ID: w.ID, Critical: true, Fields: changed, Event: event,
		Payload: contract.WebhookState{ID: w.ID, Owner: w.OwnerID, Description: w.Description, Enabled: w.Enabled, DisabledReason: w.DisabledReason},
	}
	if details != nil {
		change.Details = details
	}
	c.Record(change)
}
