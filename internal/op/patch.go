package op

import (
	"fmt"
	"reflect"
	"strings"

	"parapet/internal/fault"
)

// Patch applies an update to a record: the functions Set… copy the fields that the request
// contains into the record, and Changed returns the names of the fields that are different
// afterwards. The zero value is ready to use.
type Patch struct {
	fields []watchedField
	err    error
}

type watchedField struct {
	name      string
	isChanged func() bool
}

// Set copies a field that cannot be null.
func Set[T any](p *Patch, name string, field *T, in Opt[T]) {
	Watch(p, name, field)
	if in.Null {
		p.fail(fault.Validation(name, fmt.Sprintf("The field %s cannot be null.", name)))
	}
	*field = in.Or(*field)
}

// SetTrimmed copies a text that cannot be null or blank, without the spaces around it.
func SetTrimmed(p *Patch, name string, field *string, in Opt[string]) {
	Set(p, name, field, in)
	if !in.Set {
		return
	}
	if *field = strings.TrimSpace(*field); *field == "" {
		p.fail(fault.Validation(name, fmt.Sprintf("The field %s cannot be blank.", name)))
	}
}

// SetOrClear copies a field. Null sets it to its zero value.
func SetOrClear[T any](p *Patch, name string, field *T, in Opt[T]) {
	Watch(p, name, field)
	*field = in.Or(*field)
}

// SetOptional copies a field of an optional column. Null and the zero value set it to nil.
func SetOptional[T comparable](p *Patch, name string, field **T, in Opt[T]) {
	Watch(p, name, field)
	if !in.Set {
		return
	}
	var zero T
	if value := in.Or(zero); value == zero {
		*field = nil
	} else {
		*field = &value
	}
}

// Watch makes Changed compare the field with its present value. The caller sets the field
// later. It must replace a slice, not modify its elements.
func Watch[T any](p *Patch, name string, field *T) {
	old := *field
	p.fields = append(p.fields, watchedField{name, func() bool { return !isEqual(reflect.ValueOf(&old).Elem(), reflect.ValueOf(field).Elem()) }})
}

// isEqual compares two values of the same type. An empty slice equals a nil slice.
func isEqual(a, b reflect.Value) bool {
	if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// Changed returns the names of the fields that changed, in the order of the calls, or the
// first error: a field that is null or blank and cannot be.
func (p *Patch) Changed() ([]string, error) {
	if p.err != nil {
		return nil, p.err
	}
	var names []string
	for _, f := range p.fields {
		if f.isChanged() {
			names = append(names, f.name)
		}
	}
	return names, nil
}

func (p *Patch) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}
