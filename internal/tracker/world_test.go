package tracker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/contract/identity"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/delegation"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/principal"
	"parapet/internal/tracker"
	"parapet/internal/uid"
)

// engine is the policy engine, compiled once for all tests.
var engine = sync.OnceValues(func() (*authz.Engine, error) {
	return authz.New(context.Background(), authz.Config{Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
})

// person is a member of a tenant with roles, tenant-wide or in projects.
type person struct {
	id, tenant, organisation op.UUID
	clearance                string
	roles                    []string
	// kind defaults to HUMAN. The email of an agent is agent+<id>@example.com.
	kind string
	// projects limits all roles to these projects.
	projects []op.UUID
	// organisations limits all roles to these organisations.
	organisations []op.UUID
	caveats       []string
	// key makes the person use an API key with these roles.
	key bool
}

// world is the module on its own database, with the tenants acme and globex.
type world struct {
	t            testing.TB
	db           *pgtest.DB
	owner        *postgres.Pool
	engine       *authz.Engine
	service      *tracker.Service
	operations   map[string]op.Bound
	acme, globex op.UUID
	// orgA and orgB are organisations of acme, orgG one of globex.
	orgA, orgB, orgG op.UUID
	manager          *person

	mu     sync.Mutex
	people map[op.UUID]*person
	// principals caches each person's principal, unless it is nil.
	principals map[op.UUID]*principal.Principal
	// roles are the roles added with addRole, in addition to those of the policies.
	roles map[string][]string
	// deps are the module's dependencies; rebindOperations creates the module again.
	deps tracker.Deps
	// fixedTime is the time of the world's clock; zero means the system time.
	fixedTime time.Time
}

// addRole adds a role to every tenant. Call it before the first person is created.
func (w *world) addRole(name string, grants ...string) {
	if w.roles == nil {
		w.roles = map[string][]string{}
	}
	w.roles[name] = grants
}

// Now implements clock.Clock: the system time, or the time set with setTime.
func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fixedTime.IsZero() {
		return clock.System{}.Now()
	}
	return w.fixedTime
}

// setTime sets the world's clock.
func (w *world) setTime(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fixedTime = now.UTC().Truncate(time.Microsecond)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOf(t, 4)
}

func newWorldOf(t testing.TB, conns int32) *world {
	t.Helper()
	return newWorldIn(t, pgtest.New(t), conns)
}

// newWorldIn returns a world in an existing database.
func newWorldIn(t testing.TB, db *pgtest.DB, conns int32) *world {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: db, owner: db.Owner(t), engine: e, people: map[op.UUID]*person{}, operations: map[string]op.Bound{},
		acme: uid.New(), globex: uid.New(), orgA: uid.New(), orgB: uid.New(), orgG: uid.New()}
	w.exec(`INSERT INTO identity.tenants (id, slug, name, type) VALUES ($1, 'acme', 'Acme', 'STANDARD'), ($2, 'globex', 'Globex', 'STANDARD')`, w.acme, w.globex)
	w.exec(`INSERT INTO identity.organisations (tenant_id, id, name) VALUES ($1, $2, 'Works'), ($1, $3, 'Yard'), ($4, $5, 'Labs')`, w.acme, w.orgA, w.orgB, w.globex, w.orgG)
	module := executor.New(executor.Config{
		Module: contract.Module, Engine: e, Delegations: delegation.ActiveReader{}, Principals: w, Clock: w, Log: slog.New(slog.DiscardHandler),
		Pool: db.PoolWith(t, postgres.Config{URL: db.RoleURL(postgres.RoleTracker), MaxConns: conns, TenantConns: int(conns), AcquireTimeout: time.Minute, LockTimeout: time.Minute}),
	})
	w.deps = tracker.Deps{Executor: module, Directory: w, Jobs: db.Pool(t, postgres.RoleJobs)}
	w.rebindOperations()
	w.manager = w.addPerson(person{roles: []string{"Project Manager"}, clearance: "SECRET"})
	return w
}

