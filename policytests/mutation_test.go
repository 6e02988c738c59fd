package policytests_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/open-policy-agent/opa/v1/util"

	"parapet/internal/authz"
	"parapet/internal/authz/invariant"
	"parapet/policies"
)

var (
	mutants      = flag.Int("mutants", 4, "how many mutants of the rules and of the data to try, each; 0 tries all of them")
	mutantsMatch = flag.String("mutants-match", "", "try the mutants whose name contains this text")
)

// equivalentFile lists the mutants that decide in the same way as the policies, each with a
// reason.
const equivalentFile = "equivalent_mutants.yaml"

// TestMutants_AreDetected changes the rules and the data of the policies, one change at a
// time. The Rego tests, the matrix or the invariants must detect each change. By default it
// tries a few mutants, spread evenly, which change with the policies; `make mutants` tries all.
func TestMutants_AreDetected(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	text, err := os.ReadFile(equivalentFile)
	if err != nil {
		t.Fatal(err)
	}
	equivalent := map[string]string{}
	if err := util.Unmarshal(text, &equivalent); err != nil {
		t.Fatalf("%s: %v", equivalentFile, err)
	}
	unused := maps.Clone(equivalent)
	first := newKiller(t, l)
	for kind, all := range map[string][]mutant{"rule": ruleMutants(t, l), "data": dataMutants(l)} {
		for _, m := range all {
			delete(unused, m.name)
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			tryMutants(t, first, kind, all, equivalent)
		})
	}
	for name := range unused {
		t.Errorf("%s lists %q, which does not exist", equivalentFile, name)
	}
}

// selectMutants returns the mutants that this run tries.
func selectMutants(all []mutant) []mutant {
	if *mutantsMatch != "" {
		return slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return !strings.Contains(m.name, *mutantsMatch) })
	}
	if *mutants <= 0 || *mutants >= len(all) {
		return all
	}
	// The names contain the rules, so a change of the policies selects other mutants.
	names := fnv.New64()
	for _, m := range all {
		_, _ = names.Write([]byte(m.name))
	}
	step := len(all) / *mutants
	first := int(names.Sum64() % uint64(step))
	out := make([]mutant, *mutants)
	for i := range out {
		out[i] = all[first+i*step]
	}
	return out
}

