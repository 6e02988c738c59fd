package identity

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/gate"
	"parapet/internal/op"
)

// recordOperations are those that read what was recorded: they write nothing
// but the mark that a notification was read.
func (s *Service) recordOperations() []op.Bound {
	return []op.Bound{
		gate.List(s.gate, contract.ListAuditEntries, auditColumns, listAuditEntries),
		gate.List(s.gate, contract.ListDecisions, decisionColumns, listDecisions),
		gate.List(s.gate, contract.ListEvents, eventColumns, listEvents),
		gate.Open(s.gate, contract.ListNotifications, listNotifications),
		gate.Open(s.gate, contract.MarkNotificationRead, markNotificationRead),
	}
}

// An audit entry lies in the organisation that its actor belongs to. Its
// classification may be NULL, and is compared by literals, not by rank.
var auditColumns = authz.NewColumns(map[string]authz.Column{
	"resource.tenant": authz.UUID("e.tenant_id"),
	"resource.organisation": authz.UUID(
		"(SELECT m.organisation_id FROM identity.memberships m WHERE m.tenant_id = e.tenant_id AND m.user_id = e.actor_id)"),
	"resource.creator":        authz.UUID("e.actor_id"),
	"resource.classification": authz.Text("e.classification"),
})

func listAuditEntries(ctx context.Context, c *gate.Call, in *contract.ListAuditEntriesIn, f authz.Filter) (*op.Page[contract.AuditEntry], error) {
	before, err := cursorSeq(c, contract.ListAuditEntries.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	var from, until *time.Time
	if from, err = moment("from", in.From); err != nil {
		return nil, err
	}
	if until, err = moment("until", in.Until); err != nil {
		return nil, err
	}
	items, err := selectAuditEntries(ctx, c.DB, c.Tenant, in, from, until, before, f)
	if err != nil {
		return nil, err
	}
	return paged(items, in.Limit, func(e contract.AuditEntry) string {
		return op.NewCursor(contract.ListAuditEntries.Name, c.Tenant, formatSeq(e.Seq))
	}), nil
}

// The decision log holds ids and codes, which the tenant's auditors may read
// whatever the records are classified as.
var decisionColumns = authz.NewColumns(map[string]authz.Column{
	"resource.tenant":         authz.UUID("d.tenant_id"),
	"resource.classification": authz.Literal(unclassified),
})

func listDecisions(ctx context.Context, c *gate.Call, in *contract.ListDecisionsIn, f authz.Filter) (*op.Page[contract.DecisionEntry], error) {
	before, err := cursorID(c, contract.ListDecisions.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	items, err := selectDecisions(ctx, c.DB, c.Tenant, in, before, f)
	if err != nil {
		return nil, err
	}
	return paged(items, in.Limit, func(d contract.DecisionEntry) string {
		return op.NewCursor(contract.ListDecisions.Name, c.Tenant, string(d.ID))
	}), nil
}

// moment reads an optional point in time.
func moment(field, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return nil, fault.Validation(field, "The parameter "+field+" must be a moment such as 2027-03-31T17:00:00Z.").WithCause(err)
	}
	return &t, nil
}

// asJSON makes a column that was read as text the JSON that it is; a NULL stays
// nothing.
func asJSON(column any) any {
	if text, ok := column.(string); ok {
		return jsontext.Value(text)
	}
	return nil
}
