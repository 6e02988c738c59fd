package policytests_test

import (
	"strings"
	"testing"

	"parapet/internal/authz"
)

// TestRego_PassesAndCoversEveryLine runs the Rego tests.
func TestRego_PassesAndCoversEveryLine(t *testing.T) {
	t.Parallel()
	report, err := authz.RunTests(t.Context(), authz.Embedded())
	if err != nil {
		t.Fatal(err)
	}
	for _, failed := range report.Failed {
		t.Error(failed)
	}
	if len(report.Uncovered) > 0 {
		t.Errorf("the tests cover %.1f %% of the policies' lines, want 100 %%; not covered:\n%s",
			report.Coverage, strings.Join(report.Uncovered, "\n"))
	}
	t.Logf("%d tests, %.1f %% of lines", report.Passed, report.Coverage)
}
