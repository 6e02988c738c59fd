package decisionlog

import (
	"context"
	"encoding/json"
	"time"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Line is a record as a list shows it.
type Line struct {
	ID         op.UUID
	DecidedAt  time.Time
	ActorID    string
	Rule       string
	Permission string
	Module     string
	Input      json.RawMessage
	Allow      bool
	Hidden     bool
	Reasons    []string
	Revision   string
	RequestID  string
	// CredentialID and CredentialKind are nil where there was no credential.
	CredentialID   *op.UUID
	CredentialKind *string
	// SubjectDigest is nil where the record names no subject.
	SubjectDigest []byte
}

// Filter narrows a list; an empty field does not.
type Filter struct {
	Actor      string
	Permission string
	RequestID  string
	Credential string
	Allow      *bool
}

const sqlList = `
SELECT id, decided_at, actor_id, rule, permission, module, input, allow, hidden, reasons, revision, request_id,
       credential_id, credential_kind, subject_digest
FROM audit.decisions
WHERE tenant_id = @tenant
  AND (@before::uuid IS NULL OR id < @before::uuid)
  AND (@actor::text = '' OR actor_id = @actor::text)
  AND (@permission::text = '' OR permission = @permission::text)
  AND (@request::text = '' OR request_id = @request::text)
  AND (@credential::text = '' OR credential_id = nullif(@credential::text, '')::uuid)
  AND (@allow::boolean IS NULL OR allow = @allow::boolean)
ORDER BY id DESC
LIMIT @limit`

// List gives the records of a tenant, newest first, and the cursor of the next
// page, which is empty on the last one. A cursor of another tenant, or no cursor
// at all, is a VALIDATION fault.
func List(ctx context.Context, q postgres.Querier, tenant op.UUID, f Filter, cursor string, limit int) ([]Line, string, error) {
	before, err := readCursor(tenant, cursor)
	if err != nil {
		return nil, "", err
	}
	lines, err := postgres.Collect[Line](ctx, q, sqlList, postgres.Args{
		"tenant": tenant, "before": before, "actor": f.Actor, "permission": f.Permission, "request": f.RequestID, "credential": f.Credential,
		"allow": f.Allow, "limit": limit + 1,
	})
	if err != nil {
		return nil, "", postgres.MapError(err)
	}
	next := ""
	if len(lines) > limit {
		lines = lines[:limit]
		next = op.NewCursor(cursorName, tenant, string(lines[limit-1].ID))
	}
	return lines, next, nil
}

// cursorName tells this list's cursors from others'.
const cursorName = "audit.decisions"

// readCursor gives the id before which the page begins; nil for the first page.
func readCursor(tenant op.UUID, cursor string) (*op.UUID, error) {
	keys, err := op.ReadCursor(cursor, cursorName, tenant, 1)
	if err != nil || keys == nil {
		return nil, err
	}
	id, err := op.ParseUUID(keys[0])
	if err != nil {
		return nil, fault.Validation("cursor", "It is not a cursor of this list.")
	}
	return &id, nil
}
