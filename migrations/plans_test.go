package migrations_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres/pgtest"
)

// An import inserts tens of thousands of links into tables without statistics. PostgreSQL
// checks the foreign key of each link with this statement, which must use the whole key.
func TestImportLinks_ForeignKeyCheckUsesTheWholeKey(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.New(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const check = `
SET plan_cache_mode = force_generic_plan;
PREPARE foreign_key AS SELECT 1 FROM ONLY projects.import_items x
WHERE tenant_id OPERATOR(pg_catalog.=) $1 AND project_id OPERATOR(pg_catalog.=) $2 AND source_id OPERATOR(pg_catalog.=) $3 FOR KEY SHARE OF x`
	if _, err := conn.Exec(t.Context(), check, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), `EXPLAIN (COSTS OFF) EXECUTE foreign_key(NULL, NULL, NULL)`, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if plan := strings.Join(lines, "\n"); !strings.Contains(plan, "import_items_pkey") || strings.Contains(plan, "Filter") {
		t.Errorf("plan of the foreign key check: got\n%s", plan)
	}
}
