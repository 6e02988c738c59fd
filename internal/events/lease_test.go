package events_test

import (
	"errors"
	"testing"
	"time"

	"parapet/internal/events"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

// TestRoute_FormerLeaderRoutesNothing lets a leader start to route while another
// dispatcher routes, and lose its lease while it waits for the routing lock.
func TestRoute_FormerLeaderRoutesNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module, tenant := createTakenTable(t, db), db.Pool(t, postgres.RoleTracker), uid.New()
	former, next := dispatcher(t, db, nil, recordingSubscriber("s", nil)), dispatcher(t, db, nil, recordingSubscriber("s", nil))
	epoch, err := events.AcquireLease(t.Context(), db.Pool(t, postgres.RoleJobs), uid.Random())
	if err != nil || epoch == 0 {
		t.Fatalf("AcquireLease: got epoch %d, %v", epoch, err)
	}
	publish(t, module, tenant, numberedEvent(tenant, "a", "0"))
	other, err := owner.Begin(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	if err := events.TakeRoutingLock(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), `SELECT FROM events.outbox WHERE dispatched_at IS NULL FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	type result struct {
		routed int
		err    error
	}
	done := make(chan result, 1)
	go func() {
		n, err := former.Route(events.WithEpoch(t.Context(), epoch))
		done <- result{n, err}
	}()
	pgtest.Eventually(t, time.Minute, "the former leader waits for the routing lock", func() bool {
		var waiting int
		err := owner.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND usename = 'parapet_jobs' AND wait_event_type = 'Lock'`).Scan(&waiting)
		return err == nil && waiting == 1
	})
	if _, err := owner.Exec(t.Context(), `UPDATE events.leases SET epoch = epoch + 1, holder = gen_random_uuid()`); err != nil {
		t.Fatal(err)
	}
	other.Rollback()
	if r := <-done; r.routed != 0 || !errors.Is(r.err, events.ErrLeaseLost) {
		t.Errorf("former leader: got %d events routed, %v; want 0, ErrLeaseLost", r.routed, r.err)
	}
	if n, err := next.Route(events.WithEpoch(t.Context(), epoch+1)); err != nil || n != 1 {
		t.Errorf("next leader: got %d events routed, %v; want 1", n, err)
	}
	if n, err := former.Route(events.WithEpoch(t.Context(), epoch)); n != 0 || !errors.Is(err, events.ErrLeaseLost) {
		t.Errorf("former leader, second attempt: got %d events routed, %v; want 0, ErrLeaseLost", n, err)
	}
}
