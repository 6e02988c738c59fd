package migrations_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"parapet/internal/postgres"
	"parapet/internal/postgres/migrate"
	"parapet/internal/postgres/pgtest"
)

// guarded is the tenant setting with its NULL guard, as the server prints it.
const guarded = `(NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid`

// finding is one violation of a rule.
type finding struct{ rule, object, problem string }

func (f finding) String() string { return fmt.Sprintf("%s: %s: %s", f.rule, f.object, f.problem) }

// scan runs the rules against a database.
func scan(ctx context.Context, q postgres.Querier, rules []catalogueRule) ([]finding, error) {
	var all []finding
	for _, r := range rules {
		quoted := "'" + strings.ReplaceAll(guarded, "'", "''") + "'"
		rows, err := q.Query(ctx, sqlCommon+strings.ReplaceAll(r.sql, "guarded", quoted))
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", r.name, err)
		}
		for rows.Next() {
			f := finding{rule: r.name}
			if err := rows.Scan(&f.object, &f.problem); err != nil {
				return nil, fmt.Errorf("rule %s: %w", r.name, err)
			}
			all = append(all, f)
		}
		if err := rows.Err(); err != nil {
			return nil, fmt.Errorf("rule %s: %w", r.name, err)
		}
	}
	return all, nil
}

func (e exception) covers(f finding) bool {
	if e.rule != f.rule {
		return false
	}
	ok, err := path.Match(e.object, f.object)
	return ok && err == nil
}

// TestCatalogue_KeepsAllRules checks the migrated database against the rules.
func TestCatalogue_KeepsAllRules(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	// A cloned database lacks grants on the database itself; a second run adds them.
	if _, err := migrate.Up(t.Context(), db.URL(), pgtest.MigrateOptions()); err != nil {
		t.Fatal(err)
	}
	findings, err := scan(t.Context(), db.Owner(t), catalogueRules)
	if err != nil {
		t.Fatal(err)
	}
	why := make(map[string]string)
	for _, r := range catalogueRules {
		why[r.name] = r.why
	}
	used := make([]bool, len(exceptions))
	for _, f := range findings {
		excused := false
		for i, e := range exceptions {
			if e.covers(f) {
				excused, used[i] = true, true
			}
		}
		if !excused {
			t.Errorf("%s\n\t%s", f, why[f.rule])
		}
	}
	for i, e := range exceptions {
		if !used[i] {
			t.Errorf("unused exception of rule %q for %q: remove it", e.rule, e.object)
		}
		if e.reason == "" || why[e.rule] == "" {
			t.Errorf("exception of rule %q for %q: needs a reason and an existing rule", e.rule, e.object)
		}
	}
}

