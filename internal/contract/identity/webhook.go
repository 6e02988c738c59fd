package identity

import (
	"time"

	"parapet/internal/op"
)

// The permissions for webhooks.
const (
	PermWebhooksRead  = "webhooks.read"
	PermWebhookManage = "webhook.manage"
)

// Audit actions of webhooks.
const (
	ActionWebhookCreated       = "webhook.created"
	ActionWebhookUpdated       = "webhook.updated"
	ActionWebhookDeleted       = "webhook.deleted"
	ActionWebhookSecretRotated = "webhook.secret_rotated"
	ActionWebhookTested        = "webhook.tested"
	ActionWebhookRedelivered   = "webhook.redelivered"
	ActionWebhookDisabled      = "webhook.disabled"
)

// The events of webhooks. The payload is the WebhookState.
var (
	EventWebhookCreated       = op.DeclareEvent[WebhookState](Contract, "events.webhook.created", "A webhook was created.")
	EventWebhookUpdated       = op.DeclareEvent[WebhookState](Contract, "events.webhook.updated", "A webhook was changed, enabled or disabled by a user.")
	EventWebhookDeleted       = op.DeclareEvent[WebhookState](Contract, "events.webhook.deleted", "A webhook was deleted with the log of its deliveries.")
	EventWebhookSecretRotated = op.DeclareEvent[WebhookState](Contract, "events.webhook.secret_rotated", "A webhook got a new secret.")
	EventWebhookTested        = op.DeclareEvent[WebhookState](Contract, "events.webhook.tested", "A user started a test delivery to a webhook.")
	EventWebhookRedelivered   = op.DeclareEvent[WebhookState](Contract, "events.webhook.redelivered", "A user started the redelivery of events to a webhook.")
	EventWebhookDisabled      = op.DeclareEvent[WebhookState](Contract, "events.webhook.disabled", "The server disabled a webhook, because its deliveries failed.")
)

// WebhookState is a webhook in the payload of its events. It contains no URL, because the path
// or the query of a URL can contain a secret of the receiver.
type WebhookState struct {
	ID             op.UUID `json:"id" doc:"The webhook's id."`
	Owner          op.UUID `json:"owner" doc:"The user with whose permissions events are delivered."`
	Description    string  `json:"description" doc:"What the webhook is for: user-generated, untrusted text."`
	Enabled        bool    `json:"enabled" doc:"Whether events are delivered."`
	DisabledReason string  `json:"disabledReason,omitempty" enum:"REQUESTED|FAILING|GONE|SECRET_UNREADABLE" doc:"Why the webhook is disabled."`
}

// Webhook is an address that receives events of the tenant. It never contains the secret.
type Webhook struct {
	ID                  op.UUID       `json:"id" doc:"The webhook's id."`
	URL                 string        `json:"url" doc:"The address that receives the events: user-generated, untrusted text."`
	Description         string        `json:"description" doc:"What the webhook is for: user-generated, untrusted text."`
	EventTypes          []string      `json:"eventTypes" doc:"The types of events that are delivered: exact types, and prefixes that end in .*"`
	MaxClassification   string        `json:"maxClassification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"Events with a higher classification are not delivered."`
	OwnerID             op.UUID       `json:"ownerId" doc:"The user with whose permissions events are delivered: an event is delivered only if this user may read it at that time."`
	Owner               *op.Reference `json:"owner,omitempty" db:"-" doc:"The name of the record that ownerId identifies."`
	Enabled             bool          `json:"enabled" doc:"Whether events are delivered."`
	DisabledReason      string        `json:"disabledReason,omitempty" enum:"REQUESTED|FAILING|GONE|SECRET_UNREADABLE" doc:"Why the webhook is disabled. REQUESTED: by a user. FAILING: no delivery succeeded for 24 hours. GONE: the receiver answered 410. SECRET_UNREADABLE: the server's secret has changed; rotate the secret of the webhook."`
	DisabledAt          *time.Time    `json:"disabledAt,omitempty" doc:"When the webhook was disabled."`
	ConsecutiveFailures int           `json:"consecutiveFailures" doc:"The number of failed attempts since the last success."`
	PausedUntil         *time.Time    `json:"pausedUntil,omitempty" doc:"After several failures, nothing is sent until this time."`
	LastSuccessAt       *time.Time    `json:"lastSuccessAt,omitempty" doc:"When the receiver last accepted a delivery."`
	PreviousSecretUntil *time.Time    `json:"previousSecretUntil,omitempty" doc:"Until then, deliveries are signed with the previous secret too."`
	CreatedAt           time.Time     `json:"createdAt" doc:"When the webhook was created."`
	UpdatedAt           time.Time     `json:"updatedAt" doc:"When the webhook was last changed."`
}

