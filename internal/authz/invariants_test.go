package authz

import (
	"testing"
	"time"
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
	t.Logf("%d decisions in %v", report.Decisions, time.Since(start).Round(time.Millisecond))
}
