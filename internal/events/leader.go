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

// leadershipRetry is how often a process that is not the leader tries to become it.
const leadershipRetry = 500 * time.Millisecond

// keepaliveSQL detects a host that vanished without closing its connection: the server
// probes the connection soon and closes it. It is not set in the start-up message, because
// connection poolers accept only a few parameters there.
const keepaliveSQL = `SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3`

// Run competes for leadership and dispatches while it is the leader, until ctx ends.
// Leadership is a lease: a process that is dead, paused or disconnected does not renew it,
// and another takes over within leaseTime plus leadershipRetry. Even two concurrent
// dispatchers would deliver each event once and in order.
func (d *Dispatcher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := d.runAsLeader(ctx)
		if err != nil && ctx.Err() == nil {
			d.cfg.Log.WarnContext(ctx, "events: this process stopped dispatching events", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(leadershipRetry):
		}
	}
	return ctx.Err()
}

// runAsLeader waits for the lease and leads until the lease, the connection or ctx ends.
func (d *Dispatcher) runAsLeader(ctx context.Context) error {
	holder := uid.Random()
	epoch, renewed := int64(0), time.Time{}
	for {
		renewed = time.Now()
		var err error
		if epoch, err = acquireLease(ctx, d.cfg.Pool, dispatcherLease, holder); err != nil {
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
		releaseCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = returnLease(releaseCtx, d.cfg.Pool, dispatcherLease, holder, epoch)
	}()
	leading, stop := context.WithCancelCause(context.WithValue(ctx, leaseKey{}, epoch))
	defer stop(nil)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer stop(nil)
	parts.Go(func() { stop(d.renew(leading, holder, epoch, renewed)) })
	woken := make(chan struct{}, 1)
	parts.Go(func() { stop(d.listen(leading, woken)) })
	d.cfg.Log.InfoContext(ctx, "events: this process dispatches events", "epoch", epoch)
	d.dispatch(leading, woken)
	return context.Cause(leading)
}

// renew renews the lease until ctx ends or another process may have acquired it.
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
		renewCtx, cancel := context.WithDeadline(ctx, end)
		current, err := acquireLease(renewCtx, d.cfg.Pool, dispatcherLease, holder)
		cancel()
		switch {
		case err == nil && current == epoch:
			renewed = now
		case err == nil:
			return errLeaseLost
		}
	}
}

// listen signals woken for each notification of new events, until ctx or its connection ends.
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
	if _, err := conn.Exec(ctx, keepaliveSQL, pgx.QueryExecModeSimpleProtocol); err != nil {
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
