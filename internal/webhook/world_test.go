package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	"parapet/internal/contract"
	contractidentity "parapet/internal/contract/identity"
	"parapet/internal/events"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/identity"
	"parapet/internal/op"
	"parapet/internal/password"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/principal"
	"parapet/internal/token"
	"parapet/internal/uid"
	"parapet/jobs"
)

const testSecret = "a secret of at least thirty-two bytes"

// engine is the policy engine, compiled once for all tests.
var engine = sync.OnceValues(func() (*authz.Engine, error) {
	return authz.New(context.Background(), authz.Config{Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
})

// testClock stands still until a test moves it.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// seeded is the database that every world starts from, with the tenants acme and globex. The
// users of a tenant are named after their clearance.
var seeded = newSeeded()

type seededWorld struct {
	template *pgtest.Template
	acme     map[string]op.UUID
	globex   map[string]op.UUID
}

func newSeeded() *seededWorld {
	s := &seededWorld{}
	s.template = pgtest.NewTemplate(func(ctx context.Context, db *pgtest.DB) error {
		conn, err := pgx.Connect(ctx, db.URL())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if s.acme, err = seedTenant(ctx, tx, "acme"); err == nil {
				s.globex, err = seedTenant(ctx, tx, "globex")
			}
			return err
		})
	})
	return s
}

