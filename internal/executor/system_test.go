package executor_test

import (
	"context"
	"errors"
	"testing"

	"parapet/internal/executor"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func TestRunAsSystem_CommitsAllOrNothingAndRecordsSystemActor(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	tries := 0
	work := func(failure string) func(context.Context, *executor.Call) error {
		return func(ctx context.Context, c *executor.Call) error {
			tries++
			c.Record(executor.Change{
				Action: "thing.lapsed", Type: "thing", ID: "x",
				Event: thingLapsed, EventAbout: uid.New(), Payload: thingIn{},
			})
			switch {
			case failure == "deadlock" && tries < 3:
				_, err := c.DB.Exec(ctx, `DO $$ BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END $$`)
				return postgres.MapError(err)
			case failure == "error":
				return errors.New("no")
			}
			return nil
		}
	}
	if err := h.module.RunAsSystem(t.Context(), h.tenant, work("error")); err == nil || tries != 1 || h.count(entriesSQL) != 0 || h.count(eventsSQL) != 0 {
		t.Fatalf("work that fails: got %v after %d tries with %d audit entries, want an error after 1 try with none", err, tries, h.count(entriesSQL))
	}
	tries = 0
	if err := h.module.RunAsSystem(t.Context(), h.tenant, work("deadlock")); err != nil || tries != 3 {
		t.Fatalf("work after deadlocks: got %v after %d tries, want success after 3", err, tries)
	}
	if n := h.count(`SELECT count(*) FROM audit.entries e JOIN events.outbox o ON o.correlation_id = e.correlation_id
		WHERE e.actor_id IS NULL AND e.actor_type = 'system' AND e.module = 'tracker' AND o.actor_id IS NULL AND e.credential_id IS NULL`); n != 1 || h.count(entriesSQL) != 1 {
		t.Errorf("got %d audit entries of the actor type system with an event, want 1", n)
	}
}
