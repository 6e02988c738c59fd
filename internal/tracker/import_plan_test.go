package tracker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parapet/internal/postgres"
)

// planNode is a node of the output of EXPLAIN (FORMAT JSON), with its row counts.
type planNode struct {
	Rows    float64    `json:"Actual Rows"`
	Removed float64    `json:"Rows Removed by Filter"`
	Join    float64    `json:"Rows Removed by Join Filter"`
	Loops   float64    `json:"Actual Loops"`
	Plans   []planNode `json:"Plans"`
}

// totalRows returns the number of rows that the node and its children read.
func (n planNode) totalRows() float64 {
	sum := (n.Rows + n.Removed + n.Join) * max(n.Loops, 1)
	for _, p := range n.Plans {
		sum += p.totalRows()
	}
	return sum
}

// rowsVisited runs the statement with EXPLAIN ANALYZE and returns the number of rows
// that its plan read.
func (w *world) rowsVisited(h recordedQuery) float64 {
	w.t.Helper()
	tx, err := w.db.Pool(w.t, postgres.RoleTracker).Begin(context.Background(), string(w.acme), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer tx.Rollback()
	text, err := postgres.CollectScalars[string](context.Background(), tx, `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) `+h.sql, h.args...)
	if err != nil {
		w.t.Fatalf("plan of %s: %v", h.sql, err)
	}
	var explained []struct{ Plan planNode }
	if err := json.Unmarshal([]byte(strings.Join(text, "")), &explained); err != nil {
		w.t.Fatal(err)
	}
	return explained[0].Plan.totalRows()
}

// PostgreSQL has no statistics, or outdated ones, for tables that an import is filling. No
// statement may read the whole project once per item.
func TestImportItems_StatementsVisitFewRows(t *testing.T) {
	t.Parallel()
	const tasks, items, blocks = 1500, 100, 39
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	w.addTasks(p, tasks)
	e := &queryRecorder{}
	w.recordQueries(e)
	for _, c := range []struct {
		name, statistics, items string
		changed                 bool
	}{
		{name: "created, no statistics", items: "a", statistics: `
DELETE FROM pg_catalog.pg_statistic WHERE starelid IN (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = 'projects'::regnamespace)`},
		{name: "created, with statistics", items: "b", statistics: `ANALYZE`},
		{name: "changed", items: "a", changed: true, statistics: `ANALYZE`},
	} {
		w.exec(c.statistics)
		e.queries = nil
		if out := w.importItems(p, blockingItems(c.items, items, blocks, c.changed)...); out.Failed != 0 {
			t.Fatalf("%s: got %+v, want no failed item", c.name, out)
		}
		for _, h := range e.queries {
			sql := strings.TrimSpace(h.sql)
			if !strings.Contains(sql, "projects.") || !strings.HasPrefix(sql, "SELECT") && !strings.HasPrefix(sql, "WITH RECURSIVE") {
				continue
			}
			// The factor is generous, because each plan node counts the rows of its children again.
			if n := w.rowsVisited(toPositional(t, h)); n > 15*(tasks+items*blocks) {
				t.Errorf("%s: got %.0f visited rows, want at most 15 per stored row: %s", c.name, n, sql)
			}
		}
	}
}

// blockingItems returns n items, each of which depends on up to blocks of the items
// before it.
func blockingItems(name string, n, blocks int, changed bool) []fields {
	list := make([]fields, n)
	for i := range list {
		var links []fields
		for j := max(i-blocks, 0); j < i; j++ {
			links = append(links, fields{"depends_on_id": fmt.Sprint(name, j), "type": "blocks"})
		}
		list[i] = fields{"id": fmt.Sprint(name, i), "title": fmt.Sprint("Item ", i), "dependencies": links}
		if changed {
			list[i]["description"] = "Changed."
		}
	}
	return list
}
