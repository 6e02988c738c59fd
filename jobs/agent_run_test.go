package jobs_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
	"parapet/jobs"
)

// TestAgentRunQueue_InsertsOneJobPerRun redelivers the event of a run: there must be one
// job. It waits until a process has a command, and runs again when Execute requests it.
func TestAgentRunQueue_InsertsOneJobPerRun(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant, run := db.Owner(t), uid.New(), uid.New()
	err := db.Pool(t, postgres.RoleTracker).InTx(t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
		return events.Append(t.Context(), tx, []events.Event{{Type: "projects.agent_run.queued", TenantID: tenant, AggregateType: "agent_run", AggregateID: string(run)}})
	})
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		t.Helper()
		var n int
		err := owner.QueryRow(t.Context(), `SELECT count(*) FROM river.river_job WHERE kind = 'agent_run' AND state = 'available' AND args->>'run' = $1 AND args->>'tenant' = $2`, run, tenant).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	idle, err := jobs.Start(t.Context(), jobs.Deps{Pool: jobsPool(t, db)})
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, time.Minute, "the job of the run is inserted", func() bool { return count() == 1 })
	// Redeliver the event.
	if _, err := owner.Exec(t.Context(), `UPDATE events.outbox SET dispatched_at = NULL`); err != nil {
		t.Fatal(err)
	}
	if err := idle.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 1 {
		t.Errorf("event delivered twice: got %d available jobs, want 1", n)
	}
	if err := idle.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	calls := 0
	start(t, jobs.Deps{Pool: jobsPool(t, db), AgentRuns: jobs.AgentRuns{Timeout: time.Minute, Execute: func(_ context.Context, of, id op.UUID) (time.Duration, error) {
		mu.Lock()
		defer mu.Unlock()
		if of != tenant || id != run {
			t.Errorf("Execute: got run %s of tenant %s, want %s of %s", id, of, run, tenant)
		}
		if calls++; calls == 1 {
			return time.Second, nil
		}
		return 0, nil
	}}})
	pgtest.Eventually(t, time.Minute, "the job of the run is completed", func() bool {
		var state string
		err := owner.QueryRow(t.Context(), `SELECT state FROM river.river_job WHERE kind = 'agent_run'`).Scan(&state)
		return err == nil && state == "completed"
	})
	mu.Lock()
	defer mu.Unlock()
	if calls != 2 {
		t.Errorf("Execute: got %d calls, want 2", calls)
	}
}
