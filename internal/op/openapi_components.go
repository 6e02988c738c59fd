package op

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const schemaPrefix = "#/components/schemas/"

// components collects the named schemas of an OpenAPI document: one for each struct type
// in a request body or a response, one for each request body, and one for each enum that
// several fields share.
type components struct {
	names map[reflect.Type]string
	// requests are the input types of operations with a body; names has their names too.
	requests map[reflect.Type]*Operation
	// accepted are the struct types in request bodies. The server rejects unknown members
	// of these types; a response can get further members in later versions.
	accepted map[reflect.Type]bool
	enums    enums
	schemas  map[string]*jsonschema.Schema
	examples map[string]any
}

// newComponents builds the components of the operations.
func newComponents(operations []*Operation) (*components, error) {
	c := &components{
		names: map[reflect.Type]string{}, requests: map[reflect.Type]*Operation{}, accepted: map[reflect.Type]bool{},
		schemas: map[string]*jsonschema.Schema{}, examples: map[string]any{},
	}
	var uses []enumUse
	for _, o := range operations {
		for _, f := range o.Fields {
			uses = append(uses, enumUse{owner: o.In, field: f.Name, values: f.Enum})
			if f.Source == FromBody {
				c.requests[o.In] = o
				c.addType(f.Value(), true)
			}
		}
		if o.Status != 204 {
			c.addType(o.Out, false)
		}
	}
	for t := range c.names {
		for _, p := range propertiesOf(t) {
			uses = append(uses, enumUse{owner: p.owner, field: p.name, values: p.enum()})
		}
	}
	if err := c.nameTypes(); err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, name := range c.names {
		taken[name] = true
	}
	c.enums = nameEnums(uses, taken)
	return c, c.buildSchemas()
}

// addType adds the struct types in t. accepted reports whether t is part of a request
// body.
func (c *components) addType(t reflect.Type, accepted bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		c.addType(t.Elem(), accepted)
	case reflect.Struct:
		_, known := c.names[t]
		if textSchemas()[t] != nil || (known && (!accepted || c.accepted[t])) {
			return
		}
		c.names[t] = ""
		if accepted {
			c.accepted[t] = true
		}
		for _, p := range propertiesOf(t) {
			c.addType(p.Type, accepted)
		}
	}
}

// nameTypes sets the names of the types and the request bodies. Types of different
// packages with the same name get the name of their package as a prefix.
func (c *components) nameTypes() error {
	for t := range c.requests {
		c.names[t] = ""
	}
	sameName := map[string][]reflect.Type{}
	for t := range c.names {
		name := c.typeName(t)
		sameName[name] = append(sameName[name], t)
	}
	used := map[string]reflect.Type{}
	for name, types := range sameName {
		for _, t := range types {
			unique := name
			if len(types) > 1 {
				unique = upperFirst(path.Base(packageOf(t))) + name
			}
			if other, taken := used[unique]; taken {
				return fmt.Errorf("op: the types %s and %s have the same name %s in the OpenAPI document: rename one", other, t, unique)
			}
			used[unique] = t
			c.names[t] = unique
		}
	}
	return nil
}

// typeName returns the name of a type in the document: its Go name, in which the suffixes
// In and Out are replaced. A page has the name of its items with the suffix Page.
func (c *components) typeName(t reflect.Type) string {
	if item := itemOf(t); item != nil {
		return c.typeName(item) + "Page"
	}
	name := t.Name()
	suffix := "Input"
	if c.requests[t] != nil {
		suffix = "Request"
	}
	switch base, isInput := strings.CutSuffix(name, "In"); {
	case t == reflect.TypeFor[None]():
		return "EmptyObject"
	case isInput:
		return base + suffix
	case suffix == "Request":
		return name + suffix
	}
	if base, isOutput := strings.CutSuffix(name, "Out"); isOutput {
		return base + "Result"
	}
	return name
}

// itemOf returns the type of the items if t is a Page, or else nil.
func itemOf(t reflect.Type) reflect.Type {
	if t.PkgPath() != reflect.TypeFor[None]().PkgPath() || !strings.HasPrefix(t.Name(), "Page[") {
		return nil
	}
	items, _ := t.FieldByName("Items")
	return items.Type.Elem()
}

