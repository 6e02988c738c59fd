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
	"parapet/internal/tracker"
)

// sharedEngine is immutable, and dear to make.
var sharedEngine = sync.OnceValues(func() (*authz.Engine, error) {
	return authz.New(context.Background(), authz.Config{Timeout: time.Minute})
})

var sharedHasher = sync.OnceValues(func() (*password.Hasher, error) { return password.New(password.MinParams(), 0) })

// pass is every seeded person's password.
const pass = "a long enough secret"

// hands are a clock that goes on from where it is set, or stands still.
type hands struct {
	ahead   atomic.Int64
	stopped atomic.Pointer[time.Time]
}

func (h *hands) Now() time.Time {
	now := time.Now()
	if at := h.stopped.Load(); at != nil {
		now = *at
	}
	return now.Add(time.Duration(h.ahead.Load())).UTC().Truncate(time.Microsecond)
}
func (h *hands) add(d time.Duration) { h.ahead.Add(int64(d)) }

// stop keeps the clock from going on by itself, so a slow machine changes nothing.
func (h *hands) stop() {
	now := time.Now()
	h.stopped.Store(&now)
}

// realm is a database with the tenants acme and globex in it and the identity
// module over it.
type realm struct {
	t         *testing.T
	db        *pgtest.DB
	owner     *postgres.Pool
	auth      *postgres.Pool
	module    *postgres.Pool
	tracker   *postgres.Pool
	outbox    outbox
	engine    *authz.Engine
	clock     *hands
	tokens    *token.Keyring
	checker   *principal.Checker
	service   *identity.Service
	bound     map[string]op.Bound
	acme      house
	globex    house
	address   string
	passwords *password.Hasher
}

// house is a seeded tenant.
type house struct {
	id, organisation op.UUID
	people           map[string]op.UUID
}

type realmOptions struct {
	keys     authz.KeySettings
	throttle identity.Throttle
	// withoutMail is a server that sends no mail.
	withoutMail bool
}

func newRealm(t *testing.T, o realmOptions) *realm {
	t.Helper()
	r := &realm{t: t, db: seededRealm.database.New(t), clock: &hands{}, address: "192.0.2.1"}
	r.acme, r.globex = seededRealm.acme.copy(), seededRealm.globex.copy()
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
	r.module = r.db.Pool(t, postgres.RoleIdentity)
	r.tracker = r.db.Pool(t, postgres.RoleTracker)
	r.serve(o)
	return r
}

// serve makes the module with other settings over the same database.
func (r *realm) serve(o realmOptions) {
	r.t.Helper()
	var err error
	var sender mail.Sender = &r.outbox
	if o.withoutMail {
		sender = nil
	}
	r.service, err = identity.New(identity.Deps{
		Pool: r.module, Auth: r.auth, Policies: r.engine, Tokens: r.tokens, Passwords: r.passwords, Clock: r.clock, AuthProvider: "local",
		Keys: o.keys, Throttle: o.throttle, Delegations: tracker.ReceivedDelegations{Pool: r.tracker}, Mail: sender, PublicURL: "https://parapet.example",
		Executor: executor.New(executor.Config{Module: contract.Module, Pool: r.module, Engine: r.engine, Principals: r.checker, Clock: r.clock}),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.bound = map[string]op.Bound{}
	for _, b := range r.service.Operations() {
		r.bound[b.Name] = b
	}
}

// people are seeded in each tenant: the role, the clearance.
var people = map[string][2]string{
	"admin": {"Admin", "SECRET"}, "member": {"Member", "INTERNAL"}, "guest": {"Guest Customer", ""}, "platform": {"PLATFORM_ADMIN", ""},
}

// house seeds another tenant.
func (r *realm) house(slug string) house {
	r.t.Helper()
	var h house
	r.asOwner(func(ctx context.Context, tx pgx.Tx) error {
		var err error
		h, err = seedHouse(ctx, tx, slug, r.clock.Now())
		return err
	})
	return h
}

// seededRealm is the database that every realm starts from: hashing its passwords
// takes longer than most tests.
var seededRealm = newSeededRealm()

type realmTemplate struct {
	database     *pgtest.Template
	acme, globex house
}

func newSeededRealm() *realmTemplate {
	t := &realmTemplate{}
	t.database = pgtest.NewTemplate(func(ctx context.Context, db *pgtest.DB) error {
		conn, err := pgx.Connect(ctx, db.URL())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			now := time.Now().UTC().Truncate(time.Microsecond)
			if t.acme, err = seedHouse(ctx, tx, "acme", now); err != nil {
				return err
			}
			t.globex, err = seedHouse(ctx, tx, "globex", now)
			return err
		})
	})
	return t
}

