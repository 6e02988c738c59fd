package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

const (
	// leaseTime is how long a lease lasts without renewal. It limits the time until
	// another process takes over from a paused one.
	leaseTime = 3 * time.Second
	// leaseRenewal is how often the holder renews the lease.
	leaseRenewal = 500 * time.Millisecond
	// leaseMargin is how much earlier than the server the holder considers its lease
	// expired.
	leaseMargin = 500 * time.Millisecond
)

// dispatcherLease is the name of the dispatcher's lease.
const dispatcherLease = "dispatching"

// acquireLeaseSQL acquires a free lease or renews the caller's own. A new holder
// increments the epoch.
const acquireLeaseSQL = `
INSERT INTO events.leases AS l (tenant_id, name, holder, epoch, expires_at)
VALUES ('00000000-0000-0000-0000-000000000000', @name, @holder, 1, clock_timestamp() + @time::interval)
ON CONFLICT (tenant_id, name) DO UPDATE
SET holder = excluded.holder, expires_at = clock_timestamp() + @time::interval,
    epoch = l.epoch + CASE WHEN l.holder = excluded.holder THEN 0 ELSE 1 END
WHERE l.holder = excluded.holder OR l.expires_at < clock_timestamp()
RETURNING epoch`

// acquireLease acquires or renews the lease and returns its epoch, or zero if another
// process holds it.
func acquireLease(ctx context.Context, q postgres.Querier, name string, holder op.UUID) (epoch int64, err error) {
	err = q.QueryRow(ctx, acquireLeaseSQL, postgres.Args{"name": name, "holder": holder, "time": leaseTime}).Scan(&epoch)
	if postgres.IsNoRows(err) {
		return 0, nil
	}
	return epoch, err
}

const returnLeaseSQL = `
UPDATE events.leases SET expires_at = clock_timestamp() - interval '1 second'
WHERE tenant_id = '00000000-0000-0000-0000-000000000000' AND name = @name AND holder = @holder AND epoch = @epoch`

// returnLease releases the lease so that another process can acquire it immediately.
func returnLease(ctx context.Context, q postgres.Querier, name string, holder op.UUID, epoch int64) error {
	_, err := q.Exec(ctx, returnLeaseSQL, postgres.Args{"name": name, "holder": holder, "epoch": epoch})
	return err
}

// leaseKey is the context key of the epoch of the lease.
type leaseKey struct{}

// errLeaseLost means that another process has acquired the lease.
var errLeaseLost = errors.New("events: another process has acquired the lease")

const epochSQL = `
SELECT epoch FROM events.leases WHERE tenant_id = '00000000-0000-0000-0000-000000000000' AND name = @name`

// checkLease returns errLeaseLost if another process has acquired the lease. Work
// outside a lease, such as Drain on request, is not checked.
func checkLease(ctx context.Context, q postgres.Querier) error {
	leaseEpoch, ok := ctx.Value(leaseKey{}).(int64)
	if !ok {
		return nil
	}
	var epoch int64
	if err := q.QueryRow(ctx, epochSQL, postgres.Args{"name": dispatcherLease}).Scan(&epoch); err != nil {
		return fmt.Errorf("events: lease: %w", err)
	}
	if epoch != leaseEpoch {
		return errLeaseLost
	}
	return nil
}
