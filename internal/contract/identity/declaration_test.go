package identity_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"parapet/internal/contract/identity"
	"parapet/internal/op"
)

// directory are the operations of the directory, by which the module binds them.
var directory = identity.DirectoryOperations()

func TestDirectoryOperationsAreWellFormed(t *testing.T) {
	t.Parallel()
	if _, err := op.OpenAPI("Parapet", "test", directory); err != nil {
		t.Fatal(err)
	}
	for _, o := range directory {
		if o.Module != identity.Module {
			t.Errorf("%s belongs to the module %q", o.Name, o.Module)
		}
	}
}

// An operation that is declared and not listed would have no route.
func TestDirectoryListsEveryOperationOfItsFiles(t *testing.T) {
	t.Parallel()
	listed := len(directory)
	declared := 0
	for _, name := range []string{"tenant.go", "organisation.go", "user.go", "membership.go", "role.go", "audit.go", "event.go"} {
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				declared += len(g.Specs)
			}
		}
	}
	if listed != declared {
		t.Errorf("%d operations are declared, DirectoryOperations lists %d", declared, listed)
	}
}

// No path may write what authorization keys on.
func TestNoInputTakesAnIntegrationKey(t *testing.T) {
	t.Parallel()
	for _, o := range directory {
		for _, f := range o.Fields {
			if f.Name == "integrationKey" || f.Name == "integration_key" {
				t.Errorf("%s takes %s", o.Name, f.Name)
			}
		}
	}
}
