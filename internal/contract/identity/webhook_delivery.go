package identity

import (
	"time"

	"parapet/internal/op"
)

// WebhookDelivery is the delivery of one event to one webhook, with the result of its last
// attempt.
type WebhookDelivery struct {
	ID              op.UUID    `json:"id" doc:"The delivery's id; the header webhook-id of its requests."`
	WebhookID       op.UUID    `json:"webhookId" doc:"The webhook."`
	EventID         op.UUID    `json:"eventId,omitempty" doc:"The event; absent for a test."`
	EventType       string     `json:"eventType" doc:"The type of the event."`
	Status          string     `json:"status" enum:"PENDING|DELIVERED|FAILED|SKIPPED" doc:"PENDING: it will be sent, perhaps again. DELIVERED: the receiver accepted it. FAILED: it is not sent again unless it is redelivered. SKIPPED: it was not sent."`
	Attempts        int        `json:"attempts" doc:"The number of attempts so far."`
	CreatedAt       time.Time  `json:"createdAt" doc:"When the delivery was queued."`
	NextAttemptAt   *time.Time `json:"nextAttemptAt,omitempty" doc:"When the next attempt is due; absent if the delivery is finished."`
	FirstAttemptAt  *time.Time `json:"firstAttemptAt,omitempty" doc:"When the first attempt began."`
	LastAttemptAt   *time.Time `json:"lastAttemptAt,omitempty" doc:"When the last attempt began."`
	FinishedAt      *time.Time `json:"finishedAt,omitempty" doc:"When the delivery was delivered, failed or skipped."`
	Outcome         string     `json:"outcome,omitempty" enum:"ACCEPTED|STATUS|REDIRECT|GONE|TIMEOUT|NAME_NOT_RESOLVED|ADDRESS_NOT_ALLOWED|TLS|CONNECTION|INTERRUPTED|NOT_READABLE|EVENT_DELETED|WEBHOOK_DISABLED" doc:"The result of the last attempt."`
	Message         string     `json:"message,omitempty" doc:"The result in words."`
	ResponseStatus  int        `json:"responseStatus,omitempty" doc:"The HTTP status of the last response."`
	ResponseExcerpt string     `json:"responseExcerpt,omitempty" doc:"The start of the last response, up to 1 KB. Control characters are escaped. Untrusted text."`
	DurationMS      int        `json:"durationMs,omitempty" doc:"The duration of the last attempt in milliseconds."`
}

// TestWebhook sends a test event.
var TestWebhook = op.Declare[WebhookIn, WebhookDelivery](Contract, op.Spec{
	Name: "test-webhook", Method: "POST", Path: "/api/webhooks/{webhookId}/test", Permission: PermWebhookManage, Effect: op.Write, Status: 202,
	Summary:     "Send a test event to a webhook",
	Description: "Queues an event of the type events.webhook.tested and returns its delivery. Read the delivery again for its result. The webhook must be enabled.",
})

// ListWebhookDeliveriesIn filters the deliveries of a webhook.
type ListWebhookDeliveriesIn struct {
	WebhookID op.UUID `path:"webhookId" doc:"The webhook's id."`
	Status    string  `query:"status" enum:"PENDING|DELIVERED|FAILED|SKIPPED" doc:"Only deliveries with this status."`
	EventType string  `query:"eventType" maxLength:"200" doc:"Only deliveries of events of this type."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor    string  `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListWebhookDeliveries lists the deliveries of a webhook.
var ListWebhookDeliveries = op.Declare[ListWebhookDeliveriesIn, op.Page[WebhookDelivery]](Contract, op.Spec{
	Name: "list-webhook-deliveries", Method: "GET", Path: "/api/webhooks/{webhookId}/deliveries", Permission: PermWebhooksRead, Effect: op.Read,
	Summary:     "List the deliveries of a webhook",
	Description: "Newest first. Deliveries of events above the caller's clearance are omitted. Deliveries are deleted after 30 days.",
})

// WebhookDeliveryIn names a delivery.
type WebhookDeliveryIn struct {
	WebhookID  op.UUID `path:"webhookId" doc:"The webhook's id."`
	DeliveryID op.UUID `path:"deliveryId" doc:"The delivery's id."`
}

// GetWebhookDelivery returns a delivery.
var GetWebhookDelivery = op.Declare[WebhookDeliveryIn, WebhookDelivery](Contract, op.Spec{
	Name: "get-webhook-delivery", Method: "GET", Path: "/api/webhooks/{webhookId}/deliveries/{deliveryId}", Permission: PermWebhooksRead, Effect: op.Read,
	Summary: "Get a delivery of a webhook",
})

// RedeliverWebhookDelivery sends a finished delivery again.
var RedeliverWebhookDelivery = op.Declare[WebhookDeliveryIn, WebhookDelivery](Contract, op.Spec{
	Name: "redeliver-webhook-delivery", Method: "POST", Path: "/api/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver",
	Permission: PermWebhookManage, Effect: op.Write, Status: 202,
	Summary:     "Send a delivery of a webhook again",
	Description: "The requests have the same webhook-id as before. A pending delivery is sent immediately. The webhook must be enabled.",
})

// RedeliverWebhookIn selects failed deliveries of a webhook.
type RedeliverWebhookIn struct {
	WebhookID op.UUID `path:"webhookId" doc:"The webhook's id."`
	From      string  `json:"from" format:"date-time" doc:"Only deliveries that were queued at this time or later."`
	Until     string  `json:"until" format:"date-time" doc:"Only deliveries that were queued before this time."`
}

// WebhookRedelivery is the result of RedeliverWebhook.
type WebhookRedelivery struct {
	Count int `json:"count" doc:"The number of deliveries that will be sent again."`
	// More is true if the limit was reached.
	More bool `json:"more" doc:"Whether there are more failed deliveries. Repeat the request to send them."`
}

// RedeliverWebhook sends the failed deliveries of a webhook again.
var RedeliverWebhook = op.Declare[RedeliverWebhookIn, WebhookRedelivery](Contract, op.Spec{
	Name: "redeliver-webhook", Method: "POST", Path: "/api/webhooks/{webhookId}/redeliver", Permission: PermWebhookManage, Effect: op.Write, Status: 202,
	Summary:     "Send the failed deliveries of a webhook again",
	Description: "Sends up to 10,000 failed deliveries again, the oldest first. The webhook must be enabled. Deliveries of events above the caller's clearance are left out.",
})
