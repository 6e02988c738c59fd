package executor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/principal"
	"parapet/internal/uid"
)

type thingIn struct {
	Name string `json:"name" required:"true" doc:"A name."`
}

type thingOut struct {
	Name string `json:"name" doc:"A name."`
	Run  int64  `json:"run" doc:"The number of the handler's run that created the response."`
}

// Events of the test module.
var (
	testModule   = op.NewModule("test")
	thingChanged = op.DeclareEvent[thingIn](testModule, "projects.thing.changed", "A thing changed.")
	thingLapsed  = op.DeclareEvent[thingIn](testModule, "projects.thing.lapsed", "A thing lapsed.")
)

func changeRecord() op.Op[thingIn, thingOut] {
	return op.New[thingIn, thingOut](op.Spec{Name: "change-thing", Module: "tracker", Method: "POST", Path: "/api/things", Permission: "task.update", Effect: op.Write, Summary: "Changes a thing."})
}

func readRecord() op.Op[struct{}, thingOut] {
	return op.New[struct{}, thingOut](op.Spec{Name: "read-thing", Module: "tracker", Method: "GET", Path: "/api/things", Permission: "tasks.read", Effect: op.Read, Summary: "Reads a thing."})
}

// fixture is a tenant with one user in its own database.
type fixture struct {
	t            *testing.T
	db           *pgtest.DB
	owner        *postgres.Pool
	engine       *authz.Engine
	module       *executor.Module
	tenant, user op.UUID
	permissions  []string
	caveats      []string
	// kind and roles are the token's. The default is a session with the role Crew.
	kind      string
	roles     []string
	pool      *postgres.Pool
	clearance string
	refreshed atomic.Int64
	runs      atomic.Int64
	decisions *decisionRecorder
}

// decisionRecorder stores the records of the decision log.
type decisionRecorder struct {
	mu      sync.Mutex
	records []authz.DecisionRecord
}

func (d *decisionRecorder) Record(r authz.DecisionRecord) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records = append(d.records, r)
}

func (d *decisionRecorder) last() authz.DecisionRecord {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.records) == 0 {
		return authz.DecisionRecord{}
	}
	return d.records[len(d.records)-1]
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db := pgtest.New(t)
	recorder := &decisionRecorder{}
	engine, err := authz.New(t.Context(), authz.Config{Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler), Sink: recorder})
	if err != nil {
		t.Fatal(err)
	}
	h := &fixture{t: t, db: db, owner: db.Owner(t), engine: engine, decisions: recorder, tenant: uid.New(), user: uid.New(), clearance: "INTERNAL", permissions: []string{"task.update", "tasks.read"}}
	h.exec(`INSERT INTO identity.tenants (id, slug, name, type) VALUES ($1, 'acme', 'Acme', 'STANDARD')`, h.tenant)
	h.exec(`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, status) VALUES ($1, $2, 'HUMAN', 'a@acme.example', 'A', 'ACTIVE')`, h.user, h.tenant)
	h.exec(`INSERT INTO identity.memberships (tenant_id, user_id, status, clearance) VALUES ($1, $2, 'ACTIVE', 'INTERNAL')`, h.tenant, h.user)
	h.pool = db.Pool(t, postgres.RoleTracker)
	h.module = executor.New(executor.Config{
		Module: "tracker", Pool: h.pool, Engine: engine, Principals: h,
		Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
	})
	return h
}

func (h *fixture) exec(sql string, args ...any) {
	h.t.Helper()
	if _, err := h.owner.Exec(h.t.Context(), sql, args...); err != nil {
		h.t.Fatalf("%s: %v", sql, err)
	}
}