// TestCatalogue_EveryRuleDetectsItsViolation violates each rule once and expects a finding: a
// rule that cannot fail is useless.
func TestCatalogue_EveryRuleDetectsItsViolation(t *testing.T) {
	t.Parallel()
	const good = `tenant_id uuid NOT NULL, id uuid NOT NULL, PRIMARY KEY (tenant_id, id)`
	breaches := []struct{ rule, object, sql string }{
		{"tenant column", "wiki.b", `CREATE TABLE wiki.b (id uuid PRIMARY KEY)`},
		{"tenant column", "wiki.b", `CREATE TABLE wiki.b (tenant_id uuid, id uuid PRIMARY KEY)`},
		{"tenant column", "wiki.b", `CREATE TABLE wiki.b (tenant_id text NOT NULL, id uuid PRIMARY KEY)`},
		{"primary key", "wiki.b", `CREATE TABLE wiki.b (tenant_id uuid NOT NULL, id uuid, PRIMARY KEY (id, tenant_id))`},
		{"primary key", "wiki.b", `CREATE TABLE wiki.b (tenant_id uuid NOT NULL)`},
		{"unique", "wiki.b_u", `CREATE TABLE wiki.b (` + good + `, slug text); CREATE UNIQUE INDEX b_u ON wiki.b (lower(slug), tenant_id)`},
		{"index", "wiki.b_i", `CREATE TABLE wiki.b (` + good + `, slug text); CREATE INDEX b_i ON wiki.b (slug)`},
		{"foreign key", "wiki.c.fk", `CREATE TABLE wiki.b (` + good + `, UNIQUE (id)); CREATE TABLE wiki.c (` + good + `, CONSTRAINT fk FOREIGN KEY (id) REFERENCES wiki.b (id))`},
		{"foreign key across schemas", "wiki.b.fk", `CREATE TABLE wiki.b (` + good + `, CONSTRAINT fk FOREIGN KEY (tenant_id) REFERENCES identity.tenants (id))`},
		{"row-level security", "wiki.b", `CREATE TABLE wiki.b (` + good + `)`},
		{"row-level security", "wiki.b", `CREATE TABLE wiki.b (` + good + `); ALTER TABLE wiki.b ENABLE ROW LEVEL SECURITY`},
		{"policy", "wiki.b.p", `CREATE TABLE wiki.b (` + good + `); CREATE POLICY p ON wiki.b USING (true)`},
		{"policy", "wiki.b.p", `CREATE TABLE wiki.b (` + good + `); CREATE POLICY p ON wiki.b FOR INSERT WITH CHECK (true)`},
		{"policy", "wiki.b.p", `CREATE TABLE wiki.b (` + good + `); CREATE POLICY p ON wiki.b USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid OR id IS NOT NULL)`},
		{"policy", "wiki.b.p", `CREATE TABLE wiki.b (` + good + `); CREATE POLICY p ON wiki.b USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) WITH CHECK (true)`},
		{"policy", "wiki.b.p", `CREATE TABLE wiki.b (` + good + `); CREATE POLICY p ON wiki.b USING (tenant_id = (SELECT nullif(current_setting('app.tenant_id', true), '')::uuid))`},
		{"setting", "wiki.b.p", `CREATE TABLE wiki.b (` + good + `); CREATE POLICY p ON wiki.b USING (tenant_id = current_setting('app.tenant_id', true)::uuid)`},
		{"view", "wiki.b", `CREATE VIEW wiki.b AS SELECT 1 AS one`},
		{"kind of relation", "wiki.b", `CREATE MATERIALIZED VIEW wiki.b AS SELECT 1 AS one`},
		{"persistence", "wiki.b", `CREATE UNLOGGED TABLE wiki.b (` + good + `)`},
		{"rewrite rule", "wiki.b.r", `CREATE TABLE wiki.b (` + good + `); CREATE RULE r AS ON DELETE TO wiki.b DO INSTEAD NOTHING`},
		{"security definer", "wiki.f", `CREATE FUNCTION wiki.f() RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT 1'`},
		{"search path", "wiki.f", `CREATE FUNCTION wiki.f() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'`},
		{"search path", "wiki.f", `CREATE FUNCTION wiki.f() RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path = public AS 'SELECT 1'`},
		{"definer's owner", "wiki.f", `CREATE FUNCTION wiki.f() RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT 1'`},
		{"leakproof", "wiki.f", `CREATE FUNCTION wiki.f() RETURNS int LANGUAGE sql LEAKPROOF AS 'SELECT 1'`},
		{"enum", "wiki.b.e", `CREATE TYPE wiki.mood AS ENUM ('a'); CREATE TABLE wiki.b (` + good + `, e wiki.mood)`},
		{"enum", "wiki.b.e", `CREATE TYPE wiki.mood AS ENUM ('a'); CREATE TABLE wiki.b (` + good + `, e wiki.mood[])`},
		{"role attributes", "parapet_wiki", `ALTER ROLE parapet_wiki BYPASSRLS`},
		{"role attributes", "parapet_context", `ALTER ROLE parapet_context LOGIN`},
		{"role list", "parapet_other", `CREATE ROLE parapet_other NOINHERIT`},
		{"ownership", "parapet_wiki", `CREATE TABLE wiki.b (` + good + `); ALTER TABLE wiki.b OWNER TO parapet_wiki`},
		{"role membership", "parapet_wiki", `GRANT parapet_jobs TO parapet_wiki`},
		{"public grant", "wiki.b", `CREATE TABLE wiki.b (` + good + `); GRANT SELECT ON wiki.b TO PUBLIC`},
		{"public grant", "wiki.b.id", `CREATE TABLE wiki.b (` + good + `); GRANT SELECT (id) ON wiki.b TO PUBLIC`},
		{"public grant", "wiki.f", `CREATE FUNCTION wiki.f() RETURNS int LANGUAGE sql AS 'SELECT 1'; GRANT EXECUTE ON FUNCTION wiki.f() TO PUBLIC`},
		{"public grant", "wiki", `GRANT USAGE ON SCHEMA wiki TO PUBLIC`},
		{"public grant", "database", `GRANT TEMPORARY ON DATABASE ` + "current" + ` TO PUBLIC`},
		{"privilege", "wiki.b", `CREATE TABLE wiki.b (` + good + `); GRANT TRUNCATE ON wiki.b TO parapet_wiki`},
		{"privilege", "wiki.b", `CREATE TABLE wiki.b (` + good + `); GRANT SELECT ON wiki.b TO parapet_wiki WITH GRANT OPTION`},
		{"privilege", "wiki", `GRANT CREATE ON SCHEMA wiki TO parapet_wiki`},
		{"reach", "wiki.b", `CREATE TABLE wiki.b (` + good + `); GRANT SELECT ON wiki.b TO parapet_tracker`},
		{"reach", "wiki.b.id", `CREATE TABLE wiki.b (` + good + `); GRANT SELECT (id) ON wiki.b TO parapet_app`},
		{"audit", "audit.entries", `GRANT DELETE ON audit.entries TO parapet_jobs`},
		{"audit", "audit.entries.hash", `GRANT UPDATE (hash) ON audit.entries TO parapet_identity`},
		{"default privileges", "functions", `ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC`},
		{"default privileges", "default privileges", `ALTER DEFAULT PRIVILEGES IN SCHEMA wiki GRANT SELECT ON TABLES TO PUBLIC`},
		{"schema public", "public.b", `CREATE TABLE public.b (` + good + `)`},
		{"trigger", "audit.entries.entries_immutable", `ALTER TABLE audit.entries DISABLE TRIGGER entries_immutable`},
	}
	broken := make(map[string]bool)
	pool := pgtest.New(t).Owner(t)
	for _, b := range breaches {
		broken[b.rule] = true
		// Each case runs in a transaction that is rolled back, which also removes roles.
		tx, err := pool.Begin(t.Context(), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(tx.Rollback)
		var name string
		if err := tx.QueryRow(t.Context(), `SELECT current_database()`).Scan(&name); err != nil {
			t.Fatal(err)
		}
		for statement := range strings.SplitSeq(strings.ReplaceAll(b.sql, "DATABASE current", "DATABASE "+name), "; ") {
			if _, err := tx.Exec(t.Context(), statement); err != nil {
				t.Fatalf("exec %s: %v", statement, err)
			}
		}
		rule := slices.IndexFunc(catalogueRules, func(r catalogueRule) bool { return r.name == b.rule })
		if rule < 0 {
			t.Fatalf("unknown rule %q", b.rule)
		}
		findings, err := scan(t.Context(), tx, catalogueRules[rule:rule+1])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(findings, func(f finding) bool { return f.rule == b.rule && f.object == b.object }) {
			t.Errorf("rule %q does not detect %s", b.rule, b.sql)
		}
		tx.Rollback()
	}
	for _, r := range catalogueRules {
		if !broken[r.name] {
			t.Errorf("rule %q has no test case", r.name)
		}
	}
}
