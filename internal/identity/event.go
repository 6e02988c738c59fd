package identity

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/gate"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// An event's envelope says that something happened to a record, and no more.
var eventColumns = authz.NewColumns(map[string]authz.Column{
	"resource.tenant":         authz.UUID("o.tenant_id"),
	"resource.classification": authz.Literal(unclassified),
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

func listEvents(ctx context.Context, c *gate.Call, in *contract.ListEventsIn, f authz.Filter) (*op.Page[contract.EventRecord], error) {
	before, err := cursorID(c, contract.ListEvents.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	items, err := postgres.Collect[contract.EventRecord](ctx, c.DB, selectEventsSQL+f.SQL()+` ORDER BY o.id DESC LIMIT @limit`,
		filtered(postgres.Args{
			"tenant": c.Tenant, "before": before, "type": in.Type, "aggregate_type": in.AggregateType, "aggregate_id": in.AggregateID,
			"limit": in.Limit + 1,
		}, f))
	if err != nil {
		return nil, err
	}
	for i := range items {
		inUTC(&items[i].OccurredAt, items[i].DispatchedAt)
	}
	return paged(items, in.Limit, func(e contract.EventRecord) string {
		return op.NewCursor(contract.ListEvents.Name, c.Tenant, string(e.ID))
	}), nil
}

// What is for the caller: its own, and the administrators' for one of them.
const notificationsSQL = `
SELECT n.id, n.event_id, n.audience, n.type, n.subject, n.payload::text AS payload, n.created_at, n.read_at
FROM events.notifications n
WHERE n.tenant_id = @tenant AND (n.user_id = @user OR (n.audience = 'ADMINISTRATORS' AND @admin))`

func listNotifications(ctx context.Context, c *gate.Call, in *contract.ListNotificationsIn) (*op.Page[contract.Notification], error) {
	before, err := cursorID(c, contract.ListNotifications.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	items, err := postgres.Collect[contract.Notification](ctx, c.DB, notificationsSQL+`
  AND (@before = '' OR n.id < nullif(@before, '')::uuid)
  AND (NOT @unread OR n.read_at IS NULL)
ORDER BY n.id DESC LIMIT @limit`, postgres.Args{
		"tenant": c.Tenant, "user": c.Actor.UserID, "admin": c.Actor.Subject.Admin(), "before": before, "unread": in.Unread,
		"limit": in.Limit + 1,
	})
	if err != nil {
		return nil, err
	}
	for i := range items {
		shown(&items[i])
	}
	return paged(items, in.Limit, func(n contract.Notification) string {
		return op.NewCursor(contract.ListNotifications.Name, c.Tenant, string(n.ID))
	}), nil
}

const markReadSQL = `
UPDATE events.notifications SET read_at = coalesce(read_at, @now) WHERE tenant_id = @tenant AND id = @id`

// markNotificationRead changes nothing that anybody else has to know of, so that
// there is neither an audit entry nor an event.
func markNotificationRead(ctx context.Context, c *gate.Call, in *contract.NotificationIn) (*contract.Notification, error) {
	n, err := postgres.One[contract.Notification](ctx, c.DB, notificationsSQL+` AND n.id = @id FOR UPDATE`, postgres.Args{
		"tenant": c.Tenant, "user": c.Actor.UserID, "admin": c.Actor.Subject.Admin(), "id": in.NotificationID,
	})
	if postgres.IsNoRows(err) {
		return nil, fault.NotFound("notification")
	}
	if err != nil {
		return nil, err
	}
	shown(&n)
	if n.ReadAt == nil {
		if _, err := c.DB.Exec(ctx, markReadSQL, postgres.Args{"tenant": c.Tenant, "id": n.ID, "now": c.Now}); err != nil {
			return nil, err
		}
		n.ReadAt = &c.Now
	}
	return &n, nil
}

// shown makes a notification as it was read fit to be answered.
func shown(n *contract.Notification) {
	n.Payload = asJSON(n.Payload)
	inUTC(&n.CreatedAt, n.ReadAt)
}
