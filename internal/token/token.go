// Package token signs and verifies the tokens of sessions and API keys. No other package
// reads or writes tokens.
//
// A token is a compact JWS with HS256 and one fixed key. During a key rotation the
// previous key still verifies tokens; it never signs. The header is exactly
// {"alg":"HS256","typ":<kind>}. A header with any other member (kid, jwk, jku, x5u,
// crit …) is rejected, so a caller cannot choose a key or make the server fetch one. The
// kind is part of the signed header; each caller of Verify names the kinds it accepts.
//
// Guarantees:
//   - Verify checks in this order: form, header, signature, kind, claims, time.
//   - Every failure is fault.Unauthorized() without a cause, so a response does not reveal
//     the reason.
//   - Claims that Verify returns share no memory with the cache or with other callers.
//
// This package does not check revocation. Package principal checks the credential's record
// by jti on every use.
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

// maxTokenBytes is the maximum length of a token.
const maxTokenBytes = 8 << 10

// ErrTooLong is returned by Issue for claims whose token would exceed maxTokenBytes.
var ErrTooLong = fmt.Errorf("token: longer than %d bytes", maxTokenBytes)

// clockSkew is the allowed difference between the clocks of two servers: a token that one
// server has just issued must be valid on the other.
const clockSkew = 5 * time.Second

// Kind is the purpose of a token: the typ of its header.
type Kind string

// The kinds of tokens.
const (
	APIKey   Kind = "pt-api-key+jwt" //nolint:gosec // G101: a kind's name, not a credential
	Session  Kind = "pt-session+jwt"
	Internal Kind = "pt-internal+jwt"
)

// MaxLifetime returns the maximum time from iat to exp for a token of the kind, and zero
// for an unknown kind.
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

// Short returns the kind's name in decisions and logs: api_key, session or internal.
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

// Claims are the claims of a token. Times are whole seconds in UTC.
type Claims struct {
	// Kind is set by Verify; Issue takes the kind as an argument.
	Kind      Kind
	ID        op.UUID // jti
	Subject   op.UUID // sub: the user that the token acts as
	Tenant    op.UUID // tenant_id
	IssuedAt  time.Time
	ExpiresAt time.Time
	// NotBefore is zero if the token has no nbf.
	NotBefore time.Time
	// Roles are the role names at the time of signing.
	Roles []string
	// RoleScopes maps a role that is held only in narrower scopes to these scopes
	// ("project:<uuid>", "organisation:<uuid>"). A role without an entry is held in the
	// whole tenant.
	RoleScopes    map[string][]string
	PrincipalKind string
	// Clearance is the claim's text, even if it is unknown; empty if the token has none.
	Clearance string
	Caveats   []string
	Email     string
}

// Config configures a Keyring.
type Config struct {
	// Secret is the value of the setting API_KEY_JWT_SECRET. It signs and verifies.
	Secret string
	// PreviousSecret is the value of the setting API_KEY_JWT_SECRET_PREVIOUS. It only
	// verifies. Empty if there is none.
	PreviousSecret string
	// Clock returns the time; nil is the system clock.
	Clock clock.Clock
	// CacheSize is the maximum number of cached tokens; 0 means 4,096, a negative value
	// disables the cache.
	CacheSize int
}

// Keyring signs and verifies tokens. It is safe for concurrent use.
type Keyring struct {
	secret []byte
	// previousSecret verifies tokens that secret does not; nil if there is none.
	previousSecret []byte
	clock          clock.Clock
	verifiedTokens *cache
	// previousSecretUses counts the uses of tokens that only previousSecret verifies.
	previousSecretUses atomic.Int64
}

const defaultCacheSize = 4096

// New returns a Keyring. An error names the invalid setting.
func New(cfg Config) (*Keyring, error) {
	secret, previous, err := readSecrets(cfg.Secret, cfg.PreviousSecret)
	if err != nil {
		return nil, err
	}
	k := &Keyring{secret: secret, previousSecret: previous, clock: cfg.Clock}
	if k.clock == nil {
		k.clock = clock.System{}
	}
	size := cfg.CacheSize
	if size == 0 {
		size = defaultCacheSize
	}
	if size > 0 {
		k.verifiedTokens = newCache(size)
	}
	return k, nil
}

