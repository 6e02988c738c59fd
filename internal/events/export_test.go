package events

import "context"

// Route and Deliver are the two halves of Drain, for tests that stop in between.
func (d *Dispatcher) Route(ctx context.Context) (int, error) { return d.route(ctx) }

// Deliver gives the first subscriber one batch.
func (d *Dispatcher) Deliver(ctx context.Context) (int, error) { return d.queues[0].deliver(ctx) }
