package principal_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/principal"
	"parapet/internal/token"
	"parapet/internal/uid"
)

const secret = "a secret of at least thirty-two bytes"

// fixture is a database with tenants and users, and a checker that uses it.
type fixture struct {
	t             *testing.T
	db            *pgtest.DB
	owner         *postgres.Pool
	engine        *authz.Engine
	tokens        *token.Keyring
	checker       *principal.Checker
	notifications *postgres.Notifications
	clock         *fakeClock
}

// fakeClock is a clock that only the test moves.
type fakeClock struct{ micros atomic.Int64 }

func (h *fakeClock) Now() time.Time          { return time.UnixMicro(h.micros.Load()).UTC() }
func (h *fakeClock) setTime(t time.Time)     { h.micros.Store(t.UnixMicro()) }
func (h *fakeClock) advance(d time.Duration) { h.micros.Add(d.Microseconds()) }

type options struct {
	ttl    time.Duration
	max    time.Duration
	listen bool
}

func newFixture(t *testing.T, o options) *fixture {
	t.Helper()
	if o.max == 0 {
		o.max = principal.MaxCacheTTL
	}
	w := &fixture{t: t, db: pgtest.New(t), clock: &fakeClock{}}
	w.clock.setTime(time.Now().Truncate(time.Second))
	w.owner = w.db.Owner(t)
	engine, err := authz.New(t.Context(), authz.Config{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	w.engine = engine
	if w.tokens, err = token.New(token.Config{Secret: secret, Clock: w.clock}); err != nil {
		t.Fatal(err)
	}
	cfg := principal.Config{
		Pool: w.db.Pool(t, postgres.RoleAuth), Tokens: w.tokens, Policies: engine, Clock: w.clock,
		CacheTTL: o.ttl, CacheTTLMax: o.max,
	}
	if o.listen {
		w.notifications = postgres.NewNotifications(w.db.RoleURL(postgres.RoleAuth), nil)
		cfg.Notifications = w.notifications
	}
	if w.checker, err = principal.New(cfg); err != nil {
		t.Fatal(err)
	}
	return w
}

// runChecker runs the checker in the background until the test ends.
func (w *fixture) runChecker() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { w.checker.Run(ctx) })
	if w.notifications != nil {
		running.Go(func() { w.notifications.Run(ctx) })
	}
	w.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

func (w *fixture) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.owner.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

func (w *fixture) tenant(slug string) op.UUID {
	w.t.Helper()
	id := uid.New()
	w.exec(`INSERT INTO identity.tenants (id, slug, name) VALUES ($1, $2, $2)`, id, slug)
	return id
}

func (w *fixture) organisation(tenant op.UUID, name string) op.UUID {
	w.t.Helper()
	id := uid.New()
	w.exec(`INSERT INTO identity.organisations (tenant_id, id, name) VALUES ($1, $2, $3)`, tenant, id, name)
	return id
}

func (w *fixture) user(tenant op.UUID, email string) op.UUID {
	w.t.Helper()
	id := uid.New()
	w.exec(`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name) VALUES ($1, $2, 'HUMAN', $3, $3)`, id, tenant, email)
	w.addMember(tenant, id)
	return id
}

func (w *fixture) addMember(tenant, user op.UUID) {
	w.t.Helper()
	w.exec(`INSERT INTO identity.memberships (tenant_id, user_id, clearance) VALUES ($1, $2, 'CONFIDENTIAL')`, tenant, user)
}

func (w *fixture) role(tenant op.UUID, name string, grants ...string) op.UUID {
	w.t.Helper()
	id := uid.New()
	w.exec(`INSERT INTO identity.roles (tenant_id, id, name) VALUES ($1, $2, $3)`, tenant, id, name)
	for _, g := range grants {
		w.exec(`INSERT INTO identity.role_grants (tenant_id, role_id, permission) VALUES ($1, $2, $3)`, tenant, id, g)
	}
	return id
}

func (w *fixture) assign(tenant, user, role op.UUID) {
	w.t.Helper()
	w.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope) VALUES ($1, $2, $3, $4, 'tenant')`, tenant, uid.New(), user, role)
}

func (w *fixture) claims(tenant, user op.UUID, roles ...string) token.Claims {
	return token.Claims{
		ID: uid.New(), Subject: user, Tenant: tenant, IssuedAt: w.clock.Now(), ExpiresAt: w.clock.Now().Add(time.Hour),
		Roles: append([]string{}, roles...), PrincipalKind: "HUMAN", Clearance: "SECRET",
	}
}

// session inserts a session and signs its token.
func (w *fixture) session(tenant, user op.UUID, roles ...string) (string, op.UUID) {
	w.t.Helper()
	c := w.claims(tenant, user, roles...)
	w.exec(`INSERT INTO identity.sessions (tenant_id, jti, user_id, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`, tenant, c.ID, user, c.IssuedAt, c.ExpiresAt)
	return w.sign(c, token.Session), c.ID
}

// key inserts an API key and signs its token.
func (w *fixture) key(tenant, user op.UUID, roles ...string) (string, op.UUID) {
	w.t.Helper()
	c := w.claims(tenant, user, roles...)
	w.exec(`INSERT INTO identity.api_keys (tenant_id, jti, label, owner_id, kind, expires_at, created_by, created_at) VALUES ($1, $2, 'test', $3, 'PERSONAL', $4, $3, $5)`,
		tenant, c.ID, user, c.ExpiresAt, c.IssuedAt)
	return w.sign(c, token.APIKey), c.ID
}

func (w *fixture) sign(c token.Claims, kind token.Kind) string {
	w.t.Helper()
	text, err := w.tokens.Issue(c, kind)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

func (w *fixture) authenticate(text string) (*principal.Principal, error) {
	return w.checker.Authenticate(context.Background(), principal.Credential{Token: text, Module: "identity"})
}

func (w *fixture) authenticateAs(text, selector string) (*principal.Principal, error) {
	return w.checker.Authenticate(context.Background(), principal.Credential{Token: text, Module: "identity", ActAs: selector, HasActAs: true})
}
