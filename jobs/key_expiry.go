package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"parapet/internal/clock"
	"parapet/internal/contract/identity"
	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// expiryWarningPeriod is the time before the expiry of a key in which warnings are written.
// The monitor in CI uses the same value.
const expiryWarningPeriod = 14 * 24 * time.Hour

type keyExpiryArgs struct{}

// Kind implements river.JobArgs.
func (keyExpiryArgs) Kind() string { return "key_expiry_watch" }

// keyExpiryWorker warns of expiring keys of SERVICE principals in all tenants. It writes at
// most one event per key and day (UTC), because the event's id is derived from key and day.
// The database role may read only the columns of the directory that the query needs.
type keyExpiryWorker struct {
	river.WorkerDefaults[keyExpiryArgs]
	pool  *postgres.Pool
	clock clock.Clock
	log   *slog.Logger
}

// expiringSQL also selects keys that expired within the last day, so that there is one
// warning after the expiry.
const expiringSQL = `
SELECT k.tenant_id, k.jti, k.label, k.owner_id, k.expires_at, u.integration_key
FROM identity.api_keys k
JOIN identity.users u ON u.id = k.owner_id
JOIN identity.tenants t ON t.id = k.tenant_id
WHERE u.principal_kind = 'SERVICE' AND k.revoked_at IS NULL AND t.disabled_at IS NULL
  AND k.expires_at > @from AND k.expires_at <= @until
ORDER BY k.tenant_id, k.expires_at, k.jti`

type expiringKey struct {
	TenantID       op.UUID
	JTI            op.UUID `db:"jti"`
	Label          string
	OwnerID        op.UUID
	ExpiresAt      time.Time
	IntegrationKey string
}

// Work implements river.Worker. It writes the day's warnings that do not exist yet.
func (w *keyExpiryWorker) Work(ctx context.Context, _ *river.Job[keyExpiryArgs]) error {
	now := w.clock.Now()
	keys, err := postgres.Collect[expiringKey](ctx, w.pool, expiringSQL, postgres.Args{
		"from": now.Add(-24 * time.Hour), "until": now.Add(expiryWarningPeriod),
	})
	if err != nil {
		return postgres.MapError(err)
	}
	warned := identity.EventKeyExpiryWarned
	list := make([]events.Event, len(keys))
	for i, k := range keys {
		left := int(k.ExpiresAt.Sub(now) / (24 * time.Hour))
		if !k.ExpiresAt.After(now) {
			left = -1
		}
		payload, err := events.NewPayload(warned, events.Payload{Resource: identity.ExpiringKey{
			JTI: k.JTI, Label: k.Label, Owner: k.OwnerID, IntegrationKey: k.IntegrationKey, Expiry: k.ExpiresAt, DaysLeft: left,
		}})
		if err != nil {
			return err
		}
		list[i] = events.Event{
			ID: warningID(k.TenantID, k.JTI, now), Type: warned.Name, TenantID: k.TenantID,
			AggregateType: warned.Record, AggregateID: string(k.JTI), OccurredAt: now, Payload: payload,
		}
	}
	n, err := events.AppendOnce(ctx, w.pool, list)
	if err != nil {
		return err
	}
	if n > 0 {
		w.log.InfoContext(ctx, "keys of service principals are about to expire", "warnings", n, "keys", len(keys))
	}
	return nil
}

// warningID returns a version 7 UUID with the time at which the day begins. Its random part
// is derived from tenant, key and day.
func warningID(tenant, jti op.UUID, now time.Time) op.UUID {
	day := now.UTC().Truncate(24 * time.Hour)
	sum := sha256.Sum256([]byte(identity.EventKeyExpiryWarned.Name + " " + string(tenant) + " " + string(jti) + " " + day.Format(time.DateOnly)))
	var id [16]byte
	copy(id[:], sum[:])
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(day.UnixMilli()))
	copy(id[:6], ms[2:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	text := hex.EncodeToString(id[:])
	return op.UUID(text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:])
}
