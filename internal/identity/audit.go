package identity

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/audit"
	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// recordOperations are the operations on the audit log, the decision log, events and
// notifications. Their only write marks a notification as read.
func (s *Service) recordOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListAuditEntries, auditColumns, listAuditEntries),
		executor.Handle(s.executor, contract.ListDecisions, loadDecisionLog[contract.ListDecisionsIn], s.listDecisions),
		executor.Handle(s.executor, contract.GetDecision, loadDecisionLog[contract.DecisionIn], s.getDecision),
		executor.Authenticated(s.executor, contract.ExplainDecision, s.explainDecision),
		executor.List(s.executor, contract.ListEvents, eventColumns, listEvents),
		executor.Authenticated(s.executor, contract.ListEventTypes, s.listEventTypes),
		executor.Authenticated(s.executor, contract.GetEventType, s.getEventType),
		executor.Handle(s.executor, contract.ListNotifications, loadNotificationFeed[contract.ListNotificationsIn], listNotifications),
		executor.Handle(s.executor, contract.MarkNotificationRead, loadNotificationFeed[contract.NotificationIn], markNotificationRead),
	}
}

// An audit entry belongs to the organisation of its actor. Its classification may be NULL;
// the policies compare it with literals and not by rank.
var auditColumns = authz.NewColumns(map[string]authz.Column{
	"resource.tenant": authz.UUID("e.tenant_id"),
	"resource.organisation": authz.UUID(
		"(SELECT m.organisation_id FROM identity.memberships m WHERE m.tenant_id = e.tenant_id AND m.user_id = e.actor_id)"),
	"resource.creator":        authz.UUID("e.actor_id"),
	"resource.classification": authz.Text("e.classification"),
})

const auditWhereSQL = `
      (@actor = '' OR e.actor_id = nullif(@actor, '')::uuid)
  AND (@action = '' OR e.action = @action)
  AND (@resource_type = '' OR e.resource_type = @resource_type)
  AND (@resource_id = '' OR e.resource_id = @resource_id)
  AND (@module = '' OR e.module = @module)
  AND (@correlation = '' OR e.correlation_id = nullif(@correlation, '')::uuid)
  AND (@credential = '' OR e.credential_id = nullif(@credential, '')::uuid)
  AND (@from::timestamptz IS NULL OR e.created_at >= @from::timestamptz)
  AND (@until::timestamptz IS NULL OR e.created_at < @until::timestamptz)
  AND `

func listAuditEntries(ctx context.Context, c *executor.Call, in *contract.ListAuditEntriesIn, f authz.Filter) (*op.Page[contract.AuditEntry], error) {
	from, err := parseTimestamp("from", in.From)
	if err != nil {
		return nil, err
	}
	until, err := parseTimestamp("until", in.Until)
	if err != nil {
		return nil, err
	}
	args := map[string]any{
		"actor": in.ActorID, "action": in.Action, "resource_type": in.ResourceType, "resource_id": in.ResourceID, "module": in.Module,
		"correlation": in.CorrelationID, "credential": in.CredentialID, "from": from, "until": until,
	}
	f.AddTo(args)
	lines, next, err := audit.List(ctx, c.DB, c.Tenant, auditWhereSQL+f.SQL(), args, audit.Page{Cursor: in.Cursor, After: in.After, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.AuditEntry]{Items: make([]contract.AuditEntry, len(lines)), NextCursor: next}
	for i, l := range lines {
		page.Items[i] = contract.AuditEntry{
			ID: l.ID, Seq: l.Seq, TenantID: valueOrZero(l.TenantID), ActorID: valueOrZero(l.ActorID), OnBehalfOf: valueOrZero(l.OnBehalfOf),
			ActorType: l.ActorType, Action: l.Action, ResourceType: l.ResourceType, ResourceID: valueOrZero(l.ResourceID), Module: l.Module,
			Changes: rawJSON(l.Changes), CorrelationID: l.CorrelationID, CreatedAt: l.CreatedAt,
			Classification: l.Classification, CredentialKind: valueOrZero(l.CredentialKind), CredentialID: valueOrZero(l.CredentialID), Hash: hex.EncodeToString(l.Hash),
		}
	}
	return page, nil
}

// parseTimestamp parses an optional timestamp parameter; nil if it is empty.
func parseTimestamp(field, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return nil, fault.Validation(field, "The parameter "+field+" must be an RFC 3339 timestamp such as 2027-03-31T17:00:00Z.").WithCause(err)
	}
	return &t, nil
}

// rawJSON returns stored JSON unchanged, without converting numbers; nil if it is empty.
func rawJSON(text json.RawMessage) any {
	if len(text) == 0 {
		return nil
	}
	return jsontext.Value(text)
}

// valueOrZero returns *p, or the zero value if p is nil.
func valueOrZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
