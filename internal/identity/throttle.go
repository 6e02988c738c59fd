package identity

import (
	"crypto/sha256"
	"math"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Limit is a bucket of attempts: Burst of them at once, and one more for each
// Every that passes.
type Limit struct {
	Burst int
	Every time.Duration
}

// Throttle bounds failed logins, for each account and for each address. A login
// that succeeds gives its attempt back. It holds in one process: several allow
// as many times the number.
type Throttle struct {
	Account Limit
	Address Limit
}

// DefaultThrottle lets a person mistype, and a guesser make some 3,000 attempts
// a day on an account.
func DefaultThrottle() Throttle {
	return Throttle{
		Account: Limit{Burst: 10, Every: 30 * time.Second},
		Address: Limit{Burst: 50, Every: 3 * time.Second},
	}
}

// throttleSize bounds the buckets that are kept. A stranger who makes up that
// many accounts to push one out has run into the limit of his address before.
const throttleSize = 32768

type throttle struct {
	mu                 sync.Mutex
	limits             Throttle
	currentGeneration  map[bucketKey]bucket
	previousGeneration map[bucketKey]bucket
}

// bucketKey is a digest, so that no list of addresses and accounts is kept.
type bucketKey [16]byte

// bucket holds how many attempts were left at a moment.
type bucket struct {
	left      float64
	updatedAt time.Time
}

func newThrottle(limits Throttle) *throttle {
	return &throttle{limits: limits, currentGeneration: map[bucketKey]bucket{}, previousGeneration: map[bucketKey]bucket{}}
}

func accountKey(email string) bucketKey { return newBucketKey("account", strings.ToLower(email)) }

// addressKey puts an IPv6 client's whole /64 into one bucket: that is what one
// client commands.
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

// consume uses up one attempt of the account and of the address. Where there is
// none left it uses up nothing and gives the wait until there is one.
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

// refund returns the attempt of a login that succeeded.
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
