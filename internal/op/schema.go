package op

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// InputSchema returns the JSON schema of the whole input: path, query and body.
func (o *Operation) InputSchema() (*jsonschema.Schema, error) {
	return o.objectOf(func(Field) bool { return true }, Field.Schema)
}

// BodySchema returns the JSON schema of the request body, or nil if there is none.
func (o *Operation) BodySchema() (*jsonschema.Schema, error) {
	if !o.HasBody() {
		return nil, nil
	}
	return o.objectOf(isInBody, Field.Schema)
}

// OutputSchema returns the JSON schema of the response.
func (o *Operation) OutputSchema() (*jsonschema.Schema, error) { return schemaOf(o.Out) }

func isInBody(f Field) bool { return f.Source == FromBody }

// objectOf returns the schema of an object with the fields for which want returns true.
// schema returns the schema of one field.
func (o *Operation) objectOf(want func(Field) bool, schema func(Field) (*jsonschema.Schema, error)) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, f := range o.Fields {
		if !want(f) {
			continue
		}
		fs, err := schema(f)
		if err != nil {
			return nil, fmt.Errorf("op: %s: field %s: %w", o.Name, f.Name, err)
		}
		s.Properties[f.Name] = fs
		s.PropertyOrder = append(s.PropertyOrder, f.Name)
		if f.Required {
			s.Required = append(s.Required, f.Name)
		}
	}
	return s, nil
}

// Schema returns the JSON schema of the field, with the constraints from its tags.
func (f Field) Schema() (*jsonschema.Schema, error) {
	s, err := schemaOf(f.Value())
	if err != nil {
		return nil, err
	}
	f.addConstraints(s)
	if f.isOptional() && s.Type != "" {
		s.Types, s.Type = []string{s.Type, "null"}, ""
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
	}
	return s, nil
}

// isOptional reports whether the field is an Opt, which also accepts null.
func (f Field) isOptional() bool { return f.Type.Implements(reflect.TypeFor[optional]()) }

// addConstraints adds the constraints from the field's tags to the schema of its value.
func (f Field) addConstraints(s *jsonschema.Schema) {
	s.Description = f.Description()
	if f.Format != "" {
		s.Format = f.Format
	}
	if f.Kind != "" {
		s.Format = ""
	}
	for _, e := range f.Enum {
		s.Enum = append(s.Enum, e)
	}
	if f.Pattern != nil {
		s.Pattern = f.Pattern.String()
	}
	if s.Type == "array" {
		s.MinItems, s.MaxItems = f.MinLength, f.MaxLength
	} else {
		s.MinLength, s.MaxLength = f.MinLength, f.MaxLength
	}
	s.Minimum, s.Maximum = toFloat(f.Minimum), toFloat(f.Maximum)
	if f.Default != "" {
		if s.Type == "string" {
			s.Default = []byte(strconv.Quote(f.Default))
		} else {
			s.Default = []byte(f.Default)
		}
	}
}

func toFloat(n *int64) *float64 {
	if n == nil {
		return nil
	}
	x := float64(*n)
	return &x
}

// schemaOf infers the schema of a type and adds the doc and enum tags of its structs.
func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: textSchemas()})
	if err != nil {
		return nil, err
	}
	addDocTags(s, t)
	return s, nil
}

// textSchemas returns the schemas of the types that JSON represents as a string with a
// format.
func textSchemas() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[UUID]():      {Type: "string", Format: "uuid"},
		reflect.TypeFor[Date]():      {Type: "string", Format: "date"},
		reflect.TypeFor[time.Time](): {Type: "string", Format: "date-time"},
	}
}

// addDocTags adds the doc and enum tags of t to its schema, recursively. It removes null
// from the schemas of lists: an empty list is [], also if the Go slice is nil.
func addDocTags(s *jsonschema.Schema, t reflect.Type) {
	if s == nil {
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		nullable := s.Types
		addDocTags(s, t.Elem())
		if t.Elem().Kind() == reflect.Slice {
			s.Type, s.Types = "", nullable
		}
	case reflect.Slice, reflect.Array:
		if slices.Contains(s.Types, "array") {
			s.Type, s.Types = "array", nil
		}
		addDocTags(s.Items, t.Elem())
	case reflect.Map:
		addDocTags(s.AdditionalProperties, t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			sf := t.Field(i)
			name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
			p := s.Properties[name]
			if p == nil {
				if sf.Anonymous {
					addDocTags(s, sf.Type)
				}
				continue
			}
			if doc := sf.Tag.Get("doc"); doc != "" {
				p.Description = doc
			}
			if enum := sf.Tag.Get("enum"); enum != "" {
				for _, e := range strings.Split(enum, "|") {
					p.Enum = append(p.Enum, e)
				}
			}
			addDocTags(p, sf.Type)
		}
	}
}
