package events

import (
	"context"
	"encoding/json"
	"time"

	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// KeyExpiryWarned is the event that tells, once a key and day, that the key of a
// SERVICE principal is about to expire.
const KeyExpiryWarned = "directory.user.key_expiry_warned"

// The audiences of a notification.
const (
	// ToUser is for one user.
	ToUser = "USER"
	// ToAdministrators is for whoever administers the tenant's keys and members.
	ToAdministrators = "ADMINISTRATORS"
)

// Notifications is the subscriber that writes the feed of what people should know
// of: an expiring service key to the tenant's administrators; whatever somebody
// else did to a user's record, memberships, roles or keys, to that user.
func Notifications() Subscriber {
	return Subscriber{
		Name:   "notifications",
		Types:  []string{"directory.user.*", "directory.membership.*", "directory.role.assigned", "directory.role.unassigned"},
		Handle: writeNotifications,
	}
}

const sqlNotifications = `
INSERT INTO events.notifications (tenant_id, id, event_id, audience, user_id, type, subject, payload, created_at)
SELECT tenant_id, id, event_id, audience, nullif(user_id, '')::uuid, type, subject, payload::jsonb, created_at
FROM unnest(@tenants::uuid[], @ids::uuid[], @events::uuid[], @audiences::text[], @users::text[], @types::text[],
            @subjects::text[], @payloads::text[], @created::timestamptz[])
     AS n (tenant_id, id, event_id, audience, user_id, type, subject, payload, created_at)
ON CONFLICT ON CONSTRAINT notifications_once DO NOTHING`

// concerned gives the user whom an event is about: the resource's owner or userId,
// or the aggregate itself where that is a user.
func concerned(e *Event) (op.UUID, bool) {
	var payload struct {
		Resource struct {
			Owner  op.UUID `json:"owner"`
			UserID op.UUID `json:"userId"`
		} `json:"resource"`
	}
	// A payload of another form names nobody; it is no reason to hold the event up.
	_ = json.Unmarshal(e.Payload, &payload)
	user := payload.Resource.Owner
	if user == "" {
		user = payload.Resource.UserID
	}
	if user == "" && e.AggregateType == "user" {
		user, _ = op.ParseUUID(e.AggregateID)
	}
	return user, user != ""
}

func writeNotifications(ctx context.Context, tx postgres.Querier, list []Event) error {
	var tenants, ids, eventIDs, audiences, users, types, subjects, payloads []string
	var created []time.Time
	for _, e := range list {
		if e.TenantID == "" {
			continue
		}
		audience, user := ToAdministrators, op.UUID("")
		if e.Type != KeyExpiryWarned {
			id, ok := concerned(&e)
			if !ok || id == e.ActorID {
				continue // nobody needs to hear of what they did themselves
			}
			audience, user = ToUser, id
		}
		tenants, ids, eventIDs = append(tenants, string(e.TenantID)), append(ids, string(uid.New())), append(eventIDs, string(e.ID))
		audiences, users, types = append(audiences, audience), append(users, string(user)), append(types, e.Type)
		subjects, payloads = append(subjects, e.AggregateType+":"+e.AggregateID), append(payloads, string(e.Payload))
		created = append(created, e.OccurredAt)
	}
	if len(tenants) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, sqlNotifications, postgres.Args{
		"tenants": tenants, "ids": ids, "events": eventIDs, "audiences": audiences, "users": users,
		"types": types, "subjects": subjects, "payloads": payloads, "created": created,
	})
	return err
}

// Notification is one line of the feed.
type Notification struct {
	ID        op.UUID         `json:"id"`
	EventID   op.UUID         `json:"eventId"`
	Audience  string          `json:"audience"`
	Type      string          `json:"type"`
	Subject   string          `json:"subject"`
	Payload   json.RawMessage `json:"payload"`
	CreatedAt time.Time       `json:"createdAt"`
	ReadAt    *time.Time      `json:"readAt,omitempty"`
}

const sqlFeed = `
SELECT id, event_id, audience, type, subject, payload, created_at, read_at
FROM events.notifications
WHERE tenant_id = @tenant AND (user_id = @user OR (@administrator::boolean AND audience = 'ADMINISTRATORS'))
  AND (@before::uuid IS NULL OR id < @before::uuid)
ORDER BY id DESC
LIMIT @limit`

// Feed lists the notifications of a user, newest first, and those of the tenant's
// administrators too where the user is one. before is the last id of the page
// before, or empty.
func Feed(ctx context.Context, q postgres.Querier, tenant, user op.UUID, administrator bool, before op.UUID, limit int) ([]Notification, error) {
	var from *op.UUID
	if before != "" {
		from = &before
	}
	list, err := postgres.Collect[Notification](ctx, q, sqlFeed, postgres.Args{
		"tenant": tenant, "user": user, "administrator": administrator, "before": from, "limit": limit,
	})
	if err != nil {
		return nil, postgres.MapError(err)
	}
	return list, nil
}

const sqlMarkRead = `
UPDATE events.notifications SET read_at = coalesce(read_at, @now)
WHERE tenant_id = @tenant AND id = @id AND (user_id = @user OR (@administrator::boolean AND audience = 'ADMINISTRATORS'))`

// MarkRead marks a notification as read and tells whether there is such a one for
// this user.
func MarkRead(ctx context.Context, q postgres.Querier, tenant, user op.UUID, administrator bool, id op.UUID, now time.Time) (bool, error) {
	tag, err := q.Exec(ctx, sqlMarkRead, postgres.Args{
		"tenant": tenant, "user": user, "administrator": administrator, "id": id, "now": now,
	})
	return tag.RowsAffected() == 1, postgres.MapError(err)
}
