package principal

import (
	"sync"
	"time"
)

// cache remembers successes for a bounded time and in a bounded number: two
// generations, of which the older is dropped when the younger is full.
//
// A drop that comes while a value is being loaded must not be lost: a load takes
// the epoch before it reads the database and hands it to put, which refuses a
// value that is older than the last drop.
type cache[K comparable, V any] struct {
	mu    sync.RWMutex
	limit int
	ttl   time.Duration
	epoch uint64
	young map[K]kept[V]
	old   map[K]kept[V]
}

type kept[V any] struct {
	value V
	until time.Time
}

func newCache[K comparable, V any](size int, ttl time.Duration) *cache[K, V] {
	return &cache[K, V]{limit: max(size/2, 1), ttl: ttl, young: map[K]kept[V]{}, old: map[K]kept[V]{}}
}

func (c *cache[K, V]) get(key K, now time.Time) (V, bool) {
	c.mu.RLock()
	k, ok := c.young[key]
	if !ok {
		k, ok = c.old[key]
	}
	c.mu.RUnlock()
	if !ok || !now.Before(k.until) {
		var zero V
		return zero, false
	}
	return k.value, true
}

// start gives the epoch in which a load begins.
func (c *cache[K, V]) start() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.epoch
}

// put remembers a value whose load began in epoch at the moment began: its time
// runs from then, since that is when the value was true.
func (c *cache[K, V]) put(key K, value V, began time.Time, epoch uint64) {
	c.putFor(c.ttl, key, value, began, epoch)
}

// putFor is put for a value that may be remembered for less time than the others.
func (c *cache[K, V]) putFor(ttl time.Duration, key K, value V, began time.Time, epoch uint64) {
	if ttl <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch {
		return
	}
	if _, ok := c.young[key]; !ok && len(c.young) >= c.limit {
		c.old, c.young = c.young, make(map[K]kept[V], c.limit)
	}
	delete(c.old, key)
	c.young[key] = kept[V]{value, began.Add(ttl)}
}

// drop forgets what matches. It goes through all entries: notices are rare, and
// indexes would cost every request.
func (c *cache[K, V]) drop(match func(K, V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for _, generation := range []map[K]kept[V]{c.young, c.old} {
		for key, k := range generation {
			if match(key, k.value) {
				delete(generation, key)
			}
		}
	}
}

func (c *cache[K, V]) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.young) + len(c.old)
}