func seedTenant(ctx context.Context, tx pgx.Tx, slug string) (map[string]op.UUID, error) {
	e, err := engine()
	if err != nil {
		return nil, err
	}
	hasher, err := password.New(password.MinParams(), 0)
	if err != nil {
		return nil, err
	}
	ids := map[string]op.UUID{}
	s := &identity.Seeder{Tx: tx, Catalogue: e.Catalogue(), Passwords: hasher, Now: time.Now().UTC()}
	if ids["tenant"], err = s.EnsureTenant(ctx, identity.SeedTenant{Slug: slug, Name: slug, Type: "STANDARD"}); err != nil {
		return nil, err
	}
	organisation, err := s.EnsureOrganisation(ctx, ids["tenant"], slug)
	if err != nil {
		return nil, err
	}
	for name, role := range map[string][]string{"SECRET": {"Admin"}, "INTERNAL": {"Admin"}, "member": {"Member"}} {
		clearance := name
		if name == "member" {
			clearance = "INTERNAL"
		}
		ids[name], err = s.EnsureUser(ctx, identity.SeedUser{
			Tenant: ids["tenant"], Organisation: organisation, Email: name + "@" + slug + ".example", DisplayName: name, Kind: "HUMAN",
			Password: "a long enough secret", Clearance: clearance, Roles: role,
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// world is the webhooks on a database of their own. The test runs their jobs.
type world struct {
	t       testing.TB
	db      *pgtest.DB
	owner   *postgres.Pool
	clock   *testClock
	checker *principal.Checker
	service *Service
	bound   map[string]op.Bound
	// dispatcher delivers events to the subscribers. jobs are the jobs that they and earlier
	// runs started, with the time when they are due.
	dispatcher *events.Dispatcher
	mu         sync.Mutex
	jobs       map[sendArgs]time.Time
}

func newWorld(t testing.TB, change ...func(*Deps)) *world {
	t.Helper()
	w := &world{t: t, db: seeded.template.New(t), clock: &testClock{now: time.Now().UTC().Truncate(time.Microsecond)}, jobs: map[sendArgs]time.Time{}}
	w.owner = w.db.Owner(t)
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := token.New(token.Config{Secret: testSecret, Clock: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	w.checker, err = principal.New(principal.Config{Pool: w.db.Pool(t, postgres.RoleAuth), Tokens: tokens, Policies: e, Clock: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	pool := w.db.PoolWith(t, postgres.Config{URL: w.db.RoleURL(postgres.RoleIdentity), MaxConns: 8, TenantConns: 8})
	jobsPool := w.db.PoolWith(t, postgres.Config{URL: w.db.RoleURL(postgres.RoleJobs), MaxConns: 8})
	deps := Deps{
		Executor: executor.New(executor.Config{Module: contractidentity.Module, Pool: pool, Engine: e, Principals: w.checker, Clock: w.clock}),
		Pool:     pool, Jobs: jobsPool, Policies: e, Principals: w.checker, Clock: w.clock, Secret: testSecret,
		AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}
	for _, m := range contract.Modules() {
		for _, event := range m.Events() {
			deps.EventTypes = append(deps.EventTypes, event.Name)
		}
	}
	for _, f := range change {
		f(&deps)
	}
	w.start(deps)
	w.dispatcher, err = events.NewDispatcher(events.Config{Pool: jobsPool, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Subscribers: []events.Subscriber{events.Notifications(), {
		Name: "webhooks", Types: []string{"*"}, Handle: func(ctx context.Context, tx pgx.Tx, list []events.Event) error {
			started, err := w.service.enqueue(ctx, tx, list)
			w.add(started)
			return err
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// start creates the service, also again with other settings.
func (w *world) start(deps Deps) {
	w.t.Helper()
	var err error
	if w.service, err = New(deps); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.service.sender.close)
	w.bound = map[string]op.Bound{}
	for _, b := range w.service.Module().Operations {
		w.bound[b.Name] = b
	}
}

func (w *world) add(started []jobs.Args) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range started {
		w.jobs[a.(sendArgs)] = w.clock.Now()
	}
}

// run dispatches events and runs the due jobs until none is left.
func (w *world) run() {
	w.t.Helper()
	for {
		if _, err := w.dispatcher.Drain(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		ran := false
		for a, at := range w.jobs {
			if at.After(w.clock.Now()) {
				continue
			}
			delete(w.jobs, a)
			wait, err := w.service.Send(w.t.Context(), a.Tenant, a.Webhook, a.Number)
			if err != nil {
				w.t.Fatalf("send: %v", err)
			}
			if wait == again {
				wait = 0
			}
			if wait > 0 || w.isQueued(a) {
				w.jobs[a] = w.clock.Now().Add(wait)
			}
			ran = true
		}
		if !ran {
			return
		}
	}
}

// isQueued reports whether the webhook expects its job to run now.
func (w *world) isQueued(a sendArgs) bool {
	return queryValue[bool](w, `SELECT coalesce(bool_or(run_at <= $2 AND run_number = $3), false) FROM events.webhooks WHERE id = $1`, a.Webhook, w.clock.Now(), a.Number)
}

// wait moves the clock to the next job, and runs it. It reports whether there was one.
func (w *world) wait() bool {
	w.t.Helper()
	var next time.Time
	for _, at := range w.jobs {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if next.IsZero() {
		return false
	}
	w.clock.advance(max(next.Sub(w.clock.Now()), 0))
	w.run()
	return true
}

// call runs an operation as a user, with the authority that the records give it.
func (w *world) call(tenant, user op.UUID, name, path string, body map[string]any, query ...string) (any, error) {
	w.t.Helper()
	ctx := op.WithRequest(w.t.Context(), op.Request{ID: string(uid.Random())})
	p, err := w.checker.ForUser(ctx, tenant, user, authz.KindHuman)
	if err != nil {
		return nil, err
	}
	// The audit log requires a credential.
	caller := *p
	caller.JTI = uid.New()
	b, ok := w.bound[name]
	if !ok {
		w.t.Fatalf("no operation %s", name)
	}
	raw := op.Raw{Path: func(n string) string {
		if i := slices.Index(query, n); i >= 0 {
			return query[i+1]
		}
		return path
	}}
	if body != nil {
		if raw.Body, err = json.Marshal(body); err != nil {
			w.t.Fatal(err)
		}
	} else if b.Method == http.MethodPost || b.Method == http.MethodPatch {
		raw.Body = []byte(`{}`)
	}
	in, err := b.Read(raw)
	if err != nil {
		return nil, err
	}
	return b.Call(principal.NewContext(ctx, &caller), in)
}

// must is call as a user of acme for a request that must succeed.
func must[T any](w *world, user, name, path string, body map[string]any, query ...string) *T {
	w.t.Helper()
	out, err := w.call(seeded.acme["tenant"], seeded.acme[user], name, path, body, query...)
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	return out.(*T)
}

// wantFault checks that a call fails with this code.
func wantFault(t testing.TB, what string, err error, code fault.Code) {
	t.Helper()
	var f *fault.Error
	if !errors.As(postgres.MapError(err), &f) || f.Code != code {
		t.Errorf("%s: got error %v, want %s", what, err, code)
	}
}

// create creates a webhook of a user of acme for events of projects.
func (w *world) create(user, url string) *contractidentity.WebhookWithSecret {
	w.t.Helper()
	return must[contractidentity.WebhookWithSecret](w, user, "create-webhook", "", map[string]any{"url": url, "eventTypes": []string{"projects.*"}})
}

// publish writes an event about a task of a project with this classification.
func (w *world) publish(tenant op.UUID, classification string) op.UUID {
	w.t.Helper()
	id := uid.New()
	text, err := json.Marshal(map[string]any{
		"resource": map[string]any{"id": id, "title": "Text of " + classification}, "notify": []op.UUID{uid.New()}, "classification": classification,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	err = w.db.Pool(w.t, postgres.RoleTracker).InTx(w.t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
		return events.Append(w.t.Context(), tx, []events.Event{{
			ID: id, Type: "projects.task.created", TenantID: tenant, AggregateType: "task", AggregateID: string(id), OccurredAt: w.clock.Now(), Payload: text,
		}})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func queryValue[T any](w *world, sql string, args ...any) T {
	w.t.Helper()
	var v T
	if err := w.owner.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.owner.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// log returns the deliveries of a webhook, the oldest first, as an administrator with the
// highest clearance sees them.
func (w *world) log(webhook op.UUID) []contractidentity.WebhookDelivery {
	w.t.Helper()
	page := must[op.Page[contractidentity.WebhookDelivery]](w, "SECRET", "list-webhook-deliveries", string(webhook), nil)
	slices.Reverse(page.Items)
	return page.Items
}

// receiver is an endpoint that records the requests and answers as answer says.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	requests []received
	answer   http.HandlerFunc
}

type received struct {
	header http.Header
	body   []byte
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		r.requests = append(r.requests, received{q.Header, body})
		answer := r.answer
		r.mu.Unlock()
		if answer != nil {
			answer(rw, q)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// set changes the answers from now on.
func (r *receiver) set(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// taken returns the requests since the last call.
func (r *receiver) taken() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.requests
	r.requests = nil
	return list
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}
