package archtest

import (
	"go/ast"
	"maps"
	"path"
	"regexp"
	"strings"
	"testing"
)

// testCall is a call of go test for one package, with -run or -bench.
var testCall = regexp.MustCompile(`(?:go test|\$\(GOTEST\))[^\n` + "`" + `]*? \./([a-z/]+)[^\n` + "`" + `]*? -(run|bench) '?([A-Za-z_|]+)`)

// TestTestCalls_SelectExistingTests checks each go test call of the Makefile and the documents: every
// alternative of -run or -bench must match a test, fuzz target or benchmark of the package.
// Otherwise the call passes without running anything.
func TestTestCalls_SelectExistingTests(t *testing.T) {
	t.Parallel()
	r := repo(t)
	texts := maps.Clone(documents(t))
	makefile := readFile(t, "Makefile")
	texts["Makefile"] = string(makefile)
	calls := 0
	for name, text := range texts {
		for _, call := range testCall.FindAllStringSubmatch(text, -1) {
			calls++
			for _, pattern := range strings.Split(call[3], "|") {
				if !matchesAnyTest(r, call[1], call[2], pattern) {
					t.Errorf("%s: %q selects nothing: ./%s has no function that -%s %s matches", name, call[0], call[1], call[2], pattern)
				}
			}
		}
	}
	if calls < 6 {
		t.Errorf("found only %d calls of go test with -run or -bench", calls)
	}
}

// matchesAnyTest reports whether a test function of the package in dir matches the pattern
// of the flag.
func matchesAnyTest(r repository, dir, flag, pattern string) bool {
	prefixes := []string{"Test", "Fuzz"}
	if flag == "bench" {
		prefixes = []string{"Benchmark"}
	}
	for _, f := range testFiles(r) {
		if path.Dir(f.path) != dir {
			continue
		}
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.Contains(fn.Name.Name, pattern) {
				continue
			}
			for _, p := range prefixes {
				if strings.HasPrefix(fn.Name.Name, p) {
					return true
				}
			}
		}
	}
	return false
}