// packageOf returns the package of a type, for a page that of its items.
func packageOf(t reflect.Type) string {
	if item := itemOf(t); item != nil {
		return packageOf(item)
	}
	return t.PkgPath()
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// property is a JSON member of a struct type.
type property struct {
	reflect.StructField
	// owner is the type that declares the field: t, or a type that t embeds.
	owner    reflect.Type
	name     string
	required bool
}

// enum returns the values of the enum tag, or nil.
func (p property) enum() []string {
	if tag := p.Tag.Get("enum"); tag != "" {
		return strings.Split(tag, "|")
	}
	return nil
}

// propertiesOf returns the members of a struct type in their order, with those of embedded
// types.
func propertiesOf(t reflect.Type) []property {
	var list []property
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			list = append(list, propertiesOf(f.Type)...)
		case !f.IsExported() || name == "-" || name == "":
		default:
			required := !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero")
			list = append(list, property{StructField: f, owner: t, name: name, required: required})
		}
	}
	return list
}

// buildSchemas builds the schema and the example of each component.
func (c *components) buildSchemas() error {
	for name, values := range c.enums.components {
		c.schemas[name] = &jsonschema.Schema{Type: "string", Enum: toAny(values)}
	}
	for t, name := range c.names {
		s, example, err := c.build(t)
		if err != nil {
			return err
		}
		c.schemas[name], c.examples[name] = s, example
	}
	return nil
}

// build returns the schema and the example of a struct type or a request body.
func (c *components) build(t reflect.Type) (s *jsonschema.Schema, example any, err error) {
	if o := c.requests[t]; o != nil {
		if s, err = o.objectOf(isInBody, c.fieldSchema); err != nil {
			return nil, nil, err
		}
		example, err = exampleBody(o)
		return s, example, err
	}
	s, err = c.structSchema(t)
	return s, exampleOf(t, exampleField{}), err
}

// structSchema returns the schema of a struct type.
func (c *components) structSchema(t reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	if item := itemOf(t); item != nil {
		s.Description = "A page of a list."
	}
	if c.accepted[t] {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	for _, p := range propertiesOf(t) {
		ps, err := c.propertySchema(p)
		if err != nil {
			return nil, fmt.Errorf("op: %s.%s: %w", t, p.Name, err)
		}
		s.Properties[p.name] = ps
		s.PropertyOrder = append(s.PropertyOrder, p.name)
		if p.required {
			s.Required = append(s.Required, p.name)
		}
	}
	return s, nil
}

// propertySchema returns the schema of a member. Only a pointer that is never omitted can
// be null: JSON omits the other nil pointers, and writes a nil slice as [].
func (c *components) propertySchema(p property) (*jsonschema.Schema, error) {
	s, err := c.schemaOf(p.Type)
	if err != nil {
		return nil, err
	}
	if values := p.enum(); values != nil {
		s = c.enums.schema(values, s)
	}
	s.Description = p.Tag.Get("doc")
	if p.required && p.Type.Kind() == reflect.Pointer {
		s = orNull(s)
	}
	return s, nil
}

// fieldSchema returns the schema of an input field.
func (c *components) fieldSchema(f Field) (*jsonschema.Schema, error) {
	s, err := c.schemaOf(f.Value())
	if err != nil {
		return nil, err
	}
	f.addConstraints(s)
	if f.Enum != nil {
		s = c.enums.schema(f.Enum, s)
	}
	if f.isOptional() {
		s = orNull(s)
	}
	return s, nil
}

// schemaOf returns the schema of a type without null. A struct type is a reference to its
// component.
func (c *components) schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	if name := c.names[t]; name != "" {
		return &jsonschema.Schema{Ref: schemaPrefix + name}, nil
	}
	var err error
	switch t.Kind() {
	case reflect.Pointer:
		return c.schemaOf(t.Elem())
	case reflect.Slice, reflect.Array:
		s := &jsonschema.Schema{Type: "array"}
		s.Items, err = c.schemaOf(t.Elem())
		return s, err
	case reflect.Map:
		s := &jsonschema.Schema{Type: "object"}
		s.AdditionalProperties, err = c.schemaOf(t.Elem())
		return s, err
	default:
		return schemaOf(t)
	}
}

// orNull returns a schema that also accepts null. A reference or a list with null is an
// anyOf: code generators support it better than a list of types.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Ref == "" && s.Type != "array" {
		s.Types, s.Type = []string{s.Type, "null"}, ""
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
		return s
	}
	description := s.Description
	s.Description = ""
	return &jsonschema.Schema{Description: description, AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
}

func toAny(values []string) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return list
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
