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

// withLink returns a copy of the fixture whose module connects through link.
func (h *fixture) withLink(link *pgtest.Link) *fixture {
	h.t.Helper()
	other := &fixture{t: h.t, db: h.db, owner: h.owner, engine: h.engine, tenant: h.tenant, user: h.user, permissions: h.permissions, clearance: h.clearance}
	pool := h.db.PoolWith(h.t, postgres.Config{URL: link.URL(h.t, h.db.RoleURL(postgres.RoleTracker)), MaxConns: 4})
	other.module = executor.New(executor.Config{
		Module: "tracker", Pool: pool, Engine: h.engine, Principals: other, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
	})
	return other
}

// recordingOperation returns a change operation that records n audit entries and n events.
func (h *fixture) recordingOperation(n int) op.Bound {
	return executor.Handle(h.module, changeRecord(), func(_ context.Context, _ *executor.Call, in *thingIn) (string, authz.Resource, error) {
		return in.Name, h.resource(in), nil
	}, func(_ context.Context, c *executor.Call, in *thingIn, name string) (*thingOut, error) {
		for range n {
			c.Record(executor.Change{
				Action: "thing.changed", Type: "thing", ID: op.UUID(name), Critical: n == 3,
				Event: thingChanged, EventAbout: h.user, Payload: in,
			})
		}
		return &thingOut{Name: name}, nil
	})
}

// The audit entries and COMMIT are sent together, so a process that is paused after
// sending them does not block other writers. The pattern occurs in the audit entry only,
// not in the event.
func TestExecutor_WhenPausedAfterSendingAuditEntries_OtherWritersProceed(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string]int{"one entry": 1, "critical entries": 3, "bulk change": 300} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			link := h.db.NewLink(t)
			paused := h.withLink(link)
			// Prepare the statements first, as in a running server.
			if _, err := paused.recordingOperation(entries).Call(h.callerContext(""), &thingIn{"first"}); err != nil {
				t.Fatal(err)
			}
			patternSeen, release := link.PauseAfter("resource_type\":\"thing\",\"seq")
			t.Cleanup(release)
			ended := make(chan error, 1)
			caller := h.callerContext("")
			go func() {
				_, err := paused.recordingOperation(entries).Call(caller, &thingIn{"paused"})
				ended <- err
			}()
			<-patternSeen
			ctx, cancel := context.WithTimeout(h.callerContext(""), time.Minute)
			defer cancel()
			if _, err := h.changeOperation().Call(ctx, &thingIn{"other"}); err != nil {
				t.Fatalf("another writer in the tenant: got error %v, want none", err)
			}
			release()
			if err := <-ended; err != nil {
				t.Errorf("paused writer: got error %v, want none", err)
			}
			if n := h.count(entriesSQL); n != 2*entries+1 {
				t.Errorf("got %d audit entries, want %d", n, 2*entries+1)
			}
		})
	}
}

// A process that is paused inside its transaction holds its row locks for at most the
// idle timeout. When it resumes, its transaction has been ended by the server.
func TestExecutor_WhenPausedInTransaction_ServerEndsTransaction(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var timeout string
	err := h.db.Pool(t, postgres.RoleTracker).InTx(t.Context(), string(h.tenant), nil, func(tx *postgres.Tx) error {
		return tx.QueryRow(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&timeout)
	})
	if d, parseErr := time.ParseDuration(timeout); err != nil || parseErr != nil || d != postgres.IdleTimeout || d > 10*time.Second {
		t.Fatalf("idle_in_transaction_session_timeout: got %q, %v, want %s", timeout, err, postgres.IdleTimeout)
	}
	wake, began := make(chan struct{}), make(chan int, 1)
	b := executor.Handle(h.module, changeRecord(), func(_ context.Context, _ *executor.Call, in *thingIn) (string, authz.Resource, error) {
		return in.Name, h.resource(in), nil
	}, func(ctx context.Context, c *executor.Call, _ *thingIn, _ string) (*thingOut, error) {
		var pid int
		// Shorten the server's timeout so that the test is fast.
		err := c.Tx.QueryRow(ctx, `SELECT pg_backend_pid() FROM set_config('idle_in_transaction_session_timeout', '1ms', true)`).Scan(&pid)
		if err != nil {
			return nil, err
		}
		began <- pid
		<-wake
		c.Record(executor.Change{Action: "thing.changed", Type: "thing", ID: "paused"})
		return &thingOut{}, nil
	})
	ended := make(chan error, 1)
	caller := h.callerContext("")
	go func() {
		_, err := b.Call(caller, &thingIn{"paused"})
		ended <- err
	}()
	pid := <-began
	for h.count(fmt.Sprintf(`SELECT count(*) FROM pg_stat_activity WHERE pid = %d`, pid)) > 0 {
		if t.Context().Err() != nil {
			t.Fatal("transaction that exceeds the idle timeout: got an open one, want it ended by the server")
		}
	}
	close(wake)
	if err := <-ended; !fault.HasCode(err, fault.CodeUnavailable) {
		t.Errorf("got error %v, want UNAVAILABLE, because nothing was committed", err)
	}
	if n := h.count(entriesSQL); n != 0 {
		t.Errorf("got %d audit entries, want none", n)
	}
}

// When the response to COMMIT is lost but the server can be queried, the executor finds
// out that the change was committed and returns its response.
func TestExecutor_WhenCommitResponseIsLost_LooksUpTheOutcome(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]bool{"connection cut": true, "deadline": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			link := h.db.NewLink(t)
			lossy := h.withLink(link)
			if _, err := lossy.recordingOperation(1).Call(h.callerContext(""), &thingIn{"first"}); err != nil {
				t.Fatal(err)
			}
			caller, cancel := context.WithCancel(h.callerContext(""))
			defer cancel()
			patternSeen, release := link.LoseResponseTo("resource_type\":\"thing\",\"seq")
			t.Cleanup(release)
			go func() {
				<-patternSeen
				if cut {
					release()
					return
				}
				// If the caller gave up before the server commits, the server would roll back.
				pgtest.Eventually(t, time.Minute, "the change is committed", func() bool { return h.count(entriesSQL) == 2 })
				cancel()
			}()
			out, err := lossy.recordingOperation(1).Call(caller, &thingIn{"lost"})
			if err != nil || out.(*thingOut).Name != "lost" {
				t.Errorf("got %v, %v, want the response of the committed change", out, err)
			}
			if n := h.count(entriesSQL); n != 2 {
				t.Errorf("got %d audit entries, want 2", n)
			}
		})
	}
}

// When the server cannot be queried either, the error says that the outcome is unknown.
// Only a request with an idempotency key may be repeated.
func TestExecutor_WhenCommitOutcomeCannotBeLookedUp_ReturnsOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"without an idempotency key": "", "with an idempotency key": "k1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			link := h.db.NewLink(t)
			lossy := h.withLink(link)
			if _, err := lossy.recordingOperation(1).Call(h.callerContext(""), &thingIn{"first"}); err != nil {
				t.Fatal(err)
			}
			patternSeen, release := link.LoseResponseTo("resource_type\":\"thing\",\"seq")
			go func() {
				<-patternSeen
				link.Close()
				release()
			}()
			_, err := lossy.recordingOperation(1).Call(h.callerContext(key), &thingIn{"lost"})
			f := fault.From(err)
			if f.Code != fault.CodeOutcomeUnknown || f.RetryAfter != 0 || f.Details[fault.DetailRetryable] != (key != "") {
				t.Errorf("got %+v, want OUTCOME_UNKNOWN, retryable: %v", f, key != "")
			}
		})
	}
}
