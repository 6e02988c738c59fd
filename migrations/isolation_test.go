package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
)

const (
	tenantA = "0190a000-0000-7000-8000-00000000000a"
	tenantB = "0190a000-0000-7000-8000-00000000000b"
	rowsOfA = 3
	rowsOfB = 2
)

// tenantColumn is the tenant's column in tables where it is not tenant_id.
var tenantColumn = map[string]string{
	"identity.tenants": "id",
	"identity.users":   "home_tenant_id",
	"audit.entries":    "chain_id",
	"audit.heads":      "chain_id",
}

// hasNoTenant reports whether the table contains no rows of tenants.
func hasNoTenant(table string) bool {
	return table == "parapet.migrations" || strings.HasPrefix(table, "river.")
}

type column struct {
	Name, Type string
	Key        bool
	Generated  bool
}

type table struct {
	name, tenant string
	columns      []column
}

// TestRowLevelSecurity_IsolatesTenants removes the constraints and triggers of every table,
// inserts rows of two tenants, grants every module every privilege, and then reads, updates,
// moves and deletes without WHERE. Only the row-level security policies protect the rows.
func TestRowLevelSecurity_IsolatesTenants(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner := db.Owner(t)
	roles := []string{postgres.RoleIdentity, postgres.RoleTracker, postgres.RoleCatalog, postgres.RoleWiki}
	tables := tenantTables(t, owner)
	if len(tables) < 10 {
		t.Fatalf("got %d tenant tables, want more", len(tables))
	}
	exec(t, owner, `GRANT USAGE ON SCHEMA audit, events, identity, projects, catalog, wiki TO `+strings.Join(roles, ", "))
	exec(t, owner, `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA identity TO `+strings.Join(roles, ", "))
	for _, tab := range tables {
		stripTable(t, owner, tab)
		exec(t, owner, fmt.Sprintf(`GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %s`, tab.name, strings.Join(roles, ", ")))
		fillTable(t, owner, tab)
	}
	seen := make(map[string]bool)
	for _, role := range roles {
		pool := db.Pool(t, role)
		for _, tab := range tables {
			visible, err := attack(t.Context(), pool, tab)
			if err != nil {
				t.Errorf("%s as %s: %v", tab.name, role, err)
			}
			seen[tab.name] = seen[tab.name] || visible
		}
	}
	// If no role saw a row of its own tenant, the test of that table proved nothing.
	for _, tab := range tables {
		if reason, ok := unseen[tab.name]; ok == seen[tab.name] {
			t.Errorf("%s: visible to a module: %t; entry in unseen: %q", tab.name, seen[tab.name], reason)
		}
	}
}

// unseen are the tables in which no module sees rows that another role wrote.
var unseen = map[string]string{
	"events.deliveries":       "parapet_jobs alone",
	"events.processed":        "parapet_jobs alone",
	"events.leases":           "parapet_jobs alone",
	"events.idempotency_keys": "each role sees the rows it wrote itself",
}

