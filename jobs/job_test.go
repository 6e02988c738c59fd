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

// loadArgs are the arguments of a test job.
type loadArgs struct {
	Tenant op.UUID `json:"tenant"`
	Ship   string  `json:"ship"`
}

// Kind implements jobs.Args.
func (loadArgs) Kind() string { return "load" }

// tideArgs are the arguments of a periodic test job.
type tideArgs struct{}

// Kind implements jobs.Args.
func (tideArgs) Kind() string { return "tide" }

// loadJob returns a module's job with a queue of its own, and its trigger.
func loadJob(workers int, work func(context.Context, loadArgs) (time.Duration, error)) jobs.Deps {
	return jobs.Deps{
		Jobs: []jobs.Job{jobs.New(jobs.Settings{Queue: "dock", Workers: workers}, work)},
		Triggers: []jobs.Trigger{{Name: "loads", Events: []*op.EventType{{Name: "projects.ship.loaded"}}, Args: func(e events.Event) (jobs.Args, error) {
			return loadArgs{Tenant: e.TenantID, Ship: e.AggregateID}, nil
		}}},
	}
}

// TestTrigger_InsertsOneJobPerEvent redelivers an event: there must be one job. It waits until
// a process works the job's queue, and runs again when the work requests it.
func TestTrigger_InsertsOneJobPerEvent(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := db.Owner(t), uid.New()
	err := db.Pool(t, postgres.RoleTracker).InTx(t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
		return events.Append(t.Context(), tx, []events.Event{{Type: "projects.ship.loaded", TenantID: tenant, AggregateType: "ship", AggregateID: "Aurora"}})
	})
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		t.Helper()
		var n int
		err := owner.QueryRow(t.Context(), `SELECT count(*) FROM river.river_job WHERE kind = 'load' AND queue = 'dock' AND state = 'available' AND args->>'ship' = 'Aurora' AND args->>'tenant' = $1`, tenant).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	deps := loadJob(0, func(context.Context, loadArgs) (time.Duration, error) {
		t.Error("a process without workers for the queue ran the job")
		return 0, nil
	})
	deps.Pool = jobsPool(t, db)
	idle, err := jobs.Start(t.Context(), deps)
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, time.Minute, "the job of the event is inserted", func() bool { return count() == 1 })
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
	deps = loadJob(1, func(_ context.Context, a loadArgs) (time.Duration, error) {
		mu.Lock()
		defer mu.Unlock()
		if want := (loadArgs{Tenant: tenant, Ship: "Aurora"}); a != want {
			t.Errorf("arguments of the job: got %v, want %v", a, want)
		}
		if calls++; calls == 1 {
			return time.Second, nil
		}
		return 0, nil
	})
	deps.Pool = jobsPool(t, db)
	start(t, deps)
	pgtest.Eventually(t, time.Minute, "the job is completed", func() bool {
		var state string
		err := owner.QueryRow(t.Context(), `SELECT state FROM river.river_job WHERE kind = 'load'`).Scan(&state)
		return err == nil && state == "completed"
	})
	mu.Lock()
	defer mu.Unlock()
	if calls != 2 {
		t.Errorf("got %d attempts, want 2", calls)
	}
}
