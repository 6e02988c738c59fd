package op

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Source says where a field of an input comes from.
type Source int

const (
	// FromBody fields are members of the JSON body.
	FromBody Source = iota
	// FromPath fields are parts of the path.
	FromPath
	// FromQuery fields are query parameters.
	FromQuery
)

// Field is one field of an operation's input, with what its tags ask of it.
type Field struct {
	Name     string
	Source   Source
	Index    int
	Type     reflect.Type
	Doc      string
	Required bool
	Rest     bool
	// AllowEmpty says that the empty text is a value of the field, although a field
	// of its kind does not take it (acceptsEmpty). The tag is empty:"true".
	AllowEmpty bool
	Default    string
	Format     string
	Enum       []string
	Pattern    *regexp.Regexp
	// Form says in words what the pattern asks for.
	Form string
	// Length bounds count characters of a text, items of a list.
	MinLength, MaxLength *int
	Minimum, Maximum     *int64
}

// Value is the type of the field's value: inside Opt and pointers.
func (f Field) Value() reflect.Type { return valueType(f.Type) }

// acceptsEmpty tells whether the empty text is a value of the field. It is one of
// free text in a body. It is none of a text with fixed values or a fixed form, of
// an id or a date, and of a query parameter: an empty filter would silently select
// everything. The empty cursor is the start of a list.
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
	var fields []Field
	seen := map[string]bool{}
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous || !sf.IsExported() {
			return nil, fmt.Errorf("input field %s: embedded and unexported fields are not read", sf.Name)
		}
		f, err := fieldOf(sf, i)
		if err != nil {
			return nil, fmt.Errorf("input field %s: %w", sf.Name, err)
		}
		if seen[f.Name] {
			return nil, fmt.Errorf("input field %s: the name %q is taken", sf.Name, f.Name)
		}
		seen[f.Name] = true
		fields = append(fields, f)
	}
	return fields, nil
}

func fieldOf(sf reflect.StructField, index int) (Field, error) {
	f := Field{Index: index, Type: sf.Type, Doc: sf.Tag.Get("doc"), Default: sf.Tag.Get("default"), Format: sf.Tag.Get("format")}
	sources := 0
	for _, s := range []struct {
		tag    string
		source Source
	}{{"json", FromBody}, {"path", FromPath}, {"query", FromQuery}} {
		if name, ok := sf.Tag.Lookup(s.tag); ok && name != "-" {
			f.Name, _, _ = strings.Cut(name, ",")
			f.Source = s.source
			sources++
		}
	}
	if sources != 1 || f.Name == "" {
		return f, fmt.Errorf("it needs exactly one of the tags json, path and query")
	}
	f.Required = f.Source == FromPath || sf.Tag.Get("required") == "true"
	f.Rest = sf.Tag.Get("rest") == "true"
	f.AllowEmpty = sf.Tag.Get("empty") == "true"
	if f.Doc == "" {
		return f, fmt.Errorf("it needs a doc tag")
	}
	if e := sf.Tag.Get("enum"); e != "" {
		f.Enum = strings.Split(e, "|")
	}
	if p := sf.Tag.Get("pattern"); p != "" {
		re, err := regexp.Compile(p)
		if err != nil {
			return f, err
		}
		f.Pattern, f.Form = re, sf.Tag.Get("form")
	}
	var err error
	number := func(tag string) *int64 {
		text, ok := sf.Tag.Lookup(tag)
		if !ok || err != nil {
			return nil
		}
		n, e := strconv.ParseInt(text, 10, 64)
		if e != nil {
			err = fmt.Errorf("tag %s: %w", tag, e)
		}
		return &n
	}
	f.Minimum, f.Maximum = number("minimum"), number("maximum")
	f.MinLength, f.MaxLength = toInt(number("minLength")), toInt(number("maxLength"))
	if f.Source != FromBody && err == nil {
		err = checkScalar(f.Value())
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
		return fmt.Errorf("a path part or query parameter is a text, a whole number or a boolean, not %s", t)
	}
}
