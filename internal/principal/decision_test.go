package principal_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"parapet/internal/authz"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/principal"
)

// decisionSink stores decision records.
type decisionSink struct {
	mu      sync.Mutex
	records []authz.DecisionRecord
}

func (s *decisionSink) Record(r authz.DecisionRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, r)
}

// The decision about the target tenant is logged with the request's id.
func TestAuthenticate_RecordsTargetDecisionWithRequestID(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{})
	acme := w.tenant("acme")
	text, _ := w.session(acme, w.user(acme, "worker@acme.example"))
	var s decisionSink
	engine, err := authz.New(t.Context(), authz.Config{Sink: &s})
	if err != nil {
		t.Fatal(err)
	}
	checker, err := principal.New(principal.Config{Pool: w.db.Pool(t, postgres.RoleAuth), Tokens: w.tokens, Policies: engine, Clock: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	ctx := op.WithRequest(context.Background(), op.Request{ID: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"})
	if _, err := checker.Authenticate(ctx, principal.Credential{Token: text, ActAs: string(acme), HasActAs: true, Module: "tracker"}); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.records, func(r authz.DecisionRecord) bool {
		return r.Rule == "parapet/actas/verdict" && r.RequestID == "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"
	}) {
		t.Errorf("got decision records %+v, want one of parapet/actas/verdict with the request id", s.records)
	}
}
