package token

import (
	"crypto/sha256"
	"sync"

	"parapet/internal/op"
)

// digest is the cache key of a token: a hash of its complete text with the signature. So
// only the exact text that was verified finds the entry, and the cache contains no
// credentials.
type digest [sha256.Size]byte

func newDigest(text string) digest { return sha256.Sum256([]byte(text)) }

// cache stores tokens whose signature was verified. It has two generations: when the
// current one is full, it becomes the previous one, and the former previous one is
// dropped. An entry that is used moves to the current one. Only verified tokens are
// stored, so invalid tokens cannot displace entries.
type cache struct {
	mu                 sync.RWMutex
	limit              int
	currentGeneration  map[digest]verifiedToken
	previousGeneration map[digest]verifiedToken
}

func newCache(size int) *cache {
	half := max(size/2, 1)
	return &cache{limit: half, currentGeneration: make(map[digest]verifiedToken), previousGeneration: map[digest]verifiedToken{}}
}

// get returns the stored entry; the caller must clone it.
func (c *cache) get(key digest) (verifiedToken, bool) {
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

func (c *cache) put(key digest, v verifiedToken) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.currentGeneration[key]; !ok && len(c.currentGeneration) >= c.limit {
		c.previousGeneration, c.currentGeneration = c.currentGeneration, make(map[digest]verifiedToken)
	}
	c.currentGeneration[key] = v
}

// forget removes the tokens with this jti. It visits all entries: revocations are rare,
// and an index by jti would slow down every request.
func (c *cache) forget(jti op.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, generation := range []map[digest]verifiedToken{c.currentGeneration, c.previousGeneration} {
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
