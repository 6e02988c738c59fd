package identity

import (
	"context"

	"github.com/jackc/pgx/v5"

	"parapet/internal/audit"
	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// systemAuditEntry is an audit entry of work that does not go through the executor: login,
// which has no principal yet, and what an operator runs.
type systemAuditEntry struct {
	Tenant       op.UUID
	Actor        op.UUID
	ActorType    string
	Action       string
	ResourceType string
	ResourceID   op.UUID
	// Credential is that of the request; the zero value is none.
	Credential authz.CredentialID
	Changes    map[string]any
	Critical   bool
}

// queueAudit puts entries into a batch: the final one of the transaction of what
// they record.
func queueAudit(ctx context.Context, batch *pgx.Batch, notes ...systemAuditEntry) error {
	var entries []audit.Entry
	var critical []events.Event
	for _, n := range notes {
		e := audit.Entry{
			Tenant: n.Tenant, Actor: n.Actor, ActorType: n.ActorType, Action: n.Action, ResourceType: n.ResourceType, ResourceID: string(n.ResourceID),
			Module: contract.Module, Correlation: op.UUID(op.RequestID(ctx)),
			CredentialID: op.UUID(n.Credential.ID), CredentialKind: n.Credential.Kind,
		}
		if n.Changes != nil {
			e.Changes = n.Changes
		}
		if n.Critical {
			var event events.Event
			e, event = audit.Critical(e)
			critical = append(critical, event)
		}
		entries = append(entries, e)
	}
	if err := events.Queue(batch, critical); err != nil {
		return err
	}
	return audit.Queue(batch, entries)
}

// appendAudit writes entries of what an operator runs. The chain's head is locked
// until the operator's transaction ends.
func appendAudit(ctx context.Context, tx events.Batcher, notes ...systemAuditEntry) error {
	batch := &pgx.Batch{}
	if err := queueAudit(ctx, batch, notes...); err != nil {
		return err
	}
	return postgres.MapError(tx.SendBatch(ctx, batch).Close())
}
