package authz_test

import (
	"fmt"
	"strings"
	"testing"

	"parapet/internal/authz"
	"parapet/internal/telemetry"
)

func TestDecide_RecordsASpanWithoutIDs(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{})
	actor := subject(t, e, person(e, "Member"))
	recorder, tracer := telemetry.NewRecorder()
	ctx, measured := telemetry.NewContext(t.Context())
	ctx, _ = tracer.Start(ctx, "request")
	resource := task()
	for _, permission := range []string{"tasks.read", "no.such_permission"} {
		if _, err := e.Decide(ctx, authz.Input{Permission: permission, Effect: authz.Read, Module: "tracker", Actor: actor, Resource: resource}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Decide(ctx, authz.Input{Permission: "tasks.read", Resource: resource}); err == nil {
		t.Fatal("a decision without an actor: want an error")
	}
	if _, err := e.Evaluate(ctx, authz.AuthenticatedAccess{Actor: actor, Effect: authz.Read, Module: "tracker"}); err != nil {
		t.Fatal(err)
	}
	spans := recorder.Spans()
	if len(spans) != 4 || measured.DecisionTime() <= 0 {
		t.Fatalf("got %d spans and a decision time of %s, want 4 and more than 0", len(spans), measured.DecisionTime())
	}
	for i, want := range []struct {
		name   string
		allow  bool
		failed bool
	}{{"tasks.read", true, false}, {"no.such_permission", false, false}, {"tasks.read", false, true}, {"parapet/open/verdict", true, false}} {
		s := spans[i]
		if s.Name != "decision" || s.Attributes["parapet.permission"] != want.name || s.Attributes["parapet.allow"] != want.allow || s.Failed != want.failed {
			t.Errorf("span %d: got %+v, want %+v", i, s, want)
		}
		for _, id := range []string{resource.ID, resource.Tenant, worker} {
			if id != "" && strings.Contains(fmt.Sprint(s.Attributes), id) {
				t.Errorf("span %d: contains the id %s", i, id)
			}
		}
	}
}
