package executor

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"parapet/internal/audit"
	"parapet/internal/authz"
	"parapet/internal/events"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// Change is a change of a record as a handler reports it. The executor writes its audit entry
// and its event in the transaction of the change, and adds the actor, the credential, the
// time, the tenant and the correlation id.
type Change struct {
	// Action is the action of the audit entry, <noun>.<past-tense verb>, for example
	// task.updated. If it is empty, no audit entry is written.
	Action string
	// Type and ID identify the changed record.
	Type string
	ID   op.UUID
	// Classification is that of the record; empty if it has none.
	Classification string
	// Critical also emits the event audit.entry.created.
	Critical bool
	// Details is what the audit entry says about the change: any value that marshals to JSON,
	// or nil. It contains ids and codes, never a secret and never an address.
	Details any

	// Event is the type of the event. If it is nil, no event is emitted.
	Event *op.EventType
	// EventAbout is the id of the record that the event is about, if it is not the changed
	// record.
	EventAbout op.UUID
	// Payload is the changed record as the API returns it. Its type is Event.Payload or a
	// pointer to it.
	Payload any
	// Fields lists the fields that an update changed.
	Fields []string
	// Notify lists the users who get a notification of the event.
	Notify []op.UUID

	// Tenants are the tenants whose audit log and outbox report the change. If it is empty,
	// only the tenant of the call does. The caller must have checked that the actor may act
	// in each of them.
	Tenants []op.UUID
}

// Record adds a change, which is committed with the transaction of the call.
func (c *Call) Record(ch Change) {
	if len(ch.Tenants) == 0 {
		c.changes = append(c.changes, ch)
		return
	}
	for i, tenant := range ch.Tenants {
		switch {
		case slices.Contains(ch.Tenants[:i], tenant):
		case tenant == c.Tenant:
			c.changes = append(c.changes, ch)
		default:
			if c.otherTenants == nil {
				c.otherTenants = make(map[op.UUID][]Change)
			}
			c.otherTenants[tenant] = append(c.otherTenants[tenant], ch)
		}
	}
}

// earlyEventCount is the number of events that is too large for the final batch. So many
// events are sent before it. They do not block other writers, because rows of the outbox
// are not locked.
const earlyEventCount = 9

// commit sends the events, the audit entries and COMMIT in one round trip. The head of
// the audit chain is locked from the first entry to the commit, so the server must not
// wait for this process in between.
func (c *Call) commit(ctx context.Context) error {
	entries, published, err := c.buildRecords(ctx, c.Tenant, c.changes)
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

// buildRecords returns the audit entries and events of a tenant's changes.
func (c *Call) buildRecords(ctx context.Context, tenant op.UUID, changes []Change) ([]audit.Entry, []events.Event, error) {
	correlation := op.UUID(op.RequestID(ctx))
	if correlation == "" {
		correlation = uid.Random()
	}
	actor, kind := op.UUID(""), actorSystem
	var credential authz.CredentialID
	if c.Actor != nil {
		actor, kind, credential = c.Actor.UserID, actorType(c.Actor.Kind), c.Actor.Credential()
	}
	var entries []audit.Entry
	var published, critical []events.Event
	for i := range changes {
		ch := &changes[i]
		if ch.Event != nil {
			about := cmp.Or(ch.EventAbout, ch.ID)
			payload, err := events.NewPayload(ch.Event, events.Payload{
				Resource: ch.Payload, Changed: ch.Fields, Notify: ch.Notify, Classification: classificationOf(about, changes),
			})
			if err != nil {
				return nil, nil, err
			}
			published = append(published, events.Event{
				ID: uid.New(), Type: ch.Event.Name, TenantID: tenant, AggregateType: ch.Event.Record, AggregateID: string(about),
				OccurredAt: c.Now, ActorID: actor, CorrelationID: correlation, Payload: payload,
			})
		}
		if ch.Action == "" {
			continue
		}
		entry := audit.Entry{
			Tenant: tenant, Actor: actor, OnBehalfOf: c.delegatorID, ActorType: kind, Action: ch.Action,
			ResourceType: ch.Type, ResourceID: string(ch.ID), Module: c.module.cfg.Module,
			Changes: ch.Details, Correlation: correlation,
			CredentialID: op.UUID(credential.ID), CredentialKind: credential.Kind,
		}
		if ch.Classification != "" {
			entry.Classification = &ch.Classification
		}
		if ch.Critical {
			var created events.Event
			entry, created = audit.NewCriticalEntry(entry)
			critical = append(critical, created)
		}
		entries = append(entries, entry)
	}
	return entries, append(published, critical...), nil
}

// classificationOf returns the classification in the audit entry about the record. It is
// empty if there is no such entry; the list of events in internal/identity then decides by
// the event's type who may see it.
func classificationOf(id op.UUID, changes []Change) string {
	for i := range changes {
		if changes[i].Action != "" && changes[i].ID == id {
			return cmp.Or(changes[i].Classification, defaultClassification)
		}
	}
	return ""
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
