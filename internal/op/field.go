package op

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Source is the part of the request from which a field of an input is read.
type Source int

const (
	// FromBody fields are members of the JSON body.
	FromBody Source = iota
	// FromPath fields are path parameters.
	FromPath
	// FromQuery fields are query parameters.
	FromQuery
)

// Field is a field of an operation's input, with the constraints from its tags.
type Field struct {
	Name string
	// Argument is the name of the field as an argument of a tool. It is the same for the
	// same thing in all operations: project for projectId.
	Argument string
	Source   Source
	Index    int
	Type     reflect.Type
	Doc      string
	Required bool
	Rest     bool
	// Kind is the kind of record that the field identifies, if a name is accepted in place
	// of the id; otherwise it is empty.
	Kind Kind
	// AllowEmpty makes the field accept the empty string, although fields of its kind do
	// not (see acceptsEmpty). The tag is empty:"true".
	AllowEmpty bool
	Default    string
	Format     string
	Enum       []string
	Pattern    *regexp.Regexp
	// Form describes the pattern in words, for messages.
	Form string
	// MinLength and MaxLength are in characters for strings and in items for lists.
	MinLength, MaxLength *int
	Minimum, Maximum     *int64
}

// Value returns the type of the field's value, without Opt and pointers.
func (f Field) Value() reflect.Type { return valueType(f.Type) }

// Description returns the doc of the field. If names are accepted in place of an id, it says
// which ones, after the first phrase.
func (f Field) Description() string {
	if f.Kind == "" {
		return f.Doc
	}
	end := strings.IndexAny(f.Doc, ".;:,")
	if end < 0 {
		end = len(f.Doc)
	}
	return f.Doc[:end] + " (id, " + f.Kind.Names() + ")" + f.Doc[end:]
}

// acceptsEmpty reports whether the field accepts the empty string. Free text in a body
// does. Strings with an enum, a format or a pattern, UUIDs and dates do not. A query
// parameter does not, because an empty filter would silently select everything; the
// exception is the cursor, where empty means the start of the list.
func (f Field) acceptsEmpty() bool {
	switch {
	case f.AllowEmpty:
		return true
	case f.Source == FromQuery:
		return f.Name == "cursor"
	default:
		return f.Value() == reflect.TypeFor[string]() && f.Enum == nil && f.Format == "" && f.Pattern == nil
	}
}

func valueType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return valueType(t.Elem())
	}
	if t.Implements(reflect.TypeFor[optional]()) {
		f, _ := t.FieldByName("Value")
		return valueType(f.Type)
	}
	return t
}

func fieldsOf(t reflect.Type) ([]Field, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the input %s is not a struct", t)
	}
	fields := make([]Field, 0, t.NumField())
	seen := make(map[string]bool, t.NumField())
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous || !sf.IsExported() {
			return nil, fmt.Errorf("input field %s: embedded and unexported fields are not supported", sf.Name)
		}
		f, err := fieldOf(sf, i)
		if err != nil {
			return nil, fmt.Errorf("input field %s: %w", sf.Name, err)
		}
		if seen[f.Name] {
			return nil, fmt.Errorf("input field %s: duplicate name %q", sf.Name, f.Name)
		}
		seen[f.Name] = true
		fields = append(fields, f)
	}
	for i, f := range fields {
		name := ArgumentName(f.Name)
		if f.Name == "requestId" && f.Source == FromPath {
			// In a query, requestId is the id of an HTTP request.
			name = "decisionRequest"
		}
		if name != f.Name && seen[name] {
			return nil, fmt.Errorf("input field %s: its argument name %q is the name of another field", f.Name, name)
		}
		fields[i].Argument, seen[name] = name, true
	}
	return fields, nil
}

// ArgumentName returns the name by which tools call the record that a field identifies: the
// name of the field without the suffix Id.
func ArgumentName(field string) string {
	switch field {
	case "parentTaskId":
		return "parent"
	case "scopeId":
		return "scopeRecord" // scope is the kind of record
	default:
		return strings.TrimSuffix(field, "Id")
	}
}

func fieldOf(sf reflect.StructField, index int) (Field, error) {
	tag := parseTag(sf.Tag)
	f := Field{Index: index, Type: sf.Type, Doc: tag.Get("doc"), Default: tag.Get("default"), Format: tag.Get("format")}
	sources := 0
	for _, s := range []struct {
		tag    string
		source Source
	}{{"json", FromBody}, {"path", FromPath}, {"query", FromQuery}} {
		if name, ok := tag.Lookup(s.tag); ok && name != "-" {
			f.Name, _, _ = strings.Cut(name, ",")
			f.Source = s.source
			sources++
		}
	}
	if sources != 1 || f.Name == "" {
		return f, fmt.Errorf("exactly one of the tags json, path and query is required")
	}
	f.Required = f.Source == FromPath || tag.Get("required") == "true"
	f.Rest = tag.Get("rest") == "true"
	f.AllowEmpty = tag.Get("empty") == "true"
	if f.Doc == "" {
		return f, fmt.Errorf("a doc tag is required")
	}
	if e := tag.Get("enum"); e != "" {
		f.Enum = strings.Split(e, "|")
	}
	if p := tag.Get("pattern"); p != "" {
		re, err := regexp.Compile(p)
		if err != nil {
			return f, err
		}
		f.Pattern, f.Form = re, tag.Get("form")
	}
	var err error
	number := func(name string) *int64 {
		text, ok := tag.Lookup(name)
		if !ok || err != nil {
			return nil
		}
		n, e := strconv.ParseInt(text, 10, 64)
		if e != nil {
			err = fmt.Errorf("tag %s: %w", name, e)
		}
		return &n
	}
	f.Minimum, f.Maximum = number("minimum"), number("maximum")
	f.MinLength, f.MaxLength = toInt(number("minLength")), toInt(number("maxLength"))
	if f.Source != FromBody && err == nil {
		err = checkScalar(f.Value())
	}
	if kind := kindsByField()[f.Name]; kind.Names() != "" && f.Value() == reflect.TypeFor[UUID]() {
		f.Kind = kind
	}
	return f, err
}

func toInt(n *int64) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

func checkScalar(t reflect.Type) error {
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int64, reflect.Bool:
		return nil
	default:
		return fmt.Errorf("a path or query parameter must be a string, an integer or a boolean, not %s", t)
	}
}
