package principal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/singleflight"

	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/token"
)

// The bounds of what is remembered.
const (
	// DefaultCacheTTL is how long a success of the principal check is remembered
	// unless PRINCIPAL_CHECK_CACHE_TTL_MS says otherwise.
	DefaultCacheTTL = 30 * time.Second
	// MaxCacheTTL is the most that any setting can make of it.
	MaxCacheTTL = 60 * time.Second
	// SubjectTTL is how long a Subject may be used for one revision.
	SubjectTTL = 5 * time.Minute

	defaultCacheSize = 16384
	loadTimeout      = 5 * time.Second
)

// The reasons of the principal check, as the envelope names them.
const (
	ReasonNotInTenant    = "USER_NOT_IN_TENANT"
	ReasonTenantDisabled = "TENANT_DISABLED"
	ReasonSuspended      = "USER_SUSPENDED"
)

// Policies are what the check asks of the policy engine.
type Policies interface {
	Subject(ctx context.Context, in authz.SubjectInput) (*authz.Subject, error)
	Evaluate(ctx context.Context, q authz.CustomDecision) (authz.Verdict, error)
	Revision() string
}

// Config is what a Checker is made of.
type Config struct {
	// Pool is parapet_auth's: the check reads the directory of every tenant.
	Pool     *postgres.Pool
	Tokens   *token.Keyring
	Policies Policies
	Clock    clock.Clock
	Log      *slog.Logger
	// CacheTTL is PRINCIPAL_CHECK_CACHE_TTL_MS; zero remembers no success. It is
	// clamped to CacheTTLMax and to MaxCacheTTL.
	CacheTTL time.Duration
	// CacheTTLMax is PRINCIPAL_CHECK_CACHE_TTL_MAX_MS; zero remembers none.
	CacheTTLMax time.Duration
	// CacheSize bounds each cache in entries; zero is 16,384.
	CacheSize int
	// Notices tell of changes. Without them, and while no connection listens, the
	// times above are the bound; a new connection begins by dropping everything,
	// since notices may have been missed.
	Notices *postgres.Notifications
}

// Checker authenticates. It is safe for concurrent use.
type Checker struct {
	cfg           Config
	live          *cache[op.UUID, liveRecord]
	targets       *cache[targetKey, op.UUID]
	subjects      *cache[subjectKey, *Principal]
	loads         singleflight.Group
	credentialUse *usage
}

type targetKey struct{ user, selector op.UUID }

type subjectKey struct{ tenant, user, jti op.UUID }

// New makes a Checker. Run must be running for last_used_at.
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
	size := cfg.CacheSize
	if size <= 0 {
		size = defaultCacheSize
	}
	ttl := CacheTTL(cfg.CacheTTL, cfg.CacheTTLMax)
	c := &Checker{
		cfg:           cfg,
		live:          newCache[op.UUID, liveRecord](size, ttl),
		targets:       newCache[targetKey, op.UUID](size, ttl),
		subjects:      newCache[subjectKey, *Principal](size, SubjectTTL),
		credentialUse: newUsage(),
	}
	if cfg.Notices != nil {
		cfg.Notices.On(postgres.Listener{Channel: Channel, Missed: c.DropAll, Handle: c.handleNotification})
	}
	return c, nil
}

// CacheTTL is the time that a success is remembered, for what the two settings
// say.
func CacheTTL(configured, limit time.Duration) time.Duration {
	return max(min(configured, limit, MaxCacheTTL), 0)
}

// Authenticate finds out who presents the credential and for which tenant. A
// bearer problem is UNAUTHORIZED (with a reason where membership, tenant or
// suspension is why), a target that is not the caller's is the generic
// FORBIDDEN. The Subject it carries may be of an older revision: whoever serves
// the request compares Revision with the live one.
func (c *Checker) Authenticate(ctx context.Context, cred Credential) (*Principal, error) {
	kinds := []token.Kind{token.Session, token.APIKey}
	if cred.Cookie {
		// A browser sends a cookie with every request of its user: a credential for
		// automation does not belong there.
		kinds = []token.Kind{token.Session}
	}
	claims, err := c.cfg.Tokens.Verify(cred.Token, kinds...)
	if err != nil {
		return nil, err
	}
	record, err := c.check(ctx, claims)
	if err != nil {
		return nil, err
	}
	target, err := c.target(ctx, claims, record, cred)
	if err != nil {
		return nil, err
	}
	return c.subject(ctx, claims, record, target, nil)
}

// check is the principal check: the credential's record is live and its
// owner's, the owner may act in the tenant, the tenant is enabled.
func (c *Checker) check(ctx context.Context, claims token.Claims) (liveRecord, error) {
	now := c.cfg.Clock.Now()
	record, ok := c.live.get(claims.ID, now)
	if !ok {
		var err error
		if record, err = c.load(ctx, claims); err != nil {
			return liveRecord{}, err
		}
	}
	if err := record.belongsTo(claims, now); err != nil {
		return liveRecord{}, err
	}
	if claims.Kind == token.APIKey {
		c.credentialUse.record(claims.Tenant, claims.ID, now)
	}
	return record, nil
}

