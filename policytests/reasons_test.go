package policytests_test

import (
	"bytes"
	"io/fs"
	"regexp"
	"testing"

	"parapet/internal/authz"
)

// The expected reasons in the tables: one code or a list.
var (
	wantedReason = regexp.MustCompile(`\breasons?: *(\[[^\]]*\]|[a-z_]+)`)
	reasonCode   = regexp.MustCompile(`[a-z]+(_[a-z]+)*`)
	// The reasons in rules.
	givenReason = regexp.MustCompile(`"reasons": *\[([^\]]*)\]`)
	quotedCode  = regexp.MustCompile(`"([^"]*)"`)
)

// TestReasons_EachCodeIsExplained checks that parapet/reasons/data.yaml explains exactly the
// reason codes that rules can return. The differential test of the oracle checks every
// evaluated decision in the same way.
func TestReasons_EachCodeIsExplained(t *testing.T) {
	t.Parallel()
	explained := newEngine(t).Catalogue().Reasons
	for code, table := range wantedReasons(t) {
		if _, ok := explained[code]; !ok {
			t.Errorf("%s: parapet/reasons/data.yaml does not explain %s", table, code)
		}
	}
	rules := files(t, authz.Embedded().Policies, "parapet/*/*.rego")
	for code := range explained {
		named := code == "no_answer" // returned by the engine
		for _, text := range rules {
			named = named || bytes.Contains(text, []byte(`"`+code+`"`))
		}
		if !named {
			t.Errorf("parapet/reasons/data.yaml explains %s, which no rule returns", code)
		}
	}
	for name, text := range rules {
		for _, m := range givenReason.FindAllSubmatch(text, -1) {
			for _, quoted := range quotedCode.FindAllSubmatch(m[1], -1) {
				if _, ok := explained[string(quoted[1])]; !ok {
					t.Errorf("%s: parapet/reasons/data.yaml does not explain %s", name, quoted[1])
				}
			}
		}
	}
}

// wantedReasons maps the expected reason codes in the tables to one such table.
func wantedReasons(t testing.TB) map[string]string {
	t.Helper()
	codes := map[string]string{}
	for name, text := range files(t, authz.Embedded().Tests, "tables/*/data.yaml") {
		for _, m := range wantedReason.FindAllSubmatch(text, -1) {
			for _, code := range reasonCode.FindAllString(string(m[1]), -1) {
				if code == "null" { // the verdict allows
					continue
				}
				codes[code] = name
			}
		}
	}
	return codes
}

// files reads the files that match a pattern.
func files(t testing.TB, fsys fs.FS, pattern string) map[string][]byte {
	t.Helper()
	names, err := fs.Glob(fsys, pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	texts := map[string][]byte{}
	for _, name := range names {
		if texts[name], err = fs.ReadFile(fsys, name); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}
