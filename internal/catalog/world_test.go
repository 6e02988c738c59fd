package catalog_test

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
	"parapet/internal/catalog"
	"parapet/internal/clock"
	contract "parapet/internal/contract/catalog"
	"parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/principal"
	"parapet/internal/uid"
)

// engine is the policy engine, compiled once for all tests.
var engine = sync.OnceValues(func() (*authz.Engine, error) {
	return authz.New(context.Background(), authz.Config{Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
})

// person is a member of a tenant with roles in the tenant or in organisations.
type person struct {
	id, tenant, organisation op.UUID
	clearance                string
	roles                    []string
	// organisations limits all roles to these organisations.
	organisations []op.UUID
	caveats       []string
}

// world is the module on its own database, with the tenants acme and globex.
type world struct {
	t            testing.TB
	db           *pgtest.DB
	owner        *postgres.Pool
	engine       *authz.Engine
	operations   map[string]op.Bound
	acme, globex op.UUID
	// orgA and orgB are organisations of acme.
	orgA, orgB op.UUID
	manager    *person
	people     map[op.UUID]*person
}

func newWorld(t testing.TB) *world {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	db := pgtest.New(t)
	w := &world{
		t: t, db: db, owner: db.Owner(t), engine: e, people: map[op.UUID]*person{}, operations: map[string]op.Bound{},
		acme: uid.New(), globex: uid.New(), orgA: uid.New(), orgB: uid.New(),
	}
	w.exec(`INSERT INTO identity.tenants (id, slug, name, type) VALUES ($1, 'acme', 'Acme', 'STANDARD'), ($2, 'globex', 'Globex', 'STANDARD')`, w.acme, w.globex)
	w.exec(`INSERT INTO identity.organisations (tenant_id, id, name) VALUES ($1, $2, 'Works'), ($1, $3, 'Yard')`, w.acme, w.orgA, w.orgB)
	module := executor.New(executor.Config{
		Module: contract.Module, Engine: e, Principals: w, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
		Pool: db.PoolWith(t, postgres.Config{URL: db.RoleURL(postgres.RoleCatalog), MaxConns: 4, TenantConns: 4, AcquireTimeout: time.Minute, LockTimeout: time.Minute}),
	})
	for _, b := range catalog.New(catalog.Deps{Executor: module, Directory: w}).Operations() {
		w.operations[b.Name] = b
	}
	w.manager = w.addPerson(person{roles: []string{"Project Manager"}, clearance: "SECRET"})
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

// addPerson adds a member, by default of acme and its first organisation.
func (w *world) addPerson(p person) *person {
	w.t.Helper()
	p.id = uid.New()
	if p.tenant == "" {
		p.tenant, p.organisation = w.acme, w.orgA
	}
	if p.clearance == "" {
		p.clearance = "UNCLASSIFIED"
	}
	w.exec(`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, status) VALUES ($1, $2, 'HUMAN', $3, 'P', 'ACTIVE')`,
		p.id, p.tenant, string(p.id)+"@example.com")
	w.exec(`INSERT INTO identity.memberships (tenant_id, user_id, status, clearance) VALUES ($1, $2, 'ACTIVE', $3)`, p.tenant, p.id, p.clearance)
	w.people[p.id] = &p
	return &p
}

// Refresh evaluates the principal again, as the principal check of a request does.
func (w *world) Refresh(ctx context.Context, old *principal.Principal, live principal.LiveState) (*principal.Principal, error) {
	p := w.people[old.UserID]
	in := authz.SubjectInput{
		Token:  authz.Token{Kind: authz.TokenSession, Tenant: string(p.tenant), Roles: p.roles, Clearance: p.clearance, Caveats: p.caveats, RoleScopes: map[string][]string{}},
		Tenant: string(p.tenant), TenantType: "STANDARD",
		User:   authz.User{ID: string(p.id), Kind: authz.KindHuman, Organisation: string(p.organisation)},
		Stored: authz.Stored{Clearance: p.clearance},
		Roles:  map[string][]string{},
	}
	for _, r := range w.engine.Catalogue().Roles {
		in.Roles[r.Name] = r.Grants
	}
	for _, role := range p.roles {
		if len(p.organisations) == 0 {
			in.Stored.Assignments = append(in.Stored.Assignments, authz.Assignment{Role: role, Scope: authz.ScopeTenant})
		}
		for _, id := range p.organisations {
			in.Stored.Assignments = append(in.Stored.Assignments, authz.Assignment{Role: role, Scope: authz.ScopeOrganisation, ID: string(id)})
			in.Token.RoleScopes[role] = append(in.Token.RoleScopes[role], authz.ScopeOrganisation+":"+string(id))
		}
	}
	subject, err := w.engine.Subject(ctx, in)
	if err != nil {
		return nil, err
	}
	fresh := *old
	fresh.Subject, fresh.Revision = subject, live.Revision
	return &fresh, nil
}

// Candidate implements the directory with the world's people.
func (w *world) Candidate(_ context.Context, tenant op.UUID, idOrEmail string) (identity.Candidate, error) {
	p := w.people[op.UUID(idOrEmail)]
	if p == nil || p.tenant != tenant {
		return identity.Candidate{}, nil
	}
	c := identity.Candidate{ID: p.id, TenantID: tenant, Kind: authz.KindHuman, Status: "ACTIVE", Membership: "ACTIVE", Clearance: p.clearance}
	for _, role := range p.roles {
		c.Roles = append(c.Roles, identity.CandidateRole{Name: role, Kind: "STANDARD", Scope: authz.ScopeTenant})
	}
	return c, nil
}

// OrganisationExists implements the directory.
func (w *world) OrganisationExists(_ context.Context, tenant, organisation op.UUID) (bool, error) {
	return tenant == w.acme && (organisation == w.orgA || organisation == w.orgB), nil
}

// fields is the input of an operation by JSON field name.
type fields map[string]any

// with returns a copy of the fields with more fields.
func (f fields) with(more ...fields) fields {
	all := fields{}
	for _, m := range append([]fields{f}, more...) {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// call calls an operation with input that is validated as in an HTTP request.
func (w *world) call(who *person, name string, in fields) (any, error) {
	return w.callAs(op.Request{ID: string(uid.Random())}, who, name, in)
}

func (w *world) callAs(request op.Request, who *person, name string, in fields) (any, error) {
	o, ok := w.operations[name]
	if !ok {
		return nil, fmt.Errorf("no operation %s", name)
	}
	raw := op.Raw{Query: url.Values{}}
	path, body := map[string]string{}, map[string]any{}
	for field, v := range in {
		i := slices.IndexFunc(o.Fields, func(f op.Field) bool { return f.Name == field })
		switch {
		case i >= 0 && o.Fields[i].Source == op.FromPath:
			path[field] = fmt.Sprint(v)
		case i >= 0 && o.Fields[i].Source == op.FromQuery, !o.HasBody():
			raw.Query.Set(field, fmt.Sprint(v))
		default:
			body[field] = v
		}
	}
	raw.Path = func(name string) string { return path[name] }
	if o.HasBody() {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		raw.Body = text
	}
	typed, err := o.Read(raw)
	if err != nil {
		return nil, err
	}
	ctx := op.WithRequest(context.Background(), request)
	p := &principal.Principal{UserID: who.id, Kind: authz.KindHuman, Tenant: who.tenant, TokenTenant: who.tenant, TenantType: "STANDARD", Organisation: who.organisation}
	var revision int64
	if err := w.owner.QueryRow(ctx, `SELECT grants_revision FROM identity.tenants WHERE id = $1`, who.tenant).Scan(&revision); err != nil {
		return nil, err
	}
	if p, err = w.Refresh(ctx, p, principal.LiveState{Revision: revision}); err != nil {
		return nil, err
	}
	return o.Call(principal.NewContext(ctx, p), typed)
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

// wantRecorded reports an error unless there is one audit entry with the action and one event
// of the type about the record.
func (w *world) wantRecorded(action string, event *op.EventType, id op.UUID) {
	w.t.Helper()
	entries := w.count(`SELECT count(*) FROM audit.entries WHERE action = $1 AND resource_id = $2`, action, string(id))
	events := w.count(`SELECT count(*) FROM events.outbox WHERE type = $1 AND aggregate_id = $2`, event.Name, string(id))
	if entries != 1 || events != 1 {
		w.t.Errorf("got %d audit entries %s and %d events %s, want 1 and 1", entries, action, events, event)
	}
}
