package principal

import (
	"context"
	"maps"
	"sync"
	"time"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

const (
	// usageInterval is the minimum time between two writes of last_used_at of one key.
	usageInterval = time.Minute
	// usageFlushDelay is how long a use is buffered before it is written.
	usageFlushDelay = 500 * time.Millisecond
	// usageLimit is the maximum number of buffered keys. Further uses are dropped; the
	// next use of the key is written.
	usageLimit = 65536
)

// usageBuffer collects the times at which keys were used, for batched writes.
type usageBuffer struct {
	mu      sync.Mutex
	pending map[keyID]time.Time
	written map[keyID]time.Time
	wake    chan struct{}
}

type keyID struct{ tenant, jti op.UUID }

func newUsage() *usageBuffer {
	return &usageBuffer{pending: map[keyID]time.Time{}, written: map[keyID]time.Time{}, wake: make(chan struct{}, 1)}
}

// record buffers a use, unless one was recorded within the last minute.
func (u *usageBuffer) record(tenant, jti op.UUID, now time.Time) {
	id := keyID{tenant, jti}
	u.mu.Lock()
	at, seen := u.written[id]
	due := !seen || now.Sub(at) >= usageInterval
	if due && len(u.pending) < usageLimit {
		u.pending[id] = now
		u.written[id] = now
	} else {
		due = false
	}
	u.mu.Unlock()
	if due {
		select {
		case u.wake <- struct{}{}:
		default:
		}
	}
}

// takePending returns the buffered uses and removes entries that are older than a minute.
func (u *usageBuffer) takePending(now time.Time) map[keyID]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	batch := u.pending
	u.pending = map[keyID]time.Time{}
	maps.DeleteFunc(u.written, func(_ keyID, at time.Time) bool { return now.Sub(at) >= usageInterval })
	return batch
}

// Several processes may use the same key, so the statement enforces the minute as well.
const usageSQL = `
UPDATE identity.api_keys k SET last_used_at = v.at
FROM unnest(@tenants::uuid[], @jtis::uuid[], @ats::timestamptz[]) AS v (tenant_id, jti, at)
WHERE k.tenant_id = v.tenant_id AND k.jti = v.jti
  AND (k.last_used_at IS NULL OR k.last_used_at <= v.at - interval '1 minute')`

func (u *usageBuffer) flush(ctx context.Context, q postgres.Querier, now time.Time) error {
	batch := u.takePending(now)
	if len(batch) == 0 {
		return nil
	}
	var tenants, jtis []string
	var ats []time.Time
	for id, at := range batch {
		tenants, jtis, ats = append(tenants, string(id.tenant)), append(jtis, string(id.jti)), append(ats, at)
	}
	_, err := q.Exec(ctx, usageSQL, postgres.Args{"tenants": tenants, "jtis": jtis, "ats": ats})
	return err
}
