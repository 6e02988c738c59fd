package events

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// leadershipRetry is how often a process that does not lead asks whether it may.
const leadershipRetry = 500 * time.Millisecond

// sqlKeepalive is for a host that vanishes and so sends no end of its connection:
// the server asks soon whether it is still there and frees the connection. (Set here and not in the start-up message, of which a
// connection pooler takes few parameters.)
const sqlKeepalive = `SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3`

// Run contests the lead and dispatches while it has it, until ctx ends. The lead is
// a lease: a process that is dead, paused or cut off does not renew it, and another
// takes over within the lease time and the contest interval. Two dispatchers would
// still deliver once and in order.
func (d *Dispatcher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := d.runAsLeader(ctx)
		if err != nil && ctx.Err() == nil {
			d.cfg.Log.WarnContext(ctx, "events: this process no longer dispatches", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(leadershipRetry):
		}
	}
	return ctx.Err()
}

// runAsLeader waits for the lead and leads until the lease, the connection or ctx ends.
func (d *Dispatcher) runAsLeader(ctx context.Context) error {
	holder := uid.Random()
	epoch, renewed := int64(0), time.Time{}
	for {
		renewed = time.Now()
		var err error
		if epoch, err = acquireLease(ctx, d.cfg.Pool, dispatching, holder); err != nil {
			return err
		}
		if epoch != 0 {
			break
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(leadershipRetry):
		}
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = returnLease(ending, d.cfg.Pool, dispatching, holder, epoch)
	}()
	leading, stop := context.WithCancelCause(context.WithValue(ctx, leaseKey{}, epoch))
	defer stop(nil)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer stop(nil)
	parts.Go(func() { stop(d.renew(leading, holder, epoch, renewed)) })
	woken := make(chan struct{}, 1)
	parts.Go(func() { stop(d.listen(leading, woken)) })
	d.cfg.Log.InfoContext(ctx, "events: this process dispatches", "epoch", epoch)
	d.lead(leading, woken)
	return context.Cause(leading)
}

// renew renews the lease until ctx ends or the lease may be another's.
func (d *Dispatcher) renew(ctx context.Context, holder op.UUID, epoch int64, renewed time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leaseRenewal):
		}
		end := renewed.Add(leaseTime - leaseMargin)
		now := time.Now()
		if now.After(end) {
			// The process was paused.
			return errLeaseLost
		}
		claiming, cancel := context.WithDeadline(ctx, end)
		current, err := acquireLease(claiming, d.cfg.Pool, dispatching, holder)
		cancel()
		switch {
		case err == nil && current == epoch:
			renewed = now
		case err == nil:
			return errLeaseLost
		}
	}
}

// listen passes the notices of new events on until ctx or its connection ends.
func (d *Dispatcher) listen(ctx context.Context, woken chan<- struct{}) error {
	cfg := d.cfg.Pool.Raw().Config().ConnConfig.Copy()
	cfg.RuntimeParams["application_name"] = "parapet dispatcher"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(ctx, sqlKeepalive, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `LISTEN `+Channel); err != nil {
		return err
	}
	return postgres.ReceiveNotifications(ctx, conn, func(string, string) {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
}
