package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/fault"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
)

// The final batch and COMMIT succeed or fail together. After an error nothing is
// committed, the error is the server's, and the connection remains usable.
func TestCommit_FinalBatchIsAtomicWithCommit(t *testing.T) {
	t.Parallel()
	eachSetting(t, func(t *testing.T, setting postgres.TenantSetting) {
		t.Helper()
		pool := newNotes(t, postgres.Config{MaxConns: 1, TenantSetting: setting})
		ctx := t.Context()
		const insert = `INSERT INTO wiki.notes VALUES ($1, $2, $3)`
		for name, c := range map[string]struct {
			before []any
			final  [][]any
			broken bool
			want   func(error) bool
		}{
			"batch is committed":            {final: [][]any{{10, "x"}, {11, "y"}}, want: func(err error) bool { return err == nil }},
			"empty batch":                   {want: func(err error) bool { return err == nil }},
			"constraint violation":          {before: []any{20, "undone"}, final: [][]any{{21, "undone too"}, {22, "of A"}, {23, "never"}}, want: isConstraint("body_once")},
			"deferred constraint violation": {before: []any{30, "deferred"}, final: [][]any{{31, "undone"}}, want: isConstraint("no_deferred")},
			"transaction failed before":     {broken: true, want: func(err error) bool { return errors.Is(err, pgx.ErrTxCommitRollback) }},
			"argument of the wrong type":    {final: [][]any{{"ten", "undone"}}, want: func(err error) bool { return err != nil && !fault.HasCode(err, fault.CodeOutcomeUnknown) }},
		} {
			tx, err := pool.Begin(ctx, tenantA, nil)
			if err != nil {
				t.Fatalf("%s: Begin: %v", name, err)
			}
			if c.before != nil {
				if _, err := tx.Exec(ctx, insert, tenantA, c.before[0], c.before[1]); err != nil {
					t.Fatalf("%s: insert: %v", name, err)
				}
			}
			if c.broken {
				_, _ = tx.Exec(ctx, `SELECT 1/0`)
			}
			for _, args := range c.final {
				tx.Final().Queue(insert, tenantA, args[0], args[1])
			}
			if err := tx.Commit(ctx); !c.want(err) {
				t.Errorf("Commit, %s: got %v, want another result", name, err)
			}
			tx.Rollback() // does nothing after Commit
		}
		if got, err := bodies(ctx, pool.Read(tenantA, nil)); err != nil || got != "of A,x,y" {
			t.Errorf("bodies after all commits: got %q, %v; want %q", got, err, "of A,x,y")
		}
	})
}

func isConstraint(name string) func(error) bool {
	return func(err error) bool {
		f := fault.Conflict("known")
		return fault.HasCode(postgres.MapError(err, postgres.Constraints{name: f}), fault.CodeConflict) && err != nil
	}
}

// If a transaction still waits for a lock when its client has gone, Commit terminates its
// session, so the reported UNAVAILABLE (nothing changed) remains true.
func TestCommit_ResponseLostDuringLockWait_ReturnsUnavailable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, link := db.Owner(t), db.NewLink(t)
	if _, err := owner.Exec(t.Context(), `CREATE TABLE public.counter (n int); INSERT INTO public.counter VALUES (0); GRANT SELECT, UPDATE ON public.counter TO parapet_wiki`); err != nil {
		t.Fatal(err)
	}
	pool := db.PoolWith(t, postgres.Config{URL: link.URL(t, db.RoleURL(postgres.RoleWiki)), MaxConns: 2})
	blocker, err := owner.Begin(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Rollback()
	if _, err := blocker.Exec(t.Context(), `UPDATE public.counter SET n = 0`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tx, err := pool.Begin(ctx, tenantA, nil)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if err := tx.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	tx.Final().Queue(`UPDATE public.counter SET n = n + 1`)
	// The link must match the mark when the batch is executed, not when it is prepared.
	tx.Final().Queue(`SELECT $1::text`, "the-mark")
	triggered, release := link.LoseResponseTo("the-mark")
	defer release()
	go func() {
		<-triggered
		cancel()
	}()
	if err := tx.Commit(ctx); !fault.HasCode(err, fault.CodeUnavailable) {
		t.Errorf("Commit: got %v, want UNAVAILABLE", err)
	}
	blocker.Rollback()
	var sessions, n int
	for end := time.Now().Add(10 * time.Second); ; {
		if err := owner.QueryRow(t.Context(), fmt.Sprintf(`SELECT count(*), (SELECT n FROM public.counter) FROM pg_stat_activity WHERE pid = %d`, pid)).Scan(&sessions, &n); err != nil {
			t.Fatal(err)
		}
		if sessions == 0 || time.Now().After(end) {
			break
		}
	}
	if sessions != 0 || n != 0 {
		t.Errorf("after Commit returned UNAVAILABLE: got %d sessions of the transaction and counter %d, want 0 and 0", sessions, n)
	}
}
