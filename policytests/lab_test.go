package policytests_test

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/util"

	"parapet/policies"
	"parapet/policytests"
)

// lab contains the parsed policies and tests. Tests evaluate modified copies of them, which
// is faster than loading each copy into an engine.
type lab struct {
	rules, tests map[string]*ast.Module
	data         object
}

func newLab(t testing.TB) *lab {
	t.Helper()
	l := &lab{rules: map[string]*ast.Module{}, tests: map[string]*ast.Module{}, data: object{}}
	for _, tree := range []struct {
		files   fs.FS
		roots   []string
		modules map[string]*ast.Module
	}{{policies.FS, []string{"parapet"}, l.rules}, {policytests.FS, []string{"rego", "tables"}, l.tests}} {
		for _, root := range tree.roots {
			err := fs.WalkDir(tree.files, root, func(name string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				text, err := fs.ReadFile(tree.files, name)
				if err != nil {
					return err
				}
				if path.Ext(name) == ".rego" {
					tree.modules[name], err = ast.ParseModuleWithOpts(name, string(text), ast.ParserOptions{ProcessAnnotation: true, RegoVersion: ast.RegoV1})
					return err
				}
				var value object
				if err := util.Unmarshal(text, &value); err != nil {
					return err
				}
				at := l.data
				for _, key := range strings.Split(path.Dir(name), "/") {
					if at[key] == nil {
						at[key] = object{}
					}
					at = at[key].(object)
				}
				maps.Copy(at, value)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

// modules returns the policies and the tests, with some modules replaced.
func (l *lab) modules(replaced map[string]*ast.Module) map[string]*ast.Module {
	out := maps.Clone(l.rules)
	maps.Copy(out, l.tests)
	maps.Copy(out, replaced)
	return out
}

// evaluation evaluates compiled policies with their data.
type evaluation struct {
	compiler *ast.Compiler
	store    storage.Store
	txn      storage.Transaction
	queries  map[string]rego.PreparedEvalQuery
	subjects map[string]ast.Value
}

func newEvaluation(t testing.TB, compiler *ast.Compiler, data object) *evaluation {
	t.Helper()
	v := &evaluation{
		compiler: compiler, queries: map[string]rego.PreparedEvalQuery{}, subjects: map[string]ast.Value{},
		store: inmem.NewFromObjectWithOpts(data, inmem.OptRoundTripOnWrite(false), inmem.OptReturnASTValuesOnRead(true)),
	}
	var err error
	if v.txn, err = v.store.NewTransaction(t.Context()); err != nil {
		t.Fatal(err)
	}
	return v
}

// eval returns the value of an entry point, or nil if it is undefined or fails.
func (v *evaluation) eval(ctx context.Context, entry string, input any) ast.Value {
	query, ok := v.queries[entry]
	if !ok {
		ref := ast.Ref{ast.DefaultRootDocument}
		for _, part := range strings.Split(entry, "/") {
			ref = append(ref, ast.StringTerm(part))
		}
		var err error
		query, err = rego.New(rego.Compiler(v.compiler), rego.Store(v.store), rego.Transaction(v.txn), rego.StrictBuiltinErrors(true),
			rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(ref)))),
			rego.GenerateJSON(func(term *ast.Term, _ *rego.EvalContext) (any, error) { return term.Value, nil })).PrepareForEval(ctx)
		if err != nil {
			return nil
		}
		v.queries[entry] = query
	}
	value, err := ast.InterfaceToValue(input)
	if err != nil {
		return nil
	}
	results, err := query.Eval(ctx, rego.EvalParsedInput(value), rego.EvalTransaction(v.txn))
	if err != nil || len(results) != 1 || len(results[0].Expressions) != 1 {
		return nil
	}
	result, _ := results[0].Expressions[0].Value.(ast.Value)
	return result
}

func field(v ast.Value, key string) ast.Value {
	if o, ok := v.(ast.Object); ok {
		if t := o.Get(ast.StringTerm(key)); t != nil {
			return t.Value
		}
	}
	return nil
}

// suite contains the Rego tests and their results for the original policies: true, or an
// object with one key for each passing case. Comparing results is faster than OPA's test
// runner, which traces every test to name the failed cases.
type suite struct {
	entries []string
	answers map[string]ast.Value
}

func newSuite(t testing.TB, l *lab, v *evaluation) *suite {
	t.Helper()
	s := &suite{answers: map[string]ast.Value{}}
	for _, file := range slices.Sorted(maps.Keys(l.tests)) {
		module := l.tests[file]
		pkg := strings.ReplaceAll(strings.TrimPrefix(module.Package.Path.String(), "data."), ".", "/")
		for _, rule := range module.Rules {
			name := rule.Head.Ref()[:1].String()
			if !strings.HasPrefix(name, "test_") {
				continue
			}
			entry := pkg + "/" + name
			if s.answers[entry] != nil {
				t.Fatalf("%s: duplicate test %s", file, name)
			}
			if s.answers[entry] = v.eval(t.Context(), entry, nil); s.answers[entry] == nil {
				t.Fatalf("%s: %s fails", file, name)
			}
			s.entries = append(s.entries, entry)
		}
	}
	return s
}

// failing returns the name of a test whose result differs from that for the original
// policies, or "". The tests of the changed package come first, because they are most likely
// to differ.
func (s *suite) failing(ctx context.Context, v *evaluation, pkg string) string {
	first := strings.ReplaceAll(strings.TrimPrefix(pkg, "data."), ".", "/") + "_test/"
	order := slices.Clone(s.entries)
	slices.SortStableFunc(order, func(a, b string) int {
		switch own := strings.HasPrefix(a, first); {
		case own == strings.HasPrefix(b, first):
			return 0
		case own:
			return -1
		}
		return 1
	})
	for _, entry := range order {
		answer := v.eval(ctx, entry, nil)
		if answer == nil || answer.Compare(s.answers[entry]) != 0 {
			return entry
		}
	}
	return ""
}
