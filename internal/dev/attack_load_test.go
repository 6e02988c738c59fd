package dev

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres/pgtest"
)

// TestPool_WhenFull_Returns503AndRecovers uses every connection of a module: further requests
// get 503 while the connections are still in use, the rest of the server works, and requests
// succeed again once connections are free.
func TestPool_WhenFull_Returns503AndRecovers(t *testing.T) {
	t.Parallel()
	const conns = 2
	d := startDevWith(t, map[string]string{"PT_POOL_CONNS": "2"}, slog.DiscardHandler)
	manager := d.login(t, "project-manager@acme.example")
	w := d.ask(t, "GET", "/api/projects", manager, nil)
	if w.Code != 200 {
		t.Fatalf("list-projects: got %d %s, want 200", w.Code, w.Body)
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, d.info.DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	lock, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Rollback(ctx) }()
	if _, err := lock.Exec(ctx, `LOCK TABLE projects.projects IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	holders := make(chan int, conns)
	for range conns {
		go func() { holders <- d.ask(t, "GET", "/api/projects", manager, nil).Code }()
	}
	// Use another connection than the lock's, because pg_stat_activity does not change within
	// a transaction.
	watch, err := pgx.Connect(ctx, d.info.DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watch.Close(ctx) }()
	pgtest.Eventually(t, time.Minute, "every connection waits for the lock", func() bool {
		var waiting int
		if err := watch.QueryRow(ctx, waitingWritersSQL).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		return waiting == conns
	})
	requests := map[string][2]string{"a read": {"GET", ""}, "a change": {"POST", `{"name":"X","startDate":"2027-01-01"}`}}
	answers := make(chan *httptest.ResponseRecorder, len(requests))
	for _, a := range requests {
		go func() { answers <- d.ask(t, a[0], "/api/projects", manager, []byte(a[1])) }()
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/api/auth/me"} {
		if w := d.ask(t, "GET", path, manager, nil); w.Code != 200 {
			t.Errorf("%s with a full pool: got %d %s", path, w.Code, w.Body)
		}
	}
	for range requests {
		w := <-answers
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"UNAVAILABLE"`) {
			t.Errorf("request with a full pool: got %d %s", w.Code, w.Body)
		}
	}
	if err := lock.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	for range conns {
		if code := <-holders; code != 200 {
			t.Errorf("request that held a connection: got %d", code)
		}
	}
	if w := d.ask(t, "GET", "/api/projects", manager, nil); w.Code != 200 {
		t.Errorf("request after the lock was released: got %d %s", w.Code, w.Body)
	}
}
