package gate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"parapet/internal/audit"
	"parapet/internal/authz"
	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// Note is what a handler says for the audit log. The gate adds who, by which
// credential, when, where and the correlation id.
type Note struct {
	// Action is a verb in the past tense behind its noun: task.updated.
	Action       string
	ResourceType string
	ResourceID   string
	// Changes is any value that marshals to JSON, or nil: ids and codes, never a
	// secret, never an address.
	Changes any
	// Critical writes the event audit.entry.created as well.
	Critical bool
	// Classification is that of the resource, where it has one.
	Classification string
}

// Event is what a handler tells the other parts of the product. The gate adds
// the envelope.
type Event struct {
	// Type is <area>.<entity>.<past-tense verb>.
	Type          string
	AggregateType string
	AggregateID   op.UUID
	// Payload is the changed resource's public form.
	Payload any
	// Changed are the names of the fields that an update changed.
	Changed []string
	// Notify are the users whom it concerns, for the feed of notifications.
	Notify []op.UUID
}

// Record adds an entry to the audit log, written with the change.
func (c *Call) Record(n Note) { c.notes = append(c.notes, n) }

// Emit adds an event to the outbox, written with the change.
func (c *Call) Emit(e Event) { c.events = append(c.events, e) }

// flush writes the events and then the entries as the last statements before
// the commit, because the audit chain's head is locked from then on.
func (c *Call) flush(ctx context.Context) error {
	entries, told, err := c.journal(ctx)
	if err != nil {
		return err
	}
	if len(entries) > batchedEntries {
		if err := events.Append(ctx, c.Tx, told); err != nil {
			return err
		}
		return audit.Append(ctx, c.Tx, entries)
	}
	batch := &pgx.Batch{}
	if err := events.Queue(batch, told); err != nil {
		return err
	}
	if err := audit.Queue(batch, entries); err != nil {
		return err
	}
	if batch.Len() == 0 {
		return nil
	}
	return c.Tx.SendBatch(ctx, batch).Close()
}

// batchedEntries is up to how many entries travel in one batch with the events.
const batchedEntries = 8

// journal gives the call's notes and events their envelopes.
func (c *Call) journal(ctx context.Context) ([]audit.Entry, []events.Event, error) {
	correlation := op.UUID(op.RequestID(ctx))
	if correlation == "" {
		correlation = uid.Random()
	}
	actor, kind := op.UUID(""), actorSystem
	var credential authz.CredentialID
	if c.Actor != nil {
		actor, kind, credential = c.Actor.UserID, actorType(c.Actor.Kind), c.Actor.Credential()
	}
	var told []events.Event
	for _, e := range c.events {
		payload, err := payloadOf(e)
		if err != nil {
			return nil, nil, fmt.Errorf("gate: event %s: %w", e.Type, err)
		}
		told = append(told, events.Event{
			ID: uid.New(), Type: e.Type, TenantID: c.Tenant, AggregateType: e.AggregateType, AggregateID: string(e.AggregateID),
			OccurredAt: c.Now, ActorID: actor, CorrelationID: correlation, Payload: payload,
		})
	}
	var entries []audit.Entry
	for _, n := range c.notes {
		entry := audit.Entry{
			Tenant: c.Tenant, Actor: actor, OnBehalfOf: c.behalf, ActorType: kind, Action: n.Action,
			ResourceType: n.ResourceType, ResourceID: n.ResourceID, Module: c.module.cfg.Module,
			Changes: n.Changes, Correlation: correlation,
			CredentialID: op.UUID(credential.ID), CredentialKind: credential.Kind,
		}
		if n.Classification != "" {
			entry.Classification = &n.Classification
		}
		if n.Critical {
			var created events.Event
			entry, created = audit.Critical(entry)
			told = append(told, created)
		}
		entries = append(entries, entry)
	}
	return entries, told, nil
}

// payloadOf is the changed resource's public form and, for an update, the names
// of the fields that changed, and whom it concerns.
func payloadOf(e Event) (json.RawMessage, error) {
	payload := struct {
		Resource any       `json:"resource,omitempty"`
		Changed  []string  `json:"changed,omitempty"`
		Notify   []op.UUID `json:"notify,omitempty"`
	}{e.Payload, e.Changed, e.Notify}
	return json.Marshal(payload)
}

// actorSystem is the audit log's word for the product itself.
const actorSystem = "system"

// actorType is the audit log's word for a principal kind.
func actorType(kind string) string {
	switch kind {
	case authz.KindService:
		return "service"
	case authz.KindAgent:
		return "agent"
	default:
		return "user"
	}
}
