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

func TestIdempotencyKey_RunsHandlerOnceAndReplaysResponse(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.changeOperation()
	var group sync.WaitGroup
	responses := make([]*thingOut, 8)
	for i := range responses {
		ctx := h.callerContext("the-key")
		group.Go(func() {
			out, err := b.Call(ctx, &thingIn{"plain"})
			if err != nil {
				t.Errorf("call %d: got error %v, want none", i, err)
				return
			}
			responses[i] = out.(*thingOut)
		})
	}
	group.Wait()
	if h.runs.Load() != 1 || h.count(entriesSQL) != 1 || h.count(eventsSQL) != 1 {
		t.Fatalf("got %d runs of the handler, want 1 with one audit entry and one event", h.runs.Load())
	}
	for _, a := range responses {
		if a == nil || *a != *responses[0] {
			t.Fatalf("got different responses %+v, want the same for each call", responses)
		}
	}
	if _, err := b.Call(h.callerContext("the-key"), &thingIn{"other"}); !fault.HasCode(err, fault.CodeConflict) {
		t.Errorf("same key for another request: got %v, want CONFLICT", err)
	}
	if _, err := b.Call(h.callerContext("next"), &thingIn{"fails"}); !fault.HasCode(err, fault.CodeConflict) {
		t.Errorf("change that fails: got %v, want CONFLICT", err)
	}
	for _, key := range []string{"\xff\xfe", strings.Repeat("k", executor.MaxIdempotencyKey+1)} {
		_, err := b.Call(h.callerContext(key), &thingIn{"plain"})
		if f := fault.From(err); err == nil || f.Code != fault.CodeValidation || f.Field != "Idempotency-Key" {
			t.Errorf("key %.8q: got %v, want VALIDATION for the field Idempotency-Key", key, err)
		}
	}
	if n := h.count(`SELECT count(*) FROM events.idempotency_keys`); n != 1 {
		t.Errorf("got %d stored keys, want 1: a failed change stores none", n)
	}
	for _, caveat := range []string{"read-only", "project:" + string(uid.New()), "module:tracker"} {
		h.caveats = []string{caveat}
		if _, err := b.Call(h.callerContext("the-key"), &thingIn{"plain"}); !fault.HasCode(err, fault.CodeConflict) {
			t.Errorf("response stored without caveats, requested with caveat %s: got %v, want CONFLICT", caveat, err)
		}
	}
	h.caveats = nil
	h.clearance = "UNCLASSIFIED"
	if _, err := b.Call(h.callerContext("the-key"), &thingIn{"plain"}); !fault.HasCode(err, fault.CodeConflict) {
		t.Errorf("stored response with lower clearance: got %v, want CONFLICT", err)
	}
	h.clearance, h.permissions = "INTERNAL", nil
	h.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1`)
	if _, err := b.Call(h.callerContext("the-key"), &thingIn{"plain"}); !fault.HasCode(err, fault.CodeForbidden) {
		t.Errorf("stored response without the permission: got %v, want FORBIDDEN", err)
	}
}

// A stored response is returned again only if the current grants allow it for the
// current state of the record. Additional permissions make no difference.
func TestIdempotencyKey_ReauthorizesStoredResponse(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	increaseRevision := func() { h.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1`) }
	record := authz.Resource{Type: "thing", Tenant: string(h.tenant), Project: string(uid.New()), Classification: "INTERNAL"}
	var loadFails, returnedFails error
	returned := record
	b := executor.HandleReturning(h.module, changeRecord(), func(context.Context, *executor.Call, *thingIn) (string, authz.Resource, error) {
		return "x", record, loadFails
	}, func(context.Context, *executor.Call, *thingIn, string) (*thingOut, error) {
		return &thingOut{Name: "x", Run: h.runs.Add(1)}, nil
	}, func(_ context.Context, _ *executor.Call, out *thingOut) (authz.Resource, error) {
		if out.Name != "x" {
			t.Errorf("Returned: got response %+v, want the name x", out)
		}
		return returned, returnedFails
	})
	call := func(note string, code fault.Code) {
		t.Helper()
		out, err := b.Call(h.callerContext("key"), &thingIn{"x"})
		switch {
		case code == "" && (err != nil || out.(*thingOut).Run != 1):
			t.Errorf("%s: got %+v, %v, want the stored response", note, out, err)
		case code != "" && !fault.HasCode(err, code):
			t.Errorf("%s: got %+v, %v, want %s", note, out, err, code)
		}
	}
	call("first call", "")
	call("repeated call", "")
	h.permissions = []string{"task.update", "tasks.read", "projects.read"}
	increaseRevision()
	call("with an additional permission", "")
	record.Classification = "SECRET"
	call("the request's record is now above the clearance", fault.CodeNotFound)
	record.Classification, returned.Classification = "INTERNAL", "SECRET"
	call("the response's record is now above the clearance", fault.CodeNotFound)
	returned.Classification, returnedFails = "INTERNAL", fault.NotFound("thing")
	call("the response's record is deleted", fault.CodeNotFound)
	returnedFails, loadFails = nil, fault.NotFound("thing")
	call("the request's record is deleted", fault.CodeNotFound)
	loadFails = fault.Conflict("It was done before.")
	call("Load returns CONFLICT because the change was made before", "")
	loadFails = fault.Forbidden("task.update")
	call("Load returns FORBIDDEN", fault.CodeForbidden)
	loadFails, h.permissions = nil, []string{"tasks.read"}
	increaseRevision()
	call("the permission was revoked", fault.CodeForbidden)
	h.permissions = []string{"task.update"}
	h.kind = authz.TokenAPIKey
	increaseRevision()
	call("with another kind of credential", fault.CodeConflict)
	h.kind, h.roles = "", []string{"Crew", "Boss"}
	call("with other roles in the token", fault.CodeConflict)
	h.roles = nil
	call("with the original credential and permissions", "")
	if h.runs.Load() != 1 {
		t.Errorf("got %d runs of the handler, want 1", h.runs.Load())
	}
}