func (h *fixture) count(sql string) int {
	h.t.Helper()
	var n int
	if err := h.owner.QueryRow(h.t.Context(), sql).Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

// Refresh rebuilds the principal with the fixture's current permissions.
func (h *fixture) Refresh(ctx context.Context, p *principal.Principal, live principal.LiveState) (*principal.Principal, error) {
	h.refreshed.Add(1)
	subject, err := h.engine.Subject(ctx, authz.SubjectInput{
		Token:  authz.Token{Kind: cmp.Or(h.kind, authz.TokenSession), Tenant: string(h.tenant), Roles: append([]string{"Crew"}, h.roles...), Clearance: h.clearance, Caveats: h.caveats},
		Tenant: string(h.tenant), TenantType: "STANDARD",
		User:   authz.User{ID: string(h.user), Kind: authz.KindHuman},
		Stored: authz.Stored{Clearance: "INTERNAL", Assignments: []authz.Assignment{{Role: "Crew", Scope: authz.ScopeTenant}}},
		Roles:  map[string][]string{"Crew": h.permissions},
	})
	if err != nil {
		return nil, err
	}
	fresh := *p
	fresh.Subject, fresh.Revision = subject, live.Revision
	return &fresh, nil
}

// callerContext returns the context of a request of the user, with its current permissions.
func (h *fixture) callerContext(key string) context.Context {
	h.t.Helper()
	var revision int64
	if err := h.owner.QueryRow(h.t.Context(), `SELECT grants_revision FROM identity.tenants WHERE id = $1`, h.tenant).Scan(&revision); err != nil {
		h.t.Fatal(err)
	}
	p, err := h.Refresh(h.t.Context(), &principal.Principal{UserID: h.user, Tenant: h.tenant, TokenTenant: h.tenant, Kind: authz.KindHuman}, principal.LiveState{Revision: revision})
	if err != nil {
		h.t.Fatal(err)
	}
	h.refreshed.Store(0)
	ctx := op.WithRequest(h.t.Context(), op.Request{ID: string(uid.Random()), IdempotencyKey: key})
	return principal.NewContext(ctx, p)
}

func (h *fixture) resource(in *thingIn) authz.Resource {
	r := authz.Resource{Type: "thing", Tenant: string(h.tenant), Classification: "UNCLASSIFIED"}
	switch in.Name {
	case "foreign":
		r.Tenant = string(uid.New())
	case "secret":
		r.Classification = "SECRET"
	}
	return r
}

func (h *fixture) changeOperation() op.Bound {
	return executor.Handle(h.module, changeRecord(), func(_ context.Context, _ *executor.Call, in *thingIn) (string, authz.Resource, error) {
		return in.Name, h.resource(in), nil
	}, func(_ context.Context, c *executor.Call, in *thingIn, name string) (*thingOut, error) {
		run := h.runs.Add(1)
		c.Record(executor.Change{
			Action: "thing.changed", Type: "thing", ID: op.UUID(name), Critical: in.Name == "critical",
			Event: thingChanged, EventAbout: h.user, Payload: in,
		})
		if in.Name == "fails" {
			return nil, fault.Conflict("It fails after it has written.")
		}
		return &thingOut{name, run}, nil
	})
}

func (h *fixture) listOperation() op.Bound {
	return executor.List(h.module, readRecord(), authz.NewColumns(map[string]authz.Column{"resource.tenant": authz.UUID("t.tenant_id"), "resource.classification": authz.Literal("UNCLASSIFIED")}),
		func(context.Context, *executor.Call, *struct{}, authz.Filter) (*thingOut, error) {
			// The handler runs no statement; the executor must check the tenant anyway.
			return &thingOut{Name: "read"}, nil
		})
}

const (
	entriesSQL = `SELECT count(*) FROM audit.entries`
	eventsSQL  = `SELECT count(*) FROM events.outbox`
)

func TestExecutor_CommitsChangeWithAuditEntryAndEvent(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.changeOperation()
	if _, err := b.Call(h.callerContext(""), &thingIn{"plain"}); err != nil {
		t.Fatal(err)
	}
	if n, m := h.count(entriesSQL), h.count(eventsSQL); n != 1 || m != 1 {
		t.Fatalf("got %d audit entries and %d events, want one of each", n, m)
	}
	if _, err := b.Call(h.callerContext(""), &thingIn{"critical"}); err != nil {
		t.Fatal(err)
	}
	if n := h.count(`SELECT count(*) FROM events.outbox WHERE type = 'audit.entry.created'`); n != 1 {
		t.Fatalf("got %d audit.entry.created events, want one, for the critical entry", n)
	}
	if _, err := b.Call(h.callerContext(""), &thingIn{"fails"}); !fault.HasCode(err, fault.CodeConflict) {
		t.Fatalf("change that fails: got %v, want CONFLICT", err)
	}
	if n, m := h.count(entriesSQL), h.count(eventsSQL); n != 2 || m != 3 {
		t.Fatalf("failed change: got %d audit entries and %d events, want none", n-2, m-3)
	}
	if n := h.count(fmt.Sprintf(`SELECT count(*) FROM audit.entries WHERE actor_id = '%s' AND tenant_id = '%s' AND module = 'tracker'`, h.user, h.tenant)); n != 2 {
		t.Fatal("audit entries: want actor, tenant and module to be set")
	}
}

func TestExecutor_DeniedCallDoesNotRunHandler(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, c := range []struct {
		name string
		code fault.Code
	}{{"foreign", fault.CodeNotFound}, {"secret", fault.CodeNotFound}} {
		if _, err := h.changeOperation().Call(h.callerContext(""), &thingIn{c.name}); !fault.HasCode(err, c.code) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.code)
		}
	}
	h.permissions = []string{"tasks.read"}
	_, err := h.changeOperation().Call(h.callerContext(""), &thingIn{"plain"})
	if f := fault.From(err); f.Code != fault.CodeForbidden || f.Permission != "task.update" {
		t.Errorf("without the permission: got %v, want FORBIDDEN that names task.update", err)
	}
	if _, err := h.changeOperation().Call(op.WithRequest(t.Context(), op.Request{}), &thingIn{"plain"}); !fault.HasCode(err, fault.CodeUnauthorized) {
		t.Errorf("no credential: got %v, want UNAUTHORIZED", err)
	}
	if h.runs.Load() != 0 || h.count(entriesSQL) != 0 {
		t.Error("denied calls: want no run of the handler and no audit entry")
	}
}

