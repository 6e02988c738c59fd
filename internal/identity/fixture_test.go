package identity_test

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/delegation"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/identity"
	"parapet/internal/mail"
	"parapet/internal/op"
	"parapet/internal/password"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/principal"
	"parapet/internal/token"
)

// sharedEngine is immutable and slow to create, so the tests share it.
var sharedEngine = sync.OnceValues(func() (*authz.Engine, error) {
	return authz.New(context.Background(), authz.Config{Timeout: time.Minute})
})

var sharedHasher = sync.OnceValues(func() (*password.Hasher, error) { return password.New(password.MinParams(), 0) })

// testPassword is the password of every seeded user.
const testPassword = "a long enough secret"

// testClock is a clock that can be moved and stopped.
type testClock struct {
	ahead   atomic.Int64
	stopped atomic.Pointer[time.Time]
}

func (h *testClock) Now() time.Time {
	now := time.Now()
	if at := h.stopped.Load(); at != nil {
		now = *at
	}
	return now.Add(time.Duration(h.ahead.Load())).UTC().Truncate(time.Microsecond)
}
func (h *testClock) advance(d time.Duration) { h.ahead.Add(int64(d)) }

// stop stops the clock, so that a slow machine does not affect the test.
func (h *testClock) stop() {
	now := time.Now()
	h.stopped.Store(&now)
}

// fixture is a database with the tenants acme and globex, and the identity module.
type fixture struct {
	t         *testing.T
	db        *pgtest.DB
	owner     *postgres.Pool
	auth      *postgres.Pool
	module    *postgres.Pool
	tracker   *postgres.Pool
	sentMail  recordingSender
	engine    *authz.Engine
	clock     *testClock
	tokens    *token.Keyring
	checker   *principal.Checker
	service   *identity.Service
	bound     map[string]op.Bound
	acme      testTenant
	globex    testTenant
	address   string
	passwords *password.Hasher
}

// testTenant is a seeded tenant.
type testTenant struct {
	id, organisation op.UUID
	people           map[string]op.UUID
}

type fixtureOptions struct {
	keys     authz.KeySettings
	throttle identity.Throttle
	// withoutMail disables e-mail.
	withoutMail bool
	// tracer, if set, sees the statements of the module, and inputs accept names.
	tracer pgx.QueryTracer
	// decisionLogOff turns the decision log off.
	decisionLogOff bool
}

func newFixture(t *testing.T, o fixtureOptions) *fixture {
	t.Helper()
	r := &fixture{t: t, db: seededFixture.database.New(t), clock: &testClock{}, address: "192.0.2.1"}
	r.acme, r.globex = seededFixture.acme.copy(), seededFixture.globex.copy()
	var err error
	if r.engine, err = sharedEngine(); err != nil {
		t.Fatal(err)
	}
	if r.passwords, err = sharedHasher(); err != nil {
		t.Fatal(err)
	}
	r.owner = r.db.Owner(t)
	r.auth = r.db.Pool(t, postgres.RoleAuth)
	if r.tokens, err = token.New(token.Config{Secret: "a secret of at least thirty-two bytes", Clock: r.clock}); err != nil {
		t.Fatal(err)
	}
	r.checker, err = principal.New(principal.Config{Pool: r.auth, Tokens: r.tokens, Policies: r.engine, Clock: r.clock})
	if err != nil {
		t.Fatal(err)
	}
	r.module = r.db.PoolWith(t, postgres.Config{URL: r.db.RoleURL(postgres.RoleIdentity), MaxConns: 8, TenantConns: 8, Tracer: o.tracer})
	r.tracker = r.db.Pool(t, postgres.RoleTracker)
	r.startService(o)
	return r
}

