// Package pgtest provides tests with real, migrated databases.
//
// All test processes that run concurrently share one server. The first process starts it,
// on a memory file system if there is room. The server ends after the last process, even if
// the processes are killed. A template database is migrated once per set of migrations. New
// clones it for a test in about 50 ms and drops the clone afterwards. Tx is cheaper: it
// returns a transaction that is rolled back. Tests that use the package can run in parallel.
//
// Without PostgreSQL, tests fail instead of being skipped, because they verify the
// isolation of tenants.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres"
	"parapet/internal/postgres/embedded"
	"parapet/internal/postgres/migrate"
	"parapet/internal/postgres/riverschema"
	"parapet/internal/uid"
)

// DB is a migrated database.
type DB struct {
	server *embedded.Server
	name   string
}

// testServer is the connection to the server that the tests of one process share. It exists
// until the process ends.
type testServer struct {
	server   *embedded.Server
	template string

	mu     sync.Mutex
	shared *DB
	pools  map[string]*postgres.Pool
}

// joined returns the testServer of this process.
var joined = sync.OnceValues(start)

// New returns a separate database that contains only the rows of the migrations. It is
// dropped when the test ends.
func New(tb testing.TB) *DB {
	tb.Helper()
	s := get(tb)
	return s.copyOf(tb, s.template)
}

// copyOf copies a template. The copy is dropped when the test ends.
func (s *testServer) copyOf(tb testing.TB, template string) *DB {
	tb.Helper()
	db, err := s.clone(tb.Context(), template)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.drop(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("pgtest: %v", err)
		}
	})
	return db
}

// Template is a migrated database with rows that many tests of a process start
// from. The first test that copies it fills it.
type Template struct {
	fill func(ctx context.Context, db *DB) error
	once sync.Once
	name string
	err  error
}

// NewTemplate returns a template that fill populates. fill must close its connections
// before it returns.
func NewTemplate(fill func(ctx context.Context, db *DB) error) *Template {
	return &Template{fill: fill}
}

// New returns a copy of the template, which is dropped when the test ends. The template
// itself is removed with the server.
func (t *Template) New(tb testing.TB) *DB {
	tb.Helper()
	s := get(tb)
	t.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 3*time.Minute)
		defer cancel()
		var db *DB
		if db, t.err = s.clone(ctx, s.template); t.err != nil {
			return
		}
		if t.err = t.fill(ctx, db); t.err == nil {
			t.err = s.admin(ctx, "ALTER DATABASE "+db.name+" WITH ALLOW_CONNECTIONS false")
		}
		t.name = db.name
	})
	if t.err != nil {
		tb.Fatalf("pgtest: template: %v", t.err)
	}
	return s.copyOf(tb, t.name)
}

// Empty returns a separate database without any migration, for tests of migrations.
func Empty(tb testing.TB) *DB {
	tb.Helper()
	s := get(tb)
	db := &DB{server: s.server, name: databaseName("e")}
	if err := s.admin(tb.Context(), "CREATE DATABASE "+db.name+" TEMPLATE template0"); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.drop(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("pgtest: %v", err)
		}
	})
	return db
}

// Tx returns a transaction of role in tenant, in a database that the tests of this
// process share. It is rolled back when the test ends. It may see rows that other tests
// committed, so count only rows that the test wrote.
func Tx(tb testing.TB, role, tenant string) *postgres.Tx {
	tb.Helper()
	pool := Shared(tb, role)
	tx, err := pool.Begin(tb.Context(), tenant, nil)
	if err != nil {
		tb.Fatalf("pgtest: begin as %s: %v", role, err)
	}
	tb.Cleanup(tx.Rollback)
	return tx
}

// Shared returns a pool of role on the database that the tests of this process
// share, for tests that commit nothing.
func Shared(tb testing.TB, role string) *postgres.Pool {
	tb.Helper()
	s := get(tb)
	pool, err := s.sharedPool(role)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	return pool
}

// Name returns the database's name.
func (d *DB) Name() string { return d.name }

// URL returns the address for the superuser that owns everything (DIRECT_URL).
func (d *DB) URL() string { return d.RoleURL(d.server.Superuser()) }

// RoleURL returns the address for a role.
func (d *DB) RoleURL(role string) string { return d.server.URL(d.name, role) }

// Pool opens a pool of role. It is closed when the test ends.
func (d *DB) Pool(tb testing.TB, role string) *postgres.Pool {
	tb.Helper()
	return d.PoolWith(tb, postgres.Config{URL: d.RoleURL(role), MaxConns: 8, TenantConns: 8})
}

