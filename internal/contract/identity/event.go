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

// EventType is a type of event with its JSON Schema.
type EventType struct {
	Name        string         `json:"name" doc:"<area>.<record>.<past-tense verb>, for example projects.task.created."`
	Version     int            `json:"version" doc:"The version of the schema. It increases with incompatible changes; new members are compatible."`
	Record      string         `json:"record" doc:"The type of the record that the event is about."`
	Module      string         `json:"module" doc:"The module that emits the event."`
	Description string         `json:"description" doc:"What happened."`
	Schema      map[string]any `json:"schema,omitempty" doc:"The JSON Schema (draft 2020-12) of the event as webhooks deliver it. list-event-types returns it only if schemas is true."`
}

// ListEventTypesIn selects types of events.
type ListEventTypesIn struct {
	Prefix  string `query:"prefix" maxLength:"200" doc:"Only types whose names start with this text, for example projects.task."`
	Schemas bool   `query:"schemas" doc:"Whether to return the JSON Schemas too."`
	Limit   int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor  string `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListEventTypes lists the types of events that the server emits.
var ListEventTypes = op.Declare[ListEventTypesIn, op.Page[EventType]](Contract, op.Spec{
	Name: "list-event-types", Method: "GET", Path: "/api/event-types", Access: op.Authenticated, Effect: op.Read,
	Summary:     "List the types of events with their JSON Schemas",
	Description: "By name. The types are the same in every tenant. schemas adds the JSON Schema of each type.",
})

// EventTypeIn names a type of event.
type EventTypeIn struct {
	EventType string `path:"eventType" maxLength:"200" doc:"The name of the type, for example projects.task.created."`
}

// GetEventType returns a type of event.
var GetEventType = op.Declare[EventTypeIn, EventType](Contract, op.Spec{
	Name: "get-event-type", Method: "GET", Path: "/api/event-types/{eventType}", Access: op.Authenticated, Effect: op.Read,
	Summary: "Show a type of event with its JSON Schema",
})

// EventAuditEntryCreated is emitted with each critical audit entry.
var EventAuditEntryCreated = op.DeclareEvent[AuditEntrySummary](Contract, "audit.entry.created", "A critical audit entry was written. The payload does not contain the changes.").About("audit_entry")

// AuditEntrySummary identifies an audit entry in an event.
type AuditEntrySummary struct {
	ID           op.UUID `json:"id" doc:"The entry's id."`
	Action       string  `json:"action" doc:"What was done, <noun>.<past-tense verb>."`
	ResourceType string  `json:"resourceType" doc:"The type of the affected record."`
	ResourceID   string  `json:"resourceId" doc:"The id of the affected record; empty if there is none."`
	Module       string  `json:"module" doc:"The module that wrote the entry."`
	ActorType    string  `json:"actorType" doc:"The kind of actor, for example user or system."`
}

// EventKeyExpiryWarned warns that an API key of a service principal expires within 14 days.
var EventKeyExpiryWarned = op.DeclareEvent[ExpiringKey](Contract, "directory.user.key_expiry_warned", "A key of a service principal expires soon or expired within the last day. It is emitted at most once per key and day.").About("api_key")

// ExpiringKey is an API key of a service principal that expires soon.
type ExpiringKey struct {
	JTI            op.UUID   `json:"jti" doc:"The key's id."`
	Label          string    `json:"label" doc:"The key's label. Untrusted text."`
	Owner          op.UUID   `json:"owner" doc:"The service principal."`
	IntegrationKey string    `json:"integrationKey" doc:"The integration key of the service principal."`
	Expiry         time.Time `json:"expiry" doc:"When the key expires."`
	DaysLeft       int       `json:"daysLeft" doc:"The number of whole days until then; negative if the key has expired."`
}

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
