package identity

import (
	"context"
	"time"

	"parapet/internal/postgres"
)

// sessionRetention is how long an expired session is kept.
const sessionRetention = 30 * 24 * time.Hour

// pruneBatchSize limits the rows of one DELETE, so that row locks are held briefly.
const pruneBatchSize = 1000

const pruneSessionsSQL = `
DELETE FROM identity.sessions s
USING (SELECT tenant_id, jti FROM identity.sessions WHERE expires_at < @before ORDER BY tenant_id, jti LIMIT @most FOR UPDATE SKIP LOCKED) old
WHERE s.tenant_id = old.tenant_id AND s.jti = old.jti`

// PruneSessions deletes sessions of every tenant that expired more than sessionRetention
// before now, and returns their number.
func (s *Service) PruneSessions(ctx context.Context, now time.Time) (int64, error) {
	return s.prune(ctx, pruneSessionsSQL, now)
}

func (s *Service) prune(ctx context.Context, sql string, now time.Time) (int64, error) {
	n, err := postgres.DeleteInBatches(ctx, s.deps.Auth, pruneBatchSize, sql, postgres.Args{"before": now.Add(-sessionRetention), "most": pruneBatchSize})
	return n, postgres.MapError(err)
}