// TestRowLevelSecurity_AttackDetectsHoles opens one hole after the other and expects that the
// attack detects it.
func TestRowLevelSecurity_AttackDetectsHoles(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner := db.Owner(t)
	const good = `tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid`
	holes := map[string]string{
		"row-level security is off": `CREATE POLICY p ON wiki.hole USING (` + good + `)`,
		"policy for SELECT allows everything": `CREATE POLICY p ON wiki.hole USING (` + good + `); CREATE POLICY r ON wiki.hole FOR SELECT USING (true);
			ALTER TABLE wiki.hole ENABLE ROW LEVEL SECURITY`,
		"WITH CHECK allows everything": `CREATE POLICY p ON wiki.hole USING (` + good + `) WITH CHECK (true);
			ALTER TABLE wiki.hole ENABLE ROW LEVEL SECURITY`,
		"missing tenant shows everything": `CREATE POLICY p ON wiki.hole USING (` + good + ` OR coalesce(current_setting('app.tenant_id', true), '') = '');
			ALTER TABLE wiki.hole ENABLE ROW LEVEL SECURITY`,
	}
	pool := db.Pool(t, postgres.RoleWiki)
	for name, sql := range holes {
		exec(t, owner, `CREATE TABLE wiki.hole (tenant_id uuid, id uuid)`)
		for statement := range strings.SplitSeq(sql, ";") {
			exec(t, owner, statement)
		}
		exec(t, owner, `GRANT SELECT, INSERT, UPDATE, DELETE ON wiki.hole TO parapet_wiki`)
		tab := table{name: "wiki.hole", tenant: "tenant_id", columns: []column{{Name: "tenant_id", Type: "uuid"}, {Name: "id", Type: "uuid", Key: true}}}
		fillTable(t, owner, tab)
		if _, err := attack(t.Context(), pool, tab); err == nil {
			t.Errorf("%s: the attack did not detect the hole", name)
		}
		exec(t, owner, `DROP TABLE wiki.hole`)
	}
}

// attack tries to read and change the rows of tenant B. It reports whether the rows of tenant
// A were visible.
func attack(ctx context.Context, pool *postgres.Pool, tab table) (visible bool, _ error) {
	for _, tenant := range []string{"", tenantA} {
		most := 0
		if tenant == tenantA {
			most = rowsOfA
		}
		var count int
		read := pool.Read(tenant, nil)
		if err := read.QueryRow(ctx, `SELECT count(*) FROM `+tab.name).Scan(&count); err != nil {
			return false, fmt.Errorf("count: %w", err)
		}
		// A role without any policy on the table sees no rows.
		if count > most || (count != 0 && count != most) {
			return false, fmt.Errorf("in tenant %q, %d rows are visible, want %d", tenant, count, most)
		}
		visible = visible || count > 0
		var foreign int
		sql := fmt.Sprintf(`SELECT count(*) FROM %s WHERE %s IS DISTINCT FROM $1::uuid`, tab.name, tab.tenant)
		if err := read.QueryRow(ctx, sql, tenantA).Scan(&foreign); err != nil {
			return false, fmt.Errorf("count of other tenants' rows: %w", err)
		}
		if foreign != 0 {
			return false, fmt.Errorf("in tenant %q, %d rows of other tenants are visible", tenant, foreign)
		}
		writes := []string{
			fmt.Sprintf(`UPDATE %s SET %s = %s`, tab.name, tab.tenant, tab.tenant),
			fmt.Sprintf(`DELETE FROM %s`, tab.name),
		}
		for _, sql := range writes {
			n, err := countAffected(ctx, pool, tenant, sql)
			if err != nil && !deniedByPolicy(err) {
				return false, fmt.Errorf("%s: %w", sql, err)
			}
			if n > int64(most) {
				return false, fmt.Errorf("%s changed %d rows in tenant %q", sql, n, tenant)
			}
		}
		// Create a row of another tenant: by inserting it and by moving an own row.
		insert, args := tab.insert(tenantB, 900)
		if _, err := countAffected(ctx, pool, tenant, insert, args...); err == nil {
			return false, fmt.Errorf("in tenant %q, a row of another tenant can be inserted", tenant)
		} else if !deniedByPolicy(err) {
			return false, fmt.Errorf("in tenant %q, inserting a row of another tenant fails for an unexpected reason: %w", tenant, err)
		}
		move := fmt.Sprintf(`UPDATE %s SET %s = '%s'`, tab.name, tab.tenant, tenantB)
		if n, err := countAffected(ctx, pool, tenant, move); err == nil && n > 0 {
			return false, fmt.Errorf("in tenant %q, %d rows can be moved to another tenant", tenant, n)
		}
	}
	return visible, nil
}

