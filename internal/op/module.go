package op

import (
	"cmp"
	"slices"
)

// Module is the contract of a module. Its operations and types of events are those that
// Declare and DeclareEvent added, so that no second list can miss one. A contract declares it
// as a package variable.
type Module struct {
	Name       string
	operations []*Operation
	events     []*EventType
}

// NewModule returns a contract without operations.
func NewModule(name string) *Module { return &Module{Name: name} }

// Declare declares an operation of the module. It panics on an invalid declaration, because
// that is a programming mistake. Call it only to initialize package variables: it is not safe
// for concurrent use.
func Declare[In, Out any](m *Module, spec Spec) Op[In, Out] {
	spec.Module = m.Name
	o := New[In, Out](spec)
	m.operations = append(m.operations, o.Operation)
	return o
}

// methodOrder is the order of the operations of one path.
var methodOrder = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// Operations returns the module's operations, in the order of their paths.
func (m *Module) Operations() []*Operation {
	return slices.SortedFunc(slices.Values(m.operations), func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(slices.Index(methodOrder, a.Method), slices.Index(methodOrder, b.Method)))
	})
}
