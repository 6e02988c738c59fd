package executor_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
)

// through gives the house a module whose connections go through a link.
func (h *house) through(link *pgtest.Link) *house {
	h.t.Helper()
	other := &house{t: h.t, db: h.db, owner: h.owner, engine: h.engine, tenant: h.tenant, user: h.user, granted: h.granted, clearance: h.clearance}
	pool := h.db.PoolWith(h.t, postgres.Config{URL: link.URL(h.t, h.db.RoleURL(postgres.RoleTracker)), MaxConns: 4})
	other.module = executor.New(executor.Config{
		Module: "tracker", Pool: pool, Engine: h.engine, Principals: other, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
	})
	return other
}

// recording is a change that records so many audit entries and events.
func (h *house) recording(n int) op.Bound {
	return executor.Handle(h.module, changeThing(), executor.Handler[thingIn, thingOut, string]{
		Load: func(_ context.Context, _ *executor.Call, in *thingIn) (string, authz.Resource, error) {
			return in.Name, h.resource(in), nil
		},
		Do: func(_ context.Context, c *executor.Call, in *thingIn, name string) (*thingOut, error) {
			for range n {
				c.Record(executor.AuditEntry{Action: "thing.changed", ResourceType: "thing", ResourceID: name, Critical: n == 3})
				c.Emit(executor.Event{Type: "projects.thing.changed", AggregateType: "thing", AggregateID: h.user, Payload: in})
			}
			return &thingOut{Name: name}, nil
		},
	})
}

// A process that is paused right after it has sent its audit entries blocks nobody:
// COMMIT was sent with them. The mark stands in the audit entry and not in the event.
func TestPausedAfterAppend_OtherWritersGoOn(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string]int{"one entry": 1, "critical entries": 3, "bulk": 300} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			link := h.db.NewLink(t)
			paused := h.through(link)
			// The statements are prepared by now, as in a server that runs.
			if _, err := paused.recording(entries).Call(h.caller(""), &thingIn{"first"}); err != nil {
				t.Fatal(err)
			}
			sprung, release := link.PauseAfter("resource_type\":\"thing\",\"seq")
			t.Cleanup(release)
			ended := make(chan error, 1)
			caller := h.caller("")
			go func() {
				_, err := paused.recording(entries).Call(caller, &thingIn{"paused"})
				ended <- err
			}()
			<-sprung
			ctx, cancel := context.WithTimeout(h.caller(""), 5*time.Second)
			defer cancel()
			if _, err := h.change().Call(ctx, &thingIn{"other"}); err != nil {
				t.Fatalf("another writer of the tenant: %v", err)
			}
			release()
			if err := <-ended; err != nil {
				t.Errorf("the paused writer: %v", err)
			}
			if n := h.count(entriesSQL); n != 2*entries+1 {
				t.Errorf("%d entries, want %d", n, 2*entries+1)
			}
		})
	}
}

// A process that is paused earlier in its transaction holds its rows for the idle
// timeout at most, and finds its transaction ended when it wakes.
func TestPausedInTransaction_ServerEndsIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var timeout string
	err := h.db.Pool(t, postgres.RoleTracker).InTx(t.Context(), string(h.tenant), nil, func(tx *postgres.Tx) error {
		return tx.QueryRow(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&timeout)
	})
	if d, perr := time.ParseDuration(timeout); err != nil || perr != nil || d != postgres.IdleTimeout || d > 10*time.Second {
		t.Fatalf("the server waits for %q, %v, want %s", timeout, err, postgres.IdleTimeout)
	}
	wake, began := make(chan struct{}), make(chan int, 1)
	b := executor.Handle(h.module, changeThing(), executor.Handler[thingIn, thingOut, string]{
		Load: func(_ context.Context, _ *executor.Call, in *thingIn) (string, authz.Resource, error) {
			return in.Name, h.resource(in), nil
		},
		Do: func(ctx context.Context, c *executor.Call, _ *thingIn, _ string) (*thingOut, error) {
			var pid int
			// The server's timeout, but sooner.
			err := c.Tx.QueryRow(ctx, `SELECT pg_backend_pid() FROM set_config('idle_in_transaction_session_timeout', '1ms', true)`).Scan(&pid)
			if err != nil {
				return nil, err
			}
			began <- pid
			<-wake
			c.Record(executor.AuditEntry{Action: "thing.changed", ResourceType: "thing", ResourceID: "paused"})
			return &thingOut{}, nil
		},
	})
	ended := make(chan error, 1)
	caller := h.caller("")
	go func() {
		_, err := b.Call(caller, &thingIn{"paused"})
		ended <- err
	}()
	pid := <-began
	for h.count(fmt.Sprintf(`SELECT count(*) FROM pg_stat_activity WHERE pid = %d`, pid)) > 0 {
		if t.Context().Err() != nil {
			t.Fatal("the transaction is still open")
		}
	}
	close(wake)
	if err := <-ended; !fault.HasCode(err, fault.CodeUnavailable) {
		t.Errorf("got %v, want UNAVAILABLE: nothing was committed", err)
	}
	if n := h.count(entriesSQL); n != 0 {
		t.Errorf("%d entries, want none", n)
	}
}

// A response to COMMIT that is lost does not become an error where the server can
// be asked: the change was made, and the caller gets its answer.
func TestLostCommitResponse_OutcomeIsLookedUp(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]bool{"connection cut": true, "deadline": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			link := h.db.NewLink(t)
			lossy := h.through(link)
			if _, err := lossy.recording(1).Call(h.caller(""), &thingIn{"first"}); err != nil {
				t.Fatal(err)
			}
			caller, cancel := context.WithCancel(h.caller(""))
			defer cancel()
			sprung, release := link.LoseResponseTo("resource_type\":\"thing\",\"seq")
			t.Cleanup(release)
			go func() {
				<-sprung
				if cut {
					release()
					return
				}
				cancel()
			}()
			out, err := lossy.recording(1).Call(caller, &thingIn{"lost"})
			if err != nil || out.(*thingOut).Name != "lost" {
				t.Errorf("got %v, %v, want the answer of the change that was made", out, err)
			}
			if n := h.count(entriesSQL); n != 2 {
				t.Errorf("%d entries, want 2", n)
			}
		})
	}
}

// Where the server cannot be asked either, the outcome is unknown, never "try
// again": only a request with an idempotency key can be repeated.
func TestLostCommitResponse_UnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"without a key": "", "with a key": "k1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			link := h.db.NewLink(t)
			lossy := h.through(link)
			if _, err := lossy.recording(1).Call(h.caller(""), &thingIn{"first"}); err != nil {
				t.Fatal(err)
			}
			sprung, release := link.LoseResponseTo("resource_type\":\"thing\",\"seq")
			go func() {
				<-sprung
				link.Close()
				release()
			}()
			_, err := lossy.recording(1).Call(h.caller(key), &thingIn{"lost"})
			f := fault.From(err)
			if f.Code != fault.CodeOutcomeUnknown || f.RetryAfter != 0 || f.Details[fault.DetailRetryable] != (key != "") {
				t.Errorf("got %+v, want OUTCOME_UNKNOWN, retryable: %v", f, key != "")
			}
		})
	}
}
