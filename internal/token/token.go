// Package token owns the credentials that requests carry: it signs them and it
// reads them, and no other package knows how.
//
// A token is a compact JWS with HS256 under one fixed key. While that key is being
// replaced, the one before still verifies tokens; it never signs. The header is exactly
// {"alg":"HS256","typ":<kind>}; whatever else a header may hold (kid, jwk, jku,
// x5u, crit …) makes it no token of ours, so nothing that a caller wrote can
// choose a key or have one fetched. The kind is part of the signed header, and a
// token is accepted only where its kind is.
//
// It promises:
//   - Verify reads in this order: shape, header, signature, kind, claims, time.
//   - Every failure is fault.Unauthorized(), without a cause: no answer tells one
//     reason from another.
//   - Claims that Verify returns share no memory with the cache or with other
//     callers.
//   - Nothing here knows of revocation: that is asked by jti, with every use, of
//     the record (see the principal check).
package token

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jws"

	"parapet/internal/clock"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// Issuer is the iss claim of every token.
const Issuer = "parapet"

// maxLength is the longest text that is looked at.
const maxLength = 8 << 10

// skew is how far the clocks of two servers may differ: a token that one has
// just issued must be good at the other.
const skew = 5 * time.Second

// Kind is what a token is for; its text is the header's typ.
type Kind string

// The kinds of tokens.
const (
	APIKey   Kind = "pt-api-key+jwt" //nolint:gosec // G101: a kind's name, not a credential
	Session  Kind = "pt-session+jwt"
	Internal Kind = "pt-internal+jwt"
)

// MaxLifetime is the longest time from iat to exp that a token of the kind may
// have; zero for what is no kind.
func (k Kind) MaxLifetime() time.Duration {
	switch k {
	case APIKey:
		return 365 * 24 * time.Hour
	case Session:
		return 12 * time.Hour
	case Internal:
		return 5 * time.Minute
	default:
		return 0
	}
}

// Short is the kind's name in decisions and logs: api_key, session, internal.
func (k Kind) Short() string {
	switch k {
	case APIKey:
		return "api_key"
	case Session:
		return "session"
	case Internal:
		return "internal"
	default:
		return "unknown"
	}
}

// Claims is what a token says. Times are whole seconds in UTC.
type Claims struct {
	// Kind is set by Verify; Issue takes the kind as an argument.
	Kind      Kind
	ID        op.UUID // jti
	Subject   op.UUID // sub: the user that the token acts as
	Tenant    op.UUID // tenant_id
	IssuedAt  time.Time
	ExpiresAt time.Time
	// NotBefore is zero where the token has no nbf.
	NotBefore time.Time
	// Roles are names as they were at signing.
	Roles []string
	// RoleScopes holds, for a role that was held in narrower scopes only, those
	// scopes ("project:<uuid>", "organisation:<uuid>"). A role without an entry
	// is tenant-wide.
	RoleScopes    map[string][]string
	PrincipalKind string
	// Clearance is as read, recognised or not; empty where the token has none.
	Clearance string
	Caveats   []string
	Email     string
}

// Config is what a Keyring is made from.
type Config struct {
	// Secret is the setting API_KEY_JWT_SECRET as it was written: it signs and it
	// verifies.
	Secret string
	// Previous is the setting API_KEY_JWT_SECRET_PREVIOUS: it verifies only. Empty
	// is none.
	Previous string
	// Clock tells the time; the system's when nil.
	Clock clock.Clock
	// CacheSize bounds the cache of verified tokens; 0 is 4,096, negative is no cache.
	CacheSize int
}

// Keyring signs and reads tokens. It is safe for concurrent use.
type Keyring struct {
	secret []byte
	// previous verifies what secret does not; nil is none.
	previous []byte
	clock    clock.Clock
	verified *cache
	// byPrevious counts the uses of tokens that only previous verifies.
	byPrevious atomic.Int64
}

const defaultCacheSize = 4096

// New makes a Keyring. The error names the setting that is wrong.
func New(cfg Config) (*Keyring, error) {
	secret, previous, err := readSecrets(cfg.Secret, cfg.Previous)
	if err != nil {
		return nil, err
	}
	k := &Keyring{secret: secret, previous: previous, clock: cfg.Clock}
	if k.clock == nil {
		k.clock = clock.System{}
	}
	size := cfg.CacheSize
	if size == 0 {
		size = defaultCacheSize
	}
	if size > 0 {
		k.verified = newCache(size)
	}
	return k, nil
}

