package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
)

const (
	tenantA = "0190a000-0000-7000-8000-00000000000a"
	tenantB = "0190a000-0000-7000-8000-00000000000b"
)

// newNotes creates a database with one tenant table that has a row for each tenant, and
// opens a pool on it.
func newNotes(tb testing.TB, cfg postgres.Config) *postgres.Pool {
	tb.Helper()
	db := pgtest.New(tb)
	owner := db.Owner(tb)
	for _, sql := range []string{
		`CREATE TABLE wiki.notes (tenant_id uuid NOT NULL, id int NOT NULL, body text, PRIMARY KEY (tenant_id, id), CONSTRAINT body_once UNIQUE (tenant_id, body))`,
		`ALTER TABLE wiki.notes ENABLE ROW LEVEL SECURITY`,
		`ALTER TABLE wiki.notes FORCE ROW LEVEL SECURITY`,
		`CREATE POLICY tenant_isolation ON wiki.notes USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)`,
		`CREATE FUNCTION wiki.refuse_deferred() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'deferred' USING ERRCODE = '23505', CONSTRAINT = 'no_deferred'; END $$`,
		`CREATE CONSTRAINT TRIGGER no_deferred AFTER INSERT ON wiki.notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.body = 'deferred') EXECUTE FUNCTION wiki.refuse_deferred()`,
		`GRANT SELECT, INSERT, UPDATE, DELETE ON wiki.notes TO parapet_wiki`,
		`INSERT INTO wiki.notes VALUES ('` + tenantA + `', 1, 'of A'), ('` + tenantB + `', 1, 'of B')`,
	} {
		if _, err := owner.Exec(tb.Context(), sql); err != nil {
			tb.Fatal(err)
		}
	}
	cfg.URL = db.RoleURL(postgres.RoleWiki)
	return db.PoolWith(tb, cfg)
}

// settings are the two ways to set the tenant. Every test must pass with both.
var settings = map[string]postgres.TenantSetting{"set_config": postgres.SetConfig, "SET LOCAL": postgres.SetLocal}

func eachSetting(t *testing.T, f func(t *testing.T, setting postgres.TenantSetting)) {
	t.Helper()
	for name, setting := range settings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, setting)
		})
	}
}

const bodiesSQL = `SELECT body FROM wiki.notes ORDER BY body`

func bodies(ctx context.Context, q postgres.Querier) (string, error) {
	list, err := postgres.CollectScalars[string](ctx, q, bodiesSQL)
	return strings.Join(list, ","), err
}

