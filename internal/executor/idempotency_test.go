package executor_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.change()
	var group sync.WaitGroup
	answers := make([]*thingOut, 8)
	for i := range answers {
		ctx := h.caller("the-key")
		group.Go(func() {
			out, err := b.Call(ctx, &thingIn{"plain"})
			if err != nil {
				t.Errorf("call %d: %v", i, err)
				return
			}
			answers[i] = out.(*thingOut)
		})
	}
	group.Wait()
	if h.runs.Load() != 1 || h.count(entriesSQL) != 1 || h.count(eventsSQL) != 1 {
		t.Fatalf("%d runs, want one", h.runs.Load())
	}
	for _, a := range answers {
		if a == nil || *a != *answers[0] {
			t.Fatalf("the answers differ: %+v", answers)
		}
	}
	if _, err := b.Call(h.caller("the-key"), &thingIn{"other"}); !fault.HasCode(err, fault.CodeConflict) {
		t.Errorf("a key for another request: got %v, want CONFLICT", err)
	}
	if _, err := b.Call(h.caller("next"), &thingIn{"fails"}); !fault.HasCode(err, fault.CodeConflict) {
		t.Errorf("got %v", err)
	}
	for _, key := range []string{"\xff\xfe", strings.Repeat("k", executor.MaxIdempotencyKey+1)} {
		_, err := b.Call(h.caller(key), &thingIn{"plain"})
		if f := fault.From(err); err == nil || f.Code != fault.CodeValidation || f.Field != "Idempotency-Key" {
			t.Errorf("the key %.8q: got %v, want a VALIDATION that names it", key, err)
		}
	}
	if n := h.count(`SELECT count(*) FROM events.idempotency_keys`); n != 1 {
		t.Errorf("a change that failed must leave no key: %d kept", n)
	}
	for _, caveat := range []string{"read-only", "project:" + string(uid.New()), "module:tracker"} {
		h.caveats = []string{caveat}
		if _, err := b.Call(h.caller("the-key"), &thingIn{"plain"}); !fault.HasCode(err, fault.CodeConflict) {
			t.Errorf("the answer that was kept for a credential without caveats, with %s: got %v, want CONFLICT", caveat, err)
		}
	}
	h.caveats = nil
	h.clearance = "UNCLASSIFIED"
	if _, err := b.Call(h.caller("the-key"), &thingIn{"plain"}); !fault.HasCode(err, fault.CodeConflict) {
		t.Errorf("the kept answer with less clearance: got %v, want CONFLICT", err)
	}
	h.clearance, h.granted = "INTERNAL", nil
	h.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1`)
	if _, err := b.Call(h.caller("the-key"), &thingIn{"plain"}); !fault.HasCode(err, fault.CodeForbidden) {
		t.Errorf("a kept answer needs the permission all the same: got %v", err)
	}
}

// A kept answer is decided about anew: with the grants of now, and the record as it
// is now. A change that takes nothing away changes nothing.
func TestIdempotencyKey_AnswerIsAuthorizedAnew(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	bump := func() { h.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1`) }
	record := authz.Resource{Type: "thing", Tenant: string(h.tenant), Project: string(uid.New()), Classification: "INTERNAL"}
	var loadFails, returnedFails error
	returned := record
	b := executor.Handle(h.module, changeThing(), executor.Handler[thingIn, thingOut, string]{
		Load: func(context.Context, *executor.Call, *thingIn) (string, authz.Resource, error) {
			return "x", record, loadFails
		},
		Do: func(context.Context, *executor.Call, *thingIn, string) (*thingOut, error) {
			return &thingOut{Name: "x", Run: h.runs.Add(1)}, nil
		},
		Returned: func(_ context.Context, _ *executor.Call, out *thingOut) (authz.Resource, error) {
			if out.Name != "x" {
				t.Errorf("Returned was given %+v", out)
			}
			return returned, returnedFails
		},
	})
	call := func(note string, code fault.Code) {
		t.Helper()
		out, err := b.Call(h.caller("key"), &thingIn{"x"})
		switch {
		case code == "" && (err != nil || out.(*thingOut).Run != 1):
			t.Errorf("%s: %+v, %v, want the kept answer", note, out, err)
		case code != "" && !fault.HasCode(err, code):
			t.Errorf("%s: %+v, %v, want %s", note, out, err, code)
		}
	}
	call("first", "")
	call("the same", "")
	h.granted = []string{"task.update", "tasks.read", "projects.read"}
	bump()
	call("one more permission", "")
	record.Classification = "SECRET"
	call("the record of the request is above the clearance now", fault.CodeNotFound)
	record.Classification, returned.Classification = "INTERNAL", "SECRET"
	call("the record of the answer is above the clearance now", fault.CodeNotFound)
	returned.Classification, returnedFails = "INTERNAL", fault.NotFound("thing")
	call("the record of the answer has gone", fault.CodeNotFound)
	returnedFails, loadFails = nil, fault.NotFound("thing")
	call("the record of the request has gone", fault.CodeNotFound)
	loadFails = fault.Conflict("It was done before.")
	call("the request is not possible twice", "")
	loadFails = fault.Forbidden("task.update")
	call("the record of the request is denied", fault.CodeForbidden)
	loadFails, h.granted = nil, []string{"tasks.read"}
	bump()
	call("the permission is gone", fault.CodeForbidden)
	h.granted = []string{"task.update"}
	h.kind = authz.TokenAPIKey
	bump()
	call("another kind of credential", fault.CodeConflict)
	h.kind, h.roles = "", []string{"Crew", "Boss"}
	call("another snapshot of roles", fault.CodeConflict)
	h.roles = nil
	call("all is as it was", "")
	if h.runs.Load() != 1 {
		t.Errorf("%d runs, want one", h.runs.Load())
	}
}

