package token

import (
	"crypto/sha256"
	"sync"

	"parapet/internal/op"
)

// digest is the key of a cached token: the whole text, signature included, so
// that nothing but the very text that was verified finds the entry, and so that
// the cache holds no credential.
type digest [sha256.Size]byte

func digestOf(text string) digest { return sha256.Sum256([]byte(text)) }

// cache holds tokens whose signature was good. It is bounded by two
// generations: when the young one is full it becomes the old one, and the former
// old one is dropped; an entry that is used moves to the young one. Only what
// passed Verify gets in, so strangers cannot push entries out.
type cache struct {
	mu                 sync.RWMutex
	limit              int
	currentGeneration  map[digest]verified
	previousGeneration map[digest]verified
}

func newCache(size int) *cache {
	half := max(size/2, 1)
	return &cache{limit: half, currentGeneration: make(map[digest]verified), previousGeneration: map[digest]verified{}}
}

// get gives the entry itself; the caller clones it.
func (c *cache) get(key digest) (verified, bool) {
	c.mu.RLock()
	v, ok := c.currentGeneration[key]
	if ok {
		c.mu.RUnlock()
		return v, true
	}
	v, ok = c.previousGeneration[key]
	c.mu.RUnlock()
	if ok {
		c.put(key, v)
	}
	return v, ok
}

func (c *cache) put(key digest, v verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.currentGeneration[key]; !ok && len(c.currentGeneration) >= c.limit {
		c.previousGeneration, c.currentGeneration = c.currentGeneration, make(map[digest]verified)
	}
	c.currentGeneration[key] = v
}

// forget goes through all entries: revocations are rare, and an index by jti
// would cost every request.
func (c *cache) forget(jti op.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, generation := range []map[digest]verified{c.currentGeneration, c.previousGeneration} {
		for key, v := range generation {
			if v.claims.ID == jti {
				delete(generation, key)
			}
		}
	}
}

func (c *cache) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.currentGeneration) + len(c.previousGeneration)
}