// WebhookWithSecret is a webhook with its new secret.
type WebhookWithSecret struct {
	Secret  string  `json:"secret" doc:"The secret with which the receiver verifies signatures: whsec_ and 32 bytes in base64. It is returned only this once."`
	Webhook Webhook `json:"webhook" doc:"The webhook."`
}

// ListWebhooksIn selects a page of webhooks.
type ListWebhooksIn struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListWebhooks lists the webhooks of the tenant.
var ListWebhooks = op.Declare[ListWebhooksIn, op.Page[Webhook]](Contract, op.Spec{
	Name: "list-webhooks", Method: "GET", Path: "/api/webhooks", Permission: PermWebhooksRead, Effect: op.Read,
	Summary:     "List the webhooks of the tenant",
	Description: "Newest first. Secrets are never returned.",
})

// CreateWebhookIn is the input of CreateWebhook.
type CreateWebhookIn struct {
	URL               string   `json:"url" required:"true" minLength:"1" maxLength:"2000" doc:"The address that receives the events as POST requests. It must start with https:// and cannot contain a user name or a fragment."`
	Description       string   `json:"description" maxLength:"500" doc:"What the webhook is for."`
	EventTypes        []string `json:"eventTypes" required:"true" minLength:"1" maxLength:"100" doc:"The types of events to deliver: exact types such as projects.task.created, and prefixes such as projects.task.*"`
	MaxClassification string   `json:"maxClassification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"Do not deliver events with a higher classification. Default: the caller's clearance."`
}

// CreateWebhook creates a webhook whose owner is the caller.
var CreateWebhook = op.Declare[CreateWebhookIn, WebhookWithSecret](Contract, op.Spec{
	Name: "create-webhook", Method: "POST", Path: "/api/webhooks", Permission: PermWebhookManage, Effect: op.Write, Status: 201, Secret: true,
	Summary: "Create a webhook",
	Description: "The caller becomes the owner: an event is delivered only if the owner may read it at that time (events.read, up to the owner's clearance and maxClassification). " +
		"The caller must be allowed to read events up to maxClassification. A service principal cannot own a webhook. The secret is returned only once.",
})

// WebhookIn names a webhook.
type WebhookIn struct {
	WebhookID op.UUID `path:"webhookId" doc:"The webhook's id."`
}

// GetWebhook returns a webhook.
var GetWebhook = op.Declare[WebhookIn, Webhook](Contract, op.Spec{
	Name: "get-webhook", Method: "GET", Path: "/api/webhooks/{webhookId}", Permission: PermWebhooksRead, Effect: op.Read,
	Summary: "Get a webhook",
})

// UpdateWebhookIn is the input of UpdateWebhook.
type UpdateWebhookIn struct {
	WebhookID         op.UUID          `path:"webhookId" doc:"The webhook's id."`
	URL               op.Opt[string]   `json:"url" minLength:"1" maxLength:"2000" doc:"A new address."`
	Description       op.Opt[string]   `json:"description" maxLength:"500" doc:"A new description."`
	EventTypes        op.Opt[[]string] `json:"eventTypes" minLength:"1" maxLength:"100" doc:"New types of events: exact types, and prefixes that end in .*"`
	MaxClassification op.Opt[string]   `json:"maxClassification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"A new limit for the classification of events."`
	Enabled           op.Opt[bool]     `json:"enabled" doc:"true delivers events again from now on. false stops; pending deliveries are then marked as failed."`
}

// UpdateWebhook changes a webhook.
var UpdateWebhook = op.Declare[UpdateWebhookIn, Webhook](Contract, op.Spec{
	Name: "update-webhook", Method: "PATCH", Path: "/api/webhooks/{webhookId}", Permission: PermWebhookManage, Effect: op.Write,
	Summary: "Change, enable or disable a webhook",
	Description: "The owner stays the same. To change anything except the description, or to enable the webhook, the caller must be allowed to read events up to " +
		"the webhook's maxClassification. Events that happen while a webhook is disabled are not delivered later.",
})

// DeleteWebhook deletes a webhook.
var DeleteWebhook = op.Declare[WebhookIn, op.None](Contract, op.Spec{
	Name: "delete-webhook", Method: "DELETE", Path: "/api/webhooks/{webhookId}", Permission: PermWebhookManage, Effect: op.Destroy, Status: 204,
	Summary: "Delete a webhook with the log of its deliveries",
})

// RotateWebhookSecret replaces the secret of a webhook.
var RotateWebhookSecret = op.Declare[WebhookIn, WebhookWithSecret](Contract, op.Spec{
	Name: "rotate-webhook-secret", Method: "POST", Path: "/api/webhooks/{webhookId}/rotate-secret", Permission: PermWebhookManage, Effect: op.Write, Secret: true,
	Summary:     "Replace the secret of a webhook",
	Description: "Deliveries are signed with both secrets for 24 hours. A second rotation within this time ends the oldest secret. The secret is returned only once.",
})
