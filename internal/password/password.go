// Package password hashes and verifies passwords with argon2id. Hashes are stored in the
// PHC string format.
//
// Guarantees:
//   - A comparison costs the same whether or not there is a stored hash.
//   - Parameters below the minimum are never used.
//   - The number of concurrent computations is bounded, so many concurrent logins wait
//     and do not exhaust the memory.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/text/unicode/norm"
)

// Params are the cost parameters of argon2id.
type Params struct {
	// MemoryKiB is the memory of one computation.
	MemoryKiB uint32
	// Passes is the number of passes over the memory.
	Passes uint32
	// Lanes is the degree of parallelism.
	Lanes uint8
}

// MinParams returns the minimum parameters: 19 MiB, two passes, one lane.
func MinParams() Params { return Params{MemoryKiB: 19 * 1024, Passes: 2, Lanes: 1} }

const (
	// slotTimeout is how long a computation waits for a free slot. If there are too many
	// concurrent logins, the wait fails and the caller is asked to retry.
	slotTimeout = 5 * time.Second

	saltBytes = 16
	keyBytes  = 32

	// MinLength is the minimum number of characters of a new password.
	MinLength = 12
	// MaxLength is the maximum number of characters of a new password. It bounds the work
	// before hashing.
	MaxLength = 256
)

// Hasher hashes and verifies passwords. It is safe for concurrent use.
type Hasher struct {
	params Params
	slots  *semaphore.Weighted
	dummy  hash
}

// New returns a Hasher that computes at most concurrent hashes at a time. 0 means one for
// each processor, but at least two. Parameters below the minimum are raised to it.
func New(params Params, concurrent int) (*Hasher, error) {
	floor := MinParams()
	params.MemoryKiB = max(params.MemoryKiB, floor.MemoryKiB)
	params.Passes = max(params.Passes, floor.Passes)
	params.Lanes = max(params.Lanes, floor.Lanes)
	if concurrent <= 0 {
		concurrent = max(runtime.GOMAXPROCS(0), 2)
	}
	h := &Hasher{params: params, slots: semaphore.NewWeighted(int64(concurrent))}
	// The dummy is compared when there is no stored hash. Its key is random, so no
	// password matches it.
	h.dummy = hash{params: params, salt: make([]byte, saltBytes), key: make([]byte, keyBytes)}
	if _, err := rand.Read(h.dummy.salt); err != nil {
		return nil, fmt.Errorf("password: salt: %w", err)
	}
	if _, err := rand.Read(h.dummy.key); err != nil {
		return nil, fmt.Errorf("password: key: %w", err)
	}
	return h, nil
}

// Hash returns the hash to store for a password. It waits for a free slot until the
// context ends.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltBytes)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("password: salt: %w", err)
	}
	key, err := h.derive(ctx, password, h.params, salt, keyBytes)
	if err != nil {
		return "", err
	}
	return hash{params: h.params, salt: salt, key: key}.String(), nil
}

// Verify reports whether the password matches the stored hash. An empty or unreadable
// hash costs the same time and never matches. The only error is that of waiting for a
// slot.
func (h *Hasher) Verify(ctx context.Context, stored, password string) (bool, error) {
	want, err := parse(stored)
	isReadable := err == nil
	if !isReadable {
		want = h.dummy
	}
	got, err := h.derive(ctx, password, want.params, want.salt, len(want.key))
	if err != nil {
		return false, err
	}
	matches := subtle.ConstantTimeCompare(got, want.key) == 1
	return matches && isReadable, nil
}

func (h *Hasher) derive(ctx context.Context, password string, p Params, salt []byte, length int) ([]byte, error) {
	wait, cancel := context.WithTimeout(ctx, slotTimeout)
	defer cancel()
	if err := h.slots.Acquire(wait, 1); err != nil {
		return nil, fmt.Errorf("password: waiting for a slot: %w", err)
	}
	defer h.slots.Release(1)
	// NFKC makes the same characters equal, however the client has encoded them.
	return argon2.IDKey([]byte(norm.NFKC.String(password)), salt, p.Passes, p.MemoryKiB, p.Lanes, uint32(length)), nil
}

// Errors of Check. Their texts are shown to users.
var (
	ErrLength     = fmt.Errorf("a password must have %d to %d characters", MinLength, MaxLength)
	ErrCharacters = errors.New("a password must be valid UTF-8 without control characters")
	ErrGuessable  = errors.New("a password must not be made of the account's e-mail address or of one repeated character or pair")
)

// Check returns an error if a new password is not acceptable. It requires a length, but no
// kinds of characters. Login does not call it.
func Check(password, email string) error {
	if !utf8.ValidString(password) || strings.ContainsFunc(password, unicode.IsControl) {
		return ErrCharacters
	}
	if n := utf8.RuneCountInString(password); n < MinLength || n > MaxLength {
		return ErrLength
	}
	lowerPassword, lowerEmail := strings.ToLower(password), strings.ToLower(email)
	name, _, _ := strings.Cut(lowerEmail, "@")
	if lowerPassword == lowerEmail || (name != "" && strings.Trim(strings.ReplaceAll(lowerPassword, name, ""), "0123456789!. ") == "") || isRepeated(lowerPassword) {
		return ErrGuessable
	}
	return nil
}

// isRepeated reports whether the text consists of one repeated character or pair.
func isRepeated(s string) bool {
	r := []rune(s)
	for i := 2; i < len(r); i++ {
		if r[i] != r[i-2] {
			return false
		}
	}
	return true
}
