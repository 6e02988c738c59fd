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

func TestEverySubscriberTakesWhatItWants(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module, tenant := withTaken(t, db), db.Pool(t, postgres.RoleTracker), uid.New()
	other := numbered(tenant, "e", "0")
	other.Type = "catalog.entry.created"
	publish(t, module, tenant, numbered(tenant, "a", "1"), other, numbered(tenant, "b", "2"))
	only := collector("only", nil)
	only.Types = []string{"catalog.entry.created", "catalog.*"}
	d := dispatcher(t, db, nil, collector("all", nil), only)
	if n, err := d.Drain(t.Context()); err != nil || n != 3 {
		t.Fatalf("moved %d, %v", n, err)
	}
	if got := takenBy(t, owner, "all"); !reflect.DeepEqual(got, []string{"a/1", "b/2"}) {
		t.Errorf("all took %v", got)
	}
	if got := takenBy(t, owner, "only"); !reflect.DeepEqual(got, []string{"e/0"}) {
		t.Errorf("only took %v", got)
	}
	if b := pending(t, db); b != (events.Backlog{}) {
		t.Errorf("left: %+v", b)
	}
	if n, err := d.Drain(t.Context()); err != nil || n != 0 {
		t.Errorf("a second time: %d, %v", n, err)
	}
}

// An event that comes again, because a delivery was written again, is known by
// its id.
func TestProcessedIdsStopASecondEffect(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := withTaken(t, db), uid.New()
	publish(t, db.Pool(t, postgres.RoleTracker), tenant, numbered(tenant, "a", "1"))
	d := dispatcher(t, db, nil, collector("s", nil))
	for range 2 {
		if _, err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := owner.Exec(t.Context(), `UPDATE events.outbox SET dispatched_at = NULL`); err != nil {
			t.Fatal(err)
		}
	}
	if got := takenBy(t, owner, "s"); len(got) != 1 {
		t.Fatalf("taken %v, want once", got)
	}
}

func TestCutOffInMidBatchTheEffectHappensOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := withTaken(t, db), uid.New()
	var list []events.Event
	for i := range 50 {
		list = append(list, numbered(tenant, "a", fmt.Sprint(i)))
	}
	publish(t, db.Pool(t, postgres.RoleTracker), tenant, list...)

	var calls atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	d := dispatcher(t, db, nil, collector("s", func(context.Context, []events.Event) error {
		if calls.Add(1) == 1 {
			cancel() // after the effect, before the commit
		}
		return nil
	}))
	if _, err := d.Drain(ctx); err == nil {
		t.Fatal("a cancelled dispatcher says that it is done")
	}
	if got := takenBy(t, owner, "s"); len(got) != 0 {
		t.Fatalf("%d effects of a batch that was cut off", len(got))
	}
	if _, err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := takenBy(t, owner, "s"); len(got) != 50 {
		t.Fatalf("%d effects, want 50", len(got))
	}
	var attempts int
	if err := owner.QueryRow(t.Context(), `SELECT coalesce(max(attempts), 0) FROM events.deliveries`).Scan(&attempts); err != nil || attempts != 0 {
		t.Errorf("being cut off counted as a failure: %d, %v", attempts, err)
	}
}