// startService creates the module with other settings for the same database.
func (r *fixture) startService(o fixtureOptions) {
	r.t.Helper()
	var err error
	var sender mail.Sender = &r.sentMail
	if o.withoutMail {
		sender = nil
	}
	module := executor.Config{Module: contract.Module, Pool: r.module, Engine: r.engine, Principals: r.checker, Clock: r.clock}
	if o.tracer != nil {
		module.Names = []executor.Names{identity.Names(r.module)}
	}
	r.service, err = identity.New(identity.Deps{
		Pool: r.module, Auth: r.auth, Policies: r.engine, Tokens: r.tokens, Passwords: r.passwords, Clock: r.clock, AuthProvider: "local",
		Keys: o.keys, Throttle: o.throttle, DecisionLogOff: o.decisionLogOff, Delegations: delegation.ReceivedReader{Pool: r.tracker}, Mail: sender, PublicURL: "https://parapet.example",
		Operations: func() []op.Bound { return r.service.Operations() },
		Executor:   executor.New(module),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.bound = map[string]op.Bound{}
	for _, b := range r.service.Operations() {
		r.bound[b.Name] = b
	}
}

// people are the users of each seeded tenant, with role and clearance.
var people = map[string][2]string{
	"admin": {"Admin", "SECRET"}, "member": {"Member", "INTERNAL"}, "guest": {"Guest Customer", ""}, "platform": {"PLATFORM_ADMIN", ""},
}

// addTenant seeds another tenant.
func (r *fixture) addTenant(slug string) testTenant {
	r.t.Helper()
	var h testTenant
	r.asOwner(func(ctx context.Context, tx pgx.Tx) error {
		var err error
		h, err = seedTenant(ctx, tx, slug, r.clock.Now())
		return err
	})
	return h
}

// seededFixture is the database that every fixture starts from: hashing its passwords
// takes longer than most tests.
var seededFixture = newSeededFixture()

type fixtureTemplate struct {
	database     *pgtest.Template
	acme, globex testTenant
}

func newSeededFixture() *fixtureTemplate {
	t := &fixtureTemplate{}
	t.database = pgtest.NewTemplate(func(ctx context.Context, db *pgtest.DB) error {
		conn, err := pgx.Connect(ctx, db.URL())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			now := time.Now().UTC().Truncate(time.Microsecond)
			if t.acme, err = seedTenant(ctx, tx, "acme", now); err != nil {
				return err
			}
			t.globex, err = seedTenant(ctx, tx, "globex", now)
			return err
		})
	})
	return t
}

// copy returns a tenant whose map a test may change.
func (h testTenant) copy() testTenant {
	h.people = maps.Clone(h.people)
	return h
}

// seedTenant inserts a tenant with its people.
func seedTenant(ctx context.Context, tx pgx.Tx, slug string, now time.Time) (testTenant, error) {
	h := testTenant{people: map[string]op.UUID{}}
	engine, err := sharedEngine()
	if err != nil {
		return h, err
	}
	hasher, err := sharedHasher()
	if err != nil {
		return h, err
	}
	s := &identity.Seeder{Tx: tx, Catalogue: engine.Catalogue(), Passwords: hasher, Now: now}
	if h.id, err = s.EnsureTenant(ctx, identity.SeedTenant{Slug: slug, Name: slug, Type: "STANDARD"}); err != nil {
		return h, err
	}
	if h.organisation, err = s.EnsureOrganisation(ctx, h.id, slug+" works"); err != nil {
		return h, err
	}
	for name, p := range people {
		h.people[name], err = s.EnsureUser(ctx, identity.SeedUser{
			Tenant: h.id, Organisation: h.organisation, Email: name + "@" + slug + ".example", DisplayName: name, Kind: "HUMAN",
			Password: testPassword, Clearance: p[1], Roles: []string{p[0]},
		})
		if err != nil {
			return h, err
		}
	}
	return h, nil
}