// copy returns a house whose map a test may change.
func (h house) copy() house {
	h.people = maps.Clone(h.people)
	return h
}

// seedHouse inserts a tenant with its people.
func seedHouse(ctx context.Context, tx pgx.Tx, slug string, now time.Time) (house, error) {
	h := house{people: map[string]op.UUID{}}
	engine, err := sharedEngine()
	if err != nil {
		return h, err
	}
	hasher, err := sharedHasher()
	if err != nil {
		return h, err
	}
	s := &identity.Seeder{Tx: tx, Catalogue: engine.Catalogue(), Passwords: hasher, Now: now}
	if h.id, err = s.Tenant(ctx, identity.SeedTenant{Slug: slug, Name: slug, Type: "STANDARD"}); err != nil {
		return h, err
	}
	if h.organisation, err = s.Organisation(ctx, h.id, slug+" works"); err != nil {
		return h, err
	}
	for name, p := range people {
		h.people[name], err = s.User(ctx, identity.SeedUser{
			Tenant: h.id, Organisation: h.organisation, Email: name + "@" + slug + ".example", DisplayName: name, Kind: "HUMAN",
			Password: pass, Clearance: p[1], Roles: []string{p[0]},
		})
		if err != nil {
			return h, err
		}
	}
	return h, nil
}

func (r *realm) asOwner(f func(ctx context.Context, tx pgx.Tx) error) {
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

func (r *realm) exec(sql string, args ...any) {
	r.t.Helper()
	if _, err := r.owner.Exec(context.Background(), sql, args...); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
}

// one gives the one value of a query of the owner's.
func one[T any](r *realm, sql string, args ...any) T {
	r.t.Helper()
	var v T
	if err := r.owner.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// provision makes the tenant's service principals and gives them by their key.
func (r *realm) provision(h house) map[string]op.UUID {
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

func (r *realm) runProvision(h house) (identity.ProvisionReport, error) {
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

// request is how an operation is called: as a body and query that are read as
// the server reads them.
type request struct {
	token, actAs string
	path         map[string]string
	query        url.Values
	body         string
}

// call carries an operation out as the server does, without HTTP around it.
func (r *realm) call(name string, q request) (any, error) {
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
		ctx = principal.With(ctx, p)
	}
	in, err := b.Read(op.Raw{Path: func(n string) string { return q.path[n] }, Query: q.query, Body: []byte(q.body)})
	if err != nil {
		return nil, err
	}
	return b.Call(ctx, in)
}

// must is call for what has to succeed, with the answer as what it is.
func must[T any](r *realm, name string, q request) *T {
	r.t.Helper()
	out, err := r.call(name, q)
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	typed, ok := out.(*T)
	if !ok {
		r.t.Fatalf("%s answered %T", name, out)
	}
	return typed
}

// refused wants an error of this code that says the text somewhere in public.
func (r *realm) refused(name string, q request, code fault.Code, says string) {
	r.t.Helper()
	out, err := r.call(name, q)
	if err == nil {
		r.t.Errorf("%s: allowed: %+v", name, out)
		return
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		r.t.Errorf("%s: %v is no fault", name, err)
		return
	}
	public := strings.Join([]string{f.Message, f.Reason, f.Field, f.Permission}, " ")
	if f.Code != code || !strings.Contains(public, says) {
		r.t.Errorf("%s: %v (%q), want %s that says %q", name, err, public, code, says)
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

func (r *realm) tryLogin(email, password string, more fields) (*contract.LoginOut, error) {
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
func (r *realm) login(email string) string {
	r.t.Helper()
	out, err := identity.BeginSession(context.Background(), r.service, r.auth, email)
	if err != nil {
		r.t.Fatalf("session of %s: %v", email, err)
	}
	return out.Token
}

// subject is who a token speaks for, as the policies see it.
func (r *realm) subject(token string) *authz.Subject {
	r.t.Helper()
	p, err := r.checker.Authenticate(context.Background(), principal.Credential{Token: token, Module: contract.Module})
	if err != nil {
		r.t.Fatal(err)
	}
	return p.Subject
}