// The server ends the dispatcher's connections at random moments, as a kill -9
// or a restart of Postgres does.
func TestConnectionsThatAreCutLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module := withTaken(t, db), db.Pool(t, postgres.RoleTracker)
	d := dispatcher(t, db, func(c *events.Config) { c.Batch, c.Tick = 7, 20*time.Millisecond },
		collector("one", nil), collector("two", nil))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	running.Go(func() {
		for ctx.Err() == nil {
			_, _ = owner.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'parapet_jobs' AND datname = current_database() AND random() < 0.5`)
			time.Sleep(time.Duration(20+rand.IntN(60)) * time.Millisecond)
		}
	})
	const each = 40
	tenant := uid.New()
	for i := range each {
		publish(t, module, tenant, numbered(tenant, "a", fmt.Sprint(i)), numbered(tenant, "b", fmt.Sprint(i)))
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	running.Wait()
	// The pool may still hold connections that were cut.
	eventually(t, func() bool { _, err := d.Drain(t.Context()); return err == nil })
	for _, s := range []string{"one", "two"} {
		got := takenBy(t, owner, s)
		for _, aggregate := range []string{"a", "b"} {
			var want, have []string
			for i := range each {
				want = append(want, fmt.Sprintf("%s/%d", aggregate, i))
			}
			for _, g := range got {
				if strings.HasPrefix(g, aggregate) {
					have = append(have, g)
				}
			}
			if !reflect.DeepEqual(have, want) {
				t.Errorf("%s took of %s %v", s, aggregate, have)
			}
		}
	}
	if b := pending(t, db); !b.Empty() || b.Parked != 0 {
		t.Errorf("left: %+v", b)
	}
}

func TestAPoisonEventIsParkedAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := withTaken(t, db), uid.New()
	publish(t, db.Pool(t, postgres.RoleTracker), tenant,
		numbered(tenant, "a", "1"), numbered(tenant, "p", "poison"), numbered(tenant, "b", "2"), numbered(tenant, "p", "after"), numbered(tenant, "a", "3"))
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
		c.Backoff = func(int) time.Duration { return 30 * time.Millisecond }
	},
		collector("error", poisoned(func() error { return errors.New("it\x00does not go") })),
		collector("panic", poisoned(func() error { panic("it does not go") })),
		collector("healthy", nil))
	if _, err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := takenBy(t, owner, "healthy"); len(got) != 5 {
		t.Errorf("the healthy subscriber took %v", got)
	}
	for _, s := range []string{"error", "panic"} {
		if got := takenBy(t, owner, s); !reflect.DeepEqual(got, []string{"a/1", "b/2", "a/3"}) {
			t.Errorf("%s took %v before the poison was parked", s, got)
		}
	}
	for range 4 {
		time.Sleep(40 * time.Millisecond)
		if _, err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []string{"error", "panic"} {
		if got := takenBy(t, owner, s); !reflect.DeepEqual(got, []string{"a/1", "b/2", "a/3", "p/after"}) {
			t.Errorf("%s took %v", s, got)
		}
	}
	if b := pending(t, db); !b.Empty() || b.Parked != 2 {
		t.Errorf("left: %+v, want two parked", b)
	}
	var attempts int
	var text string
	if err := owner.QueryRow(t.Context(), `SELECT attempts, last_error FROM events.deliveries WHERE subscriber = 'error'`).Scan(&attempts, &text); err != nil ||
		attempts != 3 || !strings.Contains(text, "does not go") {
		t.Errorf("parked after %d attempts with %q, %v", attempts, text, err)
	}

	mended := dispatcher(t, db, nil, collector("error", nil))
	list, err := events.ListParked(t.Context(), db.Pool(t, postgres.RoleJobs), 10)
	if err != nil || len(list) != 2 || list[0].Attempts == 0 || list[0].LastError == "" || list[0].Type == "" {
		t.Errorf("parked: %+v, %v", list, err)
	}
	if n, err := events.Unpark(t.Context(), db.Pool(t, postgres.RoleJobs), "error"); err != nil || n != 1 {
		t.Fatalf("unparked %d, %v", n, err)
	}
	if _, err := mended.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := takenBy(t, owner, "error"); len(got) != 5 {
		t.Errorf("after mending: %v", got)
	}
}

// A batch that takes too long is broken up, and the event that takes too long is
// parked like any other poison.
func TestAnEventThatTakesTooLongIsParked(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := withTaken(t, db), uid.New()
	publish(t, db.Pool(t, postgres.RoleTracker), tenant, numbered(tenant, "a", "1"), numbered(tenant, "p", "sleep"), numbered(tenant, "b", "2"))
	slow := collector("slow", nil)
	inner := slow.Handle
	slow.Handle = func(ctx context.Context, tx postgres.Querier, list []events.Event) error {
		for _, e := range list {
			for range 20 {
				if !strings.Contains(string(e.Payload), "sleep") {
					break
				}
				// Each statement is short enough; together they use up the time.
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
		t.Errorf("took %v", got)
	}
	if b := pending(t, db); !b.Empty() || b.Parked != 1 {
		t.Errorf("left: %+v", b)
	}
}

func TestASlowSubscriberHoldsUpNobody(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module, tenant := withTaken(t, db), db.Pool(t, postgres.RoleTracker), uid.New()
	block := make(chan struct{})
	d := dispatcher(t, db, nil,
		collector("slow", func(ctx context.Context, _ []events.Event) error {
			select {
			case <-block:
			case <-ctx.Done():
			}
			return ctx.Err()
		}),
		collector("quick", nil))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	defer func() { stop(); running.Wait() }()
	for i := range 5 {
		publish(t, module, tenant, numbered(tenant, "a", fmt.Sprint(i)))
		eventually(t, func() bool { return len(takenBy(t, owner, "quick")) == i+1 })
	}
	if got := takenBy(t, owner, "slow"); len(got) != 0 {
		t.Fatalf("slow took %v", got)
	}
	close(block)
	eventually(t, func() bool { return len(takenBy(t, owner, "slow")) == 5 })
}

func eventually(tb testing.TB, what func() bool) {
	tb.Helper()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if what() {
			return
		}
	}
	tb.Fatal("it did not happen within 15 s")
}

// Two processes that both dispatch, as they might around a takeover, with writers
// beside them: each subscriber takes each aggregate's events in their order.
func TestTwoDispatchersOneOrder(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner := withTaken(t, db)
	var failures atomic.Int32
	hook := func(context.Context, []events.Event) error {
		if rand.IntN(5) == 0 {
			failures.Add(1)
			return errors.New("now and then")
		}
		return nil
	}
	change := func(c *events.Config) {
		c.Batch, c.MaxAttempts = 5, 1000
		c.Backoff = func(int) time.Duration { return time.Duration(rand.IntN(3)) * time.Millisecond }
	}
	first, second := dispatcher(t, db, change, collector("s", hook)), dispatcher(t, db, change, collector("s", hook))
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
				publish(t, module, tenant, numbered(tenant, fmt.Sprint("w", w), fmt.Sprint(i)))
			}
		})
	}
	writing.Wait()
	eventually(t, func() bool { return pending(t, db).Empty() })
	stop()
	dispatching.Wait()
	got := takenBy(t, owner, "s")
	if len(got) != writers*each {
		t.Fatalf("%d effects, want %d", len(got), writers*each)
	}
	next := make(map[string]int)
	for _, g := range got {
		aggregate, n, _ := strings.Cut(g, "/")
		if n != fmt.Sprint(next[aggregate]) {
			t.Fatalf("%s came when %d was next", g, next[aggregate])
		}
		next[aggregate]++
	}
	if failures.Load() == 0 {
		t.Error("no failure was tried: the test proves less than it says")
	}
}

func TestALateCommitIsNotLost(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module, tenant := withTaken(t, db), db.Pool(t, postgres.RoleTracker), uid.New()
	d := dispatcher(t, db, nil, collector("s", nil))
	late, err := module.Begin(t.Context(), string(tenant), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Rollback()
	if err := events.Append(t.Context(), late, []events.Event{numbered(tenant, "late", "1")}); err != nil {
		t.Fatal(err)
	}
	publish(t, module, tenant, numbered(tenant, "early", "2"))
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
		t.Fatalf("took %v", got)
	}
}

func TestOneLeaderAndATakeover(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module, tenant := withTaken(t, db), db.Pool(t, postgres.RoleTracker), uid.New()
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer func() { stop(); running.Wait() }()
	for range 2 {
		d := dispatcher(t, db, nil, collector("s", nil))
		running.Go(func() { _ = d.Run(ctx) })
	}
	publish(t, module, tenant, numbered(tenant, "a", "0"))
	eventually(t, func() bool { return len(takenBy(t, owner, "s")) == 1 })
	// End the leader's listening connection: it gives the lead back.
	var led int
	err := owner.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = 'parapet dispatcher' AND datname = current_database()`).Scan(&led)
	if err != nil || led != 1 {
		t.Fatalf("%d leaders, %v, want one", led, err)
	}
	started := time.Now()
	publish(t, module, tenant, numbered(tenant, "a", "1"))
	eventually(t, func() bool { return len(takenBy(t, owner, "s")) == 2 })
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("the takeover took %s", took)
	} else {
		t.Logf("takeover and delivery: %s", took)
	}
}

func TestPruneKeepsWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, module, jobs, tenant := withTaken(t, db), db.Pool(t, postgres.RoleTracker), db.Pool(t, postgres.RoleJobs), uid.New()
	publish(t, module, tenant, numbered(tenant, "done", "1"), numbered(tenant, "parked", "poison"))
	d := dispatcher(t, db, func(c *events.Config) { c.MaxAttempts = 1 }, collector("s", func(_ context.Context, list []events.Event) error {
		if slices.ContainsFunc(list, func(e events.Event) bool { return e.AggregateID == "parked" }) {
			return errors.New("no")
		}
		return nil
	}))
	if _, err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, module, tenant, numbered(tenant, "new", "2"))
	if n, err := events.Prune(t.Context(), jobs, time.Now().Add(-time.Hour)); err != nil || n != 0 {
		t.Fatalf("pruned %d that is recent, %v", n, err)
	}
	if n, err := events.Prune(t.Context(), jobs, time.Now().Add(time.Hour)); err != nil || n != 2 {
		t.Fatalf("pruned %d, %v, want the event that was taken and its id", n, err)
	}
	got, err := postgres.CollectScalars[string](t.Context(), owner, `SELECT aggregate_id FROM events.outbox ORDER BY position`)
	if err != nil || !reflect.DeepEqual(got, []string{"parked", "new"}) {
		t.Fatalf("kept %v, %v", got, err)
	}
}

func TestDispatcherRefusesItsConfiguration(t *testing.T) {
	t.Parallel()
	pool := pgtest.Shared(t, postgres.RoleJobs)
	s := collector("s", nil)
	for name, cfg := range map[string]events.Config{
		"no pool":      {},
		"no name":      {Pool: pool, Subscribers: []events.Subscriber{{Types: s.Types, Handle: s.Handle}}},
		"same name":    {Pool: pool, Subscribers: []events.Subscriber{s, s}},
		"no types":     {Pool: pool, Subscribers: []events.Subscriber{{Name: "s", Handle: s.Handle}}},
		"nothing done": {Pool: pool, Subscribers: []events.Subscriber{{Name: "s", Types: s.Types}}},
	} {
		if _, err := events.NewDispatcher(cfg); err == nil {
			t.Errorf("accepted: %s", name)
		}
	}
}
