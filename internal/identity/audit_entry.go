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

// systemAuditEntry is an audit entry of work that does not run in the executor: login,
// which has no principal yet, and operator commands.
type systemAuditEntry struct {
	Tenant       op.UUID
	Actor        op.UUID
	ActorType    string
	Action       string
	ResourceType string
	ResourceID   op.UUID
	// Credential is the credential of the request; the zero value if there is none.
	Credential authz.CredentialID
	Changes    map[string]any
	Critical   bool
}

// queueAudit adds entries to batch, which must be the last batch of the transaction that
// makes the recorded changes.
func queueAudit(ctx context.Context, batch *pgx.Batch, inputs ...systemAuditEntry) error {
	var entries []audit.Entry
	var critical []events.Event
	for _, n := range inputs {
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
			e, event = audit.NewCriticalEntry(e)
			critical = append(critical, event)
		}
		entries = append(entries, e)
	}
	if err := events.Queue(batch, critical); err != nil {
		return err
	}
	return audit.Queue(batch, entries)
}

// appendAudit writes entries in an operator's transaction. The head of the audit chain
// stays locked until that transaction ends.
func appendAudit(ctx context.Context, tx events.Batcher, entries ...systemAuditEntry) error {
	batch := &pgx.Batch{}
	if err := queueAudit(ctx, batch, entries...); err != nil {
		return err
	}
	return postgres.MapError(tx.SendBatch(ctx, batch).Close())
}
