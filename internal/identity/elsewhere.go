package identity

import (
	"context"
	"encoding/json"

	"parapet/internal/events"
	"parapet/internal/gate"
	"parapet/internal/op"
)

// elsewhere runs f with another tenant as the transaction's, and goes back to
// the acting one, whose audit chain and outbox the gate writes to. Who calls it
// has decided before that the actor may act there.
func elsewhere(ctx context.Context, c *gate.Call, tenant op.UUID, f func() error) error {
	if err := c.Tx.SetTenant(ctx, string(tenant)); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return c.Tx.SetTenant(ctx, string(c.Tenant))
}

// tellThere writes what a programme office did to another tenant into that
// tenant's own audit chain and outbox, so that its auditors and its subscribers
// know of it too. It runs last inside elsewhere: the chain's head is locked from
// then on, always before the office's own.
func tellThere(ctx context.Context, c *gate.Call, tenant op.UUID, notes []gate.Note, told []gate.Event) error {
	var published []events.Event
	for _, e := range told {
		payload, err := json.Marshal(map[string]any{"resource": e.Payload, "changed": e.Changed})
		if err != nil {
			return err
		}
		published = append(published, events.Event{
			Type: e.Type, TenantID: tenant, AggregateType: e.AggregateType, AggregateID: string(e.AggregateID), OccurredAt: c.Now,
			ActorID: c.Actor.UserID, CorrelationID: op.UUID(op.RequestID(ctx)), Payload: payload,
		})
	}
	if err := events.Append(ctx, c.Tx, published); err != nil {
		return err
	}
	entries := make([]auditNote, len(notes))
	for i, n := range notes {
		entries[i] = auditNote{
			Tenant: tenant, Actor: c.Actor.UserID, Action: n.Action, ResourceType: n.ResourceType, ResourceID: op.UUID(n.ResourceID), Critical: n.Critical,
			Credential: c.Actor.Credential(),
		}
		if ch, ok := n.Changes.(changes); ok {
			entries[i].Changes = ch
		}
	}
	return appendAudit(ctx, c.Tx, entries...)
}
