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

// statement tells a whole statement from a part that others are made of.
var statement = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|WITH)\b`)

var argument = regexp.MustCompile(`@([a-z_0-9]+)`)

// prepared gives a statement with its named arguments numbered.
func prepared(sql string) string {
	numbers := map[string]string{}
	return argument.ReplaceAllStringFunc(sql, func(name string) string {
		if numbers[name] == "" {
			numbers[name] = "$" + strconv.Itoa(len(numbers)+1)
		}
		return numbers[name]
	})
}

// Every statement of the module fits the migrated schema.
func TestStatementsFitTheSchema(t *testing.T) {
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
	tried := 0
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
			// The policy's condition follows.
			if strings.HasSuffix(sql, "AND") {
				sql += " true"
			}
			tried++
			if _, err := conn.Prepare(t.Context(), "", prepared(sql)); err != nil {
				t.Errorf("%s: %s: %v", name.Name(), spec.Names[0].Name, err)
			}
			return true
		})
	}
	if tried < 30 {
		t.Errorf("only %d statements were found", tried)
	}
}