func TestExecutor_WhenMembershipOrTenantIsInactive_ReturnsGenericForbidden(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, c := range []struct{ note, deactivate, reactivate string }{
		{"membership suspended", `UPDATE identity.memberships SET status = 'SUSPENDED'`, `UPDATE identity.memberships SET status = 'ACTIVE'`},
		{"tenant disabled", `UPDATE identity.tenants SET disabled_at = now()`, `UPDATE identity.tenants SET disabled_at = NULL`},
	} {
		ctx := h.callerContext("")
		h.exec(c.deactivate)
		for _, call := range []func() error{
			func() error { _, err := h.listOperation().Call(ctx, &struct{}{}); return err },
			func() error { _, err := h.changeOperation().Call(ctx, &thingIn{"plain"}); return err },
		} {
			f := fault.From(call())
			if f == nil || f.Code != fault.CodeForbidden || f.Permission != "" || f.Message != fault.ForbiddenTenant().Message {
				t.Errorf("%s: got %v, want the generic FORBIDDEN", c.note, f)
			}
		}
		h.exec(c.reactivate)
		if _, err := h.listOperation().Call(h.callerContext(""), &struct{}{}); err != nil {
			t.Errorf("%s, then active again: got %v, want no error", c.note, err)
		}
	}
}

func TestExecutor_AppliesChangedGrantsImmediately(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	before := h.callerContext("")
	h.permissions = nil
	h.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1`)
	for _, call := range []func() error{
		func() error { _, err := h.listOperation().Call(before, &struct{}{}); return err },
		func() error { _, err := h.changeOperation().Call(before, &thingIn{"plain"}); return err },
	} {
		if err := call(); !fault.HasCode(err, fault.CodeForbidden) {
			t.Errorf("revoked permission: got %v, want FORBIDDEN", err)
		}
	}
	lacking := h.callerContext("")
	h.permissions = []string{"tasks.read", "task.update"}
	h.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1`)
	if _, err := h.listOperation().Call(lacking, &struct{}{}); err != nil {
		t.Errorf("list with a new permission: got %v, want no error", err)
	}
	if _, err := h.changeOperation().Call(lacking, &thingIn{"plain"}); err != nil {
		t.Errorf("change with a new permission: got %v, want no error", err)
	}
	if h.refreshed.Load() == 0 {
		t.Error("call after a change of the grants: got no refresh of the principal, want one")
	}
}

