package identity

import (
	"time"

	"parapet/internal/op"
)

// EventRecord is one domain event of the tenant, without its payload, which has
// the classification of the record that it is about.
type EventRecord struct {
	ID            op.UUID    `json:"id" doc:"The event's id."`
	Type          string     `json:"type" doc:"<area>.<entity>.<past-tense verb>."`
	TenantID      op.UUID    `json:"tenantId" doc:"The tenant."`
	AggregateType string     `json:"aggregateType" doc:"What kind of record it is about."`
	AggregateID   string     `json:"aggregateId" doc:"Which record it is about."`
	Sequence      int64      `json:"sequence" doc:"Rises with each event of a record."`
	OccurredAt    time.Time  `json:"occurredAt" doc:"When it happened."`
	ActorID       op.UUID    `json:"actorId,omitempty" doc:"Who did it."`
	CorrelationID op.UUID    `json:"correlationId" doc:"The request: its x-request-id."`
	DispatchedAt  *time.Time `json:"dispatchedAt,omitempty" doc:"When it was handed to its subscribers."`
}

// ListEventsIn selects events.
type ListEventsIn struct {
	Type          string `query:"type" maxLength:"200" doc:"Of this type only."`
	AggregateType string `query:"aggregateType" maxLength:"100" doc:"About this kind of record only."`
	AggregateID   string `query:"aggregateId" maxLength:"100" doc:"About this record only."`
	Limit         int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many at most."`
	Cursor        string `query:"cursor" maxLength:"1024" doc:"Where the page starts."`
}

// ListEvents lists the tenant's domain events.
var ListEvents = op.New[ListEventsIn, op.Page[EventRecord]](op.Spec{
	Name: "list-events", Module: Module, Method: "GET", Path: "/api/events", Permission: "events.read", Effect: op.Read,
	Summary:     "List the tenant's domain events",
	Description: "Newest first, for as long as they are kept. Payloads are for subscribers and are not shown.",
})

// Notification is something that a person, or every administrator, should know.
type Notification struct {
	ID        op.UUID    `json:"id" doc:"The notification's id."`
	EventID   op.UUID    `json:"eventId" doc:"The event that it comes from."`
	Audience  string     `json:"audience" enum:"USER|ADMINISTRATORS" doc:"Whom it is for."`
	Type      string     `json:"type" doc:"The event's type."`
	Subject   string     `json:"subject" doc:"The record that it is about, as <type>:<id>."`
	CreatedAt time.Time  `json:"createdAt" doc:"When it was made."`
	ReadAt    *time.Time `json:"readAt,omitempty" doc:"When it was marked as read."`
}

// ListNotificationsIn selects notifications.
type ListNotificationsIn struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many at most."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"Where the page starts."`
}

// ListNotifications lists the caller's notifications.
var ListNotifications = op.New[ListNotificationsIn, op.Page[Notification]](op.Spec{
	Name: "list-notifications", Module: Module, Method: "GET", Path: "/api/notifications", Permission: "tenant.read", Effect: op.Read,
	Summary:     "List one's own notifications",
	Description: "And, for an administrator, those for the tenant's administrators. Newest first.",
})

// NotificationIn names a notification.
type NotificationIn struct {
	NotificationID op.UUID `path:"notificationId" doc:"The notification's id."`
}

// MarkNotificationRead marks a notification as read.
var MarkNotificationRead = op.New[NotificationIn, op.None](op.Spec{
	Name: "mark-notification-read", Module: Module, Method: "POST", Path: "/api/notifications/{notificationId}/read", Permission: "tenant.read", Effect: op.Write, Status: 204,
	Summary:     "Mark a notification as read",
	Description: "One that is for administrators is read for all of them. Marking it again changes nothing.",
})
