package migrations_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres/pgtest"
)

// statement is a constant of the program that is a complete SQL statement.
type statement struct {
	name, sql string
	at        token.Position
}

// statementStart matches the first words of a complete statement, to exclude fragments and prose.
var statementStart = regexp.MustCompile(`(?s)^\s*(SELECT\s|INSERT\s+INTO\s|UPDATE\s+[a-z.]+\s|DELETE\s+FROM\s|WITH\s+[a-z_]+\s)`)

// fragmentEnd matches the end of a statement that is completed at run time.
var fragmentEnd = regexp.MustCompile(`(?i)(\b(WHERE|AND|BY|SET|VALUES|FROM)|[,(=])\s*$`)

// isFragment reports whether the text is only a part or a template of a statement.
func isFragment(sql string) bool {
	return fragmentEnd.MatchString(sql) || strings.Contains(sql, "%s") || strings.Contains(sql, "%[") || strings.Contains(sql, "%v")
}

// TestStatements_PrepareAgainstTheSchema prepares every constant statement of the
// program against the migrated database. It finds renamed and missing columns
// before the first request does.
func TestStatements_PrepareAgainstTheSchema(t *testing.T) {
	t.Parallel()
	statements := collect(t, "..")
	if len(statements) < 50 {
		t.Fatalf("got %d statements, want more", len(statements))
	}
	conn, err := pgx.Connect(t.Context(), pgtest.New(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for _, s := range statements {
		sql, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), conn, s.sql, nil)
		if err == nil {
			_, err = conn.Prepare(t.Context(), "", sql)
		}
		if err != nil {
			t.Errorf("%s: prepare %s: %v", s.at, s.name, err)
		}
	}
}

// collect returns the constants of all packages below root, except tests.
func collect(t *testing.T, root string) []statement {
	t.Helper()
	var found []statement
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
			return fs.SkipDir
		}
		if path != root {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return fs.SkipDir // another Go module
			}
		}
		found = append(found, collectPackage(t, files, path)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// collectPackage returns the constants of one folder, including those inside functions.
func collectPackage(t *testing.T, files *token.FileSet, dir string) []statement {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]ast.Expr)
	// A constant that is part of another expression is a fragment.
	fragments := make(map[string]bool)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sum, ok := n.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
				for _, side := range []ast.Expr{sum.X, sum.Y} {
					if id, ok := side.(*ast.Ident); ok {
						fragments[id.Name] = true
					}
				}
			}
			decl, ok := n.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				return true
			}
			for _, spec := range decl.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for i, value := range v.Values {
						values[v.Names[i].Name] = value
					}
				}
			}
			return true
		})
	}
	var found []statement
	for name, expr := range values {
		sql, ok := constantText(expr, values, 0)
		if ok && !fragments[name] && statementStart.MatchString(sql) && !isFragment(sql) {
			found = append(found, statement{name: name, sql: sql, at: files.Position(expr.Pos())})
		}
	}
	return found
}

// constantText returns the value of a constant string, if it can be computed from its package
// alone.
func constantText(expr ast.Expr, values map[string]ast.Expr, depth int) (string, bool) {
	if depth > 20 {
		return "", false
	}
	switch e := expr.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.ParenExpr:
		return constantText(e.X, values, depth+1)
	case *ast.Ident:
		value, ok := values[e.Name]
		if !ok {
			return "", false
		}
		return constantText(value, values, depth+1)
	case *ast.BinaryExpr:
		left, lok := constantText(e.X, values, depth+1)
		right, rok := constantText(e.Y, values, depth+1)
		return left + right, lok && rok && e.Op == token.ADD
	}
	return "", false
}
