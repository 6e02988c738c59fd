package mcp

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"parapet/internal/op"
)

// untrustedMark is the phrase in a contract's doc tag that marks user-generated text.
const untrustedMark = "untrusted text"

func hasUntrustedMark(doc string) bool { return strings.Contains(strings.ToLower(doc), untrustedMark) }

// inputSchema returns the schema of the tool's arguments.
func inputSchema(o *op.Operation, w wording) (json.RawMessage, error) {
	s, err := o.InputSchema()
	if err != nil {
		return nil, err
	}
	if o.DerivesProject() {
		s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == "projectId" })
		s.Properties["projectId"].Description += " Default: that of the task's key."
	}
	switch {
	case defaultsToLatestRequest(o):
		s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == "requestId" })
		s.Properties["requestId"].Description += " Default: the latest one of the task."
	case takesDecisionRequest(o):
		s.Properties["requestId"].Description += " get-task, inbox and list-decision-requests show it with its question."
	}
	for _, f := range o.Fields {
		// Only fields that can be cleared need null. Some model providers do not accept a
		// list of types.
		if f.Type.Kind() != reflect.Struct {
			dropNull(s.Properties[f.Name])
		}
		// A limit for the length helps a model to write a text, but not a key or a filter. The
		// service checks all of them.
		if f.Source != op.FromBody {
			s.Properties[f.Name].MaxLength = nil
		}
	}
	w.rewriteSchema(s)
	properties := map[string]*jsonschema.Schema{}
	for name, p := range s.Properties {
		properties[w.arguments[name]] = p
	}
	s.Properties = properties
	for _, list := range [][]string{s.PropertyOrder, s.Required} {
		for i, name := range list {
			list[i] = w.arguments[name]
		}
	}
	return json.Marshal(s)
}

// dropNull removes null from a schema that allows null and one other type.
func dropNull(s *jsonschema.Schema) {
	if s == nil || len(s.Types) != 2 {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 {
		s.Type, s.Types = s.Types[1-i], nil
	}
}

// outputSchema returns a short form of the operation's output schema. It contains the types
// of the response's members, for a list those of its items. Descriptions, nested schemas and
// references are in the OpenAPI document. Only the schema of a tool that reads a single record
// contains its optional members: the schemas of lists and changes omit those with a single
// value. The schema allows additional members.
func outputSchema(o *op.Operation) (json.RawMessage, error) {
	s, err := o.OutputSchema()
	if err != nil {
		return nil, err
	}
	switch {
	case isPage(o.Out):
		dropOptional(s.Properties["items"].Items)
		return json.Marshal(shallowSchema(s, 3))
	case o.Effect.Changes():
		dropOptional(s)
	}
	return json.Marshal(shallowSchema(s, 1))
}

// dropOptional removes the optional members with a single value from the schema of an
// object.
func dropOptional(s *jsonschema.Schema) {
	dropReferences(s)
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) && p.Properties == nil && p.Items == nil {
			delete(s.Properties, name)
		}
	}
	s.PropertyOrder = slices.DeleteFunc(s.PropertyOrder, func(name string) bool { return s.Properties[name] == nil })
}

// shallowSchema returns a schema with only types, down to depth levels.
func shallowSchema(s *jsonschema.Schema, depth int) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	short := &jsonschema.Schema{Type: s.Type, Types: s.Types}
	if depth == 0 {
		return short
	}
	dropReferences(s)
	short.Items = shallowSchema(s.Items, depth-1)
	short.PropertyOrder = s.PropertyOrder
	for name, p := range s.Properties {
		if short.Properties == nil {
			short.Properties = map[string]*jsonschema.Schema{}
		}
		m := shallowSchema(p, depth-1)
		if !slices.Contains(s.Required, name) || slices.Contains(m.Types, "array") {
			// An optional member that is null is omitted, and a list is never null.
			dropNull(m)
		}
		if m.Type == "" && m.Types == nil {
			// Any JSON value. Some clients reject an empty schema.
			m.Types = []string{"object", "array", "string", "number", "boolean", "null"}
		}
		short.Properties[name] = m
	}
	return short
}

// dropReferences removes the references next to ids from the schema of an object.
func dropReferences(s *jsonschema.Schema) {
	references := map[string]bool{}
	for name := range s.Properties {
		if r := s.Properties[op.ReferenceName(name)]; r != nil && r.Properties["name"] != nil {
			references[op.ReferenceName(name)] = true
		}
	}
	maps.DeleteFunc(s.Properties, func(name string, _ *jsonschema.Schema) bool { return references[name] })
	s.PropertyOrder = slices.DeleteFunc(s.PropertyOrder, func(name string) bool { return references[name] })
}

// isPage reports whether an output type is a page of a list.
func isPage(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	items, ok := t.FieldByName("Items")
	_, cursor := t.FieldByName("NextCursor")
	return ok && cursor && items.Type.Kind() == reflect.Slice
}

// untrustedPaths returns the paths in an output with user-generated text, such as
// items[].title.
func untrustedPaths(t reflect.Type) map[string]bool {
	found := map[string]bool{}
	walkUntrusted(t, "", nil, found)
	return found
}

// walkUntrusted adds the untrusted paths of t to found. It does not enter a type that is in
// enclosing, because the type is recursive.
func walkUntrusted(t reflect.Type, path string, enclosing []reflect.Type, found map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer:
		walkUntrusted(t.Elem(), path, enclosing, found)
	case reflect.Slice, reflect.Array:
		walkUntrusted(t.Elem(), path+"[]", enclosing, found)
	case reflect.Map:
		walkUntrusted(t.Elem(), join(path, "*"), enclosing, found)
	case reflect.Struct:
		if slices.Contains(enclosing, t) {
			return
		}
		enclosing = append(slices.Clone(enclosing), t)
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && name == "":
				walkUntrusted(f.Type, path, enclosing, found)
			case !f.IsExported() || name == "-" || name == "":
			default:
				if hasUntrustedMark(f.Tag.Get("doc")) {
					found[join(path, name)] = true
				}
				walkUntrusted(f.Type, join(path, name), enclosing, found)
			}
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