// PoolWith opens a pool with cfg. It is closed when the test ends.
func (d *DB) PoolWith(tb testing.TB, cfg postgres.Config) *postgres.Pool {
	tb.Helper()
	pool, err := postgres.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			pool.Close()
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			// A test that failed during a transaction must not hang in its cleanup; dropping
			// the database ends the connections.
			tb.Error("pgtest: rows or a transaction were left open")
		}
	})
	return pool
}

// Owner opens a pool of the superuser, which row-level security does not restrict. Use it
// to prepare and inspect data, not for the code under test. It waits up to a minute for a
// connection, so that tests pass on a busy machine.
func (d *DB) Owner(tb testing.TB) *postgres.Pool {
	tb.Helper()
	return d.PoolWith(tb, postgres.Config{URL: d.RoleURL(d.server.Superuser()), MaxConns: 4, AcquireTimeout: time.Minute, LockTimeout: time.Minute})
}

func (d *DB) drop(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, d.server.URL("postgres", d.server.Superuser()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+d.name+" WITH (FORCE)")
	return err
}

func get(tb testing.TB) *testServer {
	tb.Helper()
	s, err := joined()
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	return s
}

// start joins the server and creates the template, once per process.
func start() (*testServer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	server, err := embedded.Join(ctx, embedded.Options{
		Dir:      filepath.Join(home(), fmt.Sprintf("parapet-test-%d", os.Geteuid())),
		Binaries: os.Getenv("PT_POSTGRES_BIN"),
	})
	if err != nil {
		return nil, err
	}
	s := &testServer{server: server, pools: make(map[string]*postgres.Pool)}
	if err := s.ensureTemplate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("template: %w", err), server.Close(ctx))
	}
	return s, nil
}

// ensureTemplate migrates the template unless another process has done so.
func (s *testServer) ensureTemplate(ctx context.Context) error {
	hash, err := migrate.Hash()
	if err != nil {
		return err
	}
	s.template = "template_" + hash[:16]
	conn, err := pgx.Connect(ctx, s.server.URL("postgres", s.server.Superuser()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	// The lock ends with the connection: a killed migration is started again.
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext($1))`, s.template); err != nil {
		return err
	}
	var exists bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1)`, s.template).Scan(&exists)
	if err != nil || exists {
		return err
	}
	building := s.template + "_building"
	for _, sql := range []string{
		"DROP DATABASE IF EXISTS " + building + " WITH (FORCE)",
		"CREATE DATABASE " + building + " TEMPLATE template0",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if _, err := migrate.Up(ctx, s.server.URL(building, s.server.Superuser()), MigrateOptions()); err != nil {
		return err
	}
	for _, sql := range []string{
		"ALTER DATABASE " + building + " WITH ALLOW_CONNECTIONS false",
		"ALTER DATABASE " + building + " RENAME TO " + s.template,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// MigrateOptions returns the options that the program migrates with.
func MigrateOptions() migrate.Options {
	return migrate.Options{Extra: []func(context.Context, *pgx.Conn) error{riverschema.Migrate}}
}

func (s *testServer) clone(ctx context.Context, template string) (*DB, error) {
	db := &DB{server: s.server, name: databaseName("t")}
	err := s.admin(ctx, "CREATE DATABASE "+db.name+" TEMPLATE "+template+" STRATEGY FILE_COPY")
	return db, err
}

func (s *testServer) admin(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.server.URL("postgres", s.server.Superuser()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

// sharedPool opens a pool on the shared clone. Neither is released: both end with the
// server, which ends after the last process.
func (s *testServer) sharedPool(role string) (*postgres.Pool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == nil {
		db, err := s.clone(context.Background(), s.template)
		if err != nil {
			return nil, err
		}
		s.shared = db
	}
	if pool := s.pools[role]; pool != nil {
		return pool, nil
	}
	pool, err := postgres.Open(context.Background(), postgres.Config{
		URL: s.shared.RoleURL(role), MaxConns: int32(max(16, 2*runtime.GOMAXPROCS(0))), TenantConns: 1000,
		// Parallel tests wait for connections, which is not what they test.
		AcquireTimeout: time.Minute, LockTimeout: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	s.pools[role] = pool
	return pool, nil
}

func databaseName(kind string) string {
	id := string(uid.Random())
	return kind + "_" + id[:8] + id[9:13]
}