// After a deletion there is no record to decide about: the one of the deletion is.
func TestIdempotencyKey_DeletionIsAuthorizedAnew(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	remove := op.New[thingIn, op.None](op.Spec{Name: "delete-thing", Module: "tracker", Method: "POST", Path: "/api/things/delete", Permission: "task.update", Effect: op.Destroy, Status: 204, Summary: "Deletes a thing."})
	gone := false
	b := executor.Handle(h.module, remove, executor.Handler[thingIn, op.None, string]{
		Load: func(_ context.Context, _ *executor.Call, in *thingIn) (string, authz.Resource, error) {
			if gone {
				return "", authz.Resource{}, fault.NotFound("thing")
			}
			return in.Name, authz.Resource{Type: "thing", Tenant: string(h.tenant), Classification: "INTERNAL"}, nil
		},
		Do: func(context.Context, *executor.Call, *thingIn, string) (*op.None, error) {
			gone = true
			return &op.None{}, nil
		},
	})
	for range 3 {
		if _, err := b.Call(h.caller("key"), &thingIn{"x"}); err != nil {
			t.Fatalf("the deletion is repeated: %v", err)
		}
	}
	if _, err := b.Call(h.caller("other"), &thingIn{"x"}); !fault.HasCode(err, fault.CodeNotFound) {
		t.Errorf("another deletion of what is gone: %v", err)
	}
	h.granted = []string{"tasks.read"}
	h.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1`)
	if _, err := b.Call(h.caller("key"), &thingIn{"x"}); !fault.HasCode(err, fault.CodeForbidden) {
		t.Errorf("the deletion is repeated without the permission: %v", err)
	}
}

// A key that was used before the signing secret was replaced still finds its answer.
func TestIdempotencyKey_OutlivesARotationOfTheSecret(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, c := range []struct {
		note          string
		key, previous []byte
		code          fault.Code
	}{
		{"before", []byte("old"), nil, ""},
		{"during", []byte("new"), []byte("old"), ""},
		{"after", []byte("new"), nil, fault.CodeConflict},
	} {
		h.module = executor.New(executor.Config{
			Module: "tracker", Pool: h.pool, Engine: h.engine, Principals: h, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
			HashKey: c.key, PreviousHashKey: c.previous,
		})
		_, err := h.change().Call(h.caller("the-key"), &thingIn{"plain"})
		if (c.code == "") != (err == nil) || (err != nil && !fault.HasCode(err, c.code)) {
			t.Errorf("%s: %v", c.note, err)
		}
	}
	if h.runs.Load() != 1 {
		t.Errorf("%d runs, want one", h.runs.Load())
	}
}
