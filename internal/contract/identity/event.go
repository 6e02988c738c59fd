package identity

import (
	"time"

	"parapet/internal/op"
)

// EventRecord is one domain event of the tenant. It omits the payload, because the
// payload has the classification of the record that it describes.
type EventRecord struct {
	ID            op.UUID       `json:"id" doc:"The event's id."`
	Type          string        `json:"type" doc:"<area>.<entity>.<past-tense verb>."`
	TenantID      op.UUID       `json:"tenantId" doc:"The tenant."`
	Tenant        *op.Reference `json:"tenant,omitempty" db:"-" doc:"The name of the record that tenantId identifies."`
	AggregateType string        `json:"aggregateType" doc:"The type of the record that the event is about."`
	AggregateID   string        `json:"aggregateId" doc:"The id of the record that the event is about."`
	Aggregate     *op.Reference `json:"aggregate,omitempty" db:"-" doc:"The name of the record that aggregateId identifies. Absent for types of records without names."`
	Sequence      int64         `json:"sequence" doc:"The event's sequence number. Later events of the same record have higher numbers."`
	OccurredAt    time.Time     `json:"occurredAt" doc:"When the event happened."`
	ActorID       op.UUID       `json:"actorId,omitempty" doc:"The user who caused the event."`
	Actor         *op.Reference `json:"actor,omitempty" db:"-" doc:"The name of the record that actorId identifies."`
	CorrelationID op.UUID       `json:"correlationId" doc:"The x-request-id of the request."`
	DispatchedAt  *time.Time    `json:"dispatchedAt,omitempty" doc:"When the event was delivered to its subscribers."`
}

// ListEventsIn filters the events.
type ListEventsIn struct {
	Type          string `query:"type" maxLength:"200" doc:"Only events of this type."`
	AggregateType string `query:"aggregateType" maxLength:"100" doc:"Only events about this type of record."`
	AggregateID   string `query:"aggregateId" maxLength:"100" doc:"Only events about this record."`
	Limit         int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor        string `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListEvents lists the tenant's domain events.
var ListEvents = op.Declare[ListEventsIn, op.Page[EventRecord]](Contract, op.Spec{
	Name: "list-events", Method: "GET", Path: "/api/events", Permission: "events.read", Effect: op.Read,
	Summary:     "List the tenant's domain events",
	Description: "Newest first. Events are deleted after the retention period. Payloads are delivered to subscribers only and are not returned.",
})

// Notification informs one user or all administrators of the tenant about an event.
type Notification struct {
	ID        op.UUID    `json:"id" doc:"The notification's id."`
	EventID   op.UUID    `json:"eventId" doc:"The event that caused the notification."`
	Audience  string     `json:"audience" enum:"USER|ADMINISTRATORS" doc:"Who receives it: one user or all administrators of the tenant."`
	Type      string     `json:"type" doc:"The event's type."`
	Subject   string     `json:"subject" doc:"The record that the event is about, as <type>:<id>."`
	CreatedAt time.Time  `json:"createdAt" doc:"When the notification was created."`
	ReadAt    *time.Time `json:"readAt,omitempty" doc:"When it was marked as read."`
}

// ListNotificationsIn selects a page of notifications.
type ListNotificationsIn struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListNotifications lists the caller's notifications.
var ListNotifications = op.Declare[ListNotificationsIn, op.Page[Notification]](Contract, op.Spec{
	Name: "list-notifications", Method: "GET", Path: "/api/notifications", Permission: "tenant.read", Effect: op.Read,
	Summary:     "List your notifications",
	Description: "Newest first. An administrator also sees the notifications for the tenant's administrators.",
})

// NotificationIn is the input of MarkNotificationRead.
type NotificationIn struct {
	NotificationID op.UUID `path:"notificationId" doc:"The notification's id."`
}

// MarkNotificationRead marks a notification as read.
var MarkNotificationRead = op.Declare[NotificationIn, op.None](Contract, op.Spec{
	Name: "mark-notification-read", Method: "POST", Path: "/api/notifications/{notificationId}/read", Permission: "tenant.read", Effect: op.Write, Status: 204,
	Summary:     "Mark a notification as read",
	Description: "A notification for administrators is then marked as read for all of them. Marking it again changes nothing.",
})
