package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// mutableExceptions lists exceptions: package variables that the rule below would reject, each with its
// reason.
var mutableExceptions = map[string]string{
	"cmd/ptd.version": "written by the linker, never by the program",
	"cmd/pt.version":  "written by the linker, never by the program",
}

// TestGlobals_AreImmutable: a package variable must be set once and then only read, for
// example a table, an error or a pattern. Mutable state needs an owner that passes it on, so
// that tests in one process are independent.
func TestGlobals_AreImmutable(t *testing.T) {
	t.Parallel()
	r := repo(t)
	seen := map[string]bool{}
	for _, p := range r.packages {
		globals := map[string]bool{}
		for _, file := range p.files {
			if file.test {
				continue
			}
			for name, why := range declared(file.tree) {
				globals[name] = true
				key := p.path + "." + name
				seen[key] = true
				if _, ok := mutableExceptions[key]; why != "" && !ok {
					t.Errorf("%s: variable %s %s: pass it as a dependency instead", file.path, name, why)
				}
			}
		}
		for _, file := range p.files {
			if file.test {
				continue
			}
			for _, write := range findGlobalWrites(file.tree, globals) {
				if _, ok := mutableExceptions[p.path+"."+write.name]; !ok {
					t.Errorf("%s: package variable %s is modified after its declaration", r.fset.Position(write.at), write.name)
				}
			}
		}
	}
	for key := range mutableExceptions {
		if dir, _, _ := strings.Cut(key, "."); !seen[key] && slices.ContainsFunc(r.packages, func(p pkg) bool { return p.path == dir }) {
			t.Errorf("%s does not exist: remove it from the list of exceptions", key)
		}
	}
}

// declared maps the package variables of a file to what is wrong with their declaration, or
// "".
func declared(file *ast.File) map[string]string {
	found := map[string]string{}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			embedded := hasEmbed(gen.Doc) || hasEmbed(value.Doc)
			for _, name := range value.Names {
				if name.Name == "_" {
					continue
				}
				found[name.Name] = fault(value, embedded)
			}
		}
	}
	return found
}

func hasEmbed(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// fault returns why a variable is mutable, or "".
func fault(value *ast.ValueSpec, embedded bool) string {
	if embedded {
		return ""
	}
	if len(value.Values) == 0 {
		return "has no value of its own, so something must write it later"
	}
	state := ""
	ast.Inspect(value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // the called function is responsible
		case *ast.ChanType:
			state = "is a channel"
		case *ast.SelectorExpr:
			if isIdent(n.X, "sync", "atomic") && !strings.HasPrefix(n.Sel.Name, "Once") {
				state = "holds " + n.Sel.Name
			}
		}
		return true
	})
	return state
}

type write struct {
	name string
	at   token.Pos
}

// findGlobalWrites finds writes to package variables: assignments to them, their fields or
// elements, delete, clear, ++ and &.
func findGlobalWrites(file *ast.File, globals map[string]bool) []write {
	var found []write
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		own := localNames(fn)
		report := func(x ast.Expr) {
			if name := root(x); name != "" && globals[name] && !own[name] {
				found = append(found, write{name, x.Pos()})
			}
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, left := range n.Lhs {
						report(left)
					}
				}
			case *ast.IncDecStmt:
				report(n.X)
			case *ast.UnaryExpr:
				if _, literal := n.X.(*ast.CompositeLit); n.Op == token.AND && !literal {
					report(n.X)
				}
			case *ast.CallExpr:
				if isIdent(n.Fun, "delete", "clear", "copy") && len(n.Args) > 0 {
					report(n.Args[0])
				}
			}
			return true
		})
	}
	return found
}

// root returns the variable at the start of an expression: x, x.f, x[i], *x.
func root(x ast.Expr) string {
	for {
		switch e := x.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.SelectorExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		case *ast.ParenExpr:
			x = e.X
		default:
			return ""
		}
	}
}

// locals returns the names that a function declares. A name that is both local and global
// counts as local.
func localNames(fn *ast.FuncDecl) map[string]bool {
	own := map[string]bool{}
	add := func(fields *ast.FieldList) {
		if fields == nil {
			return
		}
		for _, field := range fields.List {
			for _, name := range field.Names {
				own[name.Name] = true
			}
		}
	}
	add(fn.Recv)
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			add(n.Params)
			add(n.Results)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, left := range n.Lhs {
					if id, ok := left.(*ast.Ident); ok {
						own[id.Name] = true
					}
				}
			}
		case *ast.RangeStmt:
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					own[id.Name] = true
				}
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		}
		return true
	})
	return own
}
