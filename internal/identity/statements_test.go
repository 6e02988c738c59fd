package identity_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres/pgtest"
)

// statement matches complete statements; other constants are parts of statements.
var statement = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|WITH)\b`)

var argument = regexp.MustCompile(`@([a-z_0-9]+)`)

// numberArguments replaces named arguments by numbered ones.
func numberArguments(sql string) string {
	numbers := map[string]string{}
	return argument.ReplaceAllStringFunc(sql, func(name string) string {
		if numbers[name] == "" {
			numbers[name] = "$" + strconv.Itoa(len(numbers)+1)
		}
		return numbers[name]
	})
}

// The database must accept every SQL statement of the module.
func TestStatements_AreValidForSchema(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.New(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	prepared := 0
	for _, name := range names {
		if !strings.HasSuffix(name.Name(), ".go") || strings.HasSuffix(name.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasSuffix(spec.Names[0].Name, "SQL") {
				return true
			}
			lit, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			sql, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			sql = strings.TrimSpace(sql)
			if !statement.MatchString(sql) {
				return true
			}
			// At run time the policy's filter follows.
			if strings.HasSuffix(sql, "AND") {
				sql += " true"
			}
			prepared++
			if _, err := conn.Prepare(t.Context(), "", numberArguments(sql)); err != nil {
				t.Errorf("%s: %s: %v", name.Name(), spec.Names[0].Name, err)
			}
			return true
		})
	}
	if prepared < 30 {
		t.Errorf("got %d statements, want at least 30", prepared)
	}
}
