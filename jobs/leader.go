package jobs

import (
	"context"
	"log/slog"
	"time"

	"parapet/internal/postgres"
)

// River's leader schedules jobs, makes delayed ones available and rescues stuck
// ones. It renews its term of 15 s every 5 s; neither time can be configured. Without
// watchLeader, up to 21 s would pass until a paused leader is replaced.
const (
	// leaderCheckInterval is how often each process checks River's leader.
	leaderCheckInterval = time.Second
	// replaceLeaderSQL ends a term that was not renewed for 7 s and notifies the
	// candidates. A former leader that resumes does not find its term and steps down;
	// the jobs that it schedules before that are unique by kind and period.
	replaceLeaderSQL = `
WITH stale AS (
	DELETE FROM river.river_leader WHERE expires_at < clock_timestamp() + interval '8 seconds' RETURNING leader_id
)
SELECT leader_id, pg_notify('river.river_leadership', json_build_object('leader_id', leader_id, 'action', 'resigned')::text)::text FROM stale`
)

// watchLeader replaces River's leader when it stops renewing its term, until ctx ends.
func watchLeader(ctx context.Context, pool *postgres.Pool, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(leaderCheckInterval):
		}
		var leader, notified string
		err := pool.QueryRow(ctx, replaceLeaderSQL).Scan(&leader, &notified)
		switch {
		case err == nil:
			log.WarnContext(ctx, "jobs: the leader did not renew its term and was replaced", slog.String("leader", leader))
		case !postgres.IsNoRows(err) && ctx.Err() == nil:
			log.WarnContext(ctx, "jobs: reading the leader's term failed", slog.Any("error", err))
		}
	}
}
