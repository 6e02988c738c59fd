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
	// usageEvery is how often last_used_at of one key is written at most.
	usageEvery = time.Minute
	// usageFlush is how long a use waits to be written.
	usageFlush = 500 * time.Millisecond
	// usageLimit bounds how many keys wait; a use beyond it is not written, and
	// the key's next use is.
	usageLimit = 65536
)

// usage collects the uses of keys that are to be written.
type usage struct {
	mu      sync.Mutex
	pending map[keyID]time.Time
	written map[keyID]time.Time
	wake    chan struct{}
}

type keyID struct{ tenant, jti op.UUID }

func newUsage() *usage {
	return &usage{pending: map[keyID]time.Time{}, written: map[keyID]time.Time{}, wake: make(chan struct{}, 1)}
}

// record remembers a use, unless one was written within the last minute.
func (u *usage) record(tenant, jti op.UUID, now time.Time) {
	id := keyID{tenant, jti}
	u.mu.Lock()
	at, seen := u.written[id]
	due := !seen || now.Sub(at) >= usageEvery
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

// take gives what waits and forgets what was written more than a minute ago.
func (u *usage) take(now time.Time) map[keyID]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	batch := u.pending
	u.pending = map[keyID]time.Time{}
	maps.DeleteFunc(u.written, func(_ keyID, at time.Time) bool { return now.Sub(at) >= usageEvery })
	return batch
}

// Several processes may see the same key: the statement holds the minute too.
const usageSQL = `
UPDATE identity.api_keys k SET last_used_at = v.at
FROM unnest(@tenants::uuid[], @jtis::uuid[], @ats::timestamptz[]) AS v (tenant_id, jti, at)
WHERE k.tenant_id = v.tenant_id AND k.jti = v.jti
  AND (k.last_used_at IS NULL OR k.last_used_at <= v.at - interval '1 minute')`

func (u *usage) flush(ctx context.Context, q postgres.Querier, now time.Time) error {
	batch := u.take(now)
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
