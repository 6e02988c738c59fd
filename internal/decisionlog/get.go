package decisionlog

import (
	"context"
	"encoding/json"

	"parapet/internal/authz"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Entry is a record with the subject of its decision.
type Entry struct {
	Line
	// Document is the subject's snapshot; nil if the record refers to none.
	Document json.RawMessage
}

const getSQL = `
SELECT d.id, d.decided_at, d.actor_id, d.rule, d.permission, d.module, d.input, d.allow, d.hidden, d.reasons, d.revision, d.request_id,
       d.credential_id, d.credential_kind, d.subject_digest, s.document
FROM audit.decisions d
LEFT JOIN audit.decision_subjects s ON s.tenant_id = d.tenant_id AND s.digest = d.subject_digest
WHERE d.tenant_id = @tenant AND d.id = @id AND `

// Get returns the record with this id if it matches the filter on Columns; a nil filter
// matches all. It returns pgx.ErrNoRows if there is none. It does not verify the snapshot;
// see Entry.Subject.
func Get(ctx context.Context, q postgres.Querier, tenant, id op.UUID, readable *authz.Filter) (*Entry, error) {
	args := postgres.Args{"tenant": tenant, "id": id}
	e, err := postgres.One[Entry](ctx, q, getSQL+condition(readable, args), args)
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// Subject returns the stored snapshot of the subject, or nil if the record refers to
// none. Its Verify method reports whether it was changed.
func (e *Entry) Subject() *authz.SubjectSnapshot {
	if len(e.SubjectDigest) == 0 {
		return nil
	}
	s := &authz.SubjectSnapshot{Document: e.Document}
	copy(s.Digest[:], e.SubjectDigest)
	return s
}

// Recorded returns the record in the form that authz.Engine.Replay needs.
func (e *Entry) Recorded() authz.Recorded {
	return authz.Recorded{Rule: e.Rule, Permission: e.Permission, Module: e.Module, Input: e.Input, Subject: e.Subject()}
}