// rebindOperations creates the module from w.deps and binds its operations.
func (w *world) rebindOperations() {
	w.service = tracker.New(w.deps)
	for _, b := range w.service.Operations() {
		w.operations[b.Name] = b
	}
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
		p.tenant = w.acme
	}
	if p.organisation == "" && p.tenant == w.acme {
		p.organisation = w.orgA
	}
	if p.clearance == "" {
		p.clearance = "UNCLASSIFIED"
	}
	if p.kind == "" {
		p.kind = authz.KindHuman
	}
	w.exec(`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, status) VALUES ($1, $2, $3, $4, 'P', 'ACTIVE')`,
		p.id, p.tenant, p.kind, p.email())
	w.exec(`INSERT INTO identity.memberships (tenant_id, user_id, status, clearance) VALUES ($1, $2, 'ACTIVE', $3)`, p.tenant, p.id, p.clearance)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.people[p.id] = &p
	return &p
}

func (p *person) email() string {
	if p.kind == authz.KindAgent {
		return "agent+" + string(p.id) + "@example.com"
	}
	return string(p.id) + "@example.com"
}

// grants returns the permissions of each role, the same in every tenant.
func (w *world) grants() map[string][]string {
	grants := map[string][]string{"Own Reader": {"tasks.read", "projects.read", "task.update.own", "project.update.own"}, "Initiative Reader": {"initiatives.read"}, "Stage Watcher": {"stages.read"}}
	maps.Copy(grants, w.roles)
	for _, r := range w.engine.Catalogue().Roles {
		grants[r.Name] = r.Grants
	}
	return grants
}

// assignments returns the person's roles with their scopes.
func (p *person) assignments() []authz.Assignment {
	var assignments []authz.Assignment
	for _, role := range p.roles {
		if len(p.projects)+len(p.organisations) == 0 {
			assignments = append(assignments, authz.Assignment{Role: role, Scope: authz.ScopeTenant})
		}
		for _, id := range p.projects {
			assignments = append(assignments, authz.Assignment{Role: role, Scope: authz.ScopeProject, ID: string(id)})
		}
		for _, id := range p.organisations {
			assignments = append(assignments, authz.Assignment{Role: role, Scope: authz.ScopeOrganisation, ID: string(id)})
		}
	}
	return assignments
}

// Refresh evaluates the principal again, as the principal check of a request does.
func (w *world) Refresh(ctx context.Context, old *principal.Principal, live principal.LiveState) (*principal.Principal, error) {
	w.mu.Lock()
	p := w.people[old.UserID]
	w.mu.Unlock()
	in := authz.SubjectInput{
		Token:  authz.Token{Kind: authz.TokenSession, Tenant: string(p.tenant), Roles: p.roles, Clearance: p.clearance, Caveats: p.caveats, RoleScopes: map[string][]string{}},
		Tenant: string(p.tenant), TenantType: "STANDARD",
		User:   authz.User{ID: string(p.id), Kind: p.kind, Organisation: string(p.organisation)},
		Stored: authz.Stored{Clearance: p.clearance, Assignments: p.assignments()},
		Roles:  w.grants(),
	}
	for _, a := range in.Stored.Assignments {
		if a.Scope != authz.ScopeTenant {
			in.Token.RoleScopes[a.Role] = append(in.Token.RoleScopes[a.Role], a.Scope+":"+a.ID)
		}
	}
	if p.key {
		in.Token.Kind = authz.TokenAPIKey
	}
	for _, d := range live.Delegations.Active {
		delegator, err := w.Candidate(ctx, p.tenant, string(d.Delegator))
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
		assignments := w.people[d.Delegator].assignments()
		w.mu.Unlock()
		in.Delegations = append(in.Delegations, authz.Delegation{
			ID: string(d.ID), Scope: d.Scope, Projects: d.Projects, Initiatives: d.Initiatives, Permissions: d.Permissions,
			Delegator: authz.Delegator{ID: string(delegator.ID), Kind: delegator.Kind, Status: delegator.Status, Membership: delegator.Membership, Clearance: delegator.Clearance, Assignments: assignments},
		})
	}
	subject, err := w.engine.Subject(ctx, in)
	if err != nil {
		return nil, err
	}
	fresh := *old
	fresh.Subject, fresh.Revision, fresh.DelegationFingerprint = subject, live.Revision, live.Delegations.Fingerprint
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.principals != nil {
		w.principals[old.UserID] = &fresh
	}
	return &fresh, nil
}