func tryMutants(t *testing.T, first *killer, kind string, all []mutant, equivalent map[string]string) {
	t.Helper()
	selected := selectMutants(all)
	var mu sync.Mutex
	by := map[string]int{}
	killed, same := 0, 0
	var work sync.WaitGroup
	queue := make(chan mutant)
	for range 2 {
		work.Go(func() {
			k := *first
			k.t = t
			if kind == "data" {
				k.compile()
			}
			for m := range queue {
				killer := k.kill(t.Context(), m)
				_, listed := equivalent[m.name]
				mu.Lock()
				switch {
				case killer == "" && listed:
					same++
				case killer == "":
					t.Errorf("no test detects %s (%s)", m.name, m.where)
				case listed:
					t.Errorf("%s lists %q as equivalent, but %s detects it", equivalentFile, m.name, killer)
				default:
					killed++
					by[strings.SplitN(killer, " ", 2)[0]]++
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range selected {
		queue <- m
	}
	close(queue)
	work.Wait()
	t.Logf("%s mutants: %d of %d tried, %d killed %v, %d equivalent, %d survive", kind, len(selected), len(all), killed, by, same, len(selected)-killed-same)
}

// killer runs the checks on mutants, the cheapest first.
type killer struct {
	t        testing.TB
	lab      *lab
	rows     []row
	answers  []string
	tests    *suite
	reasons  map[string]string // the reason codes in the tables
	compiler *ast.Compiler     // of the original rules and the tests
}

func newKiller(t testing.TB, l *lab) *killer {
	t.Helper()
	k := &killer{t: t, lab: l, rows: matrix(l), reasons: wantedReasons(t)}
	v := k.compile()
	k.tests = newSuite(t, l, v)
	for _, r := range k.rows {
		k.answers = append(k.answers, strings.Join(r.cells(t.Context(), v), ","))
	}
	return k
}

// compile creates a separate compiler for this killer. All its data mutants share it.
func (k *killer) compile() *evaluation {
	k.compiler = ast.NewCompiler()
	if k.compiler.Compile(k.lab.modules(nil)); k.compiler.Failed() {
		k.t.Error(k.compiler.Errors)
	}
	return newEvaluation(k.t, k.compiler, k.lab.data)
}

// kill returns the name of the check that detects the mutant, or "".
func (k *killer) kill(ctx context.Context, m mutant) string {
	if m.module == nil {
		explained := m.data["parapet"].(object)["reasons"].(object)["explained"]
		for code := range k.reasons {
			if reasons, ok := explained.(object); !ok || reasons[code] == nil {
				return "reasons " + code
			}
		}
		v := newEvaluation(k.t, k.compiler, m.data)
		about, others := k.splitRows(m.name)
		if r := k.differingRow(ctx, v, about); r != "" {
			return "matrix " + r
		}
		if failed := k.tests.failing(ctx, v, ""); failed != "" {
			return "test " + failed
		}
		if r := k.differingRow(ctx, v, others); r != "" {
			return "matrix " + r
		}
		return k.rejectionReason(ctx, m)
	}
	compiler := ast.NewCompiler()
	if compiler.Compile(k.lab.modules(map[string]*ast.Module{m.file: m.module})); compiler.Failed() {
		return "compiler " + compiler.Errors.Error()
	}
	v := newEvaluation(k.t, compiler, k.lab.data)
	if failed := k.tests.failing(ctx, v, m.pkg); failed != "" {
		return "test " + failed
	}
	about, others := k.splitRows(m.name)
	if r := k.differingRow(ctx, v, append(about, others...)); r != "" {
		return "matrix " + r
	}
	return k.rejectionReason(ctx, m)
}

// splitRows separates the matrix rows that mention the mutated rule or value, best matches
// first, from the others.
func (k *killer) splitRows(name string) (about, others []int) {
	score := make([]int, len(k.rows))
	for i, r := range k.rows {
		for _, key := range r.key {
			if strings.Contains(name, key) {
				score[i]--
			}
		}
		if score[i] < 0 {
			about = append(about, i)
		} else {
			others = append(others, i)
		}
	}
	slices.SortStableFunc(about, func(a, b int) int { return score[a] - score[b] })
	return about, others
}

// differingRow returns one of the matrix rows that differs for the mutant, or "".
func (k *killer) differingRow(ctx context.Context, v *evaluation, rows []int) string {
	for _, i := range rows {
		if strings.Join(k.rows[i].cells(ctx, v), ",") != k.answers[i] {
			return k.rows[i].String()
		}
	}
	return ""
}

// rejectionReason returns why the engine rejects the mutant: an invariant or a load error. It
// returns "" if the engine accepts it.
func (k *killer) rejectionReason(ctx context.Context, m mutant) string {
	files := fstest.MapFS{}
	err := fs.WalkDir(policies.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || (m.data != nil && strings.HasSuffix(path, "data.yaml")) {
			return err
		}
		text, err := fs.ReadFile(policies.FS, path)
		files[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		return "error " + err.Error()
	}
	if m.module != nil {
		text, err := format.Ast(m.module)
		if err != nil {
			return "compiler " + err.Error()
		}
		files[m.file] = &fstest.MapFile{Data: text}
	} else {
		text, err := json.Marshal(m.data["parapet"])
		if err != nil {
			return "error " + err.Error()
		}
		files["parapet/data.json"] = &fstest.MapFile{Data: text}
	}
	_, err = authz.New(ctx, authz.Config{Timeout: time.Minute, Source: authz.Source{Policies: files, Tests: fstest.MapFS{
		"rego/only_test.rego":   &fstest.MapFile{Data: []byte("package only_test\n\ntest_passes if true\n")},
		"tables/none/data.yaml": &fstest.MapFile{Data: []byte("cases: []\n")},
	}}})
	var violation *invariant.Violation
	switch {
	case errors.As(err, &violation):
		return "invariant " + violation.Invariant.Name
	case err != nil:
		return fmt.Sprintf("engine %v", err)
	}
	return ""
}
