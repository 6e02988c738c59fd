package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// evaluatingPackages are the packages that evaluate the policies. Clients, seeds and the engine itself
// are not included.
var evaluatingPackages = []string{
	"cmd/ptd", "internal/agentcmd", "internal/agentrun", "internal/app", "internal/audit", "internal/catalog", "internal/decisionlog", "internal/delegation", "internal/events", "internal/executor",
	"internal/httpapi", "internal/identity", "internal/principal", "internal/tracker", "internal/wiki", "jobs",
}

// authorityFields are the fields, variables and methods that contain permissions, roles,
// clearances or kinds.
var authorityFields = []string{
	"PrincipalKind", "TokenKind", "Clearance", "TenantType", "Rank", "rank", "Holds", "Admin", "IsAdmin", "Readable", "Permissions", "HasPermission", "HasRole",
}

// authorityConstants are the named values of such fields, in any package.
var authorityConstants = regexp.MustCompile(`^(Kind(Human|Service|Agent)|Token(Session|APIKey|Internal)|Session|APIKey|Internal|Role(Global|Standard)|Perm[A-Z].*|(admin|global|agent|guest)Role|Tier[A-Z].*|ProgrammeOffice)$`)

// authorityWords returns the names of permissions, roles, tiers and kinds in the policies.
func authorityWords(t *testing.T) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	for _, word := range []string{
		"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET", "HUMAN", "SERVICE", "AGENT", "PROGRAMME_OFFICE", "STANDARD", "GLOBAL",
		"session", "api_key",
	} {
		words[word] = true
	}
	for file, pattern := range map[string]string{
		"catalogue": `(?m)^  ([a-z_]+[.:][a-z_.:]+):$`, "roles": `(?m)^  ([A-Za-z][A-Za-z_: -]*):$`,
	} {
		text := readFile(t, "policies/parapet/"+file+"/data.yaml")
		found := regexp.MustCompile(pattern).FindAllSubmatch(text, -1)
		if len(found) < 5 {
			t.Fatalf("only %d names in the data of %s", len(found), file)
		}
		for _, m := range found {
			words[string(m[1])] = true
		}
	}
	return words
}

// comparison finds comparisons of a permission, a role, a clearance or a kind of principal.
type comparison struct {
	words map[string]bool
	fset  *token.FileSet
}

// namesAuthority reports whether the expression is a permission, a role, a clearance or a
// kind of principal.
func (c comparison) namesAuthority(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return c.namesAuthority(x.X)
	case *ast.StarExpr:
		return c.namesAuthority(x.X)
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return err == nil && x.Kind == token.STRING && c.words[text]
	case *ast.Ident:
		return authorityConstants.MatchString(x.Name) && !slices.Contains(ambiguousNames, x.Name)
	case *ast.SelectorExpr:
		return slices.Contains(authorityFields, x.Sel.Name) || authorityConstants.MatchString(x.Sel.Name)
	case *ast.CallExpr:
		if conversion, ok := x.Fun.(*ast.Ident); ok && conversion.Name == "string" && len(x.Args) == 1 {
			return c.namesAuthority(x.Args[0])
		}
		sel, ok := x.Fun.(*ast.SelectorExpr)
		return ok && slices.Contains(authorityFields, sel.Sel.Name)
	}
	return false
}

// ambiguousNames are constants of package token that other packages may also have, so they
// count only with the package name: token.Session.
var ambiguousNames = []string{"Session", "APIKey", "Internal"}

// find lists the comparisons in a function.
func (c comparison) find(body ast.Node) []string {
	var out []string
	add := func(n ast.Node) {
		var text bytes.Buffer
		if err := printer.Fprint(&text, c.fset, n); err == nil {
			out = append(out, strings.Join(strings.Fields(text.String()), " "))
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			switch n.Op {
			case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
				empty := isEmptyText(n.X) || isEmptyText(n.Y) || isIdent(n.X, "nil") || isIdent(n.Y, "nil")
				if (c.namesAuthority(n.X) || c.namesAuthority(n.Y)) && !empty {
					add(n)
				}
			}
		case *ast.SwitchStmt:
			if n.Tag == nil {
				return true
			}
			by := c.namesAuthority(n.Tag)
			for _, clause := range n.Body.List {
				for _, value := range clause.(*ast.CaseClause).List {
					by = by || c.namesAuthority(value)
				}
			}
			if by {
				add(&ast.CallExpr{Fun: ast.NewIdent("switch"), Args: []ast.Expr{n.Tag}})
			}
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			switch {
			case !ok:
			case slices.Contains([]string{"Holds", "Admin", "Readable"}, sel.Sel.Name):
				add(n)
			case isIdent(sel.X, "slices", "strings", "cmp") && slices.Contains([]string{"Contains", "Index", "EqualFold", "Compare", "HasPrefix", "HasSuffix"}, sel.Sel.Name):
				if slices.ContainsFunc(n.Args, c.namesAuthority) {
					add(n)
				}
			}
		}
		return true
	})
	return out
}

