package events

import (
	"context"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// ErrLeaseLost is the error of work under a lease that another process holds.
var ErrLeaseLost = errLeaseLost

// ClaimLease claims the lease of the dispatcher.
func ClaimLease(ctx context.Context, q postgres.Querier, holder op.UUID) (int64, error) {
	return acquireLease(ctx, q, dispatching, holder)
}

// WithEpoch gives a context for work under the lease of the dispatcher.
func WithEpoch(ctx context.Context, epoch int64) context.Context {
	return context.WithValue(ctx, leaseKey{}, epoch)
}

// TakeRoutingTurn makes other dispatchers wait until the end of the transaction.
func TakeRoutingTurn(ctx context.Context, q postgres.Querier) error {
	_, err := q.Exec(ctx, sqlRoutingTurn)
	return err
}

// Route and Deliver are the two halves of Drain, for tests that stop in between.
func (d *Dispatcher) Route(ctx context.Context) (int, error) { return d.route(ctx) }

// Deliver gives the first subscriber one batch.
func (d *Dispatcher) Deliver(ctx context.Context) (int, error) { return d.queues[0].deliver(ctx) }