// TestPool_ConnectionKeepsNoTenantBetweenRequests alternates between tenants on one
// connection, ends requests in every possible way, and verifies after each what the next
// request sees.
func TestPool_ConnectionKeepsNoTenantBetweenRequests(t *testing.T) {
	t.Parallel()
	eachSetting(t, func(t *testing.T, setting postgres.TenantSetting) {
		t.Helper()
		pool := newNotes(t, postgres.Config{MaxConns: 1, TenantSetting: setting})
		ctx := t.Context()
		errTest := errors.New("error of the test")

		// requests end in different ways.
		requests := map[string]func(tenant string){
			"read": func(tenant string) {
				if _, err := bodies(ctx, pool.Read(tenant, nil)); err != nil {
					t.Error(err)
				}
			},
			"read, rows closed early": func(tenant string) {
				rows, err := pool.Read(tenant, nil).Query(ctx, `SELECT generate_series(1, 100000)`)
				if err != nil {
					t.Error(err)
					return
				}
				rows.Next()
				rows.Close()
			},
			"read, statement fails": func(tenant string) {
				if _, err := pool.Read(tenant, nil).Exec(ctx, `SELECT 1/0`); err == nil {
					t.Error("SELECT 1/0: got no error")
				}
			},
			"read, check returns an error": func(tenant string) {
				_, err := bodies(ctx, pool.Read(tenant, &postgres.Check{SQL: `SELECT 1`, Scan: func(pgx.Rows) error { return errTest }}))
				if !errors.Is(err, errTest) {
					t.Errorf("read: got %v, want the error of the check", err)
				}
			},
			"read, check panics": func(tenant string) {
				defer func() { _ = recover() }()
				_, _ = bodies(ctx, pool.Read(tenant, &postgres.Check{SQL: `SELECT 1`, Scan: func(pgx.Rows) error { panic(errTest) }}))
				t.Error("read: the panic of the check was lost")
			},
			"read, cancelled": func(tenant string) {
				short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
				defer cancel()
				if _, err := pool.Read(tenant, nil).Exec(short, `SELECT pg_sleep(10)`); err == nil {
					t.Error("cancelled read: got no error")
				}
			},
			"transaction": func(tenant string) {
				err := pool.InTx(ctx, tenant, nil, func(tx *postgres.Tx) error {
					_, err := tx.Exec(ctx, `UPDATE wiki.notes SET body = body`)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			},
			"transaction, callback returns an error": func(tenant string) {
				err := pool.InTx(ctx, tenant, nil, func(*postgres.Tx) error { return errTest })
				if !errors.Is(err, errTest) {
					t.Errorf("InTx: got %v, want the error of the callback", err)
				}
			},
			"transaction, check returns an error": func(tenant string) {
				_, err := pool.Begin(ctx, tenant, &postgres.Check{SQL: `SELECT 1`, Scan: func(pgx.Rows) error { return errTest }})
				if !errors.Is(err, errTest) {
					t.Errorf("Begin: got %v, want the error of the check", err)
				}
			},
			"transaction, check panics": func(tenant string) {
				defer func() { _ = recover() }()
				_, _ = pool.Begin(ctx, tenant, &postgres.Check{SQL: `SELECT 1`, Scan: func(pgx.Rows) error { panic(errTest) }})
				t.Error("Begin: the panic of the check was lost")
			},
			"transaction, callback panics": func(tenant string) {
				defer func() { _ = recover() }()
				_ = pool.InTx(ctx, tenant, nil, func(*postgres.Tx) error { panic(errTest) })
				t.Error("InTx: the panic of the callback was lost")
			},
			"transaction, cancelled during a statement": func(tenant string) {
				short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
				err := pool.InTx(short, tenant, nil, func(tx *postgres.Tx) error {
					_, err := tx.Exec(short, `SELECT pg_sleep(10)`)
					return err
				})
				if err == nil {
					t.Error("cancelled InTx: got no error")
				}
			},
			"transaction, cancelled between statements": func(tenant string) {
				short, cancel := context.WithCancel(ctx)
				defer cancel()
				tx, err := pool.Begin(short, tenant, nil)
				if err != nil {
					t.Error(err)
					return
				}
				cancel()
				tx.Rollback()
			},
		}
		for name, request := range requests {
			for i, tenant := range []string{tenantA, tenantB, tenantA} {
				request(tenant)
				// A cancelled connection is closed in the background.
				pgtest.Eventually(t, time.Minute, name+": the connection is released", func() bool { return pool.Stat().AcquiredConns() == 0 })
				// The next request runs in the other tenant and must see only its rows.
				other, want := tenantB, "of B"
				if tenant == tenantB {
					other, want = tenantA, "of A"
				}
				if got, err := bodies(ctx, pool.Read(other, nil)); err != nil || got != want {
					t.Errorf("bodies after %s (%d): got %q, %v; want %q", name, i, got, err, want)
				}
				// Outside a tenant, the connection has no tenant setting.
				var left string
				if err := pool.QueryRow(ctx, `SELECT coalesce(current_setting('app.tenant_id', true), '')`).Scan(&left); err != nil || left != "" {
					t.Errorf("after %s: got tenant %q (%v) on the connection, want none", name, left, err)
				}
				if got, err := bodies(ctx, pool); err != nil || got != "" {
					t.Errorf("after %s: got bodies %q (%v) without a tenant, want none", name, got, err)
				}
			}
		}
	})
}

func TestReader_RejectsWrites(t *testing.T) {
	t.Parallel()
	eachSetting(t, func(t *testing.T, setting postgres.TenantSetting) {
		t.Helper()
		pool := newNotes(t, postgres.Config{TenantSetting: setting})
		_, err := pool.Read(tenantA, nil).Exec(t.Context(), `UPDATE wiki.notes SET body = 'changed'`)
		if err == nil || !fault.HasCode(postgres.MapError(err), fault.CodeInternal) {
			t.Errorf("UPDATE in a read: got %v, want read_only_sql_transaction", err)
		}
		if got, err := bodies(t.Context(), pool.Read(tenantA, nil)); err != nil || got != "of A" {
			t.Errorf("bodies: got %q, %v; want unchanged", got, err)
		}
		// The read-only setting ends with the read.
		if err := pool.InTx(t.Context(), tenantA, nil, func(tx *postgres.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE wiki.notes SET body = 'changed'`)
			return err
		}); err != nil {
			t.Error(err)
		}
	})
}

func TestCheck_RunsInTheSameTransaction(t *testing.T) {
	t.Parallel()
	eachSetting(t, func(t *testing.T, setting postgres.TenantSetting) {
		t.Helper()
		pool := newNotes(t, postgres.Config{TenantSetting: setting})
		var checked, tenant string
		check := &postgres.Check{
			SQL:  `SELECT now()::text, current_setting('app.tenant_id'), $1::int + 1`,
			Args: []any{41},
			Scan: func(rows pgx.Rows) error {
				var answer int
				if !rows.Next() {
					return rows.Err()
				}
				if err := rows.Scan(&checked, &tenant, &answer); err != nil {
					return err
				}
				if answer != 42 {
					return fmt.Errorf("check: got %d", answer)
				}
				return nil
			},
		}
		var now string
		if err := pool.Read(tenantA, check).QueryRow(t.Context(), `SELECT now()::text`).Scan(&now); err != nil {
			t.Fatal(err)
		}
		// now() is the time of the transaction.
		if now != checked || tenant != tenantA {
			t.Errorf("read: the check ran at %s in tenant %s, the query at %s; want one transaction", checked, tenant, now)
		}
		tx, err := pool.Begin(t.Context(), tenantB, check)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if err := tx.QueryRow(t.Context(), `SELECT now()::text`).Scan(&now); err != nil {
			t.Fatal(err)
		}
		if now != checked || tenant != tenantB {
			t.Errorf("transaction: the check ran at %s in tenant %s, the query at %s; want one transaction", checked, tenant, now)
		}
	})
}

func TestCheck_ServerErrorTakesPrecedenceOverScan(t *testing.T) {
	t.Parallel()
	eachSetting(t, func(t *testing.T, setting postgres.TenantSetting) {
		t.Helper()
		pool := newNotes(t, postgres.Config{TenantSetting: setting})
		called := false
		check := &postgres.Check{SQL: `SELECT 1 / (length($1::text) - 1)`, Args: []any{"x"}, Scan: func(rows pgx.Rows) error {
			called = rows.Next()
			return nil // Scan ignores the error
		}}
		for range 3 { // cold and warm statement caches
			if _, err := bodies(t.Context(), pool.Read(tenantA, check)); err == nil || called {
				t.Errorf("read: got %v, Scan saw a row: %t; want an error and no row", err, called)
			}
			if tx, err := pool.Begin(t.Context(), tenantA, check); err == nil {
				tx.Rollback()
				t.Error("Begin with a failing check: got no error")
			}
		}
	})
}

func TestPool_RejectsTenantThatIsNotAUUID(t *testing.T) {
	t.Parallel()
	pool := pgtest.Shared(t, postgres.RoleWiki)
	for _, tenant := range []string{"x", "'; DROP TABLE wiki.notes; --", "{" + tenantA + "}", "urn:uuid:" + tenantA, tenantA + " "} {
		if _, err := pool.Read(tenant, nil).Exec(t.Context(), `SELECT 1`); err == nil {
			t.Errorf("read in tenant %q: got no error", tenant)
		}
		if tx, err := pool.Begin(t.Context(), tenant, nil); err == nil {
			tx.Rollback()
			t.Errorf("Begin in tenant %q: got no error", tenant)
		}
	}
}

func TestTx_BatchSavepointSetTenantAndCommit(t *testing.T) {
	t.Parallel()
	pool := newNotes(t, postgres.Config{MaxConns: 2})
	ctx := t.Context()
	tx, err := pool.Begin(ctx, tenantA, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Raw().CopyFrom(ctx, pgx.Identifier{"wiki", "notes"}, []string{"tenant_id", "id", "body"},
		pgx.CopyFromRows([][]any{{tenantA, 2, "copied"}})); err == nil {
		t.Error("COPY FROM: got no error; if it works under row-level security, use it for imports")
	}
	tx.Rollback()
	if tx, err = pool.Begin(ctx, tenantA, nil); err != nil {
		t.Fatal(err)
	}
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO wiki.notes VALUES ($1, 3, 'batched')`, tenantA)
	batch.Queue(`INSERT INTO wiki.notes VALUES ($1, 4, 'too')`, tenantA)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		t.Fatal(err)
	}
	err = tx.Savepoint(ctx, func(q pgx.Tx) error {
		_, err := q.Exec(ctx, `INSERT INTO wiki.notes VALUES ($1, 5, 'batched')`, tenantA)
		return err
	})
	known := postgres.Constraints{"body_once": fault.Conflict("taken")}
	var f *fault.Error
	if mapped := postgres.MapError(err, nil, known); !errors.As(mapped, &f) || f.Message != "taken" {
		t.Errorf("Savepoint: got %v, want the fault of body_once", err)
	}
	if err := tx.SetTenant(ctx, tenantB); err != nil {
		t.Fatal(err)
	}
	if got, err := bodies(ctx, tx); err != nil || got != "of B" {
		t.Errorf("bodies after SetTenant: got %q, %v; want of B", got, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	tx.Rollback() // does nothing after Commit
	if err := tx.Commit(ctx); err == nil {
		t.Error("second Commit: got no error")
	}
	if got, err := bodies(ctx, pool.Read(tenantA, nil)); err != nil || got != "batched,of A,too" {
		t.Errorf("bodies after Commit: got %q, %v; want %q", got, err, "batched,of A,too")
	}
	// Commit of a failed transaction returns an error.
	err = pool.InTx(ctx, tenantA, nil, func(tx *postgres.Tx) error {
		_, _ = tx.Exec(ctx, `SELECT 1/0`)
		return nil
	})
	if !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Errorf("commit of a failed transaction: got %v, want ErrTxCommitRollback", err)
	}
}

func TestCollectAndOne_MapRowsToStructs(t *testing.T) {
	t.Parallel()
	type row struct {
		ID    op.UUID `db:"id"`
		Other *op.UUID
		At    time.Time
	}
	pool := pgtest.Shared(t, postgres.RoleWiki)
	for _, q := range []postgres.Querier{pool, pool.Read(tenantA, nil), pgtest.Tx(t, postgres.RoleWiki, tenantA)} {
		const sql = `SELECT @id::uuid AS id, NULL::uuid AS other, now() AS at`
		got, err := postgres.One[row](t.Context(), q, sql, postgres.Args{"id": op.UUID(tenantA)})
		if err != nil || got.ID != tenantA || got.Other != nil {
			t.Errorf("One: got %+v, %v; want the id %s and no other", got, err, tenantA)
		}
		if _, err := postgres.One[row](t.Context(), q, sql+` WHERE false`, postgres.Args{"id": tenantA}); !postgres.IsNoRows(err) {
			t.Errorf("One without a row: got %v, want ErrNoRows", err)
		}
		if _, err := postgres.One[row](t.Context(), q, sql+` FROM generate_series(1, 2)`, postgres.Args{"id": tenantA}); !errors.Is(err, postgres.ErrTooManyRows) {
			t.Errorf("One with two rows: got %v, want ErrTooManyRows", err)
		}
		if _, err := postgres.Collect[row](t.Context(), q, `SELECT @id::uuid AS id`, postgres.Args{"id": tenantA}); err == nil {
			t.Error("Collect: got no error for a field without a column")
		}
		if _, err := postgres.Collect[row](t.Context(), q, sql, postgres.Args{"id": tenantA, "more": 1}); err == nil {
			t.Error("Collect: got no error for an unused argument")
		}
		list, err := postgres.Collect[row](t.Context(), q, sql+` WHERE false`, postgres.Args{"id": tenantA})
		if err != nil || list == nil || len(list) != 0 {
			t.Errorf("Collect without rows: got %v, %v; want an empty slice", list, err)
		}
		var n int
		if err := q.QueryRow(t.Context(), `SELECT 1 WHERE false`).Scan(&n); !postgres.IsNoRows(err) {
			t.Errorf("QueryRow without a row: got %v, want ErrNoRows", err)
		}
	}
}

func TestPool_ReturnsTimestampsInUTC(t *testing.T) {
	t.Parallel()
	pool := pgtest.Shared(t, postgres.RoleTracker)
	var now time.Time
	var at *time.Time
	if err := pool.QueryRow(t.Context(), `SELECT now(), now()`).Scan(&now, &at); err != nil {
		t.Fatal(err)
	}
	if now.Location() != time.UTC || at.Location() != time.UTC {
		t.Errorf("location of a timestamp: got %s and %s, want UTC", now.Location(), at.Location())
	}
}
