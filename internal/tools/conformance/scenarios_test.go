package main

import (
	"strings"
	"testing"
)

func TestReport_ComparesWithExpectations(t *testing.T) {
	t.Parallel()
	expected := []expectation{
		{Check: "a/known", Reason: "r"}, {Check: "a/elsewhere", Versions: []string{"1999-01-01"}, Reason: "r"}, {Check: "b/mended", Reason: "r"},
	}
	results := []result{
		{"a", []check{{"good", "SUCCESS", ""}, {"known", "FAILURE", "x"}, {"elsewhere", "FAILURE", "y"}, {"told", "INFO", ""}}},
		{"b", []check{{"mended", "SUCCESS", ""}, {"new", "FAILURE", "z"}}},
	}
	var out strings.Builder
	passed, failed := report(&out, "2026-07-28", results, expected)
	if passed != 2 || failed != 3 {
		t.Errorf("report: got %d passed and %d failed, want 2 and 3:\n%s", passed, failed, &out)
	}
	for _, want := range []string{"elsewhere: y", "new: z", "b/mended is in expected.json but does not fail"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("report does not contain %q:\n%s", want, &out)
		}
	}
}

func TestReadExpected_EveryEntryHasAReason(t *testing.T) {
	t.Parallel()
	if all, err := readExpected("expected.json"); err != nil || len(all) == 0 {
		t.Fatalf("readExpected: got %d expectations, %v", len(all), err)
	}
}
