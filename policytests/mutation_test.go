package policytests_test

import (
	"flag"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"parapet/internal/authz"
	"parapet/policies"
)

var mutants = flag.Int("mutants", 12, "how many mutants of the policies to try; 0 tries them all")

// mutant is the policies with one line changed.
type mutant struct {
	name   string
	change string
	source fstest.MapFS
}

// The tests notice what is changed in a rule: a condition left out, turned
// round, or compared otherwise. Few are tried by default, spread over all;
// `go test ./policytests -run Mutants -mutants 0 -timeout 20m` tries every one.
func TestMutantsAreNoticed(t *testing.T) {
	t.Parallel()
	all := everyMutant(t)
	chosen := all
	if *mutants > 0 && *mutants < len(all) {
		chosen = nil
		for i := range *mutants {
			chosen = append(chosen, all[i*len(all) / *mutants])
		}
	}
	var work sync.WaitGroup
	queue := make(chan mutant)
	for range 2 {
		work.Go(func() {
			for m := range queue {
				report, err := authz.RunTests(t.Context(), authz.Source{Policies: m.source, Tests: authz.Embedded().Tests})
				if err == nil && len(report.Failed) == 0 {
					t.Errorf("nothing notices %s: %s", m.name, m.change)
				}
			}
		})
	}
	for _, m := range chosen {
		queue <- m
	}
	close(queue)
	work.Wait()
	t.Logf("%d of %d mutants", len(chosen), len(all))
}

// everyMutant changes every line of every rule in every way that fits it.
func everyMutant(t *testing.T) []mutant {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(policies.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(policies.FS, path)
		files[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []mutant
	for path, file := range files {
		if !strings.HasSuffix(path, ".rego") {
			continue
		}
		lines := strings.Split(string(file.Data), "\n")
		for i, line := range lines {
			for _, changed := range changes(line) {
				source := fstest.MapFS{}
				for name, f := range files {
					source[name] = f
				}
				text := slices.Clone(lines)
				text[i] = changed
				source[path] = &fstest.MapFile{Data: []byte(strings.Join(text, "\n"))}
				out = append(out, mutant{
					name:   fmt.Sprintf("%s:%d", path, i+1),
					change: fmt.Sprintf("%q for %q", changed, line),
					source: source,
				})
			}
		}
	}
	slices.SortFunc(out, func(a, b mutant) int {
		return strings.Compare(a.name+a.change, b.name+b.change)
	})
	return out
}

// changes gives the ways to change a line: a condition of a body is left out,
// a comparison or a not is turned round.
func changes(line string) []string {
	code := strings.TrimSpace(line)
	if code == "" || strings.HasPrefix(code, "#") || strings.HasPrefix(code, "package") || strings.HasPrefix(code, "import") {
		return nil
	}
	var out []string
	condition := strings.HasPrefix(line, "\t") && !strings.HasPrefix(code, `"`) && !strings.HasPrefix(code, "some ") &&
		!strings.Contains(code, ":=") && !strings.HasSuffix(code, "{") && !strings.HasPrefix(code, "}") && !strings.HasSuffix(code, ",") &&
		!strings.HasSuffix(code, "|") && !strings.HasSuffix(code, "(")
	if condition {
		out = append(out, "\ttrue")
	}
	for _, pair := range [][2]string{
		{"not ", ""}, {" == ", " != "}, {" != ", " == "}, {" <= ", " < "}, {" >= ", " > "}, {"true", "false"}, {"false", "true"},
	} {
		if strings.Contains(line, pair[0]) {
			out = append(out, strings.Replace(line, pair[0], pair[1], 1))
		}
	}
	return out
}
