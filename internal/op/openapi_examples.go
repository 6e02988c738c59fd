package op

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// exampleObject is a JSON object in an example. It keeps the order of its members.
type exampleObject []exampleMember

type exampleMember struct {
	name  string
	value any
}

// MarshalJSONTo encodes the object.
func (o exampleObject) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range o {
		if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, m.value); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// exampleField is the field that an example value is for.
type exampleField struct {
	// owner is the name of the type that declares the field, in the singular and without
	// suffixes.
	owner  string
	name   string
	format string
	enum   []string
}

// exampleBody returns an example of the operation's request body: its required fields and
// those that exampleFields lists, or else its first field.
func exampleBody(o *Operation) (any, error) {
	more := exampleFields[o.Name]
	for _, name := range more {
		if !slices.ContainsFunc(o.Fields, func(f Field) bool { return f.Name == name && f.Source == FromBody }) {
			return nil, fmt.Errorf("op: exampleFields: the body of %s has no field %s", o.Name, name)
		}
	}
	var all, chosen exampleObject
	for _, f := range o.Fields {
		if f.Source != FromBody {
			continue
		}
		m := exampleMember{f.Name, exampleInput(o, f)}
		all = append(all, m)
		if f.Required || slices.Contains(more, f.Name) {
			chosen = append(chosen, m)
		}
	}
	if chosen == nil {
		return all[:1], nil
	}
	return chosen, nil
}

// exampleInput returns an example value of an input field.
func exampleInput(o *Operation, f Field) any {
	noun := strings.TrimSuffix(o.In.Name(), "In")
	return exampleOf(f.Value(), exampleField{owner: noun, name: f.Name, format: f.Format, enum: f.Enum})
}

// Example returns an example value of a field of the input, as JSON data.
func (o *Operation) Example(f Field) any { return exampleInput(o, f) }

// ExampleOutput returns an example of the response as JSON.
func (o *Operation) ExampleOutput() ([]byte, error) {
	return json.Marshal(exampleOf(o.Out, exampleField{}), json.Deterministic(true))
}

// exampleOf returns an example value of a type.
func exampleOf(t reflect.Type, f exampleField) any {
	if v, ok := f.listed(); ok && fits(v, t) {
		return v
	}
	switch t.Kind() {
	case reflect.Pointer:
		return exampleOf(t.Elem(), f)
	case reflect.Slice, reflect.Array:
		return []any{exampleOf(t.Elem(), f)}
	case reflect.Map:
		return exampleObject{{"example", exampleOf(t.Elem(), exampleField{})}}
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return "2027-03-01T09:30:00Z"
		}
		object := exampleObject{}
		for _, p := range propertiesOf(t) {
			owner := strings.TrimSuffix(p.owner.Name(), "Summary")
			if !p.required && slices.Contains(exampleOmitted, owner+"."+p.name) {
				continue
			}
			object = append(object, exampleMember{p.name, exampleOf(p.Type, exampleField{owner: owner, name: p.name, enum: p.enum()})})
		}
		return object
	case reflect.Bool:
		return false
	case reflect.String:
		return f.exampleText(t)
	case reflect.Interface:
		return exampleObject{}
	default:
		return 1
	}
}

// exampleText returns an example of a text that exampleValues does not list.
func (f exampleField) exampleText(t reflect.Type) string {
	switch {
	case f.enum != nil:
		return f.enum[0]
	case t == reflect.TypeFor[UUID]() || f.format == "uuid":
		return exampleID(f)
	case t == reflect.TypeFor[Date]() || f.format == "date":
		return "2027-03-31"
	case f.format == "date-time":
		return "2027-03-01T09:30:00Z"
	case f.format == "email":
		return "ada@example.com"
	default:
		return "example"
	}
}

// exampleID returns the ID of a record. It is the same wherever the record occurs: the id of
// a Task equals the taskId of a Comment.
func exampleID(f exampleField) string {
	name := f.name
	if name == "id" {
		name = strings.ToLower(f.owner[:1]) + strings.TrimSuffix(f.owner[1:], "Ref") + "Id"
	}
	if slices.Contains(exampleUserIDs, name) {
		name = "userId"
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return fmt.Sprintf("018f3c5e-7a10-7c3e-9d2b-%012x", h.Sum64()&(1<<48-1))
}

// listed returns the value of the field in exampleValues. A value that the enum of the
// field does not contain is not returned.
func (f exampleField) listed() (any, bool) {
	for _, key := range []string{f.owner + "." + f.name, f.name} {
		v, ok := exampleValues[key]
		if !ok {
			continue
		}
		if text, isText := v.(string); isText && f.enum != nil && !slices.Contains(f.enum, text) {
			continue
		}
		return v, true
	}
	return nil, false
}

// fits reports whether an example value is a value of the type.
func fits(v any, t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case string:
		switch t {
		case reflect.TypeFor[UUID]():
			_, err := ParseUUID(v)
			return err == nil
		case reflect.TypeFor[Date]():
			return len(v) == len(time.DateOnly)
		default:
			return t.Kind() == reflect.String || t == reflect.TypeFor[time.Time]()
		}
	case int:
		return slices.Contains([]reflect.Kind{reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64}, t.Kind())
	case float64:
		return t.Kind() == reflect.Float64
	case bool:
		return t.Kind() == reflect.Bool
	case []any:
		return t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Struct
	default:
		return t.Kind() == reflect.Interface || t.Kind() == reflect.Map
	}
}