// Issue signs claims as a token of the kind. It returns an error for claims that Verify
// would reject: ErrTooLong, or a programming error.
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
	if len(signed) > maxTokenBytes {
		return "", ErrTooLong
	}
	return string(signed), nil
}

// Verify checks a token and returns its claims. It accepts only the given kinds. Every
// failure is fault.Unauthorized().
func (k *Keyring) Verify(text string, accept ...Kind) (Claims, error) {
	if len(text) > maxTokenBytes {
		return Claims{}, fault.Unauthorized()
	}
	now := k.clock.Now()
	var key digest
	if k.verifiedTokens != nil {
		key = newDigest(text)
		if v, ok := k.verifiedTokens.get(key); ok {
			if !isAccepted(accept, v.claims.Kind) || !v.claims.isValidAt(now) {
				return Claims{}, fault.Unauthorized()
			}
			k.countUse(v)
			return v.claims.clone(), nil
		}
	}
	v, ok := k.verifyUncached(text, now, accept)
	if !ok {
		return Claims{}, fault.Unauthorized()
	}
	k.countUse(v)
	if k.verifiedTokens != nil {
		k.verifiedTokens.put(key, verifiedToken{v.claims.clone(), v.byPreviousSecret})
	}
	return v.claims, nil
}

// verifiedToken is a token whose signature was verified.
type verifiedToken struct {
	claims Claims
	// byPreviousSecret reports whether the previous secret verified it.
	byPreviousSecret bool
}

func (k *Keyring) countUse(v verifiedToken) {
	if v.byPreviousSecret {
		k.previousSecretUses.Add(1)
	}
}

// PreviousSecretUses returns how often, since the start, a token that the previous secret
// signed was accepted. When the number stops growing, the previous secret can be removed.
func (k *Keyring) PreviousSecretUses() int64 { return k.previousSecretUses.Load() }

// Forget removes the token with this jti from the cache. It only frees memory: the cache
// stores that a signature is valid, not that a key is active.
func (k *Keyring) Forget(jti op.UUID) {
	if k.verifiedTokens != nil {
		k.verifiedTokens.forget(jti)
	}
}

// verifyUncached is Verify without the cache.
func (k *Keyring) verifyUncached(text string, now time.Time, accept []Kind) (verifiedToken, bool) {
	header, ok := checkCompactForm(text)
	if !ok {
		return verifiedToken{}, false
	}
	kind, ok := readHeader(header)
	if !ok {
		return verifiedToken{}, false
	}
	usedPrevious := false
	// jws compares signatures in constant time. A forged token is tried with both secrets.
	payload, err := jws.Verify([]byte(text), jws.WithKey(jwa.HS256, k.secret))
	if err != nil && k.previousSecret != nil {
		usedPrevious = true
		payload, err = jws.Verify([]byte(text), jws.WithKey(jwa.HS256, k.previousSecret))
	}
	if err != nil {
		return verifiedToken{}, false
	}
	if !isAccepted(accept, kind) {
		return verifiedToken{}, false
	}
	c, ok := decodeClaims(payload)
	if !ok {
		return verifiedToken{}, false
	}
	c.Kind = kind
	if c.ExpiresAt.Sub(c.IssuedAt) > kind.MaxLifetime() || !c.isValidAt(now) {
		return verifiedToken{}, false
	}
	return verifiedToken{c, usedPrevious}, true
}

// isValidAt checks the time claims. It runs on every use, even for cached tokens.
func (c *Claims) isValidAt(now time.Time) bool {
	return now.Before(c.ExpiresAt) &&
		!c.IssuedAt.After(now.Add(clockSkew)) &&
		!c.NotBefore.After(now.Add(clockSkew)) &&
		!c.ExpiresAt.After(now.Add(c.Kind.MaxLifetime()+clockSkew))
}

func isAccepted(accept []Kind, kind Kind) bool {
	for _, k := range accept {
		if k == kind && kind.MaxLifetime() > 0 {
			return true
		}
	}
	return false
}
