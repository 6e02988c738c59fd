package identity

import (
	"context"

	"parapet/internal/executor"
	"parapet/internal/op"
)

// inTenant runs f with another tenant as the transaction's tenant, and then restores the
// current one, which the executor commits to. The caller must have checked that the actor
// may act in that tenant.
func inTenant(ctx context.Context, c *executor.Call, tenant op.UUID, f func() error) error {
	if tenant == c.Tenant {
		return f()
	}
	if err := c.Tx.SetTenant(ctx, string(tenant)); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return c.Tx.SetTenant(ctx, string(c.Tenant))
}