// After a deletion there is no record to load, so the stored resource is used to
// authorize the repeated request.
func TestIdempotencyKey_ReauthorizesRepeatedDeletion(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	remove := op.New[thingIn, op.None](op.Spec{Name: "delete-thing", Module: "tracker", Method: "POST", Path: "/api/things/delete", Permission: "task.update", Effect: op.Destroy, Status: 204, Summary: "Deletes a thing."})
	deleted := false
	b := executor.Handle(h.module, remove, func(_ context.Context, _ *executor.Call, in *thingIn) (string, authz.Resource, error) {
		if deleted {
			return "", authz.Resource{}, fault.NotFound("thing")
		}
		return in.Name, authz.Resource{Type: "thing", Tenant: string(h.tenant), Classification: "INTERNAL"}, nil
	}, func(context.Context, *executor.Call, *thingIn, string) (*op.None, error) {
		deleted = true
		return &op.None{}, nil
	})
	for range 3 {
		if _, err := b.Call(h.callerContext("key"), &thingIn{"x"}); err != nil {
			t.Fatalf("repeated deletion: got %v, want no error", err)
		}
	}
	if _, err := b.Call(h.callerContext("other"), &thingIn{"x"}); !fault.HasCode(err, fault.CodeNotFound) {
		t.Errorf("deletion with another key: got %v, want NOT_FOUND", err)
	}
	h.permissions = []string{"tasks.read"}
	h.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1`)
	if _, err := b.Call(h.callerContext("key"), &thingIn{"x"}); !fault.HasCode(err, fault.CodeForbidden) {
		t.Errorf("repeated deletion without the permission: got %v, want FORBIDDEN", err)
	}
}

// A response stored before the signing secret was replaced is found during the rotation.
func TestIdempotencyKey_FindsResponseDuringSecretRotation(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, c := range []struct {
		note          string
		key, previous []byte
		code          fault.Code
	}{
		{"before the rotation", []byte("old"), nil, ""},
		{"during the rotation", []byte("new"), []byte("old"), ""},
		{"after the rotation", []byte("new"), nil, fault.CodeConflict},
	} {
		h.module = executor.New(executor.Config{
			Module: "tracker", Pool: h.pool, Engine: h.engine, Principals: h, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
			HashKey: c.key, PreviousHashKey: c.previous,
		})
		_, err := h.changeOperation().Call(h.callerContext("the-key"), &thingIn{"plain"})
		if (c.code == "") != (err == nil) || (err != nil && !fault.HasCode(err, c.code)) {
			t.Errorf("%s: got error %v, want code %q", c.note, err, c.code)
		}
	}
	if h.runs.Load() != 1 {
		t.Errorf("got %d runs of the handler, want 1", h.runs.Load())
	}
}
