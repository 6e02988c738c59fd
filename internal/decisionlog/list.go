package decisionlog

import (
	"context"
	"encoding/json"
	"time"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Line is a record in a list.
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
	// CredentialID and CredentialKind are nil if there was no credential.
	CredentialID   *op.UUID
	CredentialKind *string
	// SubjectDigest is nil if the record refers to no subject.
	SubjectDigest []byte
}

// Filter restricts a list; empty fields are ignored.
type Filter struct {
	Actor      string
	Permission string
	RequestID  string
	Credential string
	// Resource is the id of the record that the decision is about.
	Resource string
	// From and Until limit the time of the decision: at or after From, before Until.
	From, Until *time.Time
	Allow       *bool
	// Readable selects the records that the caller may read, by Columns; nil selects all.
	Readable *authz.Filter
}

// Columns maps the attributes that policies use in filters to SQL. The classification of a
// record is that of the resource of the decision, or UNCLASSIFIED without a resource.
func Columns() *authz.Columns { return columns }

var columns = authz.NewColumns(map[string]authz.Column{
	"resource.tenant":         authz.UUID("d.tenant_id"),
	"resource.classification": authz.Text(classificationSQL),
})

const classificationSQL = `coalesce(nullif(d.input #>> '{resource,classification}', ''), 'UNCLASSIFIED')`

const listSQL = `
SELECT d.id, d.decided_at, d.actor_id, d.rule, d.permission, d.module, d.input, d.allow, d.hidden, d.reasons, d.revision, d.request_id,
       d.credential_id, d.credential_kind, d.subject_digest
FROM audit.decisions d
WHERE d.tenant_id = @tenant
  AND (@before::uuid IS NULL OR d.id < @before::uuid)
  AND (@actor::text = '' OR d.actor_id = @actor::text)
  AND (@permission::text = '' OR d.permission = @permission::text)
  AND (@request::text = '' OR d.request_id = @request::text)
  AND (@credential::text = '' OR d.credential_id = nullif(@credential::text, '')::uuid)
  AND (@resource::text = '' OR d.input #>> '{resource,id}' = @resource::text)
  AND (@from::timestamptz IS NULL OR d.decided_at >= @from::timestamptz)
  AND (@until::timestamptz IS NULL OR d.decided_at < @until::timestamptz)
  AND (@allow::boolean IS NULL OR d.allow = @allow::boolean)
  AND `

const newestFirstSQL = `
ORDER BY d.id DESC
LIMIT @limit`

// List returns a page of the tenant's records, newest first, and the cursor of the next
// page, which is empty on the last page. An invalid cursor, or one of another tenant, is a
// VALIDATION fault.
func List(ctx context.Context, q postgres.Querier, tenant op.UUID, f Filter, cursor string, limit int) ([]Line, string, error) {
	before, err := readCursor(tenant, cursor)
	if err != nil {
		return nil, "", err
	}
	args := postgres.Args{
		"tenant": tenant, "before": before, "actor": f.Actor, "permission": f.Permission, "request": f.RequestID, "credential": f.Credential,
		"resource": f.Resource, "from": f.From, "until": f.Until, "allow": f.Allow, "limit": limit + 1,
	}
	lines, err := postgres.Collect[Line](ctx, q, listSQL+condition(f.Readable, args)+newestFirstSQL, args)
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

// condition returns the filter as SQL and adds its arguments to args.
func condition(f *authz.Filter, args postgres.Args) string {
	if f == nil {
		return "TRUE"
	}
	f.AddTo(args)
	return f.SQL()
}

// cursorName marks the cursors of this list.
const cursorName = "audit.decisions"

// readCursor returns the id before which the page begins; nil for the first page.
func readCursor(tenant op.UUID, cursor string) (*op.UUID, error) {
	keys, err := op.ReadCursor(cursor, cursorName, tenant, 1)
	if err != nil || keys == nil {
		return nil, err
	}
	id, err := op.ParseUUID(keys[0])
	if err != nil {
		return nil, fault.Validation("cursor", "The cursor was not returned by this list.")
	}
	return &id, nil
}
