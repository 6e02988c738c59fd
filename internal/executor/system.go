package executor

import (
	"context"
	"fmt"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// RunAsSystem runs background work of the module in a tenant, without a caller. The
// change, its audit entries and its events are committed in one transaction; the audit
// entries have the actor type system. f may evaluate only policies that need no subject.
// The work is retried after a deadlock or a serialization failure.
func (m *Module) RunAsSystem(ctx context.Context, tenant op.UUID, f func(ctx context.Context, c *Call) error) error {
	for range maxAttempts {
		c := &Call{Tenant: tenant, Now: m.cfg.Clock.Now(), module: m}
		err := m.runAsSystem(ctx, c, f)
		if !isRetryable(err) || ctx.Err() != nil {
			return postgres.MapError(err)
		}
	}
	return fault.Unavailable(fmt.Errorf("executor: background work: gave up after %d attempts because of concurrent changes", maxAttempts))
}

func (m *Module) runAsSystem(ctx context.Context, c *Call, f func(ctx context.Context, c *Call) error) error {
	tx, err := m.cfg.Pool.Begin(ctx, string(c.Tenant), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	c.DB, c.Tx = tx, tx
	if err := f(ctx, c); err != nil {
		return err
	}
	if err := c.commit(ctx); err != nil {
		return err
	}
	c.invalidateCaches()
	return nil
}
