// Thousands of evaluations by one goroutine, which the race detector makes ten times slower.
//go:build !race

package authz

import (
	"testing"
	"time"

	"parapet/internal/authz/invariant"
)

// TestEmbeddedPoliciesKeepEveryInvariant is why the engine does not check the
// embedded policies at each start: they are part of the program, as the invariants
// are, and no build passes its tests with others.
func TestEmbeddedPoliciesKeepEveryInvariant(t *testing.T) {
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
		t.Errorf("only %d decisions", report.Decisions)
	}
	denied, err := invariant.Denied(t.Context(), candidate{e.current.Load()})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range denied {
		t.Errorf("the invariants spoil a question that is denied anyway: %.2000s", q)
	}
	t.Logf("%d decisions in %v", report.Decisions, time.Since(start).Round(time.Millisecond))
}
