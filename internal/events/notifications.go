package events

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// KeyExpiryWarned is the event that warns that a key of a SERVICE principal is about to
// expire. It is written at most once per key and day.
const KeyExpiryWarned = "directory.user.key_expiry_warned"

// Events about decision requests, written by the tracker.
const (
	decisionEvents = "projects.decision_request.*"
	decisionRaised = "projects.decision_request.raised"
)

// webhookDisabled is the event that reports that the server has disabled a webhook.
const webhookDisabled = "events.webhook.disabled"

// Audiences of a notification.
const (
	// ToUser addresses one user.
	ToUser = "USER"
	// ToAdministrators addresses the users who administer the tenant's keys and members.
	ToAdministrators = "ADMINISTRATORS"
)

// Notifications returns the subscriber that writes the notification feed:
//   - an expiring service key: to the tenant's administrators;
//   - a change to a user's record, memberships, roles or keys by somebody else: to that user;
//   - a raised decision request: to the users that it names, or else to the administrators;
//   - a closed decision request: to the user who raised it;
//   - a webhook that the server has disabled: to its owner and to the administrators.
func Notifications() Subscriber {
	return Subscriber{
		Name:   "notifications",
		Types:  []string{"directory.user.*", "directory.membership.*", "directory.role.assigned", "directory.role.unassigned", decisionEvents, webhookDisabled},
		Handle: writeNotifications,
	}
}

const notificationsSQL = `
INSERT INTO events.notifications (tenant_id, id, event_id, audience, user_id, type, subject, payload, created_at)
SELECT tenant_id, id, event_id, audience, nullif(user_id, '')::uuid, type, subject, payload::jsonb, created_at
FROM unnest(@tenants::uuid[], @ids::uuid[], @events::uuid[], @audiences::text[], @users::text[], @types::text[],
            @subjects::text[], @payloads::text[], @created::timestamptz[])
     AS n (tenant_id, id, event_id, audience, user_id, type, subject, payload, created_at)
ON CONFLICT ON CONSTRAINT notifications_once DO NOTHING`

// affectedUsers returns the user whom an event concerns: the resource's owner or userId,
// or else the aggregate if it is a user.
func affectedUsers(e *Event) (op.UUID, bool) {
	var payload struct {
		Resource struct {
			Owner  op.UUID `json:"owner"`
			UserID op.UUID `json:"userId"`
		} `json:"resource"`
	}
	// A payload of another form names no user; it must not block the event.
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

// recipient is a recipient of a notification. user is empty unless audience is ToUser.
type recipient struct {
	audience string
	user     op.UUID
}

// recipients returns the recipients of an event. Users are not notified of their own
// actions.
func recipients(e *Event) []recipient {
	if e.Type == KeyExpiryWarned {
		return []recipient{{audience: ToAdministrators}}
	}
	if e.Type == webhookDisabled {
		list := []recipient{{audience: ToAdministrators}}
		if user, ok := affectedUsers(e); ok {
			list = append(list, recipient{ToUser, user})
		}
		return list
	}
	if !Matches(decisionEvents, e.Type) {
		if user, ok := affectedUsers(e); ok && user != e.ActorID {
			return []recipient{{ToUser, user}}
		}
		return nil
	}
	var payload struct {
		Notify []op.UUID `json:"notify"`
	}
	_ = json.Unmarshal(e.Payload, &payload)
	var list []recipient
	for _, user := range payload.Notify {
		if user != e.ActorID {
			list = append(list, recipient{ToUser, user})
		}
	}
	if e.Type == decisionRaised && len(payload.Notify) == 0 {
		list = append(list, recipient{audience: ToAdministrators})
	}
	return list
}

// feedPayload returns the payload that the feed stores. Reading the feed does not check
// access to the project, so for a decision request the payload has ids but no text.
func feedPayload(e *Event) (json.RawMessage, error) {
	if !Matches(decisionEvents, e.Type) {
		return e.Payload, nil
	}
	// A payload of another form yields empty fields; it must not block the event.
	var payload struct {
		Resource struct {
			ID        op.UUID `json:"id"`
			ProjectID op.UUID `json:"projectId"`
			TaskID    op.UUID `json:"taskId"`
			TaskKey   string  `json:"taskKey"`
			Status    string  `json:"status"`
			RaisedBy  op.UUID `json:"raisedBy"`
		} `json:"resource"`
	}
	_ = json.Unmarshal(e.Payload, &payload)
	return json.Marshal(payload)
}

func writeNotifications(ctx context.Context, tx pgx.Tx, list []Event) error {
	var tenants, ids, eventIDs, audiences, users, types, subjects, payloads []string
	var created []time.Time
	for _, e := range list {
		if e.TenantID == "" {
			continue
		}
		payload, err := feedPayload(&e)
		if err != nil {
			return err
		}
		for _, to := range recipients(&e) {
			tenants, ids, eventIDs = append(tenants, string(e.TenantID)), append(ids, string(uid.New())), append(eventIDs, string(e.ID))
			audiences, users, types = append(audiences, to.audience), append(users, string(to.user)), append(types, e.Type)
			subjects, payloads = append(subjects, e.AggregateType+":"+e.AggregateID), append(payloads, string(payload))
			created = append(created, e.OccurredAt)
		}
	}
	if len(tenants) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, notificationsSQL, postgres.Args{
		"tenants": tenants, "ids": ids, "events": eventIDs, "audiences": audiences, "users": users,
		"types": types, "subjects": subjects, "payloads": payloads, "created": created,
	})
	return err
}

// Notification is an entry of the feed.
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

const feedSQL = `
SELECT id, event_id, audience, type, subject, payload, created_at, read_at
FROM events.notifications
WHERE tenant_id = @tenant AND (user_id = @user OR (@administrator::boolean AND audience = 'ADMINISTRATORS'))
  AND (@before::uuid IS NULL OR id < @before::uuid)
ORDER BY id DESC
LIMIT @limit`

// Feed returns a page of the notifications of a user, newest first, including those of the
// tenant's administrators if the user is one. before is the last id of the previous page,
// or empty.
func Feed(ctx context.Context, q postgres.Querier, tenant, user op.UUID, administrator bool, before op.UUID, limit int) ([]Notification, error) {
	var from *op.UUID
	if before != "" {
		from = &before
	}
	list, err := postgres.Collect[Notification](ctx, q, feedSQL, postgres.Args{
		"tenant": tenant, "user": user, "administrator": administrator, "before": from, "limit": limit,
	})
	if err != nil {
		return nil, postgres.MapError(err)
	}
	return list, nil
}

const markReadSQL = `
UPDATE events.notifications SET read_at = coalesce(read_at, @now)
WHERE tenant_id = @tenant AND id = @id AND (user_id = @user OR (@administrator::boolean AND audience = 'ADMINISTRATORS'))`

// MarkRead marks a notification as read and reports whether this user has such a
// notification.
func MarkRead(ctx context.Context, q postgres.Querier, tenant, user op.UUID, administrator bool, id op.UUID, now time.Time) (bool, error) {
	tag, err := q.Exec(ctx, markReadSQL, postgres.Args{
		"tenant": tenant, "user": user, "administrator": administrator, "id": id, "now": now,
	})
	return tag.RowsAffected() == 1, postgres.MapError(err)
}
