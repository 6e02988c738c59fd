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

// TestARunBecomesOneJob: however often its event comes. It waits while no process
// carries runs out, and is called again when it asks for that.
func TestARunBecomesOneJob(t *testing.T) {
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
	eventually(t, 20*time.Second, func() bool { return count() == 1 })
	// Told again, it is known.
	if _, err := owner.Exec(t.Context(), `UPDATE events.outbox SET dispatched_at = NULL`); err != nil {
		t.Fatal(err)
	}
	if err := idle.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 1 {
		t.Errorf("%d jobs wait for a process that carries runs out, want 1", n)
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
			t.Errorf("called for %s of %s", id, of)
		}
		if calls++; calls == 1 {
			return time.Second, nil
		}
		return 0, nil
	}}})
	eventually(t, 30*time.Second, func() bool {
		var state string
		err := owner.QueryRow(t.Context(), `SELECT state FROM river.river_job WHERE kind = 'agent_run'`).Scan(&state)
		return err == nil && state == "completed"
	})
	mu.Lock()
	defer mu.Unlock()
	if calls != 2 {
		t.Errorf("called %d times, want twice", calls)
	}
}
