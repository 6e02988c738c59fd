package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/fault"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
)

func TestMapError_ReturnsFaultCode(t *testing.T) {
	t.Parallel()
	known := postgres.Constraints{"slug_once": fault.Conflict("The slug is taken.")}
	for _, c := range []struct {
		err  error
		want fault.Code
	}{
		{&pgconn.PgError{Code: "23505", ConstraintName: "slug_once"}, fault.CodeConflict},
		{&pgconn.PgError{Code: "23505", ConstraintName: "other"}, fault.CodeConflict},
		{&pgconn.PgError{Code: "23503"}, fault.CodeConflict},
		{&pgconn.PgError{Code: "23514"}, fault.CodeInternal},
		{&pgconn.PgError{Code: "23502"}, fault.CodeInternal},
		{&pgconn.PgError{Code: "22P02"}, fault.CodeValidation},
		{&pgconn.PgError{Code: "22021"}, fault.CodeValidation},
		{&pgconn.PgError{Code: "42501"}, fault.CodeInternal},
		{&pgconn.PgError{Code: "42601"}, fault.CodeInternal},
		{&pgconn.PgError{Code: "25006", Message: "cannot execute UPDATE in a read-only transaction"}, fault.CodeInternal},
		{&pgconn.PgError{Code: "25006", Message: "cannot execute UPDATE during recovery"}, fault.CodeUnavailable},
		{&pgconn.PgError{Code: "40001"}, fault.CodeUnavailable},
		{&pgconn.PgError{Code: "40P01"}, fault.CodeUnavailable},
		{&pgconn.PgError{Code: "53300"}, fault.CodeUnavailable},
		{&pgconn.PgError{Code: "53100"}, fault.CodeUnavailable},
		{&pgconn.PgError{Code: "57P01"}, fault.CodeUnavailable},
		{&pgconn.PgError{Code: "25P03"}, fault.CodeUnavailable},
		{fault.OutcomeUnknown(io.ErrUnexpectedEOF), fault.CodeOutcomeUnknown},
		{&pgconn.PgError{Code: "57014"}, fault.CodeUnavailable},
		{&pgconn.PgError{Code: "08006"}, fault.CodeUnavailable},
		{pgx.ErrNoRows, fault.CodeNotFound},
		{context.DeadlineExceeded, fault.CodeUnavailable},
		{context.Canceled, fault.CodeUnavailable},
		{io.ErrUnexpectedEOF, fault.CodeUnavailable},
		{net.ErrClosed, fault.CodeUnavailable},
		{errors.New("a mistake"), fault.CodeInternal},
		{fault.Forbidden("task.read"), fault.CodeForbidden},
	} {
		for _, err := range []error{c.err, fmt.Errorf("store: %w", c.err)} {
			mapped := postgres.MapError(err, known)
			if !fault.HasCode(mapped, c.want) {
				t.Errorf("MapError(%v): got %v, want %s", err, mapped, c.want)
			}
			if !errors.Is(mapped, c.err) {
				t.Errorf("MapError(%v): got %v, which does not wrap the error", err, mapped)
			}
			if f := fault.From(mapped); c.want == fault.CodeUnavailable && f.RetryAfter <= 0 {
				t.Errorf("MapError(%v): got no RetryAfter", err)
			}
		}
	}
	if postgres.MapError(nil) != nil {
		t.Error("MapError(nil): got an error, want nil")
	}
}

