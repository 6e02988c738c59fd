package archtest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// documents returns the Markdown files for readers by their path in the repository.
func documents(t *testing.T) map[string]string {
	t.Helper()
	root := repo(t).root
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "policies/README.md"} {
		paths = append(paths, filepath.Join(root, name))
	}
	out := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.ToSlash(rel)] = string(text)
	}
	return out
}

func TestREADME_HasAtMost200Lines(t *testing.T) {
	t.Parallel()
	if n := strings.Count(documents(t)["README.md"], "\n"); n > 200 {
		t.Errorf("README.md has %d lines, more than 200: move reference text to docs/", n)
	}
}

var (
	fence    = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	inline   = regexp.MustCompile("`[^`\n]+`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	makeCall = regexp.MustCompile("(?m)(?:^|[$`;&] ?|^[^#\n]*[^a-z#-])make ((?:[a-z][a-z-]*(?: |$|`))+)")
)

// anchors returns the fragments that links to the document can have, as GitHub derives them
// from the headings.
func anchors(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		out = append(out, anchor(m[1]))
	}
	return out
}

func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

func TestDocuments_RelativeLinksResolve(t *testing.T) {
	t.Parallel()
	all := documents(t)
	for name, text := range all {
		prose := inline.ReplaceAllString(fence.ReplaceAllString(text, ""), "`code`")
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			target := m[1]
			if strings.Contains(target, "://") {
				continue
			}
			file, fragment, _ := strings.Cut(target, "#")
			path := name
			if file != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(name), file))
			}
			if _, err := os.Stat(filepath.Join(repo(t).root, path)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, target)
				continue
			}
			if fragment != "" && !slices.Contains(anchors(all[path]), fragment) {
				t.Errorf("%s links to %s, but %s has no such heading", name, target, path)
			}
		}
	}
}

func TestDocuments_MakeTargetsExist(t *testing.T) {
	t.Parallel()
	makefile := readFile(t, "Makefile")
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`).FindAllSubmatch(makefile, -1) {
		targets[string(m[1])] = true
	}
	found := 0
	for name, text := range documents(t) {
		var code []string
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if m[1] == "sh" || m[1] == "console" {
				code = append(code, m[2])
			}
		}
		code = append(code, inline.FindAllString(fence.ReplaceAllString(text, ""), -1)...)
		for _, m := range makeCall.FindAllStringSubmatch(strings.Join(code, "\n"), -1) {
			for _, target := range strings.Fields(strings.Trim(m[1], "` ")) {
				found++
				if !targets[target] {
					t.Errorf("%s names make %s, which the Makefile does not have", name, target)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("found %d make targets in the documents, expected at least 10: does the pattern still match?", found)
	}
}

// TestDocuments_RegoExcerptsAreVerbatim compares each Rego block with the policies.
func TestDocuments_RegoExcerptsAreVerbatim(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(repo(t).root, "policies", "parapet", "*", "*.rego"))
	if err != nil {
		t.Fatal(err)
	}
	var policies [][]byte
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, text)
	}
	for name, text := range documents(t) {
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if m[1] != "rego" {
				continue
			}
			verbatim := func(policy []byte) bool { return bytes.Contains(policy, []byte(m[2])) }
			if !slices.ContainsFunc(policies, verbatim) {
				t.Errorf("%s contains Rego that is not in the policies; copy the rule again:\n%s", name, m[2])
			}
		}
	}
}

// TestOperatorsGuide_ListsEveryMetric compares the table of metrics with the code.
func TestOperatorsGuide_ListsEveryMetric(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(parapet_[a-z_]+)` \\| (?:counter|gauge|histogram) ").FindAllStringSubmatch(documents(t)["docs/operators.md"], -1) {
		listed[m[1]] = true
	}
	declared := declaredMetrics(t)
	if len(declared) < 15 {
		t.Errorf("found only %d metrics in the code: do the patterns still match?", len(declared))
	}
	requireSame(t, "docs/operators.md, metric", listed, declared)
}

// declaredMetrics returns the names of all metrics of the program.
func declaredMetrics(t *testing.T) map[string]bool {
	t.Helper()
	declared := map[string]bool{}
	for _, p := range repo(t).packages {
		for _, file := range p.files {
			if file.test {
				continue
			}
			for _, m := range regexp.MustCompile(`Name: "(parapet_[a-z_]+)"`).FindAllSubmatch(file.text, -1) {
				declared[string(m[1])] = true
			}
			if file.path == "internal/app/metrics.go" {
				for _, m := range regexp.MustCompile(`desc\("([a-z_]+)"`).FindAllSubmatch(file.text, -1) {
					declared["parapet_"+string(m[1])] = true
				}
			}
		}
	}
	return declared
}

// TestAPIGuide_ListsEveryErrorCode compares the table of error codes with internal/fault.
func TestAPIGuide_ListsEveryErrorCode(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| [45][0-9][0-9] \\| `([A-Z_]+)` \\|").FindAllStringSubmatch(documents(t)["docs/http-api.md"], -1) {
		listed[m[1]] = true
	}
	text := readFile(t, "internal/fault/fault.go")
	declared := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\tCode[A-Za-z]+ +Code = "([A-Z_]+)"`).FindAllSubmatch(text, -1) {
		declared[string(m[1])] = true
	}
	requireSame(t, "docs/http-api.md, code", listed, declared)
}

// TestREADME_QuotesReasonOfPolicies compares the denial in the README with
// parapet/reasons/data.yaml.
func TestREADME_QuotesReasonOfPolicies(t *testing.T) {
	t.Parallel()
	text := readFile(t, "policies/parapet/reasons/data.yaml")
	reason := regexp.MustCompile(`(?m)^  not_own:\n    message: (.+)\n    remedy: (.+)$`).FindSubmatch(text)
	if reason == nil {
		t.Fatal("policies/parapet/reasons/data.yaml has no reason not_own")
	}
	readme := documents(t)["README.md"]
	for i, name := range []string{"message", "remedy"} {
		want := `"` + name + `": "` + strings.ReplaceAll(strings.Trim(string(reason[i+1]), `"`), "{permission}", "task.delete") + `"`
		if !strings.Contains(readme, want) {
			t.Errorf("README.md does not contain the %s of the reason not_own: %s", name, want)
		}
	}
}

// requireSame reports names that only one of the lists contains.
func requireSame(t *testing.T, where string, listed, declared map[string]bool) {
	t.Helper()
	for name := range declared {
		if !listed[name] {
			t.Errorf("%s: %s is not listed", where, name)
		}
	}
	for name := range listed {
		if !declared[name] {
			t.Errorf("%s: %s is not in the code", where, name)
		}
	}
}
