package events

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres"
)

// leaderLock is the session-level advisory lock of the dispatching process. It
// is for efficiency: two dispatchers would still deliver once and in order.
const leaderLock = 8101823740002

// contest is how often a process that does not lead asks whether it may: the
// bound of a takeover after the leader's connection is gone.
const contest = 500 * time.Millisecond

// sqlKeepalive is for a host that vanishes and so sends no end of its connection:
// the server asks soon whether it is still there, so that its lock is freed in
// seconds and not in hours. (Set here and not in the start-up message, of which a
// connection pooler takes few parameters.)
const sqlKeepalive = `SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3`

// Run contests the lead and dispatches while it has it, until ctx ends. The lock
// belongs to a connection of its own: when the process dies, however it dies, the
// server frees the lock with the connection, and another process takes over
// within the contest interval.
func (d *Dispatcher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := d.term(ctx)
		if err != nil && ctx.Err() == nil {
			d.cfg.Log.WarnContext(ctx, "events: the dispatcher lost its connection", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(contest):
		}
	}
	return ctx.Err()
}

// term opens a connection, waits for the lead on it, and leads until the
// connection or ctx ends.
func (d *Dispatcher) term(ctx context.Context) error {
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
	for {
		var led bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, int64(leaderLock)).Scan(&led); err != nil {
			return err
		}
		if led {
			break
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(contest):
		}
	}
	if _, err := conn.Exec(ctx, `LISTEN `+Channel); err != nil {
		return err
	}
	d.cfg.Log.InfoContext(ctx, "events: this process dispatches")

	leading, stop := context.WithCancel(ctx)
	woken, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		d.lead(leading, woken)
	}()
	// It returns when the connection, and so the lock, is gone.
	err = postgres.Hear(ctx, conn, func(string, string) {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	stop()
	<-ended
	return err
}
