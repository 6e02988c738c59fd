package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"time"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Line is an entry in a list.
type Line struct {
	Seq            int64
	ID             op.UUID
	TenantID       *op.UUID
	ActorID        *op.UUID
	OnBehalfOf     *op.UUID
	ActorType      string
	Action         string
	ResourceType   string
	ResourceID     *string
	Module         string
	Changes        json.RawMessage
	CorrelationID  op.UUID
	CreatedAt      time.Time
	Classification *string
	CredentialID   *op.UUID
	CredentialKind *string
	Hash           []byte
}

const listSQL = `
SELECT e.seq, e.id, e.tenant_id, e.actor_id, e.on_behalf_of, e.actor_type, e.action, e.resource_type, e.resource_id, e.module,
       e.changes, e.correlation_id, e.created_at, e.classification, e.credential_id, e.credential_kind, e.hash
FROM audit.entries e
WHERE e.chain_id = @audit_chain AND e.seq %s @audit_start AND (%s)
ORDER BY e.seq %s
LIMIT @audit_limit`

// Page selects a page of a list.
type Page struct {
	// Cursor is the cursor of the previous page, or empty.
	Cursor string
	// After selects the entries after the one with this seq, oldest first; nil selects all,
	// newest first.
	After *int
	Limit int
}

// List returns a page of the tenant's entries that match where, and the cursor of the next
// page, which is empty on the last page. where is an SQL condition on the
// alias e. It must be a constant of the program; its values are in args, whose names must
// not start with audit_. An invalid cursor, or one of another tenant, is a VALIDATION
// fault.
func List(ctx context.Context, q postgres.Querier, tenant op.UUID, where string, args map[string]any, page Page) ([]Line, string, error) {
	name, comparison, direction, start := cursorName, "<", "DESC", int64(math.MaxInt64)
	if page.After != nil {
		// The entries of a tenant are committed in the order of seq, so no entry can appear
		// later before one that was listed.
		name, comparison, direction, start = ascendingCursorName, ">", "ASC", int64(*page.After)
	}
	start, err := readCursor(tenant, name, page.Cursor, start)
	if err != nil {
		return nil, "", err
	}
	limit := page.Limit
	all := postgres.Args{"audit_chain": tenant, "audit_start": start, "audit_limit": limit + 1}
	maps.Copy(all, args)
	lines, err := postgres.Collect[Line](ctx, q, fmt.Sprintf(listSQL, comparison, where, direction), all)
	if err != nil {
		return nil, "", postgres.MapError(err)
	}
	next := ""
	if len(lines) > limit {
		lines = lines[:limit]
		next = op.NewCursor(name, tenant, strconv.FormatInt(lines[limit-1].Seq, 10))
	}
	return lines, next, nil
}

// cursorName and ascendingCursorName mark the cursors of this list in its two orders.
const (
	cursorName          = "audit.entries"
	ascendingCursorName = "audit.entries.ascending"
)

// readCursor returns the seq of the last entry of the previous page, or start for the first
// page.
func readCursor(tenant op.UUID, name, cursor string, start int64) (int64, error) {
	keys, err := op.ReadCursor(cursor, name, tenant, 1)
	if err != nil {
		return 0, err
	}
	if keys == nil {
		return start, nil
	}
	seq, err := strconv.ParseInt(keys[0], 10, 64)
	if err != nil || seq < 1 {
		return 0, fault.Validation("cursor", "The cursor was not returned by this list.")
	}
	return seq, nil
}
