package authz

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
)

// testTimeout limits one policy test.
const testTimeout = time.Minute

// TestReport is the result of the Rego tests of a source.
type TestReport struct {
	Passed int
	// Failed contains the names of the failed tests, with the error if there is one.
	Failed []string
	// Coverage is the percentage of the policies' lines that the tests ran. Uncovered lists
	// the other lines as file:line.
	Coverage  float64
	Uncovered []string
}

// RunTests compiles a source with its tests and runs them.
func RunTests(ctx context.Context, source Source) (TestReport, error) {
	c, err := source.read()
	if err != nil {
		return TestReport{}, err
	}
	return c.runTests(ctx)
}

func (c *contents) runTests(ctx context.Context) (TestReport, error) {
	var report TestReport
	f, err := c.parse()
	if err != nil {
		return report, err
	}
	rules := map[string]bool{}
	for name := range f.modules {
		rules[name] = true
	}
	if err := f.addTests(c.tests); err != nil {
		return report, err
	}
	compiler, err := f.compile()
	if err != nil {
		return report, err
	}
	store := inmem.NewFromObjectWithOpts(f.data, inmem.OptRoundTripOnWrite(false), inmem.OptReturnASTValuesOnRead(true))
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return report, fmt.Errorf("authz: %w", err)
	}
	defer store.Abort(ctx, txn)
	covered := cover.New()
	results, err := tester.NewRunner().
		SetCompiler(compiler).
		SetStore(store).
		SetModules(f.modules).
		SetTimeout(testTimeout).
		RaiseBuiltinErrors(true).
		SetCoverageQueryTracer(covered).
		RunTests(ctx, txn)
	if err != nil {
		return report, fmt.Errorf("authz: policy tests: %w", err)
	}
	for result := range results {
		switch {
		case result.Pass():
			report.Passed++
		case result.Error != nil:
			report.Failed = append(report.Failed, fmt.Sprintf("%s.%s: %v", result.Package, result.Name, result.Error))
		default:
			report.Failed = append(report.Failed, fmt.Sprintf("%s.%s%s", result.Package, result.Name, failedCases(result)))
		}
	}
	sort.Strings(report.Failed)
	report.addCoverage(covered.Report(f.modules), rules)
	return report, nil
}

// failedCases returns the names of the failed cases of a table.
func failedCases(result *tester.Result) string {
	var names []string
	for path, sub := range result.SubResults.Iter {
		if sub.Fail && len(sub.SubResults) == 0 {
			names = append(names, strings.Join(path, "/"))
		}
	}
	if len(names) == 0 {
		return ""
	}
	sort.Strings(names)
	return ": " + strings.Join(names, ", ")
}

// addCoverage adds the coverage of the rules to the report.
func (r *TestReport) addCoverage(report cover.Report, rules map[string]bool) {
	lines, hit := 0, 0
	for name, file := range report.Files {
		if !rules[name] {
			continue
		}
		lines += file.CoveredLines + file.NotCoveredLines
		hit += file.CoveredLines
		for _, span := range file.NotCovered {
			for row := span.Start.Row; row <= span.End.Row; row++ {
				r.Uncovered = append(r.Uncovered, fmt.Sprintf("%s:%d", name, row))
			}
		}
	}
	sort.Strings(r.Uncovered)
	r.Uncovered = slices.Compact(r.Uncovered)
	if lines > 0 {
		r.Coverage = 100 * float64(hit) / float64(lines)
	}
}
