package identity

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/events"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// An event names the record that it is about, so the reader needs a clearance for that
// record's classification, which is in the payload. Events of the directory have none.
// Older events of projects may lack it; they require the highest clearance.
var eventColumns = authz.NewColumns(map[string]authz.Column{
	"resource.tenant": authz.UUID("o.tenant_id"),
	"resource.classification": authz.Text(
		"coalesce(o.payload->>'classification', CASE WHEN o.type LIKE 'directory.%' THEN 'UNCLASSIFIED' ELSE 'SECRET' END)"),
})

const selectEventsSQL = `
SELECT o.id, o.type, o.tenant_id, o.aggregate_type, o.aggregate_id, o.position AS sequence, o.occurred_at,
       coalesce(o.actor_id::text, '') AS actor_id, o.correlation_id, o.dispatched_at
FROM events.outbox o
WHERE o.tenant_id = @tenant
  AND (@before = '' OR o.id < nullif(@before, '')::uuid)
  AND (@type = '' OR o.type = @type)
  AND (@aggregate_type = '' OR o.aggregate_type = @aggregate_type)
  AND (@aggregate_id = '' OR o.aggregate_id = @aggregate_id)
  AND `

func listEvents(ctx context.Context, c *executor.Call, in *contract.ListEventsIn, f authz.Filter) (*op.Page[contract.EventRecord], error) {
	before, err := cursorID(c, contract.ListEvents.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	items, err := postgres.Collect[contract.EventRecord](ctx, c.DB, selectEventsSQL+f.SQL()+` ORDER BY o.id DESC LIMIT @limit`,
		withFilterArgs(postgres.Args{
			"tenant": c.Tenant, "before": before, "type": in.Type, "aggregate_type": in.AggregateType, "aggregate_id": in.AggregateID,
			"limit": in.Limit + 1,
		}, f))
	if err != nil {
		return nil, err
	}
	return op.NewPage(items, in.Limit, func(e *contract.EventRecord) string {
		return op.NewCursor(contract.ListEvents.Name, c.Tenant, string(e.ID))
	}), nil
}

// loadNotificationFeed returns the resource for the caller's notifications. They belong to
// the tenant, so a key that is limited to one project cannot read them.
func loadNotificationFeed[In any](_ context.Context, c *executor.Call, _ *In) (struct{}, authz.Resource, error) {
	return struct{}{}, tenantResource(c, "notification"), nil
}

func listNotifications(ctx context.Context, c *executor.Call, in *contract.ListNotificationsIn, _ struct{}) (*op.Page[contract.Notification], error) {
	before, err := cursorID(c, contract.ListNotifications.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	administrator, err := canReadAdministratorNotifications(ctx, c)
	if err != nil {
		return nil, err
	}
	lines, err := events.Feed(ctx, c.DB, c.Tenant, c.Actor.UserID, administrator, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	items := make([]contract.Notification, len(lines))
	for i, n := range lines {
		items[i] = contract.Notification{
			ID: n.ID, EventID: n.EventID, Audience: n.Audience, Type: n.Type, Subject: n.Subject,
			CreatedAt: n.CreatedAt, ReadAt: n.ReadAt,
		}
	}
	return op.NewPage(items, in.Limit, func(n *contract.Notification) string {
		return op.NewCursor(contract.ListNotifications.Name, c.Tenant, string(n.ID))
	}), nil
}

// canReadAdministratorNotifications reports whether the caller may read the notifications
// for the tenant's administrators.
func canReadAdministratorNotifications(ctx context.Context, c *executor.Call) (bool, error) {
	v, err := c.Evaluate(ctx, authz.AdministratorNotifications{Actor: c.Actor.Subject})
	return v.Allow, err
}

// markNotificationRead marks a notification as read. It writes no audit entry and no event,
// because nobody else is affected.
func markNotificationRead(ctx context.Context, c *executor.Call, in *contract.NotificationIn, _ struct{}) (*op.None, error) {
	administrator, err := canReadAdministratorNotifications(ctx, c)
	if err != nil {
		return nil, err
	}
	found, err := events.MarkRead(ctx, c.DB, c.Tenant, c.Actor.UserID, administrator, in.NotificationID, c.Now)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fault.NotFound("notification")
	}
	return &op.None{}, nil
}
