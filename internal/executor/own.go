package executor

import (
	"context"
	"fmt"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// RunAsSystem carries out a piece of the module's own work in a tenant, which nobody
// asked for: what falls due by itself. It is one transaction that holds the
// change, its audit entries and its events, or nothing; the entries name the
// system as the actor. There is no caller: f may ask the policies only what names no
// subject.
// A collision with another transaction begins it again.
func (m *Module) RunAsSystem(ctx context.Context, tenant op.UUID, f func(ctx context.Context, c *Call) error) error {
	for range attempts {
		c := &Call{Tenant: tenant, Now: m.cfg.Clock.Now(), module: m}
		err := m.runAsSystem(ctx, c, f)
		if !isRetryable(err) || ctx.Err() != nil {
			return postgres.MapError(err)
		}
	}
	return fault.Unavailable(fmt.Errorf("executor: the module's own work kept colliding with other changes"))
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
	c.notifyListener()
	return nil
}
