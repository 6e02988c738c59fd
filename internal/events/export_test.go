package events

import (
	"context"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// ErrLeaseLost is returned for work under a lease that another process holds.
var ErrLeaseLost = errLeaseLost

// AcquireLease acquires the lease of the dispatcher.
func AcquireLease(ctx context.Context, q postgres.Querier, holder op.UUID) (int64, error) {
	return acquireLease(ctx, q, dispatcherLease, holder)
}

// WithEpoch returns a context for work under the lease of the dispatcher.
func WithEpoch(ctx context.Context, epoch int64) context.Context {
	return context.WithValue(ctx, leaseKey{}, epoch)
}

// TakeRoutingLock makes other dispatchers wait until the end of the transaction.
func TakeRoutingLock(ctx context.Context, q postgres.Querier) error {
	_, err := q.Exec(ctx, routingLockSQL)
	return err
}

// Route and Deliver are the two steps of Drain, for tests that stop between them.
func (d *Dispatcher) Route(ctx context.Context) (int, error) { return d.route(ctx) }

// Deliver delivers one batch to the first subscriber.
func (d *Dispatcher) Deliver(ctx context.Context) (int, error) { return d.queues[0].deliver(ctx) }
