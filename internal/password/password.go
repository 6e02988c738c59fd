// Package password owns how passwords are kept and compared: argon2id, in the
// PHC string form, with at most a bounded number of computations at a time.
//
// It promises that a comparison takes the same work whether or not there is a
// stored hash to compare with, that parameters below the floor are never used,
// and that many logins at once queue for memory instead of exhausting it.
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

// Params are argon2id's costs.
type Params struct {
	// MemoryKiB is the memory of one computation.
	MemoryKiB uint32
	// Passes is the number of passes over it.
	Passes uint32
	// Lanes is the degree of parallelism.
	Lanes uint8
}

// MinParams is the least that is ever used: 19 MiB, two passes, one lane.
func MinParams() Params { return Params{MemoryKiB: 19 * 1024, Passes: 2, Lanes: 1} }

const (
	// maxWait is how long a computation waits for its turn: many logins at once
	// are told to come back, and do not pile up.
	maxWait = 5 * time.Second

	saltBytes = 16
	keyBytes  = 32

	// MinLength is the least number of characters of a new password.
	MinLength = 12
	// MaxLength bounds the work that a password costs before it is hashed.
	MaxLength = 256
)

// Hasher hashes and compares. It is safe for concurrent use.
type Hasher struct {
	params Params
	slots  *semaphore.Weighted
	dummy  hash
}

// New makes a hasher that computes at most concurrent hashes at a time; 0 is one
// for each processor, and two at least. Costs below the floor are raised to it.
func New(params Params, concurrent int) (*Hasher, error) {
	floor := MinParams()
	params.MemoryKiB = max(params.MemoryKiB, floor.MemoryKiB)
	params.Passes = max(params.Passes, floor.Passes)
	params.Lanes = max(params.Lanes, floor.Lanes)
	if concurrent <= 0 {
		concurrent = max(runtime.GOMAXPROCS(0), 2)
	}
	h := &Hasher{params: params, slots: semaphore.NewWeighted(int64(concurrent))}
	// What an account without a password is compared with: a random key that no
	// password has.
	h.dummy = hash{params: params, salt: make([]byte, saltBytes), key: make([]byte, keyBytes)}
	if _, err := rand.Read(h.dummy.salt); err != nil {
		return nil, fmt.Errorf("password: salt: %w", err)
	}
	if _, err := rand.Read(h.dummy.key); err != nil {
		return nil, fmt.Errorf("password: key: %w", err)
	}
	return h, nil
}

// Hash gives what is stored for a password. It waits for a free slot, or until
// the context ends.
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

// Verify tells whether the password is the one that stored was made from. An
// empty or unreadable stored hash costs the same and is never equal. The error
// is the context's.
func (h *Hasher) Verify(ctx context.Context, stored, password string) (bool, error) {
	want, err := parse(stored)
	stands := err == nil
	if !stands {
		want = h.dummy
	}
	got, err := h.derive(ctx, password, want.params, want.salt, len(want.key))
	if err != nil {
		return false, err
	}
	same := subtle.ConstantTimeCompare(got, want.key) == 1
	return same && stands, nil
}

func (h *Hasher) derive(ctx context.Context, password string, p Params, salt []byte, length int) ([]byte, error) {
	wait, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if err := h.slots.Acquire(wait, 1); err != nil {
		return nil, fmt.Errorf("password: waiting for a slot: %w", err)
	}
	defer h.slots.Release(1)
	// The same characters typed on two systems are the same password.
	return argon2.IDKey([]byte(norm.NFKC.String(password)), salt, p.Passes, p.MemoryKiB, p.Lanes, uint32(length)), nil
}

// The reasons for which a new password is rejected; their texts are public.
var (
	ErrLength  = fmt.Errorf("a password has %d to %d characters", MinLength, MaxLength)
	ErrForm    = errors.New("a password is valid UTF-8 and holds no control characters")
	ErrGuessed = errors.New("a password is not the account's own name and not one character or pair repeated")
)

// Check tells why a new password is rejected, or nil. It asks for length and not
// for kinds of characters; login never calls it.
func Check(password, email string) error {
	if !utf8.ValidString(password) || strings.ContainsFunc(password, unicode.IsControl) {
		return ErrForm
	}
	if n := utf8.RuneCountInString(password); n < MinLength || n > MaxLength {
		return ErrLength
	}
	lower, email := strings.ToLower(password), strings.ToLower(email)
	name, _, _ := strings.Cut(email, "@")
	if lower == email || (name != "" && strings.Trim(strings.ReplaceAll(lower, name, ""), "0123456789!. ") == "") || repeats(lower) {
		return ErrGuessed
	}
	return nil
}

// repeats tells whether the text is one character, or a pair of them, again and
// again.
func repeats(s string) bool {
	r := []rune(s)
	for i := 2; i < len(r); i++ {
		if r[i] != r[i-2] {
			return false
		}
	}
	return true
}
