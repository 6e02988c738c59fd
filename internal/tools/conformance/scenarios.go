package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// versions are the protocol versions that both the server and the tool support.
var versions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// check is a check of a scenario.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

// result is the result of a scenario.
type result struct {
	name   string
	checks []check
}

// expectation is a check that is known to fail, with the reason.
type expectation struct {
	Check    string   `json:"check"`
	Versions []string `json:"versions,omitempty"`
	Reason   string   `json:"reason"`
}

func readExpected(path string) ([]expectation, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []expectation
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, e := range all {
		if e.Check == "" || e.Reason == "" {
			return nil, fmt.Errorf("%s: %q needs a check and a reason", path, e.Check)
		}
	}
	return all, nil
}

// folder matches the name of the folder of a scenario's results.
var folder = regexp.MustCompile(`^server-(.+)-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z$`)

// scenarios runs all scenarios for a version and reads their results. The exit code of the
// tool is ignored, because it only reports that some checks failed.
func scenarios(ctx context.Context, tools toolbox, url, version, dir string) ([]result, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	out, runErr := tools.command(ctx, "@modelcontextprotocol/conformance/dist/index.js",
		"server", "--url", url, "--suite", "all", "--spec-version", version, "-o", dir).CombinedOutput()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("the conformance tool left no results (%w): %s", runErr, lastBytes(out))
	}
	var results []result
	for _, e := range entries {
		m := folder.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name(), "checks.json"))
		if err != nil {
			return nil, err
		}
		r := result{name: m[1]}
		if err := json.Unmarshal(text, &r.checks); err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	if len(results) < 20 {
		return nil, fmt.Errorf("only %d scenarios ran (%w): %s", len(results), runErr, lastBytes(out))
	}
	slices.SortFunc(results, func(a, b result) int { return strings.Compare(a.name, b.name) })
	return results, nil
}

func lastBytes(out []byte) string { return string(out[max(0, len(out)-2000):]) }

// report prints a line per scenario and returns how many checks had the expected result and
// how many did not.
func report(out io.Writer, version string, results []result, expected []expectation) (passed, failed int) {
	fmt.Fprintf(out, "\nProtocol %s\n", version)
	used := map[string]bool{}
	for _, r := range results {
		good, known, bad := 0, 0, 0
		var lines []string
		for _, c := range r.checks {
			name := r.name + "/" + c.ID
			switch {
			case c.Status == "SUCCESS":
				good++
			case c.Status != "FAILURE":
			case isExpected(expected, name, version):
				used[name] = true
				known++
			default:
				bad++
				lines = append(lines, fmt.Sprintf("    %s: %s", c.ID, c.ErrorMessage))
			}
		}
		passed, failed = passed+good, failed+bad
		word := "ok      "
		if bad > 0 {
			word = "FAILED  "
		} else if known > 0 {
			word = "expected"
		}
		fmt.Fprintf(out, "  %s %-45s %2d passed, %d failed as expected, %d failed\n", word, r.name, good, known, bad)
		for _, l := range lines {
			fmt.Fprintln(out, l)
		}
	}
	for _, e := range expected {
		if e.applies(version) && !used[e.Check] {
			failed++
			fmt.Fprintf(out, "  FAILED   %s is in expected.json but does not fail: remove it\n", e.Check)
		}
	}
	return passed, failed
}

func (e expectation) applies(version string) bool {
	return len(e.Versions) == 0 || slices.Contains(e.Versions, version)
}

func isExpected(all []expectation, name, version string) bool {
	return slices.ContainsFunc(all, func(e expectation) bool { return e.Check == name && e.applies(version) })
}