// load reads the record, at most once at a time for one jti, and remembers it
// when it is live.
func (c *Checker) load(ctx context.Context, claims token.Claims) (liveRecord, error) {
	return loadOnce(ctx, &c.loads, "check/"+string(claims.ID)+"/"+claims.Kind.Short()+"/"+string(claims.Tenant), func(ctx context.Context) (liveRecord, error) {
		began, epoch := c.cfg.Clock.Now(), c.live.start()
		record, err := readRecord(ctx, c.cfg.Pool.ChargedTo(string(claims.Tenant)), claims)
		if err != nil {
			return liveRecord{}, err
		}
		if err := record.verdict(began); err != nil {
			return liveRecord{}, err
		}
		c.live.put(claims.ID, record, began, epoch)
		return record, nil
	})
}

// target is the tenant that the request is meant for.
func (c *Checker) target(ctx context.Context, claims token.Claims, record liveRecord, cred Credential) (op.UUID, error) {
	if !cred.HasActAs {
		return claims.Tenant, nil
	}
	selector, err := op.ParseUUID(cred.ActAs)
	if err != nil {
		return "", fault.ForbiddenTenant()
	}
	target := selector
	if selector != claims.Tenant {
		if target, err = c.resolve(ctx, claims, selector); err != nil {
			return "", err
		}
	}
	v, err := c.cfg.Policies.Evaluate(ctx, authz.InRequest(op.RequestID(ctx), authz.ActAs{
		User: string(claims.Subject), Credential: authz.CredentialID{Kind: claims.Kind.Short(), ID: string(claims.ID)},
		TokenKind: claims.Kind.Short(), TokenTenant: string(claims.Tenant), PrincipalKind: record.PrincipalKind,
		Module: cred.Module, Header: true, Target: string(target),
	}))
	if err != nil {
		return "", rejection(err)
	}
	if !v.Allow {
		return "", fault.ForbiddenTenant()
	}
	return target, nil
}

// resolve finds the tenant of an organisation or tenant id among the user's own.
// Whether the membership is live is asked with the request itself.
func (c *Checker) resolve(ctx context.Context, claims token.Claims, selector op.UUID) (op.UUID, error) {
	user := claims.Subject
	key := targetKey{user, selector}
	if t, ok := c.targets.get(key, c.cfg.Clock.Now()); ok {
		return t, nil
	}
	return loadOnce(ctx, &c.loads, "target/"+string(user)+"/"+string(selector), func(ctx context.Context) (op.UUID, error) {
		began, epoch := c.cfg.Clock.Now(), c.targets.start()
		t, err := readTarget(ctx, c.cfg.Pool.ChargedTo(string(claims.Tenant)), user, selector)
		if err != nil {
			return "", err
		}
		c.targets.put(key, t, began, epoch)
		return t, nil
	})
}

// Refresh gives the principal anew, with a Subject of the tenant's revision, or
// of a later one, and of the delegations in force. It is asked when what is live is
// other than what p was made with, or when the policies have changed.
func (c *Checker) Refresh(ctx context.Context, p *Principal, live Live) (*Principal, error) {
	record := liveRecord{
		PrincipalKind: p.Kind, IntegrationKey: p.IntegrationKey, Email: p.Email, DisplayName: p.DisplayName,
	}
	return c.subject(ctx, p.claims, record, p.Tenant, &live)
}

// subject gives the principal for one target tenant, from the cache when what is
// there is young enough, of the policies in use, and of what is live; nil is any.
// Whoever does not look at delegations gets those that were live when last somebody
// did: they let nobody do more than what the tracker decides, and that looks.
func (c *Checker) subject(ctx context.Context, claims token.Claims, record liveRecord, target op.UUID, live *Live) (*Principal, error) {
	key := subjectKey{target, claims.Subject, claims.ID}
	policies := c.cfg.Policies.Revision()
	if p, ok := c.subjects.get(key, c.cfg.Clock.Now()); ok && p.isAffectedBy(live) && p.Subject.Revision() == policies && sameSnapshot(p.claims, claims) {
		return p, nil
	}
	if live == nil {
		live = &Live{}
	}
	flight := "subject/" + string(target) + "/" + string(claims.ID) + "/" + policies + "/" + strconv.FormatInt(live.Revision, 10) + "/" +
		live.Delegations.Fingerprint + "/" + snapshotOf(claims)
	return loadOnce(ctx, &c.loads, flight, func(ctx context.Context) (*Principal, error) {
		began, epoch := c.cfg.Clock.Now(), c.subjects.start()
		stored, err := readStored(ctx, c.cfg.Pool.ChargedTo(string(claims.Tenant)), target, claims)
		if err != nil {
			return nil, err
		}
		p, err := c.build(ctx, claims, record, target, stored, live.Delegations)
		if err != nil {
			return nil, err
		}
		ttl := SubjectTTL
		if len(p.delegatorIDs) > 0 {
			// The delegators' accounts are read with the subject, so it may not outlive
			// what a check of such an account may: their suspension raises no revision.
			ttl = c.live.ttl
		}
		c.subjects.putFor(ttl, key, p, began, epoch)
		return p, nil
	})
}

