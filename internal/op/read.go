package op

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/fault"
)

// Raw is a request's input before it is read.
type Raw struct {
	// Path gives the value of a path part, decoded.
	Path  func(name string) string
	Query url.Values
	// Body is the whole body; empty where there is none.
	Body []byte
}

// Read makes the operation's input from raw. It is strict. A query parameter or
// body member that is unknown, repeated or in another case; text that is not UTF-8
// or holds a NUL; a value of the wrong type or outside its bounds; an empty text
// where the field does not take one; a missing field: each is a VALIDATION that
// names the field. The result is a pointer to the operation's input type.
func (o *Operation) Read(raw Raw) (any, error) {
	in := reflect.New(o.In)
	given := make([]bool, len(o.Fields))
	if err := o.readQuery(in.Elem(), raw.Query, given); err != nil {
		return nil, err
	}
	if err := o.readBody(in.Elem(), raw.Body, given); err != nil {
		return nil, err
	}
	for i, f := range o.Fields {
		switch {
		case f.Source == FromPath:
			if err := setText(f, in.Elem().Field(f.Index), raw.Path(f.Name)); err != nil {
				return nil, err
			}
		case !given[i] && f.Required:
			return nil, fault.Validation(f.Name, fmt.Sprintf("The field %s is required.", f.Name))
		case !given[i] && f.Default != "":
			if err := setText(f, in.Elem().Field(f.Index), f.Default); err != nil {
				return nil, err
			}
		}
	}
	return in.Interface(), o.validate(in.Elem(), given)
}

func (o *Operation) readQuery(in reflect.Value, query url.Values, given []bool) error {
	for name, values := range query {
		i := slices.IndexFunc(o.Fields, func(f Field) bool { return f.Source == FromQuery && f.Name == name })
		if name == "" {
			return fault.Validation("query", "The query has a parameter without a name.")
		}
		if i < 0 {
			return fault.Validation(isPrintable(name), fmt.Sprintf("There is no query parameter %s here.%s", isPrintable(name), o.known(FromQuery)))
		}
		if len(values) != 1 {
			return fault.Validation(name, fmt.Sprintf("The query parameter %s is given more than once.", name))
		}
		if err := setText(o.Fields[i], in.Field(o.Fields[i].Index), values[0]); err != nil {
			return err
		}
		given[i] = true
	}
	return nil
}

func (o *Operation) readBody(in reflect.Value, body []byte, given []bool) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	tok, err := dec.ReadToken()
	if !o.HasBody() && (err != nil || tok.Kind() != '{') {
		return fault.Validation("body", "This operation takes no body. Send none, or {}.").WithCause(err)
	}
	if err != nil {
		return bodyFault(err)
	}
	if tok.Kind() != '{' {
		return fault.Validation("body", "The body must be one JSON object.")
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return bodyFault(err)
		}
		name := tok.String()
		i := slices.IndexFunc(o.Fields, func(f Field) bool { return f.Source == FromBody && f.Name == name })
		if name == "" {
			return fault.Validation("body", "The body has a field without a name.")
		}
		if i < 0 {
			return fault.Validation(isPrintable(name), fmt.Sprintf("There is no field %s here.%s", isPrintable(name), o.known(FromBody)))
		}
		f := o.Fields[i]
		if dec.PeekKind() == 'n' && !f.Type.Implements(reflect.TypeFor[optional]()) {
			if f.Required {
				return fault.Validation(name, fmt.Sprintf("The field %s is required and can't be null.", name))
			}
			if err := dec.SkipValue(); err != nil {
				return bodyFault(err)
			}
			continue
		}
		if err := json.UnmarshalDecode(dec, in.Field(f.Index).Addr().Interface(), json.RejectUnknownMembers(true)); err != nil {
			return valueFault(f, err)
		}
		given[i] = true
	}
	if _, err := dec.ReadToken(); err != nil {
		return bodyFault(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return fault.Validation("body", "The body must be one JSON object and nothing after it.")
	}
	return nil
}

// known lists the names that a source has, for the error that names a stranger.
func (o *Operation) known(source Source) string {
	var names []string
	for _, f := range o.Fields {
		if f.Source == source {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " Known: " + strings.Join(names, ", ") + "."
}

func bodyFault(err error) error {
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		if errors.Is(syn, jsontext.ErrDuplicateName) {
			name := pointerName(syn.JSONPointer, "body")
			return fault.Validation(name, fmt.Sprintf("The field %s is given more than once.", name)).WithCause(err)
		}
		return fault.Validation("body", fmt.Sprintf("The body is not valid JSON (at byte %d).", syn.ByteOffset)).WithCause(err)
	}
	return fault.Validation("body", "The body is not valid JSON.").WithCause(err)
}

func valueFault(f Field, err error) error {
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return bodyFault(err)
	}
	where := f.Name
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		where = pointerName(sem.JSONPointer, f.Name)
		if errors.Is(sem.Err, json.ErrUnknownName) {
			return fault.Validation(where, fmt.Sprintf("There is no field %s here.", where)).WithCause(err)
		}
	}
	if errors.Is(err, ErrUUID) || errors.Is(err, ErrDate) {
		return fault.Validation(where, fmt.Sprintf("The field %s is wrong: %s.", where, say(err))).WithCause(err)
	}
	return fault.Validation(where, fmt.Sprintf("The field %s must be %s.", where, kindOf(f.Value()))).WithCause(err)
}

// pointerName is the name of the field at a pointer, with dots between its parts,
// or instead where the pointer names none.
func pointerName(p jsontext.Pointer, instead string) string {
	name := isPrintable(strings.ReplaceAll(strings.TrimPrefix(string(p), "/"), "/", "."))
	if name == "" {
		return instead
	}
	return name
}

func say(err error) string {
	if errors.Is(err, ErrUUID) {
		return ErrUUID.Error()
	}
	return ErrDate.Error()
}

// setText reads a path part, a query parameter or a default.
func setText(f Field, v reflect.Value, text string) error {
	wrong := func() error {
		return fault.Validation(f.Name, fmt.Sprintf("The parameter %s must be %s.", f.Name, kindOf(f.Value())))
	}
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch ptr := v.Addr().Interface().(type) {
	case *UUID:
		if err := ptr.UnmarshalText([]byte(text)); err != nil {
			return wrong()
		}
		return nil
	case *Date:
		if err := ptr.UnmarshalText([]byte(text)); err != nil {
			return wrong()
		}
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return wrong()
		}
		v.SetInt(n)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return wrong()
		}
		v.SetBool(b)
	default:
		return wrong()
	}
	return nil
}

func kindOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[UUID]():
		return "a UUID"
	case reflect.TypeFor[Date]():
		return "a date such as 2027-03-31"
	}
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

// isPrintable cuts a name that a stranger sent to what can be shown: valid UTF-8,
// no control characters, 64 characters at most.
func isPrintable(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || (r >= 0x7f && r < 0xa0) {
			return '?'
		}
		return r
	}, name)
	if utf8.RuneCountInString(name) > 64 {
		name = string([]rune(name)[:64]) + "…"
	}
	return name
}
