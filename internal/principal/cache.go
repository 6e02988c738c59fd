package principal

import (
	"sync"
	"time"
)

// cache stores successful results, bounded in time and number. It has two generations;
// when the current one is full, the previous one is dropped.
//
// A value that is loaded while drop runs must not be stored afterwards. Therefore a load
// reads the epoch before it queries the database and passes it to put, which discards a
// value that is older than the last drop.
type cache[K comparable, V any] struct {
	mu                 sync.RWMutex
	limit              int
	ttl                time.Duration
	epoch              uint64
	currentGeneration  map[K]cacheEntry[V]
	previousGeneration map[K]cacheEntry[V]
}

type cacheEntry[V any] struct {
	value     V
	expiresAt time.Time
}

func newCache[K comparable, V any](size int, ttl time.Duration) *cache[K, V] {
	return &cache[K, V]{limit: max(size/2, 1), ttl: ttl, currentGeneration: map[K]cacheEntry[V]{}, previousGeneration: map[K]cacheEntry[V]{}}
}

func (c *cache[K, V]) get(key K, now time.Time) (V, bool) {
	c.mu.RLock()
	k, ok := c.currentGeneration[key]
	if !ok {
		k, ok = c.previousGeneration[key]
	}
	c.mu.RUnlock()
	if !ok || !now.Before(k.expiresAt) {
		var zero V
		return zero, false
	}
	return k.value, true
}

// currentEpoch returns the epoch to pass to put. Call it before loading the value.
func (c *cache[K, V]) currentEpoch() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.epoch
}

// put stores a value whose load began at the time began, in the given epoch. The value
// expires ttl after began, because that is when it was known to be true.
func (c *cache[K, V]) put(key K, value V, began time.Time, epoch uint64) {
	c.putWithTTL(c.ttl, key, value, began, epoch)
}

// putWithTTL is put with a ttl of its own.
func (c *cache[K, V]) putWithTTL(ttl time.Duration, key K, value V, began time.Time, epoch uint64) {
	if ttl <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch {
		return
	}
	if _, ok := c.currentGeneration[key]; !ok && len(c.currentGeneration) >= c.limit {
		c.previousGeneration, c.currentGeneration = c.currentGeneration, make(map[K]cacheEntry[V], c.limit)
	}
	delete(c.previousGeneration, key)
	c.currentGeneration[key] = cacheEntry[V]{value, began.Add(ttl)}
}

// drop removes the entries that match. It visits all entries: notifications are rare,
// and an index would slow down every request.
func (c *cache[K, V]) drop(match func(K, V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for _, generation := range []map[K]cacheEntry[V]{c.currentGeneration, c.previousGeneration} {
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
