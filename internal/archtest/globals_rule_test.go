package archtest

import (
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// TestGlobalsRule_FindsMutableState checks the syntax that the rule about package variables
// must find, and the syntax that it must ignore.
func TestGlobalsRule_FindsMutableState(t *testing.T) {
	t.Parallel()
	cases := []struct {
		note, code string
		faulty     []string // variables whose declaration implies state
		written    []string // variables that are modified later
	}{
		{note: "a table, an error and a pattern", code: `var a = map[string]int{"x": 1}; var b = errors.New("b"); var c = regexp.MustCompile("c")`},
		{note: "an assertion", code: `var _ io.Reader = (*T)(nil)`},
		{note: "no value", code: `var a int`, faulty: []string{"a"}},
		{note: "a lock", code: `var a = sync.Mutex{}`, faulty: []string{"a"}},
		{note: "a counter", code: `var a = new(atomic.Int64)`, faulty: []string{"a"}},
		{note: "a channel", code: `var a = make(chan int)`, faulty: []string{"a"}},
		{note: "made once on first use", code: `var a = sync.OnceValue(func() int { return 1 })`},
		{note: "assigned", code: `var a = 1; func f() { a = 2 }`, written: []string{"a"}},
		{note: "counted up", code: `var a = 1; func f() { a++ }`, written: []string{"a"}},
		{note: "an element assigned", code: `var a = map[string]int{}; func f() { a["x"] = 1 }`, written: []string{"a"}},
		{note: "a field assigned", code: `var a = T{}; func f() { a.b.c = 1 }`, written: []string{"a"}},
		{note: "an element deleted", code: `var a = map[string]int{}; func f() { delete(a, "x") }`, written: []string{"a"}},
		{note: "its address taken", code: `var a = 1; func f() *int { return &a }`, written: []string{"a"}},
		{note: "changed in a function literal", code: `var a = 1; func f() { g(func() { a = 2 }) }`, written: []string{"a"}},
		{note: "a local of the same name", code: `var a = 1; func f() { a := 2; a++ }`},
		{note: "a parameter of the same name", code: `var a = 1; func f(a int) { a++ }`},
		{note: "only read", code: `var a = []int{1}; func f() int { return a[0] }`},
	}
	for _, c := range cases {
		t.Run(c.note, func(t *testing.T) {
			t.Parallel()
			tree, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+c.code, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			globals := map[string]bool{}
			var faulty, written []string
			for name, why := range declared(tree) {
				globals[name] = true
				if why != "" {
					faulty = append(faulty, name)
				}
			}
			for _, w := range findGlobalWrites(tree, globals) {
				written = append(written, w.name)
			}
			if !slices.Equal(faulty, c.faulty) {
				t.Errorf("mutable by declaration: got %v, want %v", faulty, c.faulty)
			}
			if !slices.Equal(written, c.written) {
				t.Errorf("modified later: got %v, want %v", written, c.written)
			}
		})
	}
}
