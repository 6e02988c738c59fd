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
	mu                 sync.RWMutex
	limit              int
	ttl                time.Duration
	epoch              uint64
	currentGeneration  map[K]cached[V]
	previousGeneration map[K]cached[V]
}

type cached[V any] struct {
	value V
	until time.Time
}

func newCache[K comparable, V any](size int, ttl time.Duration) *cache[K, V] {
	return &cache[K, V]{limit: max(size/2, 1), ttl: ttl, currentGeneration: map[K]cached[V]{}, previousGeneration: map[K]cached[V]{}}
}

func (c *cache[K, V]) get(key K, now time.Time) (V, bool) {
	c.mu.RLock()
	k, ok := c.currentGeneration[key]
	if !ok {
		k, ok = c.previousGeneration[key]
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
	if _, ok := c.currentGeneration[key]; !ok && len(c.currentGeneration) >= c.limit {
		c.previousGeneration, c.currentGeneration = c.currentGeneration, make(map[K]cached[V], c.limit)
	}
	delete(c.previousGeneration, key)
	c.currentGeneration[key] = cached[V]{value, began.Add(ttl)}
}

// drop forgets what matches. It goes through all entries: notices are rare, and
// indexes would cost every request.
func (c *cache[K, V]) drop(match func(K, V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for _, generation := range []map[K]cached[V]{c.currentGeneration, c.previousGeneration} {
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
	return len(c.currentGeneration) + len(c.previousGeneration)
}
