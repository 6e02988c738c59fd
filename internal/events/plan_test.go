package events_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"parapet/internal/events"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

// planForEmptyTables makes the server plan the dispatcher's statements for empty tables. It
// runs every statement more than five times, after which the server caches a plan.
func planForEmptyTables(tb testing.TB, owner *postgres.Pool, d *events.Dispatcher) {
	tb.Helper()
	for _, sql := range []string{`VACUUM (ANALYZE) events.deliveries`, `VACUUM (ANALYZE) events.outbox`, `VACUUM (ANALYZE) events.processed`} {
		if _, err := owner.Exec(tb.Context(), sql); err != nil {
			tb.Fatal(err)
		}
	}
	for range 8 {
		if n, err := d.Drain(tb.Context()); err != nil || n != 0 {
			tb.Fatal(n, err)
		}
	}
}

// TestDrain_VisitsFewRowsPerEvent_StalePlans counts the rows that delivering a backlog
// visits after the statements were planned for empty tables. A plan that scans the queue
// once for each of its rows visits millions.
func TestDrain_VisitsFewRowsPerEvent_StalePlans(t *testing.T) {
	t.Parallel()
	const pending, batch, mostVisits = 3000, 250, 10
	db := pgtest.New(t)
	owner := createTakenTable(t, db)
	module, tenant := db.Pool(t, postgres.RoleTracker), uid.New()
	jobs, err := postgres.Open(t.Context(), postgres.Config{URL: db.RoleURL(postgres.RoleJobs), MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			jobs.Close()
		}
	}()
	d, err := events.NewDispatcher(events.Config{Pool: jobs, Batch: batch, Subscribers: []events.Subscriber{recordingSubscriber("one", nil)}})
	if err != nil {
		t.Fatal(err)
	}
	planForEmptyTables(t, owner, d)
	var list []events.Event
	for i := range pending {
		list = append(list, numberedEvent(tenant, fmt.Sprint("a", i%50), fmt.Sprint(i)))
	}
	publish(t, module, tenant, list...)
	before := countRowVisits(t, owner)
	if n, err := d.Drain(t.Context()); err != nil || n != pending {
		t.Fatal(n, err)
	}
	// A server process reports its counters when it ends.
	closed = true
	jobs.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var running int
		if err := owner.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE usename = 'parapet_jobs' AND datname = current_database()`).Scan(&running); err != nil {
			t.Fatal(err)
		}
		if running == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the dispatcher's connection is still open")
		}
	}
	for table, after := range countRowVisits(t, owner) {
		visited := after - before[table]
		t.Logf("%s: %.1f rows visited per event", table, float64(visited)/pending)
		if visited > mostVisits*pending {
			t.Errorf("delivering %d events visited %d rows of %s, want at most %d per event", pending, visited, table, mostVisits)
		}
	}
}

// TestDrain_LeavesNoDeadRowsForTheNextBatch counts the pages that a search in the
// delivered part of a queue reads. The server skips a deleted row in the index only
// if one transaction id both locked and deleted it; otherwise each batch reads every
// row that was delivered since the last vacuum.
func TestDrain_LeavesNoDeadRowsForTheNextBatch(t *testing.T) {
	t.Parallel()
	const delivered, batch, maxPages = 3000, 250, 600
	db := pgtest.New(t)
	owner := createTakenTable(t, db)
	module, tenant := db.Pool(t, postgres.RoleTracker), uid.New()
	d := dispatcher(t, db, func(c *events.Config) { c.Batch = batch }, recordingSubscriber("one", nil), recordingSubscriber("two", nil), recordingSubscriber("three", nil))
	var list []events.Event
	for i := range delivered {
		list = append(list, numberedEvent(tenant, fmt.Sprint("a", i%50), fmt.Sprint(i)))
	}
	publish(t, module, tenant, list...)
	if n, err := d.Drain(t.Context()); err != nil || n != delivered {
		t.Fatal(n, err)
	}
	tx, err := owner.Begin(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec(t.Context(), `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`); err != nil {
		t.Fatal(err)
	}
	// An open snapshot, such as that of an autovacuum worker, delays the removal of
	// dead index entries. Rows that two transaction ids marked keep them at any time.
	pages := countPages(t, tx)
	for end := time.Now().Add(time.Minute); pages > maxPages && time.Now().Before(end); pages = countPages(t, tx) {
		time.Sleep(50 * time.Millisecond)
	}
	if pages > maxPages {
		t.Errorf("after %d deliveries a search in the empty queue read %d pages, want at most %d", delivered, pages, maxPages)
	}
}

// countPages returns how many pages a search in the queue of subscriber two reads.
func countPages(t *testing.T, q postgres.Querier) int {
	t.Helper()
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	var text []byte
	err := q.QueryRow(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
		SELECT 1 FROM events.deliveries WHERE subscriber = 'two' AND parked_at IS NULL ORDER BY position LIMIT 1`).Scan(&text)
	if err == nil {
		err = json.Unmarshal(text, &plans)
	}
	if err != nil || len(plans) != 1 {
		t.Fatalf("plan %s, error %v", text, err)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// countRowVisits returns how many rows of each events table were visited by scans of any kind.
func countRowVisits(t *testing.T, owner *postgres.Pool) map[string]int64 {
	t.Helper()
	type row struct {
		Relname string
		Visited int64
	}
	rows, err := postgres.Collect[row](t.Context(), owner,
		`SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) AS visited FROM pg_stat_user_tables WHERE schemaname = 'events'`)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, r := range rows {
		counts[r.Relname] = r.Visited
	}
	return counts
}
