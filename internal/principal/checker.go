package principal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/token"
)

// Limits of the caches.
const (
	// DefaultCacheTTL is how long a successful check is cached unless
	// PRINCIPAL_CHECK_CACHE_TTL_MS sets another time.
	DefaultCacheTTL = 30 * time.Second
	// MaxCacheTTL is the upper limit for every setting of the cache TTL.
	MaxCacheTTL = 60 * time.Second
	// SubjectTTL is how long a Subject may be used while the revision does not change.
	SubjectTTL = 5 * time.Minute

	cacheSize   = 16384
	loadTimeout = 5 * time.Second
)

// Reasons of an UNAUTHORIZED error, as the API returns them.
const (
	ReasonNotInTenant    = "USER_NOT_IN_TENANT"
	ReasonTenantDisabled = "TENANT_DISABLED"
	ReasonSuspended      = "USER_SUSPENDED"
)

// Policies is the part of the policy engine that the checker uses.
type Policies interface {
	Subject(ctx context.Context, in authz.SubjectInput) (*authz.Subject, error)
	Evaluate(ctx context.Context, q authz.CustomDecision) (authz.Verdict, error)
	Revision() string
}

// Config configures a Checker.
type Config struct {
	// Pool connects as parapet_auth, because the check reads the directory of every tenant.
	Pool     *postgres.Pool
	Tokens   *token.Keyring
	Policies Policies
	Clock    clock.Clock
	Log      *slog.Logger
	// CacheTTL is PRINCIPAL_CHECK_CACHE_TTL_MS; zero disables caching. It is limited to
	// CacheTTLMax and MaxCacheTTL.
	CacheTTL time.Duration
	// CacheTTLMax is PRINCIPAL_CHECK_CACHE_TTL_MAX_MS; zero disables caching.
	CacheTTLMax time.Duration
	// Notifications delivers changes of the directory. Without it, or while it is
	// disconnected, cached data is used until its TTL ends. The caches are cleared on
	// every reconnect, because notifications may have been missed.
	Notifications *postgres.Notifications
}

// Checker authenticates requests. It is safe for concurrent use.
type Checker struct {
	cfg      Config
	records  *cache[op.UUID, credentialRecord]
	targets  *cache[targetKey, op.UUID]
	subjects *cache[subjectKey, *Principal]
	loads    singleflight.Group
	keyUsage *usageBuffer
}

// selectorPattern matches the slugs and ids that a header may contain.
var selectorPattern = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)

type targetKey struct {
	user     op.UUID
	selector string
}

type subjectKey struct{ tenant, user, jti op.UUID }

