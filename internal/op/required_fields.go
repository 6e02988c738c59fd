package op

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
)

// FillRequiredFields completes an input to that of the smallest valid request, except ids: it sets
// the fields that are zero to their default, and required fields of the body to an example
// value. in is a pointer to the operation's input type.
func (o *Operation) FillRequiredFields(in any) error {
	for _, f := range o.Fields {
		v := reflect.ValueOf(in).Elem().Field(f.Index)
		switch {
		case !v.IsZero() || f.isID():
		case f.Default != "":
			if err := setText(f, v, f.Default); err != nil {
				return err
			}
		case f.Required && f.Source == FromBody:
			example, err := json.Marshal(o.Example(f))
			if err == nil {
				err = json.Unmarshal(example, v.Addr().Interface())
			}
			if err != nil {
				return fmt.Errorf("op: example of %s of %s: %w", f.Name, o.Name, err)
			}
		}
	}
	return nil
}

// isID reports whether the field contains the id of a record, or several ids.
func (f Field) isID() bool {
	t := f.Value()
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t == reflect.TypeFor[UUID]()
}
