package executor_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// batchRecorder records the SQL of each batch, the only way in which a pool sends
// statements.
type batchRecorder struct {
	mu   sync.Mutex
	sent []string
}

func (b *batchRecorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	b.add(d.SQL)
	return ctx
}
func (b *batchRecorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (b *batchRecorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (b *batchRecorder) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	b.add(d.SQL)
}
func (b *batchRecorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (b *batchRecorder) add(sql string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, sql)
}

// queries returns how many of the statements read from the table.
func (b *batchRecorder) queries(table string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, sql := range b.sent {
		if strings.Contains(sql, table) {
			n++
		}
	}
	return n
}

type boatIn struct {
	ProjectID op.UUID `json:"projectId" doc:"The project."`
}

type boat struct {
	ProjectID op.UUID       `json:"projectId" doc:"The project."`
	Project   *op.Reference `json:"project,omitempty" doc:"The project's name."`
}

// namesFixture is a fixture whose module knows the names of projects and records its
// statements.
type namesFixture struct {
	*fixture
	sent *batchRecorder
}

func newNamesFixture(t *testing.T) *namesFixture {
	t.Helper()
	h := &namesFixture{newFixture(t), &batchRecorder{}}
	h.permissions = append(h.permissions, "projects.read")
	pool := h.db.PoolWith(t, postgres.Config{URL: h.db.RoleURL(postgres.RoleTracker), MaxConns: 4, Tracer: h.sent})
	h.module = executor.New(executor.Config{
		Module: "tracker", Pool: pool, Engine: h.engine, Principals: h, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
		Names: []executor.Names{{Pool: pool, Records: []executor.NamedRecords{{
			Kind: op.KindProject, Permission: "projects.read", ID: "p.id", Key: "p.prefix", Name: "p.name", From: `projects.projects p WHERE p.tenant_id = $1`,
			Columns:      authz.NewColumns(map[string]authz.Column{"resource.tenant": authz.UUID("p.tenant_id"), "resource.project": authz.UUID("p.id"), "resource.classification": authz.Text("p.classification")}),
			Match:        `p.prefix = upper($2) OR p.sort_name = lower($2)`,
			PartialMatch: `position(lower($2) IN p.sort_name) > 0`,
		}}}},
	})
	return h
}

func (h *namesFixture) addProject(prefix, name, classification string) op.UUID {
	id := uid.New()
	h.exec(`INSERT INTO projects.projects (tenant_id, id, name, start_date, prefix, classification, created_by, created_at, updated_at)
VALUES ($1, $2, $3, '2027-01-04', $4, $5, $6, now(), now())`, h.tenant, id, name, prefix, classification, h.user)
	return id
}

// listBoats returns an operation that lists one boat for each of the projects.
func (h *namesFixture) listBoats(projects ...op.UUID) op.Bound {
	o := op.New[struct{}, op.Page[boat]](op.Spec{
		Name: "list-boats", Module: "tracker", Method: "GET", Path: "/boats", Permission: "tasks.read", Effect: op.Read, Summary: "List boats.",
	})
	return executor.List(h.module, o, authz.NewColumns(map[string]authz.Column{"resource.tenant": authz.UUID("t.tenant_id")}),
		func(context.Context, *executor.Call, *struct{}, authz.Filter) (*op.Page[boat], error) {
			page := &op.Page[boat]{}
			for _, id := range projects {
				page.Items = append(page.Items, boat{ProjectID: id})
			}
			return page, nil
		})
}

// moveBoat returns an operation with an effect that returns the project in its input.
func (h *namesFixture) moveBoat(effect op.Effect) op.Bound {
	o := op.New[boatIn, boat](op.Spec{
		Name: "move-boat", Module: "tracker", Method: "POST", Path: "/boats", Permission: "task.update", Effect: effect, Summary: "Move a boat.",
	})
	return executor.Handle(h.module, o, func(_ context.Context, _ *executor.Call, in *boatIn) (op.UUID, authz.Resource, error) {
		return in.ProjectID, h.resource(&thingIn{}), nil
	}, func(_ context.Context, _ *executor.Call, _ *boatIn, project op.UUID) (*boat, error) {
		return &boat{ProjectID: project}, nil
	})
}

func TestExecutor_NamesAllRecordsOfAPageWithOneQuery(t *testing.T) {
	t.Parallel()
	h := newNamesFixture(t)
	visible, other, hidden, gone := h.addProject("ONE", "One", "UNCLASSIFIED"), h.addProject("TWO", "Two", "INTERNAL"), h.addProject("SEC", "Secret", "SECRET"), uid.New()
	ids := []op.UUID{visible, other, hidden, gone, visible, other, ""}
	out, err := h.listBoats(ids...).Call(h.callerContext(""), &struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[op.UUID]*op.Reference{
		visible: {ID: visible, Key: "ONE", Name: "One"}, other: {ID: other, Key: "TWO", Name: "Two"},
		hidden: {ID: hidden, Name: op.Redacted}, gone: {ID: gone, Name: op.Redacted},
	}
	for i, b := range out.(*op.Page[boat]).Items {
		switch w := want[ids[i]]; {
		case w == nil && b.Project != nil:
			t.Errorf("item %d without an id: got the reference %+v, want none", i, b.Project)
		case w != nil && (b.Project == nil || *b.Project != *w):
			t.Errorf("item %d: got %+v, want %+v", i, b.Project, w)
		}
	}
	if n := h.sent.queries("projects.projects"); n != 1 {
		t.Errorf("got %d queries for the names, want 1", n)
	}
	if out, err := h.listBoats("", "").Call(h.callerContext(""), &struct{}{}); err != nil || out.(*op.Page[boat]).Items[0].Project != nil {
		t.Fatalf("a page without ids: got %v, %v", out, err)
	}
	if n := h.sent.queries("projects.projects"); n != 1 {
		t.Errorf("a page without ids: got %d further queries, want none", n-1)
	}
}

func TestExecutor_ResolvesNames(t *testing.T) {
	t.Parallel()
	h := newNamesFixture(t)
	one, pier := h.addProject("ONE", "Granite", "UNCLASSIFIED"), h.addProject("PIER", "One pier", "UNCLASSIFIED")
	h.addProject("SEC", "Vault", "SECRET")
	h.addProject("AAA", "Twin", "UNCLASSIFIED")
	h.addProject("BBB", "twin", "UNCLASSIFIED")
	for _, c := range []struct {
		name   string
		effect op.Effect
		want   op.UUID
		code   fault.Code
	}{
		{"ONE", op.Write, one, ""},
		{"one", op.Read, one, ""}, // the prefix counts before the part of the name "One pier"
		{"granite", op.Destroy, one, ""},
		{"pier", op.Destroy, pier, ""},
		{"ranit", op.Read, one, ""},
		{"ranit", op.Write, "", fault.CodeValidation}, // a change needs the whole name
		{"ranit", op.Destroy, "", fault.CodeValidation},
		{"twin", op.Write, "", fault.CodeConflict},
		{"i", op.Read, "", fault.CodeConflict},
		{"SEC", op.Write, "", fault.CodeValidation},
		{"vault", op.Write, "", fault.CodeValidation},
		{"nosuch", op.Write, "", fault.CodeValidation},
		{string(one), op.Write, one, ""},
	} {
		out, err := h.moveBoat(c.effect).Call(h.callerContext(""), &boatIn{op.UUID(c.name)})
		switch {
		case c.code != "":
			if f := fault.From(err); f == nil || f.Code != c.code || (c.code == fault.CodeValidation && f.Field != "projectId") {
				t.Errorf("%s to %q: got %v, %v, want %s", c.effect, c.name, out, err, c.code)
			}
		case err != nil || out.(*boat).ProjectID != c.want:
			t.Errorf("%s to %q: got %v, %v, want %s", c.effect, c.name, out, err, c.want)
		}
	}
}

// A caller without the operation's permission gets the denial, whatever the name: it does
// not learn whether a record has the name.
func TestExecutor_ResolvesNamesOnlyForPermittedCallers(t *testing.T) {
	t.Parallel()
	h := newNamesFixture(t)
	h.addProject("ONE", "Granite", "UNCLASSIFIED")
	h.permissions = []string{"projects.read"}
	for _, name := range []op.UUID{"ONE", "nosuch"} {
		if _, err := h.moveBoat(op.Write).Call(h.callerContext(""), &boatIn{name}); !fault.HasCode(err, fault.CodeForbidden) {
			t.Errorf("name %s without task.update: got %v, want FORBIDDEN", name, err)
		}
	}
	if n := h.sent.queries("projects.projects"); n != 0 {
		t.Errorf("got %d queries for names, want none", n)
	}
}

// A repetition of a change with an idempotency key uses the ids of the first time: the change
// itself may have renamed or deleted the record.
func TestExecutor_RepeatedChange_KeepsTheIDsOfItsNames(t *testing.T) {
	t.Parallel()
	h := newNamesFixture(t)
	one := h.addProject("ONE", "Granite", "UNCLASSIFIED")
	call := func(name op.UUID) (any, error) {
		return h.moveBoat(op.Write).Call(h.callerContext("k1"), &boatIn{name})
	}
	if out, err := call("granite"); err != nil || out.(*boat).ProjectID != one {
		t.Fatalf("first request: got %v, %v", out, err)
	}
	h.exec(`UPDATE projects.projects SET name = 'Renamed' WHERE id = $1`, one)
	for _, other := range []func(){func() {}, func() { h.addProject("TWO", "Granite", "UNCLASSIFIED") }} {
		other()
		if out, err := call("granite"); err != nil || out.(*boat).ProjectID != one || out.(*boat).Project.Name != "Renamed" {
			t.Errorf("repetition: got %+v, %v, want the first response with the current name", out, err)
		}
	}
	_, err := h.moveBoat(op.Write).Call(h.callerContext("\xff\xfe"), &boatIn{"granite"})
	if f := fault.From(err); err == nil || f.Code != fault.CodeValidation || f.Field != "Idempotency-Key" {
		t.Errorf("invalid key: got %v, want VALIDATION for the field Idempotency-Key", err)
	}
	if _, err := call("two"); !fault.HasCode(err, fault.CodeConflict) {
		t.Errorf("another request with the key: got %v, want CONFLICT", err)
	}
}

// An operation succeeds even if the names for its output cannot be looked up.
func TestExecutor_WhenLookupFails_OmitsReferences(t *testing.T) {
	t.Parallel()
	h := newNamesFixture(t)
	one := h.addProject("ONE", "Granite", "UNCLASSIFIED")
	h.exec(`ALTER TABLE projects.projects RENAME TO moved`)
	for _, b := range []op.Bound{h.listBoats(one), h.moveBoat(op.Write)} {
		var in any = &struct{}{}
		if b.Effect == op.Write {
			in = &boatIn{one}
		}
		out, err := b.Call(h.callerContext(""), in)
		if err != nil {
			t.Errorf("%s: got error %v, want none", b.Name, err)
			continue
		}
		if page, ok := out.(*op.Page[boat]); ok {
			out = &page.Items[0]
		}
		if r := out.(*boat); r.ProjectID != one || r.Project != nil {
			t.Errorf("%s: got %+v, want the id without a reference", b.Name, r)
		}
	}
}

// The same subject gets the names of a project from the cache until the project changes; a
// subject with other grants does not.
func TestExecutor_CachesNamesPerSubject(t *testing.T) {
	t.Parallel()
	h := newNamesFixture(t)
	one := h.addProject("ONE", "Granite", "UNCLASSIFIED")
	ctx := h.callerContext("")
	read := func(ctx context.Context) string {
		t.Helper()
		out, err := h.listBoats(one).Call(ctx, &struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		return out.(*op.Page[boat]).Items[0].Project.Name
	}
	for range 3 {
		if name := read(ctx); name != "Granite" {
			t.Errorf("got the name %s, want Granite", name)
		}
	}
	if n := h.sent.queries("projects.projects"); n != 1 {
		t.Errorf("three reads: got %d queries for the name, want 1", n)
	}
	h.permissions = []string{"tasks.read"}
	if name := read(h.callerContext("")); name != op.Redacted {
		t.Errorf("without projects.read: got the name %s, want %s", name, op.Redacted)
	}
	h.permissions = []string{"tasks.read", "task.update", "projects.read"}
	h.exec(`UPDATE projects.projects SET name = 'Renamed' WHERE id = $1`, one)
	rename := executor.Handle(h.module, changeRecord(), func(_ context.Context, _ *executor.Call, in *thingIn) (string, authz.Resource, error) {
		return "", h.resource(in), nil
	}, func(_ context.Context, c *executor.Call, _ *thingIn, _ string) (*thingOut, error) {
		c.Record(executor.Change{Action: "project.updated", Type: "project", ID: one})
		return &thingOut{}, nil
	})
	if _, err := rename.Call(h.callerContext(""), &thingIn{"plain"}); err != nil {
		t.Fatal(err)
	}
	if name := read(ctx); name != "Renamed" {
		t.Errorf("after a change of the project: got the name %s, want Renamed", name)
	}
}

// Another credential, user or tenant gets nothing from the cache that it may not read itself.
func TestExecutor_NeverSharesCachedNames(t *testing.T) {
	t.Parallel()
	h := newNamesFixture(t)
	one, two := h.addProject("ONE", "Granite", "UNCLASSIFIED"), h.addProject("TWO", "Marble", "UNCLASSIFIED")
	read := func() [2]string {
		t.Helper()
		out, err := h.listBoats(one, two).Call(h.callerContext(""), &struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		boats := out.(*op.Page[boat]).Items
		return [2]string{boats[0].Project.Name, boats[1].Project.Name}
	}
	colleague, elsewhere := uid.New(), uid.New()
	h.exec(`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, status) VALUES ($1, $2, 'HUMAN', 'b@acme.example', 'B', 'ACTIVE')`, colleague, h.tenant)
	h.exec(`INSERT INTO identity.memberships (tenant_id, user_id, status, clearance) VALUES ($1, $2, 'ACTIVE', 'INTERNAL')`, h.tenant, colleague)
	h.exec(`INSERT INTO identity.tenants (id, slug, name, type) VALUES ($1, 'globex', 'Globex', 'STANDARD')`, elsewhere)
	h.exec(`INSERT INTO identity.memberships (tenant_id, user_id, status, clearance) VALUES ($1, $2, 'ACTIVE', 'INTERNAL')`, elsewhere, h.user)
	tenant, user, permissions := h.tenant, h.user, h.permissions
	for _, c := range []struct {
		name, caveat string
		tenant, user op.UUID
		permissions  []string
		want         [2]string
	}{
		{"key for a project", "project:" + string(one), tenant, user, permissions, [2]string{"Granite", op.Redacted}},
		{"key for another project", "project:" + string(two), tenant, user, permissions, [2]string{op.Redacted, "Marble"}},
		{"other tenant", "", elsewhere, user, permissions, [2]string{op.Redacted, op.Redacted}},
		{"other user with fewer permissions", "", tenant, colleague, []string{"tasks.read"}, [2]string{op.Redacted, op.Redacted}},
	} {
		h.tenant, h.user, h.permissions, h.caveats = tenant, user, permissions, nil
		if got := read(); got != [2]string{"Granite", "Marble"} {
			t.Fatalf("%s: unlimited caller before: got %v, want both names", c.name, got)
		}
		h.tenant, h.user, h.permissions = c.tenant, c.user, c.permissions
		if c.caveat != "" {
			h.caveats = []string{c.caveat}
		}
		for range 2 {
			if got := read(); got != c.want {
				t.Errorf("%s: got the names %v, want %v", c.name, got, c.want)
			}
		}
	}
}

// Names are resolved again when the caller's grants have changed in the meantime.
func TestExecutor_ResolvesNamesWithCurrentGrants(t *testing.T) {
	t.Parallel()
	h := newNamesFixture(t)
	h.addProject("ONE", "Granite", "UNCLASSIFIED")
	ctx := h.callerContext("")
	h.permissions = []string{"task.update"}
	h.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1 WHERE id = $1`, h.tenant)
	if out, err := h.moveBoat(op.Write).Call(ctx, &boatIn{"granite"}); !fault.HasCode(err, fault.CodeValidation) {
		t.Errorf("without projects.read: got %v, %v, want VALIDATION", out, err)
	}
}
