package jobs

import (
	"context"
	"time"

	"parapet/internal/postgres"
)

// ExpiringKeys counts the active keys of service principals that expire soon, in all tenants.
type ExpiringKeys struct {
	Day, ThreeDays, TwoWeeks int
}

// countExpiringSQL counts the keys of which keyExpiryWorker warns, without those that have
// expired.
const countExpiringSQL = `
SELECT count(*) FILTER (WHERE k.expires_at <= @day)::int AS day, count(*) FILTER (WHERE k.expires_at <= @three_days)::int AS three_days,
       count(*)::int AS two_weeks
FROM identity.api_keys k
JOIN identity.users u ON u.id = k.owner_id
JOIN identity.tenants t ON t.id = k.tenant_id
WHERE u.principal_kind = 'SERVICE' AND k.revoked_at IS NULL AND t.disabled_at IS NULL
  AND k.expires_at > @now AND k.expires_at <= @two_weeks`

// CountExpiringKeys counts the keys that expire soon after now. q must be a pool of
// parapet_jobs.
func CountExpiringKeys(ctx context.Context, q postgres.Querier, now time.Time) (ExpiringKeys, error) {
	const day = 24 * time.Hour
	return postgres.One[ExpiringKeys](ctx, q, countExpiringSQL, postgres.Args{
		"now": now, "day": now.Add(day), "three_days": now.Add(3 * day), "two_weeks": now.Add(expiryWarningPeriod),
	})
}
