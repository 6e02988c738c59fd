package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reasonCodes returns the codes in policies/parapet/reasons/data.yaml.
func reasonCodes(t *testing.T) map[string]bool {
	t.Helper()
	text := readFile(t, "policies/parapet/reasons/data.yaml")
	codes := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z_]+):$`).FindAllSubmatch(text, -1) {
		codes[string(m[1])] = true
	}
	if len(codes) < 50 {
		t.Fatalf("got only %d reason codes", len(codes))
	}
	return codes
}

// sentencesForReasons finds messages for reason codes in Go: in the case of a switch, or as
// values in a map.
func sentencesForReasons(file *ast.File, codes map[string]bool) []string {
	isCode := func(x ast.Expr) bool { return codes[literal(x)] }
	var found []string
	sentences := func(code string, nodes ...ast.Node) {
		for _, node := range nodes {
			ast.Inspect(node, func(n ast.Node) bool {
				if x, ok := n.(ast.Expr); ok && strings.Contains(literal(x), " ") {
					found = append(found, code+": "+literal(x))
				}
				return true
			})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			if i := slices.IndexFunc(n.List, isCode); i >= 0 {
				for _, statement := range n.Body {
					sentences(literal(n.List[i]), statement)
				}
			}
		case *ast.KeyValueExpr:
			if isCode(n.Key) {
				sentences(literal(n.Key), n.Value)
			}
		}
		return true
	})
	return found
}

// literal returns the text of a string literal, or "".
func literal(x ast.Expr) string {
	lit, ok := x.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(lit.Value)
	return text
}

// TestReasons_ExplainedOnlyInPolicyData rejects messages for reason codes in Go: they could
// differ from those in the policies.
func TestReasons_ExplainedOnlyInPolicyData(t *testing.T) {
	t.Parallel()
	codes := reasonCodes(t)
	for _, p := range repo(t).packages {
		for _, file := range p.files {
			if file.test {
				continue
			}
			for _, found := range sentencesForReasons(file.tree, codes) {
				t.Errorf("%s explains a reason of the policies; move the sentence to policies/parapet/reasons/data.yaml: %s", file.path, found)
			}
		}
	}
}

func TestSentencesForReasons_FindsSwitchesAndMaps(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`switch r { case "not_in_progress": return "The task is not in progress." }`:                                          1,
		`switch r { case "a", "not_in_progress": return f("Not in %s.", "progress") }`:                                        1,
		`_ = map[string]string{"not_in_progress": "The task is not in progress."}`:                                            1,
		`switch r { case "not_in_progress": return runNoAgent; case "other": return "The task is not in progress." }`:         0,
		`_ = map[string]string{"not_in_progress": "CODE", "other": "The task is not in progress."}`:                           0,
		`switch r { case "not_in_progress": return strings.ToUpper(r); default: return "The policies gave another answer." }`: 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc _() any {\n"+text+"\nreturn nil }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if found := sentencesForReasons(file, map[string]bool{"not_in_progress": true}); len(found) != want {
			t.Errorf("%s: got %q, want %d messages", text, found, want)
		}
	}
}
