package events_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/events"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

func pending(tb testing.TB, db *pgtest.DB) events.Backlog {
	tb.Helper()
	b, err := events.Pending(tb.Context(), db.Pool(tb, postgres.RoleJobs))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestDispatcher_DeliversMatchingEventsToEachSubscriber(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module, tenant := createTakenTable(t, db), db.Pool(t, postgres.RoleTracker), uid.New()
	other := numberedEvent(tenant, "e", "0")
	other.Type = "catalog.entry.created"
	publish(t, module, tenant, numberedEvent(tenant, "a", "1"), other, numberedEvent(tenant, "b", "2"))
	only := recordingSubscriber("only", nil)
	only.Types = []string{"catalog.entry.created", "catalog.*"}
	d := dispatcher(t, db, nil, recordingSubscriber("all", nil), only)
	if n, err := d.Drain(t.Context()); err != nil || n != 3 {
		t.Fatalf("Drain: moved %d events, %v; want 3", n, err)
	}
	if got := takenBy(t, owner, "all"); !reflect.DeepEqual(got, []string{"a/1", "b/2"}) {
		t.Errorf("events delivered to the subscriber all: got %v, want a/1 and b/2", got)
	}
	if got := takenBy(t, owner, "only"); !reflect.DeepEqual(got, []string{"e/0"}) {
		t.Errorf("events delivered to the subscriber only: got %v, want e/0", got)
	}
	if b := pending(t, db); b != (events.Backlog{}) {
		t.Errorf("backlog after Drain: got %+v, want none", b)
	}
	if n, err := d.Drain(t.Context()); err != nil || n != 0 {
		t.Errorf("second Drain: moved %d events, %v; want 0", n, err)
	}
}

// A redelivered event is recognized by its id.
func TestDispatcher_SkipsProcessedEvents(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := createTakenTable(t, db), uid.New()
	publish(t, db.Pool(t, postgres.RoleTracker), tenant, numberedEvent(tenant, "a", "1"))
	d := dispatcher(t, db, nil, recordingSubscriber("s", nil))
	for range 2 {
		if _, err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := owner.Exec(t.Context(), `UPDATE events.outbox SET dispatched_at = NULL`); err != nil {
			t.Fatal(err)
		}
	}
	if got := takenBy(t, owner, "s"); len(got) != 1 {
		t.Fatalf("events taken: got %v, want one", got)
	}
}

func TestDispatcher_CancelledBatch_IsRolledBackAndRedelivered(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := createTakenTable(t, db), uid.New()
	var list []events.Event
	for i := range 50 {
		list = append(list, numberedEvent(tenant, "a", fmt.Sprint(i)))
	}
	publish(t, db.Pool(t, postgres.RoleTracker), tenant, list...)

	var calls atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	d := dispatcher(t, db, nil, recordingSubscriber("s", func(context.Context, []events.Event) error {
		if calls.Add(1) == 1 {
			cancel() // after the effect, before the commit
		}
		return nil
	}))
	if _, err := d.Drain(ctx); err == nil {
		t.Fatal("Drain with a cancelled context: got no error")
	}
	if got := takenBy(t, owner, "s"); len(got) != 0 {
		t.Fatalf("effects of a cancelled batch: got %d, want 0", len(got))
	}
	if _, err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := takenBy(t, owner, "s"); len(got) != 50 {
		t.Fatalf("effects after the second Drain: got %d, want 50", len(got))
	}
	var attempts int
	if err := owner.QueryRow(t.Context(), `SELECT coalesce(max(attempts), 0) FROM events.deliveries`).Scan(&attempts); err != nil || attempts != 0 {
		t.Errorf("attempts after a cancellation: got %d, %v; want 0", attempts, err)
	}
}

// The server terminates the dispatcher's connections at random times, as after a crash or
// a restart of PostgreSQL.
func TestDispatcher_TerminatedConnections_DeliverEachEventOnceInOrder(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module := createTakenTable(t, db), db.Pool(t, postgres.RoleTracker)
	d := dispatcher(t, db, func(c *events.Config) { c.Batch, c.Tick = 7, 20*time.Millisecond },
		recordingSubscriber("one", nil), recordingSubscriber("two", nil))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	var terminated atomic.Int64
	running.Go(func() {
		for ctx.Err() == nil {
			if tag, err := owner.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'parapet_jobs' AND datname = current_database() AND random() < 0.5`); err == nil {
				terminated.Add(tag.RowsAffected())
			}
			time.Sleep(time.Duration(20+rand.IntN(60)) * time.Millisecond)
		}
	})
	tenant, published := uid.New(), 0
	pgtest.Eventually(t, 2*time.Minute, "40 events of each aggregate are published and three connections terminated", func() bool {
		publish(t, module, tenant, numberedEvent(tenant, "a", fmt.Sprint(published)), numberedEvent(tenant, "b", fmt.Sprint(published)))
		published++
		return published >= 40 && terminated.Load() >= 3
	})
	stop()
	running.Wait()
	// The pool may still contain terminated connections.
	pgtest.Eventually(t, time.Minute, "Drain succeeds", func() bool { _, err := d.Drain(t.Context()); return err == nil })
	for _, s := range []string{"one", "two"} {
		got := takenBy(t, owner, s)
		for _, aggregate := range []string{"a", "b"} {
			var want, have []string
			for i := range published {
				want = append(want, fmt.Sprintf("%s/%d", aggregate, i))
			}
			for _, g := range got {
				if strings.HasPrefix(g, aggregate) {
					have = append(have, g)
				}
			}
			if !reflect.DeepEqual(have, want) {
				t.Errorf("subscriber %s, aggregate %s: got %v", s, aggregate, have)
			}
		}
	}
	if b := pending(t, db); !b.Empty() || b.Parked != 0 {
		t.Errorf("backlog after Drain: got %+v, want none", b)
	}
}

func TestDispatcher_FailingEvent_IsParkedAndDelaysNoOther(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := createTakenTable(t, db), uid.New()
	publish(t, db.Pool(t, postgres.RoleTracker), tenant,
		numberedEvent(tenant, "a", "1"), numberedEvent(tenant, "p", "poison"), numberedEvent(tenant, "b", "2"), numberedEvent(tenant, "p", "after"), numberedEvent(tenant, "a", "3"))
	poisoned := func(how func() error) func(context.Context, []events.Event) error {
		return func(_ context.Context, list []events.Event) error {
			if slices.ContainsFunc(list, func(e events.Event) bool { return strings.Contains(string(e.Payload), "poison") }) {
				return how()
			}
			return nil
		}
	}
	d := dispatcher(t, db, func(c *events.Config) {
		c.MaxAttempts = 3
		c.Backoff = func(int) time.Duration { return time.Hour }
	},
		recordingSubscriber("error", poisoned(func() error { return errors.New("handler\x00failed") })),
		recordingSubscriber("panic", poisoned(func() error { panic("handler failed") })),
		recordingSubscriber("healthy", nil))
	if _, err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := takenBy(t, owner, "healthy"); len(got) != 5 {
		t.Errorf("subscriber healthy: got %v, want 5 events", got)
	}
	for _, s := range []string{"error", "panic"} {
		if got := takenBy(t, owner, s); !reflect.DeepEqual(got, []string{"a/1", "b/2", "a/3"}) {
			t.Errorf("subscriber %s before the event was parked: got %v", s, got)
		}
	}
	// Two more attempts, and the event behind the parked one.
	for range 3 {
		if _, err := owner.Exec(t.Context(), `UPDATE events.deliveries SET next_attempt_at = now() WHERE parked_at IS NULL`); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []string{"error", "panic"} {
		if got := takenBy(t, owner, s); !reflect.DeepEqual(got, []string{"a/1", "b/2", "a/3", "p/after"}) {
			t.Errorf("subscriber %s after the event was parked: got %v", s, got)
		}
	}
	if b := pending(t, db); !b.Empty() || b.Parked != 2 {
		t.Errorf("backlog: got %+v, want two parked", b)
	}
	var attempts int
	var text string
	if err := owner.QueryRow(t.Context(), `SELECT attempts, last_error FROM events.deliveries WHERE subscriber = 'error'`).Scan(&attempts, &text); err != nil ||
		attempts != 3 || !strings.Contains(text, "failed") {
		t.Errorf("parked delivery: got %d attempts, error %q, %v, want 3 attempts and their last error", attempts, text, err)
	}

	fixed := dispatcher(t, db, nil, recordingSubscriber("error", nil))
	list, err := events.ListParked(t.Context(), db.Pool(t, postgres.RoleJobs), 10)
	if err != nil || len(list) != 2 || list[0].Attempts == 0 || list[0].LastError == "" || list[0].Type == "" {
		t.Errorf("ListParked: got %+v, %v, want 2 deliveries with their attempts, error and type", list, err)
	}
	if n, err := events.Unpark(t.Context(), db.Pool(t, postgres.RoleJobs), "error"); err != nil || n != 1 {
		t.Fatalf("Unpark: got %d, %v; want 1", n, err)
	}
	if _, err := fixed.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := takenBy(t, owner, "error"); len(got) != 5 {
		t.Errorf("subscriber error after Unpark: got %v, want 5 events", got)
	}
}

// A batch that exceeds the time limit is delivered event by event, and the event that
// exceeds it alone is parked.
func TestDispatcher_EventOverTimeLimit_IsParked(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := createTakenTable(t, db), uid.New()
	publish(t, db.Pool(t, postgres.RoleTracker), tenant, numberedEvent(tenant, "a", "1"), numberedEvent(tenant, "p", "sleep"), numberedEvent(tenant, "b", "2"))
	slow := recordingSubscriber("slow", nil)
	inner := slow.Handle
	slow.Handle = func(ctx context.Context, tx pgx.Tx, list []events.Event) error {
		for _, e := range list {
			for range 20 {
				if !strings.Contains(string(e.Payload), "sleep") {
					break
				}
				// Each statement is within the limit; together they exceed it.
				if _, err := tx.Exec(ctx, `SELECT pg_sleep(0.05)`); err != nil {
					return err
				}
			}
		}
		return inner(ctx, tx, list)
	}
	d := dispatcher(t, db, func(c *events.Config) { c.MaxAttempts, c.HandleTimeout = 2, 200*time.Millisecond }, slow)
	for range 12 {
		_, _ = d.Drain(t.Context())
		if b := pending(t, db); b.Empty() {
			break
		}
	}
	if got := takenBy(t, owner, "slow"); !reflect.DeepEqual(got, []string{"a/1", "b/2"}) {
		t.Errorf("events delivered to the subscriber slow: got %v, want a/1 and b/2", got)
	}
	if b := pending(t, db); !b.Empty() || b.Parked != 1 {
		t.Errorf("backlog: got %+v, want one parked", b)
	}
}

func TestDispatcher_SlowSubscriberDelaysNoOther(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module, tenant := createTakenTable(t, db), db.Pool(t, postgres.RoleTracker), uid.New()
	block := make(chan struct{})
	d := dispatcher(t, db, nil,
		recordingSubscriber("slow", func(ctx context.Context, _ []events.Event) error {
			select {
			case <-block:
			case <-ctx.Done():
			}
			return ctx.Err()
		}),
		recordingSubscriber("quick", nil))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	defer func() { stop(); running.Wait() }()
	for i := range 5 {
		publish(t, module, tenant, numberedEvent(tenant, "a", fmt.Sprint(i)))
		pgtest.Eventually(t, time.Minute, "subscriber quick has the event", func() bool { return len(takenBy(t, owner, "quick")) == i+1 })
	}
	if got := takenBy(t, owner, "slow"); len(got) != 0 {
		t.Fatalf("subscriber slow: got %v, want none", got)
	}
	close(block)
	pgtest.Eventually(t, time.Minute, "subscriber slow has all events", func() bool { return len(takenBy(t, owner, "slow")) == 5 })
}

// Two processes dispatch concurrently, as they might during a takeover, while events are
// written. Each subscriber must receive the events of an aggregate in order.
func TestDispatcher_TwoConcurrent_KeepOrderPerAggregate(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner := createTakenTable(t, db)
	var failures atomic.Int32
	hook := func(context.Context, []events.Event) error {
		if rand.IntN(5) == 0 {
			failures.Add(1)
			return errors.New("occasional failure")
		}
		return nil
	}
	change := func(c *events.Config) {
		c.Batch, c.MaxAttempts = 5, 1000
		c.Backoff = func(int) time.Duration { return time.Duration(rand.IntN(3)) * time.Millisecond }
	}
	first, second := dispatcher(t, db, change, recordingSubscriber("s", hook)), dispatcher(t, db, change, recordingSubscriber("s", hook))
	tenant := uid.New()
	const writers, each = 3, 30
	ctx, stop := context.WithCancel(t.Context())
	var writing, dispatching sync.WaitGroup
	for _, d := range []*events.Dispatcher{first, second} {
		dispatching.Go(func() {
			for ctx.Err() == nil {
				_, _ = d.Drain(ctx)
				time.Sleep(time.Millisecond)
			}
		})
	}
	for w := range writers {
		module := db.Pool(t, postgres.RoleTracker)
		writing.Go(func() {
			for i := range each {
				publish(t, module, tenant, numberedEvent(tenant, fmt.Sprint("w", w), fmt.Sprint(i)))
			}
		})
	}
	writing.Wait()
	pgtest.Eventually(t, time.Minute, "all events are delivered", func() bool { return pending(t, db).Empty() })
	stop()
	dispatching.Wait()
	got := takenBy(t, owner, "s")
	if len(got) != writers*each {
		t.Fatalf("effects: got %d, want %d", len(got), writers*each)
	}
	next := make(map[string]int)
	for _, g := range got {
		aggregate, n, _ := strings.Cut(g, "/")
		if n != fmt.Sprint(next[aggregate]) {
			t.Fatalf("got event %s, want number %d next", g, next[aggregate])
		}
		next[aggregate]++
	}
	if failures.Load() == 0 {
		t.Error("no handler call failed, so the test did not cover retries")
	}
}

func TestDispatcher_DeliversEventCommittedOutOfOrder(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module, tenant := createTakenTable(t, db), db.Pool(t, postgres.RoleTracker), uid.New()
	d := dispatcher(t, db, nil, recordingSubscriber("s", nil))
	late, err := module.Begin(t.Context(), string(tenant), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Rollback()
	if err := events.Append(t.Context(), late, []events.Event{numberedEvent(tenant, "late", "1")}); err != nil {
		t.Fatal(err)
	}
	publish(t, module, tenant, numberedEvent(tenant, "early", "2"))
	if _, err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := takenBy(t, owner, "s"); !reflect.DeepEqual(got, []string{"early/2", "late/1"}) {
		t.Fatalf("events delivered to the subscriber s: got %v, want early/2 before late/1", got)
	}
}

func TestDispatcher_OneLeader_OtherTakesOver(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module, tenant := createTakenTable(t, db), db.Pool(t, postgres.RoleTracker), uid.New()
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer func() { stop(); running.Wait() }()
	for range 2 {
		d := dispatcher(t, db, nil, recordingSubscriber("s", nil))
		running.Go(func() { _ = d.Run(ctx) })
	}
	publish(t, module, tenant, numberedEvent(tenant, "a", "0"))
	pgtest.Eventually(t, time.Minute, "the first event is delivered", func() bool { return len(takenBy(t, owner, "s")) == 1 })
	epoch := func() (n int) {
		t.Helper()
		if err := owner.QueryRow(t.Context(), `SELECT epoch FROM events.leases`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := epoch()
	// Terminate the leader's listening connection: it releases the lease.
	pgtest.Eventually(t, time.Minute, "the leader listens", func() bool {
		var led int
		err := owner.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE application_name = 'parapet dispatcher' AND datname = current_database()`).Scan(&led)
		if err != nil || led > 1 {
			t.Fatalf("got %d leaders, %v; want 1", led, err)
		}
		return led == 1
	})
	started := time.Now()
	publish(t, module, tenant, numberedEvent(tenant, "a", "1"))
	pgtest.Eventually(t, time.Minute, "a dispatcher acquires the released lease", func() bool { return epoch() > first })
	pgtest.Eventually(t, time.Minute, "the second event is delivered", func() bool { return len(takenBy(t, owner, "s")) == 2 })
	t.Logf("takeover and delivery: %s", time.Since(started))
}

func TestPrune_KeepsUndeliveredAndParkedEvents(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module, jobs, tenant := createTakenTable(t, db), db.Pool(t, postgres.RoleTracker), db.Pool(t, postgres.RoleJobs), uid.New()
	publish(t, module, tenant, numberedEvent(tenant, "done", "1"), numberedEvent(tenant, "parked", "poison"))
	d := dispatcher(t, db, func(c *events.Config) { c.MaxAttempts = 1 }, recordingSubscriber("s", func(_ context.Context, list []events.Event) error {
		if slices.ContainsFunc(list, func(e events.Event) bool { return e.AggregateID == "parked" }) {
			return errors.New("no")
		}
		return nil
	}))
	if _, err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, module, tenant, numberedEvent(tenant, "new", "2"))
	if n, err := events.Prune(t.Context(), jobs, time.Now().Add(-time.Hour)); err != nil || n != 0 {
		t.Fatalf("Prune of recent rows: got %d, %v; want 0", n, err)
	}
	if n, err := events.Prune(t.Context(), jobs, time.Now().Add(time.Hour)); err != nil || n != 2 {
		t.Fatalf("Prune: got %d rows, %v; want the delivered event and its processed id", n, err)
	}
	got, err := postgres.CollectScalars[string](t.Context(), owner, `SELECT aggregate_id FROM events.outbox ORDER BY position`)
	if err != nil || !reflect.DeepEqual(got, []string{"parked", "new"}) {
		t.Fatalf("events after Prune: got %v, %v, want parked and new", got, err)
	}
}

func TestNewDispatcher_RejectsInvalidConfig(t *testing.T) {
	t.Parallel()
	pool := pgtest.Shared(t, postgres.RoleJobs)
	s := recordingSubscriber("s", nil)
	for name, cfg := range map[string]events.Config{
		"no pool":        {},
		"no name":        {Pool: pool, Subscribers: []events.Subscriber{{Types: s.Types, Handle: s.Handle}}},
		"duplicate name": {Pool: pool, Subscribers: []events.Subscriber{s, s}},
		"no types":       {Pool: pool, Subscribers: []events.Subscriber{{Name: "s", Handle: s.Handle}}},
		"no handler":     {Pool: pool, Subscribers: []events.Subscriber{{Name: "s", Types: s.Types}}},
	} {
		if _, err := events.NewDispatcher(cfg); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
