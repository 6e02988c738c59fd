package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"parapet/internal/op"
)

// sign returns the header webhook-signature of Standard Webhooks: one signature for each
// secret, separated by spaces.
func sign(id op.UUID, at time.Time, body []byte, secrets ...[]byte) string {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(string(id) + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}

// message is the body of a request.
type message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      envelope  `json:"data"`
}

// envelope is the public form of an event.
type envelope struct {
	ID            op.UUID   `json:"id"`
	Type          string    `json:"type"`
	TenantID      op.UUID   `json:"tenantId"`
	AggregateType string    `json:"aggregateType"`
	AggregateID   string    `json:"aggregateId"`
	Sequence      int64     `json:"sequence"`
	OccurredAt    time.Time `json:"occurredAt"`
	ActorID       op.UUID   `json:"actorId,omitempty"`
	CorrelationID op.UUID   `json:"correlationId"`
	Payload       payload   `json:"payload"`
}

// payload leaves out which users are notified of the event.
type payload struct {
	Resource       json.RawMessage `json:"resource,omitempty"`
	Changed        []string        `json:"changed,omitempty"`
	Classification string          `json:"classification,omitempty"`
}

// newBody returns the body of the requests of a delivery. It is the same in each attempt.
func newBody(tenant op.UUID, d *delivery) ([]byte, error) {
	m := message{Type: d.EventType, Timestamp: d.CreatedAt.UTC()}
	if d.EventID == "" {
		m.Data = envelope{ID: d.ID, Type: d.EventType, TenantID: tenant, AggregateType: "webhook", AggregateID: string(d.WebhookID), OccurredAt: m.Timestamp, CorrelationID: d.ID}
		return json.Marshal(m)
	}
	m.Timestamp = d.OccurredAt.UTC()
	m.Data = envelope{
		ID: d.EventID, Type: d.EventType, TenantID: tenant, AggregateType: d.AggregateType, AggregateID: d.AggregateID, Sequence: d.Position,
		OccurredAt: m.Timestamp, ActorID: d.ActorID, CorrelationID: d.CorrelationID,
	}
	if err := json.Unmarshal(d.Payload, &m.Data.Payload); err != nil {
		return nil, err
	}
	return json.Marshal(m)
}