// isAffectedBy tells whether the principal was made with what is live.
func (p *Principal) isAffectedBy(live *Live) bool {
	return live == nil || (p.Revision == live.Revision && p.DelegationFingerprint == live.Delegations.Fingerprint)
}

// sameSnapshot tells whether two tokens say the same of what their bearer may do.
// Those of one id that the product signed always do. Should there ever be two
// that do not, neither speaks for the other: the caveats of one would be lost.
func sameSnapshot(a, b token.Claims) bool {
	return a.Kind == b.Kind && a.Tenant == b.Tenant && a.Clearance == b.Clearance && a.ExpiresAt.Equal(b.ExpiresAt) &&
		slices.Equal(a.Roles, b.Roles) && slices.Equal(a.Caveats, b.Caveats) && maps.EqualFunc(a.RoleScopes, b.RoleScopes, slices.Equal)
}

// snapshotOf names what sameSnapshot compares, so that only those who may share
// an answer wait for one.
func snapshotOf(c token.Claims) string {
	text := fmt.Sprintf("%q %q %q %d %q %q %q", c.Kind, c.Tenant, c.Clearance, c.ExpiresAt.Unix(), c.Roles, c.Caveats, c.RoleScopes)
	sum := sha256.Sum256([]byte(text))
	return string(sum[:])
}

func (c *Checker) build(ctx context.Context, claims token.Claims, record liveRecord, target op.UUID, stored storedState, lent Delegations) (*Principal, error) {
	delegations, lenders, err := c.delegations(ctx, target, lent, stored.Roles)
	if err != nil {
		return nil, err
	}
	subject, err := c.cfg.Policies.Subject(ctx, authz.SubjectInput{
		Token:  tokenFor(claims, target),
		Tenant: string(target), TenantType: stored.TenantType,
		User: authz.User{
			ID: string(claims.Subject), Kind: record.PrincipalKind, IntegrationKey: record.IntegrationKey, Organisation: stored.Organisation,
		},
		Stored: authz.Stored{Assignments: assignments(stored.Assignments), Clearance: stored.Clearance},
		Roles:  stored.Roles, Delegations: delegations,
	})
	if err != nil {
		// No authority can be worked out, so there is none: the caller is refused.
		c.cfg.Log.ErrorContext(ctx, "subject refused", slog.String("user", string(claims.Subject)), slog.String("tenant", string(target)), slog.Any("error", err))
		return nil, rejection(err)
	}
	return &Principal{
		UserID: claims.Subject, Kind: record.PrincipalKind, IntegrationKey: record.IntegrationKey,
		Email: record.Email, DisplayName: record.DisplayName,
		Tenant: target, TokenTenant: claims.Tenant, TenantType: stored.TenantType, Organisation: op.UUID(stored.Organisation),
		TokenKind: claims.Kind.Short(), JTI: claims.ID, ExpiresAt: claims.ExpiresAt,
		Subject: subject, Revision: stored.Revision, DelegationFingerprint: lent.Fingerprint, delegatorIDs: lenders, claims: claims,
	}, nil
}

// tokenFor is the token as the policies of the target tenant see it. What the user
// holds in another tenant grants nothing there, and the target's decision log
// stores the token, so its roles, scopes and clearance are left out.
func tokenFor(claims token.Claims, target op.UUID) authz.Token {
	t := authz.Token{Kind: claims.Kind.Short(), ID: string(claims.ID), Tenant: string(claims.Tenant), Caveats: claims.Caveats}
	if target == claims.Tenant {
		t.Roles, t.RoleScopes, t.Clearance = claims.Roles, claims.RoleScopes, claims.Clearance
	}
	return t
}

// rejection is the answer when the policies gave none: not now, where time was
// lacking, and no otherwise.
func rejection(err error) error {
	if errors.Is(err, authz.ErrTimeout) {
		return fault.Unavailable(err)
	}
	return fault.ForbiddenTenant().WithCause(err)
}

// loadOnce runs f once for all who ask for the same at the same time. It does not end
// with the context of the first who asked; each waits as long as its own lasts.
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
			return zero, fault.Internal(fmt.Errorf("principal: %s gave %T", key, r.Val))
		}
		return value, nil
	case <-ctx.Done():
		return zero, postgres.MapError(ctx.Err())
	}
}
