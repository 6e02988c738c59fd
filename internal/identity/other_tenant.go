package identity

import (
	"context"

	"parapet/internal/executor"
	"parapet/internal/op"
)

// inTenant runs f with another tenant as the transaction's, and goes back to
// the acting one, whose audit chain and outbox the executor writes to. Who calls it
// has decided before that the actor may act there.
func inTenant(ctx context.Context, c *executor.Call, tenant op.UUID, f func() error) error {
	if err := c.Tx.SetTenant(ctx, string(tenant)); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return c.Tx.SetTenant(ctx, string(c.Tenant))
}

// recordInTenant records what a programme office did to another tenant in that
// tenant's own audit chain and outbox, for its auditors and its subscribers.
func recordInTenant(c *executor.Call, tenant op.UUID, notes []executor.AuditEntry, published []executor.Event) {
	for _, e := range published {
		c.EmitInTenant(tenant, e)
	}
	for _, n := range notes {
		c.RecordInTenant(tenant, n)
	}
}