// New returns a Checker. It writes last_used_at only while Run is running.
func New(cfg Config) (*Checker, error) {
	if cfg.Pool == nil || cfg.Tokens == nil || cfg.Policies == nil {
		return nil, errors.New("principal: pool, tokens and policies are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System{}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	ttl := CacheTTL(cfg.CacheTTL, cfg.CacheTTLMax)
	c := &Checker{
		cfg:      cfg,
		records:  newCache[op.UUID, credentialRecord](cacheSize, ttl),
		targets:  newCache[targetKey, op.UUID](cacheSize, ttl),
		subjects: newCache[subjectKey, *Principal](cacheSize, SubjectTTL),
		keyUsage: newUsage(),
	}
	if cfg.Notifications != nil {
		cfg.Notifications.AddListener(postgres.Listener{Channel: Channel, Missed: c.DropAll, Handle: c.handleNotification})
	}
	return c, nil
}

// CacheTTL returns how long a successful check is cached, given both settings.
func CacheTTL(configured, limit time.Duration) time.Duration {
	return max(min(configured, limit, MaxCacheTTL), 0)
}

// Authenticate checks the credential and returns its principal in the target tenant. An
// invalid credential returns UNAUTHORIZED, with a reason if the membership, the tenant
// or the user is inactive. A target tenant that the caller does not belong to returns
// the generic FORBIDDEN. The Subject may have an older revision; the caller must compare
// Revision with the current one and call Refresh if they differ.
func (c *Checker) Authenticate(ctx context.Context, cred Credential) (*Principal, error) {
	kinds := []token.Kind{token.Session, token.APIKey}
	if cred.Cookie {
		// A browser sends the cookie with every request of its user, so API keys, which
		// are meant for automation, are not accepted from it.
		kinds = []token.Kind{token.Session}
	}
	claims, err := c.cfg.Tokens.Verify(cred.Token, kinds...)
	if err != nil {
		return nil, err
	}
	record, err := c.checkCredential(ctx, claims)
	if err != nil {
		return nil, err
	}
	target, err := c.targetTenant(ctx, claims, record, cred)
	if err != nil {
		return nil, err
	}
	return c.loadPrincipal(ctx, claims, record, target, nil)
}

// checkCredential checks that the credential's record is valid and matches the token,
// that its owner may act in the tenant, and that the tenant is enabled.
func (c *Checker) checkCredential(ctx context.Context, claims token.Claims) (credentialRecord, error) {
	now := c.cfg.Clock.Now()
	record, ok := c.records.get(claims.ID, now)
	if !ok {
		var err error
		if record, err = c.loadRecord(ctx, claims); err != nil {
			return credentialRecord{}, err
		}
	}
	if err := record.validateClaims(claims, now); err != nil {
		return credentialRecord{}, err
	}
	if claims.Kind == token.APIKey {
		c.keyUsage.record(claims.Tenant, claims.ID, now)
	}
	return record, nil
}

// loadRecord reads the record and caches it if it is valid. Concurrent loads of one jti
// share one query.
func (c *Checker) loadRecord(ctx context.Context, claims token.Claims) (credentialRecord, error) {
	return loadOnce(ctx, &c.loads, "check/"+string(claims.ID)+"/"+claims.Kind.Short()+"/"+string(claims.Tenant), func(ctx context.Context) (credentialRecord, error) {
		began, epoch := c.cfg.Clock.Now(), c.records.currentEpoch()
		record, err := readRecord(ctx, c.cfg.Pool.ChargedTo(string(claims.Tenant)), claims)
		if err != nil {
			return credentialRecord{}, err
		}
		if err := record.validate(began); err != nil {
			return credentialRecord{}, err
		}
		c.records.put(claims.ID, record, began, epoch)
		return record, nil
	})
}

// targetTenant returns the tenant that the request acts in.
func (c *Checker) targetTenant(ctx context.Context, claims token.Claims, record credentialRecord, cred Credential) (op.UUID, error) {
	if !cred.HasActAs {
		return claims.Tenant, nil
	}
	target := claims.Tenant
	if selector := strings.ToLower(cred.ActAs); selector != string(claims.Tenant) {
		var err error
		if target, err = c.resolveTenant(ctx, claims, selector); err != nil {
			return "", err
		}
	}
	v, err := c.cfg.Policies.Evaluate(ctx, authz.InRequest(op.RequestID(ctx), authz.ActAs{
		User: string(claims.Subject), Credential: authz.CredentialID{Kind: claims.Kind.Short(), ID: string(claims.ID)},
		TokenKind: claims.Kind.Short(), TokenTenant: string(claims.Tenant), PrincipalKind: record.PrincipalKind,
		Module: cred.Module, Header: true, Target: string(target),
	}))
	if err != nil {
		return "", policyFault(err)
	}
	if !v.Allow {
		return "", fault.ForbiddenTenant()
	}
	return target, nil
}

// resolveTenant returns the tenant of an organisation id, a tenant id or a tenant's slug,
// in lower case, among the tenants that the user is a member of. The membership's status is
// checked when the request runs.
func (c *Checker) resolveTenant(ctx context.Context, claims token.Claims, selector string) (op.UUID, error) {
	if !selectorPattern.MatchString(selector) {
		return "", fault.ForbiddenTenant()
	}
	user := claims.Subject
	key := targetKey{user, selector}
	if t, ok := c.targets.get(key, c.cfg.Clock.Now()); ok {
		return t, nil
	}
	return loadOnce(ctx, &c.loads, "target/"+string(user)+"/"+selector, func(ctx context.Context) (op.UUID, error) {
		began, epoch := c.cfg.Clock.Now(), c.targets.currentEpoch()
		t, err := readTarget(ctx, c.cfg.Pool.ChargedTo(string(claims.Tenant)), user, selector)
		if err != nil {
			return "", err
		}
		c.targets.put(key, t, began, epoch)
		return t, nil
	})
}

// Refresh rebuilds the principal for the given state of the tenant, with a Subject of
// that revision or a later one. Callers use it when that state differs from the one that
// p was built with, or when the policies have changed.
func (c *Checker) Refresh(ctx context.Context, p *Principal, live LiveState) (*Principal, error) {
	record := credentialRecord{
		PrincipalKind: p.Kind, IntegrationKey: p.IntegrationKey, Email: p.Email, DisplayName: p.DisplayName,
	}
	return c.loadPrincipal(ctx, p.claims, record, p.Tenant, &live)
}

// noTenant is the tenant of claims without a credential. A subject with such claims has
// the authority that the records of the target tenant give it, as in a request with
// x-act-as-org.
const noTenant = "00000000-0000-0000-0000-000000000000"

// ForUser returns the principal of a person or an agent with the authority that the
// records of the tenant give it. It has no credential and serves explanations only. A
// service principal has no authority without its key.
func (c *Checker) ForUser(ctx context.Context, tenant, user op.UUID, kind string) (*Principal, error) {
	claims := token.Claims{Kind: token.Session, Subject: user, Tenant: noTenant}
	return c.loadPrincipal(ctx, claims, credentialRecord{PrincipalKind: kind}, tenant, nil)
}

// loadPrincipal returns the principal for one target tenant. It uses the cached one if it
// was built with the current policies and with the given state; nil accepts any state.
// A caller that passes nil may get outdated delegations. They grant permissions of the
// tracker only, and the tracker checks the state on every request.
func (c *Checker) loadPrincipal(ctx context.Context, claims token.Claims, record credentialRecord, target op.UUID, live *LiveState) (*Principal, error) {
	key := subjectKey{target, claims.Subject, claims.ID}
	policies := c.cfg.Policies.Revision()
	if p, ok := c.subjects.get(key, c.cfg.Clock.Now()); ok && p.isCurrent(live) && p.Subject.Revision() == policies && equalClaims(p.claims, claims) {
		return p, nil
	}
	if live == nil {
		live = &LiveState{}
	}
	flight := "subject/" + string(target) + "/" + string(claims.Subject) + "/" + string(claims.ID) + "/" + policies + "/" + strconv.FormatInt(live.Revision, 10) + "/" +
		live.Delegations.Fingerprint + "/" + claimsDigest(claims)
	return loadOnce(ctx, &c.loads, flight, func(ctx context.Context) (*Principal, error) {
		began, epoch := c.cfg.Clock.Now(), c.subjects.currentEpoch()
		stored, err := readStoredState(ctx, c.cfg.Pool.ChargedTo(string(claims.Tenant)), target, claims)
		if err != nil {
			return nil, err
		}
		p, err := c.buildPrincipal(ctx, claims, record, target, stored, live.Delegations)
		if err != nil {
			return nil, err
		}
		ttl := SubjectTTL
		if len(p.delegatorIDs) > 0 {
			// The subject contains the state of the delegators' accounts, so it may not be
			// cached longer than a credential check: a suspension does not change the revision.
			ttl = c.records.ttl
		}
		c.subjects.putWithTTL(ttl, key, p, began, epoch)
		return p, nil
	})
}

// isCurrent reports whether the principal was built with this state; nil accepts any state.
func (p *Principal) isCurrent(live *LiveState) bool {
	return live == nil || (p.Revision == live.Revision && p.DelegationFingerprint == live.Delegations.Fingerprint)
}

// equalClaims reports whether two tokens grant the same authority. Tokens with the same
// id always do. If two ever differ, neither may use the other's cached principal, because
// the caveats of one would be lost.
func equalClaims(a, b token.Claims) bool {
	return a.Kind == b.Kind && a.Tenant == b.Tenant && a.Clearance == b.Clearance && a.ExpiresAt.Equal(b.ExpiresAt) &&
		slices.Equal(a.Roles, b.Roles) && slices.Equal(a.Caveats, b.Caveats) && maps.EqualFunc(a.RoleScopes, b.RoleScopes, slices.Equal)
}

// claimsDigest returns a digest of what equalClaims compares, so that only requests that
// can share a result wait for the same load.
func claimsDigest(c token.Claims) string {
	text := fmt.Sprintf("%q %q %q %d %q %q %q", c.Kind, c.Tenant, c.Clearance, c.ExpiresAt.Unix(), c.Roles, c.Caveats, c.RoleScopes)
	sum := sha256.Sum256([]byte(text))
	return string(sum[:])
}

func (c *Checker) buildPrincipal(ctx context.Context, claims token.Claims, record credentialRecord, target op.UUID, stored storedState, active Delegations) (*Principal, error) {
	delegations, delegatorIDs, err := c.loadDelegations(ctx, target, active, stored.Roles)
	if err != nil {
		return nil, err
	}
	subject, err := c.cfg.Policies.Subject(ctx, authz.SubjectInput{
		Token:  policyToken(claims, target),
		Tenant: string(target), TenantType: stored.TenantType,
		User: authz.User{
			ID: string(claims.Subject), Kind: record.PrincipalKind, IntegrationKey: record.IntegrationKey, Organisation: stored.Organisation,
		},
		Stored: authz.Stored{Assignments: policyAssignments(stored.Assignments), Clearance: stored.Clearance},
		Roles:  stored.Roles, Delegations: delegations,
	})
	if err != nil {
		// Without a subject the caller has no authority, so the request is denied.
		c.cfg.Log.ErrorContext(ctx, "could not build the subject", slog.String("user", string(claims.Subject)), slog.String("tenant", string(target)), slog.Any("error", err))
		return nil, policyFault(err)
	}
	return &Principal{
		UserID: claims.Subject, Kind: record.PrincipalKind, IntegrationKey: record.IntegrationKey,
		Email: record.Email, DisplayName: record.DisplayName,
		Tenant: target, TokenTenant: claims.Tenant, TenantType: stored.TenantType, Organisation: op.UUID(stored.Organisation),
		TokenKind: claims.Kind.Short(), JTI: claims.ID, ExpiresAt: claims.ExpiresAt,
		Subject: subject, Revision: stored.Revision, DelegationFingerprint: active.Fingerprint, delegatorIDs: delegatorIDs, claims: claims,
	}, nil
}

// policyToken returns the token as the policies of the target tenant receive it. In
// another tenant than the token's own, its roles, scopes and clearance are left out: they
// grant nothing there, and the target's decision log stores the token.
func policyToken(claims token.Claims, target op.UUID) authz.Token {
	t := authz.Token{Kind: claims.Kind.Short(), ID: string(claims.ID), Tenant: string(claims.Tenant), Caveats: claims.Caveats}
	if target == claims.Tenant {
		t.Roles, t.RoleScopes, t.Clearance = claims.Roles, claims.RoleScopes, claims.Clearance
	}
	return t
}

// policyFault maps an error of the policy engine to UNAVAILABLE if it is a timeout, and
// otherwise to the generic FORBIDDEN.
func policyFault(err error) error {
	if errors.Is(err, authz.ErrTimeout) {
		return fault.Unavailable(err)
	}
	return fault.ForbiddenTenant().WithCause(err)
}

// loadOnce runs f once for all concurrent callers with the same key. f does not end with
// the context of the first caller; each caller waits until its own context ends.
func loadOnce[T any](ctx context.Context, group *singleflight.Group, key string, f func(context.Context) (T, error)) (T, error) {
	var zero T
	result := group.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		return f(ctx)
	})
	select {
	case r := <-result:
		if r.Err != nil {
			return zero, postgres.MapError(r.Err)
		}
		value, ok := r.Val.(T)
		if !ok {
			return zero, fault.Internal(fmt.Errorf("principal: load of %s returned %T", key, r.Val))
		}
		return value, nil
	case <-ctx.Done():
		return zero, postgres.MapError(ctx.Err())
	}
}
