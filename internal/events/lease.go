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
	// leaseTime is for how long a lease is held without being renewed: the bound of
	// a takeover from a process that is paused.
	leaseTime = 3 * time.Second
	// leaseRenewal is how often the holder renews it.
	leaseRenewal = 500 * time.Millisecond
	// leaseMargin is how much sooner than the server the holder takes its lease to
	// have ended.
	leaseMargin = 500 * time.Millisecond
)

// dispatching is the lease of the dispatcher.
const dispatching = "dispatching"

// sqlClaim takes a lease that is free, or renews one's own. Another holder is
// another epoch.
const sqlClaim = `
INSERT INTO events.leases AS l (tenant_id, name, holder, epoch, expires_at)
VALUES ('00000000-0000-0000-0000-000000000000', @name, @holder, 1, clock_timestamp() + @time::interval)
ON CONFLICT (tenant_id, name) DO UPDATE
SET holder = excluded.holder, expires_at = clock_timestamp() + @time::interval,
    epoch = l.epoch + CASE WHEN l.holder = excluded.holder THEN 0 ELSE 1 END
WHERE l.holder = excluded.holder OR l.expires_at < clock_timestamp()
RETURNING epoch`

// acquireLease takes or renews the lease and gives its epoch; zero means that another
// process holds it.
func acquireLease(ctx context.Context, q postgres.Querier, name string, holder op.UUID) (epoch int64, err error) {
	err = q.QueryRow(ctx, sqlClaim, postgres.Args{"name": name, "holder": holder, "time": leaseTime}).Scan(&epoch)
	if postgres.IsNoRows(err) {
		return 0, nil
	}
	return epoch, err
}

const sqlReturnLease = `
UPDATE events.leases SET expires_at = clock_timestamp() - interval '1 second'
WHERE tenant_id = '00000000-0000-0000-0000-000000000000' AND name = @name AND holder = @holder AND epoch = @epoch`

// returnLease lets another process have the lease at once.
func returnLease(ctx context.Context, q postgres.Querier, name string, holder op.UUID, epoch int64) error {
	_, err := q.Exec(ctx, sqlReturnLease, postgres.Args{"name": name, "holder": holder, "epoch": epoch})
	return err
}

// leaseKey is the context key of the epoch under which work is done.
type leaseKey struct{}

// errLeaseLost says that another process has taken the lease over.
var errLeaseLost = errors.New("events: another process has the lease")

const sqlEpoch = `
SELECT epoch FROM events.leases WHERE tenant_id = '00000000-0000-0000-0000-000000000000' AND name = @name`

// checkLease refuses work under a lease that another process holds by now. Work
// without a lease is not checked: it is done on somebody's demand.
func checkLease(ctx context.Context, q postgres.Querier) error {
	mine, ok := ctx.Value(leaseKey{}).(int64)
	if !ok {
		return nil
	}
	var epoch int64
	if err := q.QueryRow(ctx, sqlEpoch, postgres.Args{"name": dispatching}).Scan(&epoch); err != nil {
		return fmt.Errorf("events: lease: %w", err)
	}
	if epoch != mine {
		return errLeaseLost
	}
	return nil
}
