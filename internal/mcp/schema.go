package mcp

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"parapet/internal/op"
)

// untrustedMark is what a contract's documentation says of a text that people
// write.
const untrustedMark = "untrusted text"

func hasUntrustedMark(doc string) bool { return strings.Contains(strings.ToLower(doc), untrustedMark) }

func inputSchema(o *op.Operation) (json.RawMessage, error) {
	s, err := o.InputSchema()
	if err != nil {
		return nil, err
	}
	for _, f := range o.Fields {
		// Null means something to a field that can be cleared; to others it is the
		// same as nothing, and some models' makers take no list of types.
		if f.Type.Kind() != reflect.Struct {
			dropNull(s.Properties[f.Name])
		}
	}
	return json.Marshal(s)
}

// dropNull makes a schema of null or one type a schema of that type.
func dropNull(s *jsonschema.Schema) {
	if s == nil || len(s.Types) != 2 {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 {
		s.Type, s.Types = s.Types[1-i], nil
	}
}

// outputSchema is the operation's, in fewer words: the members of the answer, or
// of a list's items, with their types. What a member means and what it holds in
// turn stand in the API's document; the answer itself marks what is untrusted. A
// member that a later version adds breaks no client.
func outputSchema(o *op.Operation) (json.RawMessage, error) {
	s, err := o.OutputSchema()
	if err != nil {
		return nil, err
	}
	depth := 1
	if isPage(o.Out) {
		depth = 3
	}
	return json.Marshal(shallow(s, depth))
}

// shallow is a schema with its types alone, down to depth levels.
func shallow(s *jsonschema.Schema, depth int) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	short := &jsonschema.Schema{Type: s.Type, Types: s.Types}
	if depth == 0 {
		return short
	}
	short.Items = shallow(s.Items, depth-1)
	short.PropertyOrder = s.PropertyOrder
	for name, p := range s.Properties {
		if short.Properties == nil {
			short.Properties = map[string]*jsonschema.Schema{}
		}
		m := shallow(p, depth-1)
		if !slices.Contains(s.Required, name) || slices.Contains(m.Types, "array") {
			// What is optional is left out where it is null; a list is never null.
			dropNull(m)
		}
		if m.Type == "" && m.Types == nil {
			// Any JSON: some read no schema that says nothing.
			m.Types = []string{"object", "array", "string", "number", "boolean", "null"}
		}
		short.Properties[name] = m
	}
	return short
}

// isPage tells whether an output is a page of a list.
func isPage(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	items, ok := t.FieldByName("Items")
	_, cursor := t.FieldByName("NextCursor")
	return ok && cursor && items.Type.Kind() == reflect.Slice
}

// untrustedPaths gives the places of an output, such as items[].title, that hold
// untrusted text.
func untrustedPaths(t reflect.Type) map[string]bool {
	found := map[string]bool{}
	walkUntrusted(t, "", nil, found)
	return found
}

func walkUntrusted(t reflect.Type, path string, above []reflect.Type, found map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer:
		walkUntrusted(t.Elem(), path, above, found)
	case reflect.Slice, reflect.Array:
		walkUntrusted(t.Elem(), path+"[]", above, found)
	case reflect.Map:
		walkUntrusted(t.Elem(), join(path, "*"), above, found)
	case reflect.Struct:
		if slices.Contains(above, t) {
			return
		}
		above = append(slices.Clone(above), t)
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && name == "":
				walkUntrusted(f.Type, path, above, found)
			case !f.IsExported() || name == "-" || name == "":
			default:
				if hasUntrustedMark(f.Tag.Get("doc")) {
					found[join(path, name)] = true
				}
				walkUntrusted(f.Type, join(path, name), above, found)
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