// Candidate implements the directory with the database rows and the roles of the
// world's people. Agents are allowed in every tenant.
func (w *world) Candidate(ctx context.Context, tenant op.UUID, idOrEmail string) (identity.Candidate, error) {
	var c identity.Candidate
	err := w.owner.QueryRow(ctx, `
SELECT u.id, m.tenant_id, u.principal_kind, u.status, m.status, coalesce(m.clearance, '')
FROM identity.memberships m JOIN identity.users u ON u.id = m.user_id
WHERE m.tenant_id = $1 AND $2 IN (u.id::text, u.email)`, tenant, idOrEmail).Scan(&c.ID, &c.TenantID, &c.Kind, &c.Status, &c.Membership, &c.Clearance)
	if postgres.IsNoRows(err) {
		return identity.Candidate{}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.people[c.ID]; p != nil {
		for _, a := range p.assignments() {
			c.Roles = append(c.Roles, identity.CandidateRole{Name: a.Role, Kind: "STANDARD", Scope: a.Scope, ScopeID: a.ID, Grants: w.grants()[a.Role]})
		}
	}
	c.AgentsAllowed = true
	return c, err
}

// OrganisationExists implements the directory with the database rows.
func (w *world) OrganisationExists(ctx context.Context, tenant, organisation op.UUID) (bool, error) {
	var n int
	err := w.owner.QueryRow(ctx, `SELECT count(*) FROM identity.organisations WHERE tenant_id = $1 AND id = $2`, tenant, organisation).Scan(&n)
	return n == 1, err
}

// fields is the input of an operation by JSON field name.
type fields map[string]any

// call calls an operation with input that is validated as in an HTTP request.
func (w *world) call(who *person, name string, in fields) (any, error) {
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
	return o.Call(w.requestContext(who), typed)
}

// requestContext returns the context of a request by the person.
func (w *world) requestContext(who *person) context.Context {
	ctx := op.WithRequest(context.Background(), op.Request{ID: string(uid.Random())})
	w.mu.Lock()
	cached := w.principals[who.id]
	w.mu.Unlock()
	if cached != nil {
		return principal.NewContext(ctx, cached)
	}
	p := &principal.Principal{UserID: who.id, Kind: who.kind, Tenant: who.tenant, TokenTenant: who.tenant, TenantType: "STANDARD", Organisation: who.organisation}
	var revision int64
	err := w.owner.QueryRow(ctx, `SELECT grants_revision FROM identity.tenants WHERE id = $1`, who.tenant).Scan(&revision)
	if err == nil {
		p, err = w.Refresh(ctx, p, principal.LiveState{Revision: revision})
	}
	if err != nil {
		w.t.Error(err)
		return ctx
	}
	return principal.NewContext(ctx, p)
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
		w.t.Errorf("%s %v: got %v, want %s", name, in, err, code)
		return &fault.Error{}
	}
	return fault.From(err)
}

func (w *world) createProject(name string, more ...fields) *contract.Project {
	w.t.Helper()
	return do[contract.Project](w, w.manager, "create-project", merge(fields{"name": name, "startDate": "2027-01-04"}, more...))
}

func (w *world) createTask(p *contract.Project, title string, more ...fields) *contract.Task {
	w.t.Helper()
	// Many tests use similar titles, so the duplicate check is skipped.
	return do[contract.Task](w, w.manager, "create-task", merge(fields{"projectId": p.ID, "title": title, "allowDuplicate": true}, more...))
}

func merge(in fields, more ...fields) fields {
	for _, m := range more {
		for k, v := range m {
			in[k] = v
		}
	}
	return in
}

// countAuditAndEvents returns the number of audit entries and of events of one type about a
// resource.
func (w *world) countAuditAndEvents(action string, event *op.EventType, id op.UUID) (int, int) {
	w.t.Helper()
	return w.count(`SELECT count(*) FROM audit.entries WHERE action = $1 AND resource_id = $2`, action, string(id)),
		w.count(`SELECT count(*) FROM events.outbox WHERE type = $1 AND aggregate_id = $2`, event.Name, string(id))
}

func (w *world) wantAuditAndEvents(times int, action string, event *op.EventType, id op.UUID) {
	w.t.Helper()
	if entries, events := w.countAuditAndEvents(action, event, id); entries != times || events != times {
		w.t.Errorf("%s: got %d audit entries and %d events, want %d of each", action, entries, events, times)
	}
}

func keys(tasks []contract.TaskSummary) string {
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.Key
	}
	return strings.Join(names, " ")
}
