package policytests_test

import (
	"strings"
	"testing"

	"parapet/internal/authz"
)

// The Rego tests pass, and together they run every line of the policies.
func TestRego(t *testing.T) {
	t.Parallel()
	report, err := authz.RunTests(t.Context(), authz.Embedded())
	if err != nil {
		t.Fatal(err)
	}
	for _, failed := range report.Failed {
		t.Error(failed)
	}
	if len(report.Uncovered) > 0 {
		t.Errorf("%.1f %% of the policies' lines are covered; these are not:\n%s",
			report.Coverage, strings.Join(report.Uncovered, "\n"))
	}
	t.Logf("%d tests, %.1f %% of lines", report.Passed, report.Coverage)
}

func TestRegoIsFormatted(t *testing.T) {
	t.Parallel()
	names, err := authz.Unformatted(authz.Embedded())
	if err != nil {
		t.Fatal(err)
	}
	if len(names) > 0 {
		t.Errorf("opa fmt would change %s", strings.Join(names, ", "))
	}
}