func isEmptyText(x ast.Expr) bool {
	lit, ok := x.(*ast.BasicLit)
	return ok && lit.Value == `""`
}

// authorityComparisons lists every comparison as "file function: expression".
func authorityComparisons(t *testing.T) []string {
	t.Helper()
	r := repo(t)
	c := comparison{authorityWords(t), r.fset}
	var out []string
	for _, p := range r.packages {
		if !isWithin(p.path, evaluatingPackages...) {
			continue
		}
		for _, file := range p.files {
			if file.test || isWithin(p.path, "internal/postgres/pgtest") {
				continue
			}
			for _, decl := range file.tree.Decls {
				name := "(top level)"
				if fn, ok := decl.(*ast.FuncDecl); ok {
					name = fn.Name.Name
				}
				for _, expression := range c.find(decl) {
					out = append(out, fmt.Sprintf("%s %s: %s", file.path, name, expression))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestPolicies_DecideInsteadOfGo finds comparisons of permissions, roles and clearances
// outside the policies. Each exception needs an entry in stays, with its reason.
func TestPolicies_DecideInsteadOfGo(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{}
	for _, s := range stays {
		for _, place := range s.places {
			if allowed[place] {
				t.Errorf("duplicate exception %s", place)
			}
			allowed[place] = true
		}
	}
	for _, found := range authorityComparisons(t) {
		if !allowed[found] {
			t.Errorf("%s\n\tdecides in Go: evaluate the policies instead, or add it to the list in stays_test.go and to policies/README.md with its reason", found)
		}
		delete(allowed, found)
	}
	for _, place := range slices.Sorted(maps.Keys(allowed)) {
		t.Errorf("%s does not exist: remove it from the list in stays_test.go", place)
	}
}

// TestPoliciesREADME_ListsWhatStaysInGo compares the section "What stays in Go and why" with
// the list stays.
func TestPoliciesREADME_ListsWhatStaysInGo(t *testing.T) {
	t.Parallel()
	text := readFile(t, "policies/README.md")
	_, section, ok := strings.Cut(string(text), "\n## What stays in Go and why\n")
	if !ok {
		t.Fatal("policies/README.md has no section \"What stays in Go and why\"")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var want []string
	for _, s := range stays {
		files := map[string]bool{}
		for _, place := range s.places {
			file, _, _ := strings.Cut(place, " ")
			files["`"+file+"`"] = true
		}
		want = append(want, fmt.Sprintf("| %s | %s | %s |", s.what, s.reason, strings.Join(slices.Sorted(maps.Keys(files)), ", ")))
	}
	var listed []string
	for line := range strings.Lines(section) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "|") && strings.Contains(line, "/") {
			listed = append(listed, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(listed, line) {
			t.Errorf("policies/README.md lacks the row\n%s", line)
		}
	}
	for _, line := range listed {
		if !slices.Contains(want, line) {
			t.Errorf("policies/README.md has a row without an exception in stays_test.go\n%s", line)
		}
	}
}

// TestComparison_FindsDecisionsInGo checks the syntax that the rule must find.
func TestComparison_FindsDecisionsInGo(t *testing.T) {
	t.Parallel()
	c := comparison{words: authorityWords(t), fset: token.NewFileSet()}
	for text, want := range map[string]int{
		`a.PrincipalKind == "x"`: 1, `x == contract.KindService`: 1, `"HUMAN" != kind`: 1, `slices.Contains(roles, "Guest Customer")`: 1, `permission == "task.delete"`: 1,
		`u.Clearance < m.Clearance`: 1, `c.Actor.Subject.Holds(contract.PermTasksRead)`: 1, `s.Admin()`: 1, `strings.HasPrefix(x, "audit.read")`: 0,
		`classification == "SECRET"`: 1, `string(kind) == "AGENT"`: 1, `rank(a) > b.Rank`: 1,
		`a.Clearance == ""`: 0, `status == "DONE"`: 0, `len(x) > 3`: 0, `claims.Kind == token.Session`: 1, `r.Name == adminRole`: 1,
	} {
		x, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.find(x); len(got) != want {
			t.Errorf("%s: got %q, want %d comparisons", text, got, want)
		}
	}
}
