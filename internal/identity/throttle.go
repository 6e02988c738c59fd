package identity

import (
	"crypto/sha256"
	"math"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Limit allows Burst attempts and then one more per Every.
type Limit struct {
	Burst int
	Every time.Duration
}

// Throttle limits failed logins per account and per client address. A successful login
// returns its attempt. The limits apply per process.
type Throttle struct {
	Account Limit
	Address Limit
}

// DefaultThrottle allows typing errors, and about 3,000 guesses per day for one account.
func DefaultThrottle() Throttle {
	return Throttle{
		Account: Limit{Burst: 10, Every: 30 * time.Second},
		Address: Limit{Burst: 50, Every: 3 * time.Second},
	}
}

// throttleSize is the maximum number of stored buckets. A client that tries enough invented
// accounts to displace a bucket reaches the limit of its address first.
const throttleSize = 32768

type throttle struct {
	mu                 sync.Mutex
	limits             Throttle
	currentGeneration  map[bucketKey]bucket
	previousGeneration map[bucketKey]bucket
}

// bucketKey is a digest, so that neither accounts nor addresses are stored.
type bucketKey [16]byte

// bucket is the number of attempts that were left at updatedAt.
type bucket struct {
	left      float64
	updatedAt time.Time
}

func newThrottle(limits Throttle) *throttle {
	return &throttle{limits: limits, currentGeneration: map[bucketKey]bucket{}, previousGeneration: map[bucketKey]bucket{}}
}

func accountKey(email string) bucketKey { return newBucketKey("account", strings.ToLower(email)) }

// addressKey returns one key for all IPv6 addresses of a /64, because one client usually
// controls all of them.
func addressKey(address string) bucketKey {
	if a, err := netip.ParseAddr(address); err == nil {
		a = a.Unmap().WithZone("")
		if a.Is6() {
			if p, err := a.Prefix(64); err == nil {
				return newBucketKey("address", p.String())
			}
		}
		address = a.String()
	}
	return newBucketKey("address", address)
}

func newBucketKey(kind, text string) bucketKey {
	sum := sha256.Sum256([]byte(kind + "\x00" + text))
	return bucketKey(sum[:16])
}

// consume takes one attempt from the account and from the address. If one of them has none
// left, it takes nothing and returns the time until the next attempt.
func (t *throttle) consume(email, address string, now time.Time) (wait time.Duration, ok bool) {
	account, client := accountKey(email), addressKey(address)
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.attemptsLeft(account, t.limits.Account, now)
	b := t.attemptsLeft(client, t.limits.Address, now)
	if wait := max(timeUntilAttempt(a, t.limits.Account), timeUntilAttempt(b, t.limits.Address)); wait > 0 {
		return wait, false
	}
	t.storeBucket(account, bucket{a - 1, now})
	t.storeBucket(client, bucket{b - 1, now})
	return 0, true
}

// refund returns the attempt of a successful login.
func (t *throttle) refund(email, address string, now time.Time) {
	account, client := accountKey(email), addressKey(address)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.storeBucket(account, bucket{min(t.attemptsLeft(account, t.limits.Account, now)+1, float64(t.limits.Account.Burst)), now})
	t.storeBucket(client, bucket{min(t.attemptsLeft(client, t.limits.Address, now)+1, float64(t.limits.Address.Burst)), now})
}

func (t *throttle) attemptsLeft(key bucketKey, limit Limit, now time.Time) float64 {
	b, ok := t.currentGeneration[key]
	if !ok {
		if b, ok = t.previousGeneration[key]; !ok {
			return float64(limit.Burst)
		}
	}
	gained := 0.0
	if passed := now.Sub(b.updatedAt); passed > 0 {
		gained = float64(passed) / float64(limit.Every)
	}
	return min(b.left+gained, float64(limit.Burst))
}

func timeUntilAttempt(left float64, limit Limit) time.Duration {
	if left >= 1 {
		return 0
	}
	return time.Duration(math.Ceil((1 - left) * float64(limit.Every)))
}

func (t *throttle) storeBucket(key bucketKey, b bucket) {
	if _, ok := t.currentGeneration[key]; !ok && len(t.currentGeneration) >= throttleSize/2 {
		t.previousGeneration, t.currentGeneration = t.currentGeneration, map[bucketKey]bucket{}
	}
	t.currentGeneration[key] = b
}
