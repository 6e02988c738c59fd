// Package op declares operations. An operation has a name, an HTTP route, the permission
// that it requires, and the types of its input and output.
//
// Everything else is derived from the declaration: the HTTP route and the strict decoding
// of its input (read.go), the request that a client sends (write.go), the JSON schemas
// (schema.go) and the OpenAPI document (openapi.go). Op is typed; Operation is the
// untyped form for generic code.
package op

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Access is the kind of authorization that an operation requires.
type Access int

const (
	// Permitted operations require their Permission. This is the default.
	Permitted Access = iota
	// Authenticated operations require a valid credential but no permission.
	Authenticated
	// Public operations require no credential. A test lists them.
	Public
)

// Effect is the effect of an operation on stored data.
type Effect string

const (
	// Read does not change data.
	Read Effect = "read"
	// Write creates or changes data.
	Write Effect = "write"
	// Destroy deletes or revokes permanently. Clients ask for confirmation.
	Destroy Effect = "destroy"
)

// Changes reports whether the effect changes data.
func (e Effect) Changes() bool { return e != Read }

// Spec is the declaration of an operation in a contract.
type Spec struct {
	// Name is the operation's name in kebab case. It is the operationId in OpenAPI, the
	// default name of the pt command and, in snake case, the name of the MCP tool.
	Name   string
	Module string
	Method string
	// Path is the route. Its parameters, in braces, have the names of the input's path
	// tags. A last parameter of the form {name...} matches the rest of the path.
	Path       string
	Permission string
	// Grant is the permission that a denial names, if Permission stands for any one of
	// several permissions. Default: Permission.
	Grant  string
	Access Access
	Effect Effect
	// Status is the HTTP status on success. Default: 200.
	Status      int
	Summary     string
	Description string
	// Secret reports whether the response contains a credential. Such a response is never
	// stored, so the operation accepts no idempotency key.
	Secret bool
	// Idempotent reports whether a repeated POST changes nothing more. The other methods
	// are always idempotent.
	Idempotent bool
	// Bulk reports whether a call can take seconds. Such a call uses the bulk lane of the
	// database pool, does not block the tenant's other changes, and has a longer deadline.
	Bulk bool
	// MaxBody is the maximum size of the request body in bytes. Default: DefaultMaxBody.
	MaxBody int64
}

// DefaultMaxBody is the default maximum size of a request body: 1 MiB.
const DefaultMaxBody = 1 << 20

// Operation is a declared operation, with its types as reflect.Type.
type Operation struct {
	Spec
	In, Out reflect.Type
	Fields  []Field
	// references is nil if the output contains no reference.
	references *referencePlan
}

// Op is an operation with its types as type parameters.
type Op[In, Out any] struct{ *Operation }

// Bound is an operation with its handler. Call takes a pointer to the operation's input
// and returns a pointer to its output.
type Bound struct {
	*Operation
	Call func(ctx context.Context, in any) (any, error)
}

var (
	namePattern = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	partPattern = regexp.MustCompile(`\{([a-zA-Z]+)(\.\.\.)?\}`)
)

// New declares an operation. It panics on an invalid declaration, because that is a
// programming mistake.
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
		if o.Access == Public {
			// Without a caller, nobody may look a name up.
			for i := range o.Fields {
				o.Fields[i].Kind = ""
			}
		}
		err = o.checkSpec()
	}
	if err == nil {
		o.references, err = newReferencePlan(o.Out)
	}
	if err != nil {
		panic(fmt.Sprintf("op: operation %q: %v", spec.Name, err))
	}
	return Op[In, Out]{o}
}

func (o *Operation) checkSpec() error {
	switch {
	case !namePattern.MatchString(o.Name):
		return fmt.Errorf("the name must be in kebab case")
	case o.Module == "" || o.Summary == "":
		return fmt.Errorf("module and summary are required")
	case o.Effect != Read && o.Effect != Write && o.Effect != Destroy:
		return fmt.Errorf("the effect %q must be read, write or destroy", o.Effect)
	case (o.Access == Permitted) != (o.Permission != ""):
		return fmt.Errorf("a permission is required if Access is Permitted, and not allowed otherwise")
	case !strings.HasPrefix(o.Path, "/"):
		return fmt.Errorf("the path %q must start with a slash", o.Path)
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
			return fmt.Errorf("field %s: a %s request has no body", f.Name, o.Method)
		}
	}
	for name := range inPath {
		return fmt.Errorf("the path parameter {%s} has no field", name)
	}
	return nil
}

// PathParts returns the names of the path parameters, in order.
func (o *Operation) PathParts() []string {
	var names []string
	for _, m := range partPattern.FindAllStringSubmatch(o.Path, -1) {
		names = append(names, m[1])
	}
	return names
}

// RecordField returns the name of the field that identifies the record of the operation: the
// path parameter task, or else the last path parameter, or else the first id of the body. It
// returns "" if there is none.
func (o *Operation) RecordField() string {
	parts := o.PathParts()
	switch {
	case slices.Contains(parts, "task"):
		return "task"
	case len(parts) > 0:
		return parts[len(parts)-1]
	}
	for _, f := range o.Fields {
		if f.Type == reflect.TypeFor[UUID]() {
			return f.Name
		}
	}
	return ""
}

// nounEndings are the endings of the nouns for records, in the singular and the plural. The
// first one that matches applies.
var nounEndings = [][2]string{{"person", "people"}, {"criterion", "criteria"}, {"child", "children"}, {"ey", "eys"}, {"y", "ies"}, {"", "s"}}

// Plural returns the plural of a noun for records: entries for entry.
func Plural(noun string) string {
	for _, ending := range nounEndings {
		if stem, ok := strings.CutSuffix(noun, ending[0]); ok {
			return stem + ending[1]
		}
	}
	return noun
}

// Singular returns the singular of a noun for records: entry for entries.
func Singular(plural string) string {
	for _, ending := range nounEndings {
		if stem, ok := strings.CutSuffix(plural, ending[1]); ok {
			return stem + ending[0]
		}
	}
	return plural
}

// RequiresRecord reports whether the operation is always about an existing record. An
// operation that creates a record in the tenant is not, even if it accepts the id of, for
// example, an organisation.
func (o *Operation) RequiresRecord() bool {
	if len(o.PathParts()) > 0 {
		return true
	}
	target := o.RecordField()
	return slices.ContainsFunc(o.Fields, func(f Field) bool { return f.Name == target && f.Required })
}

// HasField reports whether the input has a field with the name.
func (o *Operation) HasField(name string) bool {
	return slices.ContainsFunc(o.Fields, func(f Field) bool { return f.Name == name })
}

// HasBody reports whether the operation has a request body.
func (o *Operation) HasBody() bool {
	for _, f := range o.Fields {
		if f.Source == FromBody {
			return true
		}
	}
	return false
}

// IsIdempotent reports whether a call with the same input changes nothing more.
func (o *Operation) IsIdempotent() bool { return o.Idempotent || o.Method != "POST" }

// ToolName returns the name of the operation's MCP tool: its name in snake case.
func (o *Operation) ToolName() string { return strings.ReplaceAll(o.Name, "-", "_") }