func TestExecutor_RetriesAfterDeadlock(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var tries atomic.Int64
	b := executor.Handle(h.module, changeRecord(), func(_ context.Context, _ *executor.Call, in *thingIn) (string, authz.Resource, error) {
		return in.Name, h.resource(in), nil
	}, func(ctx context.Context, c *executor.Call, in *thingIn, name string) (*thingOut, error) {
		c.Record(executor.Change{Action: "thing.changed", Type: "thing", ID: op.UUID(name)})
		if tries.Add(1) < 3 {
			_, err := c.DB.Exec(ctx, `DO $$ BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END $$`)
			return nil, postgres.MapError(err)
		}
		return &thingOut{Name: name}, nil
	})
	if _, err := b.Call(h.callerContext(""), &thingIn{"plain"}); err != nil || tries.Load() != 3 || h.count(entriesSQL) != 1 {
		t.Fatalf("got %v after %d tries with %d audit entries, want success after 3 tries with 1", err, tries.Load(), h.count(entriesSQL))
	}
}

func TestAuthenticated_ChecksCaveats(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	show := executor.Authenticated(h.module, op.New[struct{}, thingOut](op.Spec{Name: "show-self", Module: "tracker", Method: "GET", Path: "/api/self", Access: op.Authenticated, Effect: op.Read, Summary: "Shows."}),
		func(context.Context, *executor.Call, *struct{}) (*thingOut, error) { return &thingOut{}, nil })
	alter := executor.Authenticated(h.module, op.New[struct{}, thingOut](op.Spec{Name: "alter-self", Module: "tracker", Method: "POST", Path: "/api/self", Access: op.Authenticated, Effect: op.Write, Summary: "Alters."}),
		func(context.Context, *executor.Call, *struct{}) (*thingOut, error) { return &thingOut{}, nil })
	for _, c := range []struct {
		caveats     []string
		show, alter bool
	}{
		{nil, true, true},
		{[]string{"read-only"}, true, false},
		{[]string{"module:tracker"}, true, true},
		{[]string{"module:identity"}, false, false},
		{[]string{"project:" + string(uid.New())}, true, false},
		{[]string{"unknown-caveat"}, false, false},
		{[]string{"read-only", "unknown-caveat"}, false, false},
	} {
		h.caveats = c.caveats
		for note, want := range map[string]bool{"show": c.show, "alter": c.alter} {
			b := show
			if note == "alter" {
				b = alter
			}
			_, err := b.Call(h.callerContext(""), &struct{}{})
			if (err == nil) != want || (err != nil && !fault.HasCode(err, fault.CodeForbidden)) {
				t.Errorf("%s with caveats %v: got %v, want allowed = %t", note, c.caveats, err, want)
			}
		}
	}
}

func TestBind_PanicsWhenAccessDiffersFromDeclaration(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for note, bind := range map[string]func(){
		"Authenticated": func() {
			executor.Authenticated(h.module, readRecord(), func(context.Context, *executor.Call, *struct{}) (*thingOut, error) { return nil, errors.New("x") })
		},
		"Public": func() {
			executor.Public(h.module, readRecord(), func(context.Context, *struct{}) (*thingOut, error) { return nil, errors.New("x") })
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: bound a Permitted operation, want a panic", note)
				}
			}()
			bind()
		}()
	}
}
