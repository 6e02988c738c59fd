// Thousands of evaluations by one goroutine, which the race detector makes ten times slower.
//go:build !race

package authz

import (
	"testing"
	"time"

	"parapet/internal/authz/invariant"
)

// TestInvariants_EmbeddedPoliciesPass runs in every build, so the engine need not check the
// embedded policies at each start.
func TestInvariants_EmbeddedPoliciesPass(t *testing.T) {
	t.Parallel()
	e, err := New(t.Context(), Config{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	report, err := e.current.Load().checkInvariants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Decisions < 10_000 {
		t.Errorf("invariants of the embedded policies: got %d decisions, want at least 10000", report.Decisions)
	}
	denied, err := invariant.Denied(t.Context(), invariantSet{e.current.Load()})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range denied {
		t.Errorf("got a denial, want allow for a query that an invariant starts from: %.2000s", q)
	}
	t.Logf("%d decisions in %v", report.Decisions, time.Since(start).Round(time.Millisecond))
}
