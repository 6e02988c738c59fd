package executor

import (
	"reflect"
	"strings"
	"unicode"

	"parapet/internal/authz"
	"parapet/internal/op"
)

// requestedResource returns the record that a request names, before anything is loaded:
// the last parameter of its path, or else the first id in its input. Only Type, ID and
// Key are set.
func requestedResource(o *op.Operation, in any) authz.Resource {
	unknown := authz.Resource{Type: "any"}
	input := reflect.ValueOf(in).Elem()
	parts := o.PathParts()
	for i := range o.Fields {
		f := &o.Fields[i]
		if len(parts) > 0 && (f.Source != op.FromPath || f.Name != parts[len(parts)-1]) {
			continue
		}
		value := input.Field(f.Index)
		if value.Kind() != reflect.String || value.Len() == 0 {
			continue
		}
		id, err := op.ParseUUID(value.String())
		switch {
		case err == nil:
			return authz.Resource{Type: resourceTypeOf(f.Name), ID: string(id)}
		case len(parts) > 0:
			return authz.Resource{Type: resourceTypeOf(f.Name), Key: value.String()}
		}
	}
	return unknown
}

// resourceTypeOf returns the resource type that a field names, for example time_entry
// for timeEntryId.
func resourceTypeOf(field string) string {
	var noun strings.Builder
	for _, r := range strings.TrimSuffix(field, "Id") {
		if unicode.IsUpper(r) {
			noun.WriteByte('_')
		}
		noun.WriteRune(unicode.ToLower(r))
	}
	return noun.String()
}