func (r *fixture) asOwner(f func(ctx context.Context, tx pgx.Tx) error) {
	r.t.Helper()
	ctx := context.Background()
	tx, err := r.owner.Begin(ctx, "", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer tx.Rollback()
	if err := f(ctx, tx.Raw()); err != nil {
		r.t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		r.t.Fatal(err)
	}
}

func (r *fixture) exec(sql string, args ...any) {
	r.t.Helper()
	if _, err := r.owner.Exec(context.Background(), sql, args...); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
}

// queryValue returns the single value of a query that runs as the owner.
func queryValue[T any](r *fixture, sql string, args ...any) T {
	r.t.Helper()
	var v T
	if err := r.owner.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// provision provisions the tenant's service principals and returns their ids by integration
// key.
func (r *fixture) provision(h testTenant) map[string]op.UUID {
	r.t.Helper()
	report, err := r.runProvision(h)
	if err != nil {
		r.t.Fatal(err)
	}
	users := map[string]op.UUID{}
	for _, p := range report.Profiles {
		users[p.IntegrationKey] = p.UserID
	}
	return users
}

func (r *fixture) runProvision(h testTenant) (identity.ProvisionReport, error) {
	r.t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, r.db.URL())
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	p := &identity.Provisioner{Policies: r.engine, Clock: r.clock}
	return p.Run(ctx, conn, h.id, h.organisation)
}

// request is a call of an operation. Body and query are parsed as the server does.
type request struct {
	token, actAs string
	path         map[string]string
	query        url.Values
	body         string
}

// call runs an operation as the server does, without HTTP.
func (r *fixture) call(name string, q request) (any, error) {
	r.t.Helper()
	b, ok := r.bound[name]
	if !ok {
		r.t.Fatalf("no operation %s", name)
	}
	ctx := op.WithRequest(context.Background(), op.Request{ID: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f", ClientAddr: r.address})
	if b.Access != op.Public {
		p, err := r.checker.Authenticate(ctx, principal.Credential{Token: q.token, Module: b.Module, ActAs: q.actAs, HasActAs: q.actAs != ""})
		if err != nil {
			return nil, err
		}
		ctx = principal.NewContext(ctx, p)
	}
	in, err := b.Read(op.Raw{Path: func(n string) string { return q.path[n] }, Query: q.query, Body: []byte(q.body)})
	if err != nil {
		return nil, err
	}
	return b.Call(ctx, in)
}

// must is call for a request that must succeed; it returns the typed response.
func must[T any](r *fixture, name string, q request) *T {
	r.t.Helper()
	out, err := r.call(name, q)
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	typed, ok := out.(*T)
	if !ok {
		r.t.Fatalf("%s: got a response of type %T", name, out)
	}
	return typed
}

// wantFault checks that the call fails with this code and with text in its public fields.
func (r *fixture) wantFault(name string, q request, code fault.Code, text string) {
	r.t.Helper()
	out, err := r.call(name, q)
	if err == nil {
		r.t.Errorf("%s: got response %+v, want an error", name, out)
		return
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		r.t.Errorf("%s: got error %v, want a fault", name, err)
		return
	}
	public := strings.Join([]string{f.Message, f.Reason, f.Field, f.Permission}, " ")
	if f.Code != code || !strings.Contains(public, text) {
		r.t.Errorf("%s: got %v (%q), want %s with the text %q", name, err, public, code, text)
	}
}

func body(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

type fields map[string]any

func (r *fixture) tryLogin(email, password string, more fields) (*contract.LoginOut, error) {
	r.t.Helper()
	in := fields{"email": email, "password": password}
	for k, v := range more {
		in[k] = v
	}
	out, err := r.call("login", request{body: body(in)})
	if err != nil {
		return nil, err
	}
	return out.(*contract.LoginOut), nil
}

// login returns the token of a new session of name@slug.example. It compares no
// password, which would take longer than the rest of most tests; tests of the login
// itself use tryLogin.
func (r *fixture) login(email string) string {
	r.t.Helper()
	out, err := identity.BeginSession(context.Background(), r.service, r.auth, email)
	if err != nil {
		r.t.Fatalf("session of %s: %v", email, err)
	}
	return out.Token
}

// subject returns the subject of a token.
func (r *fixture) subject(token string) *authz.Subject {
	r.t.Helper()
	p, err := r.checker.Authenticate(context.Background(), principal.Credential{Token: token, Module: contract.Module})
	if err != nil {
		r.t.Fatal(err)
	}
	return p.Subject
}
