package dev

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres/pgtest"
)

// project creates a project with n tasks as a tenant's project manager, and returns the
// paths of the tasks.
func (d *Dev) project(t *testing.T, token, prefix string, n int) (project string, tasks []string) {
	t.Helper()
	var made struct{ ID string }
	d.must(t, token, "POST", "/api/projects", map[string]any{"name": prefix, "startDate": "2027-01-01", "prefix": prefix}, &made)
	project = "/api/projects/" + made.ID
	var items []map[string]any
	for i := range n {
		items = append(items, map[string]any{"id": fmt.Sprint(i), "title": fmt.Sprintf("%s %d", prefix, i)})
	}
	var out struct{ Results []struct{ TaskID string } }
	d.must(t, token, "POST", project+"/import", map[string]any{"items": items}, &out)
	for _, r := range out.Results {
		tasks = append(tasks, project+"/tasks/"+r.TaskID)
	}
	return project, tasks
}

// must sends a request with JSON and fails the test unless it succeeds.
func (d *Dev) must(t *testing.T, token, method, path string, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	w := d.ask(t, method, path, token, body)
	if w.Code >= 300 || json.Unmarshal(w.Body.Bytes(), out) != nil {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
}

// connect opens a connection as the database's owner.
func (d *Dev) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.info.DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// waitingWritersSQL counts only connections of this test's database, because other tests
// use the same server.
const waitingWritersSQL = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND usename = 'parapet_tracker'`

// TestLockedRow_LeavesOtherTenantsAlone lets 200 updates of one tenant wait for
// one row. Meanwhile another tenant can read and write and the same tenant can read; the
// updates get 503 with Retry-After.
func TestLockedRow_LeavesOtherTenantsAlone(t *testing.T) {
	t.Parallel()
	d := startDevWith(t, map[string]string{"PT_LOCK_TIMEOUT_MS": "3000"}, slog.DiscardHandler)
	attacker, victim := d.login(t, "project-manager@acme.example"), d.login(t, "project-manager@globex.example")
	_, locked := d.project(t, attacker, "LCK", 1)
	list, own := d.project(t, victim, "VIC", 2)

	holder, watch := d.connect(t), d.connect(t)
	id := locked[0][strings.LastIndexByte(locked[0], '/')+1:]
	if _, err := holder.Exec(t.Context(), `BEGIN`); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `SELECT FROM projects.tasks WHERE id = $1 FOR UPDATE`, id); err != nil {
		t.Fatal(err)
	}
	const updates = 200
	answers := make(chan *httptest.ResponseRecorder, updates)
	for range updates {
		go func() { answers <- d.ask(t, "PATCH", locked[0], attacker, []byte(`{"description":"x"}`)) }()
	}
	pgtest.Eventually(t, time.Minute, "three updates wait for the row", func() bool {
		var n int
		if err := watch.QueryRow(t.Context(), waitingWritersSQL).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n >= 3
	})
	for i := range 10 {
		for _, a := range []struct{ method, path, token, body string }{
			{"GET", list + "/tasks?limit=50", victim, ""},
			{"PATCH", own[i%2], victim, fmt.Sprintf(`{"description":"%d"}`, i)},
			{"GET", locked[0], attacker, ""},
			{"GET", "/readyz", "", ""},
		} {
			if w := d.ask(t, a.method, a.path, a.token, []byte(a.body)); w.Code != 200 {
				t.Fatalf("%s %s during blocked updates of another tenant: got %d %s", a.method, a.path, w.Code, w.Body)
			}
		}
	}
	reasons := map[string]int{}
	for range updates {
		w := <-answers
		var e struct{ Error struct{ Code, Reason string } }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Fatalf("update of the locked row: got %d %s, want 503", w.Code, w.Body)
		}
		reasons[e.Error.Reason]++
	}
	// Some updates waited for the row, others for a connection.
	if reasons["TENANT_BUSY"] == 0 || reasons["RECORD_LOCKED"] == 0 || len(reasons) != 2 {
		t.Errorf("reasons of the 503s: got %v", reasons)
	}
	metrics := d.ask(t, "GET", "/metrics", "", nil).Body.String()
	for _, line := range []string{
		`parapet_pool_limit{limit="tenant",role="parapet_tracker"} 4`,
		`parapet_pool_refused_total{lane="write",reason="queue_full",role="parapet_tracker"}`,
		`parapet_pool_refused_total{lane="write",reason="timeout",role="parapet_tracker"}`,
		`parapet_pool_wait_seconds_count{lane="read",role="parapet_tracker"}`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("/metrics has no %s", line)
		}
	}
}

// TestReadOnlyDatabase_Returns503WithReason makes the database reject changes, as a
// standby does.
func TestReadOnlyDatabase_Returns503WithReason(t *testing.T) {
	t.Parallel()
	d := startDevWith(t, nil, slog.DiscardHandler)
	manager := d.login(t, "project-manager@acme.example")
	_, tasks := d.project(t, manager, "ROD", 1)
	owner := d.connect(t)
	for _, sql := range []string{
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`,
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename IN ('parapet_tracker', 'parapet_identity', 'parapet_auth')`,
	} {
		if _, err := owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	// A pool notices a terminated connection when it uses it.
	for range 40 {
		if d.ask(t, "GET", tasks[0], manager, nil).Code == 200 {
			break
		}
	}
	for _, a := range []struct{ method, path, body string }{
		{"PATCH", tasks[0], `{"description":"x"}`},
		{"POST", "/api/projects", `{"name":"X","startDate":"2027-01-01"}`},
		{"DELETE", tasks[0], ""},
		{"POST", "/api/auth/login", d.credentials(t, "project-manager@acme.example")},
		{"POST", "/api/auth/api-keys", `{"label":"x"}`},
	} {
		// Other connections of the pool may also have been terminated; retry those.
		var w *httptest.ResponseRecorder
		for range 40 {
			if w = d.ask(t, a.method, a.path, manager, []byte(a.body)); strings.Contains(w.Body.String(), "DATABASE_READ_ONLY") {
				break
			}
		}
		if w.Code != 503 || !strings.Contains(w.Body.String(), `"reason":"DATABASE_READ_ONLY"`) || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s %s on a read-only database: got %d %s", a.method, a.path, w.Code, w.Body)
		}
	}
	if w := d.ask(t, "GET", tasks[0], manager, nil); w.Code != 200 {
		t.Errorf("read: got %d %s, want 200", w.Code, w.Body)
	}
}

// credentials returns the body of a login.
func (d *Dev) credentials(t *testing.T, email string) string {
	t.Helper()
	for _, tenant := range d.info.Tenants {
		for _, u := range tenant.Users {
			if u.Email == email && u.Password != nil {
				body, err := json.Marshal(map[string]string{"email": email, "password": *u.Password})
				if err != nil {
					t.Fatal(err)
				}
				return string(body)
			}
		}
	}
	t.Fatalf("no seeded user %s", email)
	return ""
}

// TestRequestTimeout_BlockedDatabase_Returns503 blocks reads and the check of the tenant
// context in the database for longer than the request timeout.
func TestRequestTimeout_BlockedDatabase_Returns503(t *testing.T) {
	t.Parallel()
	d := startDevWith(t, map[string]string{"PT_REQUEST_TIMEOUT_SECONDS": "5", "PT_LOCK_TIMEOUT_MS": "60000"}, slog.DiscardHandler)
	manager := d.login(t, "project-manager@acme.example")
	_, tasks := d.project(t, manager, "DLN", 1)
	holder := d.connect(t)
	for _, sql := range []string{`BEGIN`, `LOCK TABLE identity.memberships IN ACCESS EXCLUSIVE MODE`} {
		if _, err := holder.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	var running sync.WaitGroup
	for method, body := range map[string]string{"GET": "", "PATCH": `{"description":"x"}`} {
		running.Go(func() {
			began := time.Now()
			w := d.ask(t, method, tasks[0], manager, []byte(body))
			if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"reason":"DATABASE_TIMEOUT"`) {
				t.Errorf("%s: got %d %s after %s", method, w.Code, w.Body, time.Since(began))
			}
		})
	}
	running.Wait()
	if _, err := holder.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if w := d.ask(t, "GET", tasks[0], manager, nil); w.Code != 200 {
		t.Errorf("request after the block: got %d %s", w.Code, w.Body)
	}
}
