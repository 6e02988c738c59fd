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

// AuditEntry is an audit entry as a handler records it. The executor adds the actor, the
// credential, the time, the tenant and the correlation id.
type AuditEntry struct {
	// Action is <noun>.<past-tense verb>, for example task.updated.
	Action       string
	ResourceType string
	ResourceID   string
	// Changes is any value that marshals to JSON, or nil. It contains ids and codes,
	// never a secret and never an address.
	Changes any
	// Critical also emits the event audit.entry.created.
	Critical bool
	// Classification is that of the resource; empty if it has none.
	Classification string
}

// Event is a domain event as a handler emits it. The executor adds the envelope.
type Event struct {
	// Type is <area>.<entity>.<past-tense verb>.
	Type          string
	AggregateType string
	AggregateID   op.UUID
	// Payload is the changed resource as the API returns it.
	Payload any
	// Changed lists the fields that an update changed.
	Changed []string
	// Notify lists the users who get a notification of the event.
	Notify []op.UUID
}

// Record adds an audit entry, which is committed with the change.
func (c *Call) Record(n AuditEntry) { c.auditEntries = append(c.auditEntries, n) }

// Emit adds an event to the outbox, which is committed with the change.
func (c *Call) Emit(e Event) { c.events = append(c.events, e) }

// RecordInTenant adds an audit entry in another tenant. The caller must have checked
// that the actor may act in that tenant.
func (c *Call) RecordInTenant(tenant op.UUID, n AuditEntry) {
	c.recordsInTenant(tenant).auditEntries = append(c.recordsInTenant(tenant).auditEntries, n)
}

// EmitInTenant adds an event to another tenant's outbox, under the same condition.
func (c *Call) EmitInTenant(tenant op.UUID, e Event) {
	c.recordsInTenant(tenant).events = append(c.recordsInTenant(tenant).events, e)
}

// recordsInTenant returns what the call records in another tenant.
func (c *Call) recordsInTenant(tenant op.UUID) *records {
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

// records holds the audit entries and events of a call in one tenant.
type records struct {
	auditEntries []AuditEntry
	events       []Event
}

// earlyEventCount is the number of events that is too large for the final batch. So many
// events are sent before it. They do not block other writers, because rows of the outbox
// are not locked.
const earlyEventCount = 9

// commit sends the events, the audit entries and COMMIT in one round trip. The head of
// the audit chain is locked from the first entry to the commit, so the server must not
// wait for this process in between.
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
	// Lock the chains of other tenants first and in sorted order, to avoid deadlocks.
	others := slices.Sorted(maps.Keys(c.otherTenants))
	for _, tenant := range others {
		entries, published, err := c.buildRecords(ctx, tenant, c.otherTenants[tenant])
		if err != nil {
			return err
		}
		if err := c.queueRecordsInTenant(tenant, entries, published); err != nil {
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

// queueRecordsInTenant adds the records of another tenant to the final batch.
func (c *Call) queueRecordsInTenant(tenant op.UUID, entries []audit.Entry, published []events.Event) error {
	final := c.Tx.Final()
	if err := c.Tx.QueueTenant(final, string(tenant)); err != nil {
		return err
	}
	if err := events.Queue(final, published); err != nil {
		return err
	}
	return audit.Queue(final, entries)
}

// buildRecords adds the envelope to the audit entries and events of a tenant.
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
	var published []events.Event
	for _, e := range r.events {
		payload, err := newPayload(e, r.classificationOf(e.AggregateID))
		if err != nil {
			return nil, nil, fmt.Errorf("executor: event %s: %w", e.Type, err)
		}
		published = append(published, events.Event{
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
			entry, created = audit.NewCriticalEntry(entry)
			published = append(published, created)
		}
		entries = append(entries, entry)
	}
	return entries, published, nil
}

// classificationOf returns the classification in the audit entry about the same record.
// It is empty if there is no such entry; the list of events in internal/identity then
// decides by the event's type who may see it.
func (r *records) classificationOf(aggregate op.UUID) string {
	for _, n := range r.auditEntries {
		if n.ResourceID == string(aggregate) {
			return cmp.Or(n.Classification, defaultClassification)
		}
	}
	return ""
}

// newPayload marshals the event's resource, the changed fields, the users to notify and
// the record's classification, which decides who may see the event.
func newPayload(e Event, classification string) (json.RawMessage, error) {
	payload := struct {
		Resource       any       `json:"resource,omitempty"`
		Changed        []string  `json:"changed,omitempty"`
		Notify         []op.UUID `json:"notify,omitempty"`
		Classification string    `json:"classification,omitempty"`
	}{e.Payload, e.Changed, e.Notify, classification}
	return json.Marshal(payload)
}

// actorSystem is the actor type of the system in the audit log.
const actorSystem = "system"

// actorType returns the audit log's actor type for a principal kind.
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
