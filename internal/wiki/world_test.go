package wiki_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/clock"
	contract "parapet/internal/contract/wiki"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/principal"
	"parapet/internal/uid"
	"parapet/internal/wiki"
)

// engine is the policy engine, compiled once for all tests.
var engine = sync.OnceValues(func() (*authz.Engine, error) {
	return authz.New(context.Background(), authz.Config{Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
})

// person is a member of a tenant with roles in the scope of the tenant.
type person struct {
	id, tenant op.UUID
	clearance  string
	roles      []string
	caveats    []string
}

// world is the module on its own database, with the tenants acme and globex.
type world struct {
	t            testing.TB
	db           *pgtest.DB
	owner        *postgres.Pool
	engine       *authz.Engine
	operations   map[string]op.Bound
	acme, globex op.UUID
	// writer may write pages of every tier.
	writer *person

	mu     sync.Mutex
	people map[op.UUID]*person
}

func newWorld(t testing.TB) *world {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	db := pgtest.New(t)
	w := &world{t: t, db: db, owner: db.Owner(t), engine: e, people: map[op.UUID]*person{}, operations: map[string]op.Bound{}, acme: uid.New(), globex: uid.New()}
	w.exec(`INSERT INTO identity.tenants (id, slug, name, type) VALUES ($1, 'acme', 'Acme', 'STANDARD'), ($2, 'globex', 'Globex', 'STANDARD')`, w.acme, w.globex)
	m := executor.New(executor.Config{
		Module: contract.Module, Engine: e, Principals: w, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
		Pool: db.PoolWith(t, postgres.Config{URL: db.RoleURL(postgres.RoleWiki), MaxConns: 8, TenantConns: 8, AcquireTimeout: time.Minute, LockTimeout: time.Minute}),
	})
	for _, b := range wiki.New(m).Operations {
		w.operations[b.Name] = b
	}
	w.writer = w.addPerson(person{roles: []string{"Project Manager"}, clearance: "SECRET"})
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.owner.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

func (w *world) count(sql string, args ...any) int {
	w.t.Helper()
	var n int
	if err := w.owner.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// addPerson adds a member, by default of acme.
func (w *world) addPerson(p person) *person {
	w.t.Helper()
	p.id = uid.New()
	if p.tenant == "" {
		p.tenant = w.acme
	}
	if p.clearance == "" {
		p.clearance = "UNCLASSIFIED"
	}
	w.exec(`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, status) VALUES ($1, $2, 'HUMAN', $3, 'P', 'ACTIVE')`,
		p.id, p.tenant, string(p.id)+"@example.com")
	w.exec(`INSERT INTO identity.memberships (tenant_id, user_id, status, clearance) VALUES ($1, $2, 'ACTIVE', $3)`, p.tenant, p.id, p.clearance)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.people[p.id] = &p
	return &p
}

// Refresh evaluates the principal again, as the principal check of a request does.
func (w *world) Refresh(ctx context.Context, old *principal.Principal, live principal.LiveState) (*principal.Principal, error) {
	w.mu.Lock()
	p := w.people[old.UserID]
	w.mu.Unlock()
	in := authz.SubjectInput{
		Token:  authz.Token{Kind: authz.TokenSession, Tenant: string(p.tenant), Roles: p.roles, Clearance: p.clearance, Caveats: p.caveats, RoleScopes: map[string][]string{}},
		Tenant: string(p.tenant), TenantType: "STANDARD",
		User:   authz.User{ID: string(p.id), Kind: authz.KindHuman},
		Stored: authz.Stored{Clearance: p.clearance},
		Roles:  map[string][]string{},
	}
	for _, role := range p.roles {
		in.Stored.Assignments = append(in.Stored.Assignments, authz.Assignment{Role: role, Scope: authz.ScopeTenant})
	}
	for _, r := range w.engine.Catalogue().Roles {
		in.Roles[r.Name] = r.Grants
	}
	subject, err := w.engine.Subject(ctx, in)
	if err != nil {
		return nil, err
	}
	fresh := *old
	fresh.Subject, fresh.Revision = subject, live.Revision
	return &fresh, nil
}

// fields is the input of an operation by JSON field name.
type fields map[string]any

// call calls an operation with input that is validated as in an HTTP request.
func (w *world) call(who *person, name string, in fields, more ...func(*op.Request)) (any, error) {
	o, ok := w.operations[name]
	if !ok {
		return nil, fmt.Errorf("no operation %s", name)
	}
	raw := op.Raw{Query: url.Values{}, Path: func(name string) string { return fmt.Sprint(in[name]) }}
	body := map[string]any{}
	for field, v := range in {
		i := slices.IndexFunc(o.Fields, func(f op.Field) bool { return f.Name == field })
		switch {
		case i >= 0 && o.Fields[i].Source == op.FromPath:
		case i >= 0 && o.Fields[i].Source == op.FromQuery, !o.HasBody():
			raw.Query.Set(field, fmt.Sprint(v))
		default:
			body[field] = v
		}
	}
	var err error
	if o.HasBody() {
		if raw.Body, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	typed, err := o.Read(raw)
	if err != nil {
		return nil, err
	}
	request := op.Request{ID: string(uid.Random())}
	for _, f := range more {
		f(&request)
	}
	p := &principal.Principal{UserID: who.id, Kind: authz.KindHuman, Tenant: who.tenant, TokenTenant: who.tenant, TenantType: "STANDARD"}
	var revision int64
	if err := w.owner.QueryRow(context.Background(), `SELECT grants_revision FROM identity.tenants WHERE id = $1`, who.tenant).Scan(&revision); err != nil {
		return nil, err
	}
	if p, err = w.Refresh(context.Background(), p, principal.LiveState{Revision: revision}); err != nil {
		return nil, err
	}
	return o.Call(principal.NewContext(op.WithRequest(context.Background(), request), p), typed)
}

// withKey gives a request an idempotency key.
func withKey(key string) func(*op.Request) {
	return func(r *op.Request) { r.IdempotencyKey = key }
}

// do calls an operation that must succeed and returns its output.
func do[Out any](w *world, who *person, name string, in fields) *Out {
	w.t.Helper()
	out, err := w.call(who, name, in)
	if err != nil {
		w.t.Fatalf("%s %.300s: %v", name, fmt.Sprint(in), err)
	}
	typed, ok := out.(*Out)
	if !ok {
		w.t.Fatalf("%s: got output of type %T", name, out)
	}
	return typed
}

// wantError calls an operation that must return an error with this code, and returns the
// error.
func (w *world) wantError(code fault.Code, who *person, name string, in fields) *fault.Error {
	w.t.Helper()
	_, err := w.call(who, name, in)
	if !fault.HasCode(err, code) {
		w.t.Errorf("%s %.300s: got %v, want %s", name, fmt.Sprint(in), err, code)
		return &fault.Error{}
	}
	return fault.From(err)
}

// put writes a page and returns the result.
func (w *world) put(path, markdown string, more ...fields) *contract.PutPageOut {
	w.t.Helper()
	in := fields{"path": path, "markdown": markdown}
	for _, m := range more {
		for k, v := range m {
			in[k] = v
		}
	}
	return do[contract.PutPageOut](w, w.writer, "put-page", in)
}

// wantRecords compares the number of audit entries and of events about a page.
func (w *world) wantRecords(times int, action string, event *op.EventType, id op.UUID) {
	w.t.Helper()
	entries := w.count(`SELECT count(*) FROM audit.entries WHERE action = $1 AND resource_id = $2`, action, string(id))
	events := w.count(`SELECT count(*) FROM events.outbox WHERE type = $1 AND aggregate_id = $2`, event.Name, string(id))
	if entries != times || events != times {
		w.t.Errorf("%s: got %d audit entries and %d events, want %d of each", action, entries, events, times)
	}
}
