package archtest

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// runsWithoutRaceDetector lists packages with goroutines or locks that run with the race
// detector only at night, each with the reason.
var runsWithoutRaceDetector = map[string]string{
	"internal/dev":      "it starts goroutines only to run internal/app",
	"internal/identity": "one lock around a cache; minutes of tests of rules",
	"internal/tracker":  "one listener for waits; minutes of tests of rules",
	"internal/authz":    "make test runs its concurrency tests with the race detector, the rule tests without",
	"internal/cli":      "a command is one goroutine, except get-task, which sends two requests",
}

// TestRaced_ListsConcurrentPackages: at night, all tests run with the race detector (make
// test-race). Otherwise only those of the packages in RACED in the Makefile do.
func TestRaced_ListsConcurrentPackages(t *testing.T) {
	t.Parallel()
	text := readFile(t, "Makefile")
	list := regexp.MustCompile(`(?m)^RACED := ((?:.*\\\n)*.*)$`).FindSubmatch(text)
	if list == nil {
		t.Fatal("the Makefile has no list RACED")
	}
	var raced []string
	for _, name := range strings.Fields(strings.ReplaceAll(string(list[1]), "\\\n", " ")) {
		raced = append(raced, strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/..."))
	}
	for _, p := range repo(t).packages {
		concurrent := false
		for _, file := range p.files {
			concurrent = concurrent || !file.test && isConcurrent(file.tree)
		}
		if _, excepted := runsWithoutRaceDetector[p.path]; concurrent && !excepted && !isWithin(p.path, raced...) {
			t.Errorf("%s uses goroutines or locks: add it to RACED in the Makefile", p.path)
		}
	}
}

// isConcurrent reports whether the file starts a goroutine or shares memory.
func isConcurrent(file *ast.File) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			found = found || ok && (x.Name == "sync" || x.Name == "atomic") && n.Sel.Name != "Once" && n.Sel.Name != "OnceValue" && n.Sel.Name != "OnceValues"
		}
		return !found
	})
	return found
}
