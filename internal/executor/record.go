package executor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"parapet/internal/audit"
	"parapet/internal/authz"
	"parapet/internal/events"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// AuditEntry is what a handler says for the audit log. The executor adds who, by which
// credential, when, where and the correlation id.
type AuditEntry struct {
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

// Event is what a handler tells the other parts of the product. The executor adds
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
func (c *Call) Record(n AuditEntry) { c.auditEntries = append(c.auditEntries, n) }

// Emit adds an event to the outbox, written with the change.
func (c *Call) Emit(e Event) { c.events = append(c.events, e) }

// RecordIn adds an entry to the audit chain of another tenant. Whoever calls it
// has decided before that the caller may act there.
func (c *Call) RecordIn(tenant op.UUID, n AuditEntry) {
	c.recordsIn(tenant).auditEntries = append(c.recordsIn(tenant).auditEntries, n)
}

// EmitIn adds an event to another tenant's outbox, under the same condition.
func (c *Call) EmitIn(tenant op.UUID, e Event) {
	c.recordsIn(tenant).events = append(c.recordsIn(tenant).events, e)
}

// recordsIn is what the call records in another tenant.
func (c *Call) recordsIn(tenant op.UUID) *records {
	if c.otherTenants == nil {
		c.otherTenants = make(map[op.UUID]*records)
	}
	r := c.otherTenants[tenant]
	if r == nil {
		r = &records{}
		c.otherTenants[tenant] = r
	}
	return r
}

// records are the audit entries and events of a call in one tenant.
type records struct {
	auditEntries []AuditEntry
	events       []Event
}

// earlyEventCount is from how many events on they are sent ahead of the final batch.
// Nobody waits for the rows of the outbox, so that they need not be in it.
const earlyEventCount = 9

// commit sends the events, the audit entries and COMMIT in one round trip, because
// the audit chain's head is locked from the first entry to the commit: the server
// must not wait for this process in between.
func (c *Call) commit(ctx context.Context) error {
	entries, published, err := c.buildRecords(ctx, c.Tenant, &c.records)
	if err != nil {
		return err
	}
	if len(published) >= earlyEventCount {
		if err := events.Append(ctx, c.Tx, published); err != nil {
			return err
		}
	} else if err := events.Queue(c.Tx.Final(), published); err != nil {
		return err
	}
	// The chains of other tenants come first, in one order for all.
	others := slices.Sorted(maps.Keys(c.otherTenants))
	for _, tenant := range others {
		entries, published, err := c.buildRecords(ctx, tenant, c.otherTenants[tenant])
		if err != nil {
			return err
		}
		if err := c.queueIn(tenant, entries, published); err != nil {
			return err
		}
	}
	if len(others) > 0 {
		if err := c.Tx.QueueTenant(c.Tx.Final(), string(c.Tenant)); err != nil {
			return err
		}
	}
	if err := audit.Queue(c.Tx.Final(), entries); err != nil {
		return err
	}
	err = c.Tx.Commit(ctx)
	if fault.HasCode(err, fault.CodeOutcomeUnknown) && op.RequestOf(ctx).IdempotencyKey != "" {
		return fault.OutcomeUnknownWithKey(err)
	}
	return err
}

// queueIn adds the records of another tenant to the final batch.
func (c *Call) queueIn(tenant op.UUID, entries []audit.Entry, published []events.Event) error {
	final := c.Tx.Final()
	if err := c.Tx.QueueTenant(final, string(tenant)); err != nil {
		return err
	}
	if err := events.Queue(final, published); err != nil {
		return err
	}
	return audit.Queue(final, entries)
}

// buildRecords gives the notes and events of a tenant their envelopes.
func (c *Call) buildRecords(ctx context.Context, tenant op.UUID, r *records) ([]audit.Entry, []events.Event, error) {
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
	for _, e := range r.events {
		payload, err := payloadOf(e, r.classificationOf(e.AggregateID))
		if err != nil {
			return nil, nil, fmt.Errorf("executor: event %s: %w", e.Type, err)
		}
		told = append(told, events.Event{
			ID: uid.New(), Type: e.Type, TenantID: tenant, AggregateType: e.AggregateType, AggregateID: string(e.AggregateID),
			OccurredAt: c.Now, ActorID: actor, CorrelationID: correlation, Payload: payload,
		})
	}
	var entries []audit.Entry
	for _, n := range r.auditEntries {
		entry := audit.Entry{
			Tenant: tenant, Actor: actor, OnBehalfOf: c.delegatorID, ActorType: kind, Action: n.Action,
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

// classificationOf is that of the audit entry about the same record. It is empty
// where there is no such entry, and who may see the event is then decided by its
// type: see the list of events in internal/identity.
func (r *records) classificationOf(aggregate op.UUID) string {
	for _, n := range r.auditEntries {
		if n.ResourceID == string(aggregate) {
			return cmp.Or(n.Classification, unclassified)
		}
	}
	return ""
}

// payloadOf is the changed resource's public form and, for an update, the names
// of the fields that changed, whom it concerns, and the record's classification,
// by which events are shown.
func payloadOf(e Event, classification string) (json.RawMessage, error) {
	payload := struct {
		Resource       any       `json:"resource,omitempty"`
		Changed        []string  `json:"changed,omitempty"`
		Notify         []op.UUID `json:"notify,omitempty"`
		Classification string    `json:"classification,omitempty"`
	}{e.Payload, e.Changed, e.Notify, classification}
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
