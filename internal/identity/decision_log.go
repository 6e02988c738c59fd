package identity

import (
	"context"
	"encoding/hex"
	"log/slog"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/decisionlog"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// loadDecisionLog returns the resource for reading the decision log: it belongs to the
// tenant, so the permission is required in the whole tenant. Entries about records above
// the caller's clearance are filtered, because their ids reveal that the records exist.
func loadDecisionLog[In any](_ context.Context, c *executor.Call, _ *In) (struct{}, authz.Resource, error) {
	return struct{}{}, tenantResource(c, "decision log"), nil
}

func (s *Service) listDecisions(ctx context.Context, c *executor.Call, in *contract.ListDecisionsIn, _ struct{}) (*op.Page[contract.DecisionEntry], error) {
	readable, err := c.Filter(ctx, contract.ListDecisions.Permission, decisionlog.Columns())
	if err != nil {
		return nil, err
	}
	from, err := parseTimestamp("from", in.From)
	if err != nil {
		return nil, err
	}
	until, err := parseTimestamp("until", in.Until)
	if err != nil {
		return nil, err
	}
	lines, next, err := decisionlog.List(ctx, c.DB, c.Tenant, decisionlog.Filter{
		Actor: string(in.ActorID), Permission: in.Permission, RequestID: in.RequestID, Credential: string(in.CredentialID), Allow: in.Allow,
		Resource: in.ResourceID, From: from, Until: until, Readable: &readable,
	}, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 && in.Cursor == "" && s.deps.DecisionLogOff {
		// The filter matches no old record, and there are no new ones. An empty list would mean
		// that nothing was decided.
		return nil, fault.Conflict("The decision log is off on this server. The operator turns it on with PT_DECISION_LOG.")
	}
	page := &op.Page[contract.DecisionEntry]{Items: make([]contract.DecisionEntry, len(lines)), NextCursor: next}
	for i := range lines {
		page.Items[i] = decisionEntry(&lines[i])
	}
	return page, nil
}

func decisionEntry(l *decisionlog.Line) contract.DecisionEntry {
	return contract.DecisionEntry{
		ID: l.ID, DecidedAt: l.DecidedAt, ActorID: l.ActorID, Rule: l.Rule, Permission: l.Permission, Module: l.Module,
		Input: rawJSON(l.Input), Allow: l.Allow, Hidden: l.Hidden, Reasons: l.Reasons, Revision: l.Revision, RequestID: l.RequestID,
		CredentialKind: valueOrZero(l.CredentialKind), CredentialID: valueOrZero(l.CredentialID), SubjectDigest: hex.EncodeToString(l.SubjectDigest),
	}
}

func (s *Service) getDecision(ctx context.Context, c *executor.Call, in *contract.DecisionIn, _ struct{}) (*contract.Decision, error) {
	readable, err := c.Filter(ctx, contract.GetDecision.Permission, decisionlog.Columns())
	if err != nil {
		return nil, err
	}
	entry, err := decisionlog.Get(ctx, c.DB, c.Tenant, in.DecisionID, &readable)
	switch {
	case postgres.IsNoRows(err):
		return nil, fault.NotFound("decision")
	case err != nil:
		return nil, err
	}
	out := &contract.Decision{DecisionEntry: decisionEntry(&entry.Line)}
	snapshot := entry.Subject()
	if snapshot == nil {
		return out, nil
	}
	if err := snapshot.Verify(); err != nil {
		s.deps.Log.ErrorContext(ctx, "the subject of a decision does not match its digest",
			slog.String("tenant", string(c.Tenant)), slog.String("decision", string(entry.ID)), slog.Any("error", err))
		out.SubjectStatus = contract.SubjectAltered
		return out, nil
	}
	out.Subject, out.SubjectStatus = rawJSON(snapshot.Document), contract.SubjectVerified
	return out, nil
}
