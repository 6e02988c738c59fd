package identity_test

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/identity"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// statementRecorder records the statements of a pool that read the table of users.
type statementRecorder struct {
	mu   sync.Mutex
	sent []recordedStatement
}

type recordedStatement struct {
	sql  string
	args []any
}

func (e *statementRecorder) add(sql string, args []any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if strings.Contains(sql, "identity.users") {
		e.sent = append(e.sent, recordedStatement{sql, args})
	}
}

func (e *statementRecorder) take() []recordedStatement {
	e.mu.Lock()
	defer e.mu.Unlock()
	sent := e.sent
	e.sent = nil
	return sent
}

func (e *statementRecorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	e.add(d.SQL, d.Args)
	return ctx
}
func (e *statementRecorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (e *statementRecorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (e *statementRecorder) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	e.add(d.SQL, d.Args)
}
func (e *statementRecorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// addPeople adds this many members to the tenant.
func (r *fixture) addPeople(h testTenant, slug string, n int) {
	r.t.Helper()
	ctx := context.Background()
	r.asOwner(func(_ context.Context, tx pgx.Tx) error {
		for _, sql := range []string{
			`SET LOCAL session_replication_role = replica`, // no trigger for each row
			`CREATE TEMPORARY TABLE added ON COMMIT DROP AS SELECT gen_random_uuid() AS id, i FROM generate_series(1, ` + strconv.Itoa(n) + `) i`,
			`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name)
SELECT id, '` + string(h.id) + `', 'HUMAN', 'person' || i || '@` + slug + `.example', 'Person ' || i FROM added`,
			`INSERT INTO identity.memberships (tenant_id, user_id, organisation_id) SELECT '` + string(h.id) + `', id, '` + string(h.organisation) + `' FROM added`,
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// explain returns the plan of a statement for the module's role in acme, for these argument
// values or, if generic is set, for all.
func (r *fixture) explain(s recordedStatement, generic bool) string {
	r.t.Helper()
	ctx := context.Background()
	sql, args := s.sql, s.args
	if named, ok := args[0].(postgres.Args); ok {
		var err error
		if sql, args, err = named.RewriteQuery(ctx, nil, sql, args); err != nil {
			r.t.Fatal(err)
		}
	}
	tx, err := r.db.Pool(r.t, postgres.RoleIdentity).Begin(ctx, string(r.acme.id), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer tx.Rollback()
	if generic {
		if _, err := tx.Exec(ctx, `SET LOCAL plan_cache_mode = force_generic_plan`, pgx.QueryExecModeSimpleProtocol); err != nil {
			r.t.Fatal(err)
		}
	}
	rows, err := tx.Query(ctx, `EXPLAIN (COSTS OFF) `+sql, args...)
	if err != nil {
		r.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "\n")
}

// The lookup of a person must use an index, even under row-level security.
func TestQueryPlans_LookupOfPeopleUsesIndexes(t *testing.T) {
	t.Parallel()
	e := &statementRecorder{}
	r := newFixture(t, fixtureOptions{tracer: e})
	r.addPeople(r.acme, "acme", 1500)
	r.addPeople(r.globex, "globex", 1500)
	r.provision(r.acme)
	r.exec(`ANALYZE`)
	admin := r.login("admin@acme.example")
	isScan := regexp.MustCompile(`Seq Scan on (users|memberships)\b`)
	for _, call := range []struct {
		name    string
		request request
	}{
		{"get-user", pathRequest(admin, "userId", "person777@acme.example", nil)},
		{"get-user", pathRequest(admin, "userId", "multi-llm-review", nil)},
		{"get-user", pathRequest(admin, "userId", "Person 777", nil)},
		{"list-people", request{token: admin, query: url.Values{"search": {"person77"}}}},
		{"list-users", request{token: admin, query: url.Values{"search": {"person77"}}}},
	} {
		e.take()
		if _, err := r.call(call.name, call.request); err != nil {
			t.Errorf("%s: %v", call.name, err)
		}
		sent := e.take()
		if len(sent) == 0 {
			t.Errorf("%s: no statement reads the users", call.name)
		}
		for _, s := range sent {
			for _, generic := range []bool{false, true} {
				if plan := r.explain(s, generic); isScan.MatchString(plan) {
					t.Errorf("%s %v %v (generic plan: %t) uses a sequential scan:\n%s", call.name, call.request.path, call.request.query, generic, plan)
				}
			}
		}
	}
	candidate := recordedStatement{`SELECT u.id FROM identity.users u WHERE u.home_tenant_id = $1 AND u.email_key = lower($2) AND u.address_verified`, []any{r.acme.id, "person777@acme.example"}}
	if plan := r.explain(candidate, false); !strings.Contains(plan, "Index Cond") || !strings.Contains(plan, "(email_key = ") {
		t.Errorf("candidate by address: got the plan\n%s", plan)
	}
}

func TestListPeople_SearchFindsTextInAddressOrNameOfMembers(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	for email, name := range map[string]string{"a_b@acme.example": "100% \\ Real", "axb@acme.example": "1000 Real", "q@acme.example": "Änne Z"} {
		must[contract.User](r, "create-user", request{token: admin, body: body(fields{"email": email, "displayName": name, "roles": []string{"Member"}, "organisationId": r.acme.organisation})})
	}
	for search, want := range map[string]string{
		"A_B@": "a_b@acme.example", "a_": "a_b@acme.example", "100%": "a_b@acme.example", "0%": "a_b@acme.example", "% \\ r": "a_b@acme.example",
		"real": "a_b@acme.example axb@acme.example", "Än": "q@acme.example", "globex": "", "q": "q@acme.example", "___": "",
	} {
		var got []string
		for _, p := range must[op.Page[contract.Colleague]](r, "list-people", request{token: admin, query: url.Values{"search": {search}}}).Items {
			got = append(got, p.Email)
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != want {
			t.Errorf("search %q: got %q, want %q", search, text, want)
		}
	}
}

// The index of trigrams contains the users of all tenants. The function finds members of the
// current tenant only, and a search in a small tenant does not read the users of a large one.
func TestFindMembers_ReadsOnlyTheCurrentTenant(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.addPeople(r.globex, "globex", 1500)
	r.exec(`ANALYZE`)
	find := func(current, requested op.UUID, search string) (members, buffers int) {
		t.Helper()
		db := r.module.Read(string(current), nil)
		if err := db.QueryRow(t.Context(), `SELECT count(*) FROM identity.find_members($1, $2)`, requested, search).Scan(&members); err != nil {
			t.Fatal(err)
		}
		var plan []struct {
			Plan map[string]any
		}
		if err := db.QueryRow(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT identity.find_members($1, $2)`, requested, search).Scan(&plan); err != nil {
			t.Fatal(err)
		}
		hit, _ := plan[0].Plan["Shared Hit Blocks"].(float64)
		read, _ := plan[0].Plan["Shared Read Blocks"].(float64)
		return members, int(hit + read)
	}
	for _, search := range []string{"e", "globex", "person", "---"} {
		if n, _ := find(r.acme.id, r.globex.id, search); n != 0 {
			t.Errorf("search for %q in another tenant than the current one: got %d members, want none", search, n)
		}
		n, buffers := find(r.acme.id, r.acme.id, search)
		if search != "e" && n != 0 {
			t.Errorf("search for %q: got %d members of another tenant, want none", search, n)
		}
		if buffers > 500 {
			t.Errorf("search for %q in a tenant with few members: got %d buffers, want at most 500", search, buffers)
		}
	}
	for search, want := range map[string]int{"person": 1500, "person777@": 1, "n 777": 1, "---": 0} {
		if n, _ := find(r.globex.id, r.globex.id, search); n != want {
			t.Errorf("search for %q in a large tenant: got %d members, want %d", search, n, want)
		}
	}
}
