package jobs

import (
	"context"
	"log/slog"
	"time"

	"parapet/internal/postgres"
)

// River's leader schedules jobs, makes delayed ones available and rescues stuck
// ones. It renews its term every 5 s for 15 s, and neither is a setting. A leader
// that is paused would be missed for up to 21 s.
const (
	// leaderLooks is how often each process looks at River's leader.
	leaderLooks = time.Second
	// sqlReplaceLeader ends a term that was not renewed for 7 s and wakes the
	// candidates. A leader that wakes later does not find its term and steps down;
	// what it schedules before is unique by kind and period.
	sqlReplaceLeader = `
WITH stale AS (
	DELETE FROM river.river_leader WHERE expires_at < clock_timestamp() + interval '8 seconds' RETURNING leader_id
)
SELECT leader_id, pg_notify('river.river_leadership', json_build_object('leader_id', leader_id, 'action', 'resigned')::text)::text FROM stale`
)

// watchLeader replaces River's leader when it does not renew its term, until ctx
// ends.
func watchLeader(ctx context.Context, pool *postgres.Pool, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(leaderLooks):
		}
		var leader, notified string
		err := pool.QueryRow(ctx, sqlReplaceLeader).Scan(&leader, &notified)
		switch {
		case err == nil:
			log.WarnContext(ctx, "jobs: the leader did not renew its term and is replaced", slog.String("leader", leader))
		case !postgres.IsNoRows(err) && ctx.Err() == nil:
			log.WarnContext(ctx, "jobs: the leader's term could not be read", slog.Any("error", err))
		}
	}
}