func TestPool_WhenFull_ReturnsUnavailableAfterTheWait(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool := db.PoolWith(t, postgres.Config{URL: db.RoleURL(postgres.RoleWiki), MaxConns: 1})
	tx, err := pool.Begin(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	_, err = pool.Read("", nil).Exec(t.Context(), `SELECT 1`)
	took := time.Since(started)
	f := fault.From(err)
	if f == nil || f.Code != fault.CodeUnavailable || f.RetryAfter <= 0 {
		t.Fatalf("Exec on a full pool: got %v, want UNAVAILABLE with RetryAfter", err)
	}
	// The log names the setting, and the response does not: the caller can be a stranger.
	if !strings.Contains(err.Error(), "PT_POOL_CONNS") || strings.Contains(f.Message, "PT_") {
		t.Errorf("Exec on a full pool: got %v with the message %q, want PT_POOL_CONNS only in the error", err, f.Message)
	}
	if took < 1500*time.Millisecond {
		t.Errorf("Exec on a full pool returned after %s, want 2s", took)
	}
	tx.Rollback()
	if _, err = pool.Read("", nil).Exec(t.Context(), `SELECT 1`); err != nil {
		t.Errorf("Exec after a connection was released: %v", err)
	}
}

// Work in a tenant is done for an authenticated caller.
func TestPool_WhenFull_NamesTheSettingInATenant(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool := db.PoolWith(t, postgres.Config{URL: db.RoleURL(postgres.RoleWiki), MaxConns: 1, AcquireTimeout: 500 * time.Millisecond})
	tx, err := pool.Begin(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	_, err = pool.Read("018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f", nil).Exec(t.Context(), `SELECT 1`)
	if f := fault.From(err); f == nil || f.Code != fault.CodeUnavailable || !strings.Contains(f.Message, "PT_POOL_CONNS") {
		t.Errorf("got %v, want UNAVAILABLE with a message that names PT_POOL_CONNS", err)
	}
}

func TestPool_WhenFull_EndsTheWaitWithTheContext(t *testing.T) {
	t.Parallel()
	const wait = 5 * time.Minute
	db := pgtest.New(t)
	pool := db.PoolWith(t, postgres.Config{URL: db.RoleURL(postgres.RoleWiki), MaxConns: 1, AcquireTimeout: wait})
	tx, err := pool.Begin(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	started := time.Now()
	if _, err := pool.Begin(short, "", nil); err == nil || time.Since(started) >= wait {
		t.Errorf("Begin with a 10 ms context: got %v after %s, want an error before the pool's %s", err, time.Since(started), wait)
	}
}

func TestPool_LostConnection_ReturnsUnavailableAndReconnects(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool := db.PoolWith(t, postgres.Config{URL: db.RoleURL(postgres.RoleWiki), MaxConns: 2})
	owner := db.Owner(t)
	// The server ends every connection of the role and rejects new ones.
	for _, sql := range []string{
		`REVOKE CONNECT ON DATABASE ` + db.Name() + ` FROM PUBLIC, parapet_wiki`,
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'parapet_wiki' AND datname = current_database()`,
	} {
		if _, err := owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pool.Read("", nil).Exec(t.Context(), `SELECT 1`); !fault.HasCode(postgres.MapError(err), fault.CodeUnavailable) {
		t.Errorf("Exec without CONNECT: got %v, want UNAVAILABLE", err)
	}
	if _, err := owner.Exec(t.Context(), `GRANT CONNECT ON DATABASE `+db.Name()+` TO parapet_wiki`); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Read("", nil).Exec(t.Context(), `SELECT 1`); err != nil {
		t.Errorf("Exec after CONNECT was granted again: %v", err)
	}
	// A connection that is terminated during a statement.
	go func() {
		for n := 0; n == 0 && t.Context().Err() == nil; time.Sleep(5 * time.Millisecond) {
			_ = owner.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
				WHERE usename = 'parapet_wiki' AND datname = current_database() AND state = 'active' AND query = 'SELECT pg_sleep(25)'`).Scan(&n)
		}
	}()
	if _, err := pool.Read("", nil).Exec(t.Context(), `SELECT pg_sleep(25)`); !fault.HasCode(postgres.MapError(err), fault.CodeUnavailable) {
		t.Errorf("Exec on a terminated connection: got %v, want UNAVAILABLE", err)
	}
	if _, err := postgres.Open(t.Context(), postgres.Config{URL: "postgres://x@127.0.0.1:1/x?connect_timeout=1"}); err == nil {
		t.Error("Open of an unreachable server: got no error")
	}
}

func TestRoleURL_ReplacesUserAndPassword(t *testing.T) {
	t.Parallel()
	const secret = "a secret"
	password := postgres.RolePassword("parapet_wiki", secret)
	if len(password) != 64 || password == postgres.RolePassword("parapet_jobs", secret) {
		t.Errorf("RolePassword: got %q, want 64 hex digits that differ by role", password)
	}
	for _, base := range []string{
		"postgres://app:hidden@db.example:6432/parapet?sslmode=require",
		"postgresql://db.example:6432/parapet?user=app&password=hidden&sslmode=require",
		"host=db.example port=6432 dbname=parapet user=app password=hidden sslmode=require",
		"postgres:///parapet?host=db.example&port=6432&sslmode=require",
	} {
		for _, s := range []string{secret, ""} {
			url, err := postgres.RoleURL(base, "parapet_wiki", s)
			if err != nil {
				t.Errorf("RoleURL(%s): %v", base, err)
				continue
			}
			cfg, err := pgx.ParseConfig(url)
			if err != nil {
				t.Errorf("RoleURL: got invalid address %s: %v", url, err)
				continue
			}
			want := ""
			if s != "" {
				want = password
			}
			if cfg.User != "parapet_wiki" || cfg.Password != want || cfg.Host != "db.example" || cfg.Port != 6432 || cfg.Database != "parapet" || cfg.TLSConfig == nil {
				t.Errorf("RoleURL(%s): got %s, want the same address with the user parapet_wiki and the password %q", base, url, want)
			}
		}
	}
	for _, base := range []string{"", " ", "nonsense", "postgres://\x7f"} {
		if url, err := postgres.RoleURL(base, "parapet_wiki", ""); err == nil {
			t.Errorf("RoleURL(%q): got %q, want an error", base, url)
		}
	}
}

func FuzzRoleURL(f *testing.F) {
	f.Add("postgres://app:hidden@db.example:6432/parapet?sslmode=disable")
	f.Add("host=/tmp user=app password='a b'")
	f.Add("postgres:///x?user=app&user=other")
	f.Fuzz(func(t *testing.T, base string) {
		url, err := postgres.RoleURL(base, "parapet_wiki", "secret")
		if err != nil {
			return
		}
		cfg, err := pgx.ParseConfig(url)
		if err != nil {
			return // base is not an address
		}
		if cfg.User != "parapet_wiki" || cfg.Password != postgres.RolePassword("parapet_wiki", "secret") {
			t.Errorf("RoleURL(%q): got %q with user %q, want parapet_wiki with its password", base, url, cfg.User)
		}
	})
}
