package archtest

import (
	"go/ast"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	fuzzDirs    = regexp.MustCompile(`(?m)grep -rlE '\^func Fuzz\[A-Z\]' --include='\*_test\.go' ([a-z ]+?) 2>`)
	nightlyFuzz = regexp.MustCompile(`(?m)^\s*run: make fuzz FUZZTIME=(\S+)$`)
	jobTimeout  = regexp.MustCompile(`(?m)^\s*timeout-minutes: (\d+)$`)
)

// TestNightly_RunsEveryFuzzTarget checks that make fuzz finds every fuzz target, and that
// the nightly workflow has enough time for all of them.
func TestNightly_RunsEveryFuzzTarget(t *testing.T) {
	t.Parallel()
	r := repo(t)
	read := func(name string) string { return string(readFile(t, name)) }
	dirs := fuzzDirs.FindStringSubmatch(read("Makefile"))
	workflow := read(".github/workflows/nightly.yml")
	each, timeout := nightlyFuzz.FindStringSubmatch(workflow), jobTimeout.FindStringSubmatch(workflow)
	if dirs == nil || each == nil || timeout == nil {
		t.Fatalf("make fuzz searches %q; nightly.yml runs it with %q, for at most %q minutes", dirs, each, timeout)
	}
	searched := strings.Fields(dirs[1])
	targets := 0
	for _, f := range testFiles(r) {
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Fuzz") {
				continue
			}
			targets++
			found := false
			for _, dir := range searched {
				found = found || strings.HasPrefix(f.path, dir+"/")
			}
			if !found {
				t.Errorf("make fuzz does not find %s in %s", fn.Name.Name, f.path)
			}
		}
	}
	if targets == 0 {
		t.Fatal("no fuzz targets found")
	}
	d, err := time.ParseDuration(each[1])
	minutes, minutesErr := strconv.Atoi(timeout[1])
	if err != nil || minutesErr != nil {
		t.Fatalf("%v, %v", err, minutesErr)
	}
	// Each target also needs time to build and to run its seeds.
	if need := time.Duration(targets) * (d + time.Minute); need > time.Duration(minutes)*time.Minute {
		t.Errorf("%d targets of %s need up to %s, nightly.yml ends after %d minutes", targets, d, need, minutes)
	}
}

// testFiles returns the test files of the repository.
func testFiles(r repository) []source {
	var files []source
	for _, p := range r.packages {
		for _, f := range p.files {
			if f.test {
				files = append(files, f)
			}
		}
	}
	return files
}