// countAffected runs a statement in a transaction that is rolled back and returns the number of rows.
func countAffected(ctx context.Context, pool *postgres.Pool, tenant, sql string, args ...any) (int64, error) {
	tx, err := pool.Begin(ctx, tenant, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	tag, err := tx.Exec(ctx, sql, args...)
	return tag.RowsAffected(), err
}

func deniedByPolicy(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42501" && strings.Contains(pg.Message, "row-level security")
}

const sqlColumns = `
SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type,
       coalesce(a.attnum = ANY (i.indkey), false) AS key,
       a.attidentity <> '' OR a.attgenerated <> '' AS generated
FROM pg_attribute a
LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = @table::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum`

func tenantTables(t *testing.T, q postgres.Querier) []table {
	t.Helper()
	names, err := postgres.CollectScalars[string](t.Context(), q, `
		SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
		  AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
		ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	var tables []table
	for _, name := range names {
		if hasNoTenant(name) {
			continue
		}
		tab := table{name: name, tenant: tenantColumn[name]}
		if tab.tenant == "" {
			tab.tenant = "tenant_id"
		}
		if tab.columns, err = postgres.Collect[column](t.Context(), q, sqlColumns, postgres.Args{"table": name}); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(tab.columns, func(c column) bool { return c.Name == tab.tenant }) {
			t.Fatalf("%s has no column %s", name, tab.tenant)
		}
		tables = append(tables, tab)
	}
	return tables
}

// stripTable removes everything from a table except its columns and its policies.
func stripTable(t *testing.T, q postgres.Querier, tab table) {
	t.Helper()
	drops, err := postgres.CollectScalars[string](t.Context(), q, `
		SELECT format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I CASCADE', conrelid::regclass, conname)
		FROM pg_constraint WHERE conrelid = $1::regclass AND contype <> 'n'
		UNION ALL
		SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass)
		FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal
		UNION ALL
		SELECT format('DROP INDEX %s', i.indexrelid::regclass)
		FROM pg_index i WHERE i.indrelid = $1::regclass AND i.indisunique
		  AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)
		UNION ALL
		SELECT format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL', a.attrelid::regclass, a.attname)
		FROM pg_attribute a
		WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull AND a.attidentity = ''`, tab.name)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range drops {
		exec(t, q, sql)
	}
}

func fillTable(t *testing.T, q postgres.Querier, tab table) {
	t.Helper()
	exec(t, q, `DELETE FROM `+tab.name)
	for n := range rowsOfA + rowsOfB {
		tenant := tenantA
		if n >= rowsOfA {
			tenant = tenantB
		}
		sql, args := tab.insert(tenant, n)
		if _, err := q.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("exec %s: %v", sql, err)
		}
	}
}

// insert returns the statement that inserts a row of the tenant with only its key. n makes
// the row unique.
func (tab table) insert(tenant string, n int) (string, []any) {
	var names, values []string
	args := pgx.StrictNamedArgs{}
	for _, c := range tab.columns {
		var value any
		switch {
		case c.Generated:
			continue
		case c.Name == tab.tenant:
			value = tenant
		case !c.Key && c.Name != "writer" && c.Name != "created_at":
			continue
		case c.Type == "uuid":
			value = fmt.Sprintf("0190a000-0000-7000-8000-%012d", n)
		case c.Name == "writer":
			continue // the default, the role itself
		case strings.HasPrefix(c.Type, "timestamp"):
			names, values = append(names, c.Name), append(values, "now()")
			continue
		default:
			value = fmt.Sprint(n + 1)
		}
		names = append(names, c.Name)
		values = append(values, fmt.Sprintf("@%s::text::%s", c.Name, c.Type))
		args[c.Name] = value
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", tab.name, strings.Join(names, ", "), strings.Join(values, ", ")), []any{args}
}

func exec(t *testing.T, q postgres.Querier, sql string) {
	t.Helper()
	if _, err := q.Exec(t.Context(), sql); err != nil {
		t.Fatalf("exec %s: %v", sql, err)
	}
}
