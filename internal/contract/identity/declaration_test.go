package identity_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"parapet/internal/contract/identity"
	"parapet/internal/op"
)

// directory lists the operations on the directory.
var directory = identity.DirectoryOperations()

func TestDirectoryOperations_AreValidOpenAPIAndBelongToTheModule(t *testing.T) {
	t.Parallel()
	if _, err := op.OpenAPI("Parapet", "test", directory); err != nil {
		t.Fatal(err)
	}
	for _, o := range directory {
		if o.Module != identity.Module {
			t.Errorf("%s: got module %q, want %q", o.Name, o.Module, identity.Module)
		}
	}
}

// An operation that DirectoryOperations omits would have no route.
func TestDirectoryOperations_ListsEveryDeclaredOperation(t *testing.T) {
	t.Parallel()
	listed := len(directory)
	declared := 0
	for _, name := range []string{"tenant.go", "organisation.go", "user.go", "membership.go", "role.go", "audit.go", "event.go", "access.go", "explanation.go"} {
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
		t.Errorf("DirectoryOperations lists %d operations, want all %d that are declared", listed, declared)
	}
}

// Authorization depends on the integration key, so no API operation may set it.
func TestDirectoryOperations_DoNotAcceptAnIntegrationKey(t *testing.T) {
	t.Parallel()
	for _, o := range directory {
		for _, f := range o.Fields {
			if f.Name == "integrationKey" || f.Name == "integration_key" {
				t.Errorf("%s accepts the field %s", o.Name, f.Name)
			}
		}
	}
}
