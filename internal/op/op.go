// Package op owns the operation: one value that says what a thing the product
// can do is called, where it answers, which permission it needs, and what goes
// in and comes out.
//
// From that value alone come the HTTP route and the strict reading of its
// input (read.go), the request that a client sends (write.go), the JSON schemas
// (schema.go) and the OpenAPI document (openapi.go). An operation is typed where
// it is declared and where its handler is bound, and erased once, here.
package op

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Access says who may ask for an operation at all.
type Access int

const (
	// Permitted operations need their Permission; it is the default.
	Permitted Access = iota
	// Authenticated operations need a live credential and nothing more.
	Authenticated
	// Public operations need no credential. A test lists them.
	Public
)

// Effect says what an operation does to the world.
type Effect string

const (
	// Read changes nothing.
	Read Effect = "read"
	// Write changes or creates.
	Write Effect = "write"
	// Destroy loses something for good; clients ask before they do it.
	Destroy Effect = "destroy"
)

// Changes tells whether the effect changes anything.
func (e Effect) Changes() bool { return e != Read }

// Spec is what a contract writes down of an operation.
type Spec struct {
	// Name is the operation's name in kebab case: the operationId, the name of
	// pt's subcommand and, in snake case, of the MCP tool.
	Name   string
	Module string
	Method string
	// Path is the route, its parts in braces named as the input's path tags.
	// A last part of the form {name...} takes the rest of the path.
	Path       string
	Permission string
	// Grant is the permission that a refusal names, where Permission stands for
	// any of several that can be granted. Permission itself unless told.
	Grant  string
	Access Access
	Effect Effect
	// Status is the HTTP status of success; 200 unless told.
	Status      int
	Summary     string
	Description string
	// Secret says that the answer holds a credential, so that it is never kept.
	Secret bool
	// Bulk says that one call can take seconds: it runs in the bulk lane of the
	// database pool, beside the tenant's other changes, and has a longer deadline.
	Bulk bool
	// MaxBody is the size in bytes up to which a body is read; 1 MiB unless told.
	MaxBody int64
}

// DefaultMaxBody is the body size that an operation takes unless it says
// otherwise: 1 MiB.
const DefaultMaxBody = 1 << 20

// Operation is an operation whose types are erased.
type Operation struct {
	Spec
	In, Out reflect.Type
	Fields  []Field
}

// Op is an operation with its types.
type Op[In, Out any] struct{ *Operation }

// Bound is an operation with the code that carries it out. Call takes a pointer
// to the operation's input and gives a pointer to its output.
type Bound struct {
	*Operation
	Call func(ctx context.Context, in any) (any, error)
}

var (
	namePattern = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	partPattern = regexp.MustCompile(`\{([a-zA-Z]+)(\.\.\.)?\}`)
)

// New declares an operation. It panics on a declaration that contradicts
// itself: declarations are program text, and a wrong one must not start.
func New[In, Out any](spec Spec) Op[In, Out] {
	if spec.Status == 0 {
		spec.Status = 200
	}
	if spec.Grant == "" {
		spec.Grant = spec.Permission
	}
	if spec.MaxBody == 0 {
		spec.MaxBody = DefaultMaxBody
	}
	o := &Operation{Spec: spec, In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out]()}
	fields, err := fieldsOf(o.In)
	if err == nil {
		o.Fields = fields
		err = o.check()
	}
	if err != nil {
		panic(fmt.Sprintf("op: operation %q: %v", spec.Name, err))
	}
	return Op[In, Out]{o}
}

func (o *Operation) check() error {
	switch {
	case !namePattern.MatchString(o.Name):
		return fmt.Errorf("the name is not in kebab case")
	case o.Module == "" || o.Summary == "":
		return fmt.Errorf("module and summary are required")
	case o.Effect != Read && o.Effect != Write && o.Effect != Destroy:
		return fmt.Errorf("the effect %q is not read, write or destroy", o.Effect)
	case (o.Access == Permitted) != (o.Permission != ""):
		return fmt.Errorf("a permission belongs to exactly the operations that are neither Authenticated nor Public")
	case !strings.HasPrefix(o.Path, "/"):
		return fmt.Errorf("the path %q does not start with a slash", o.Path)
	}
	inPath := map[string]bool{}
	for _, name := range o.PathParts() {
		inPath[name] = true
	}
	for _, f := range o.Fields {
		if f.Source == FromPath && !inPath[f.Name] {
			return fmt.Errorf("field %s is not in the path %s", f.Name, o.Path)
		}
		delete(inPath, f.Name)
		if f.Source == FromBody && (o.Method == "GET" || o.Method == "HEAD") {
			return fmt.Errorf("field %s: a %s has no body", f.Name, o.Method)
		}
	}
	for name := range inPath {
		return fmt.Errorf("the path part {%s} has no field", name)
	}
	return nil
}

// PathParts gives the names in braces, in order.
func (o *Operation) PathParts() []string {
	var names []string
	for _, m := range partPattern.FindAllStringSubmatch(o.Path, -1) {
		names = append(names, m[1])
	}
	return names
}

// HasBody tells whether the operation reads a body.
func (o *Operation) HasBody() bool {
	for _, f := range o.Fields {
		if f.Source == FromBody {
			return true
		}
	}
	return false
}

// ToolName is the operation's name as an MCP tool: snake case.
func (o *Operation) ToolName() string { return strings.ReplaceAll(o.Name, "-", "_") }