// Issue signs claims as a token of the kind. The error, which is never the
// caller's, says which rule the claims break: Issue signs nothing that Verify
// would not read.
func (k *Keyring) Issue(c Claims, kind Kind) (string, error) {
	payload, err := encodeClaims(c, kind)
	if err != nil {
		return "", err
	}
	headers := jws.NewHeaders()
	if err := headers.Set(jws.TypeKey, string(kind)); err != nil {
		return "", fmt.Errorf("token: header: %w", err)
	}
	signed, err := jws.Sign(payload, jws.WithKey(jwa.HS256, k.secret, jws.WithProtectedHeaders(headers)))
	if err != nil {
		return "", fmt.Errorf("token: sign: %w", err)
	}
	if len(signed) > maxLength {
		return "", fmt.Errorf("token: %d bytes are more than the %d that are read", len(signed), maxLength)
	}
	return string(signed), nil
}

// Verify reads a token of one of the accepted kinds. Every failure is
// fault.Unauthorized().
func (k *Keyring) Verify(text string, accept ...Kind) (Claims, error) {
	if len(text) > maxLength {
		return Claims{}, fault.Unauthorized()
	}
	now := k.clock.Now()
	var key digest
	if k.verified != nil {
		key = digestOf(text)
		if v, ok := k.verified.get(key); ok {
			if !isAccepted(accept, v.claims.Kind) || !v.claims.liveAt(now) {
				return Claims{}, fault.Unauthorized()
			}
			k.count(v)
			return v.claims.clone(), nil
		}
	}
	v, ok := k.read(text, now, accept)
	if !ok {
		return Claims{}, fault.Unauthorized()
	}
	k.count(v)
	if k.verified != nil {
		k.verified.put(key, verified{v.claims.clone(), v.previous})
	}
	return v.claims, nil
}

// verified is a token whose signature is good.
type verified struct {
	claims Claims
	// previous tells that the previous secret verified it.
	previous bool
}

func (k *Keyring) count(v verified) {
	if v.previous {
		k.byPrevious.Add(1)
	}
}

// VerifiedByPrevious is how often a token was accepted, since the start, that the
// previous secret signed. When it has stopped growing, that secret can go.
func (k *Keyring) VerifiedByPrevious() int64 { return k.byPrevious.Load() }

// Forget drops what is cached of the token with this jti. Correctness does not
// rest on it: the cache holds that a signature is good, not that a key is live.
func (k *Keyring) Forget(jti op.UUID) {
	if k.verified != nil {
		k.verified.forget(jti)
	}
}

// read does all of Verify but the cache.
func (k *Keyring) read(text string, now time.Time, accept []Kind) (verified, bool) {
	header, ok := readShape(text)
	if !ok {
		return verified{}, false
	}
	kind, ok := readHeader(header)
	if !ok {
		return verified{}, false
	}
	previous := false
	// jws compares signatures in constant time. A forged token meets both secrets.
	payload, err := jws.Verify([]byte(text), jws.WithKey(jwa.HS256, k.secret))
	if err != nil && k.previous != nil {
		previous = true
		payload, err = jws.Verify([]byte(text), jws.WithKey(jwa.HS256, k.previous))
	}
	if err != nil {
		return verified{}, false
	}
	if !isAccepted(accept, kind) {
		return verified{}, false
	}
	c, ok := decodeClaims(payload)
	if !ok {
		return verified{}, false
	}
	c.Kind = kind
	if c.ExpiresAt.Sub(c.IssuedAt) > kind.MaxLifetime() || !c.liveAt(now) {
		return verified{}, false
	}
	return verified{c, previous}, true
}

// liveAt applies the rules that depend on the time; they hold for each use anew.
func (c *Claims) liveAt(now time.Time) bool {
	return now.Before(c.ExpiresAt) &&
		!c.IssuedAt.After(now.Add(skew)) &&
		!c.NotBefore.After(now.Add(skew)) &&
		!c.ExpiresAt.After(now.Add(c.Kind.MaxLifetime()+skew))
}

func isAccepted(accept []Kind, kind Kind) bool {
	for _, k := range accept {
		if k == kind && kind.MaxLifetime() > 0 {
			return true
		}
	}
	return false
}
