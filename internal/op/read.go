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
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/fault"
)

// Raw is the undecoded input of a request.
type Raw struct {
	// Path returns the decoded value of a path parameter.
	Path  func(name string) string
	Query url.Values
	// Body is the request body, or empty if there is none.
	Body []byte
	// IfMatch and IfNoneMatch are the headers with these names.
	IfMatch, IfNoneMatch string
}

// Read decodes and validates the input of a request. It returns a pointer to the
// operation's input type, or a VALIDATION fault that names the field. It rejects unknown
// and duplicate query parameters and body members (names are case-sensitive), strings
// that are not UTF-8 or contain NUL, values of the wrong type or out of range, empty
// strings that the field does not accept, and missing required fields.
func (o *Operation) Read(raw Raw) (any, error) {
	in := reflect.New(o.In)
	present := make([]bool, len(o.Fields))
	if err := o.readQuery(in.Elem(), raw.Query, present); err != nil {
		return nil, err
	}
	if err := o.readBody(in.Elem(), raw.Body, present); err != nil {
		return nil, err
	}
	if err := o.readPrecondition(in.Elem(), raw, present); err != nil {
		return nil, err
	}
	for i, f := range o.Fields {
		switch {
		case f.Source == FromPath:
			if err := setText(f, in.Elem().Field(f.Index), raw.Path(f.Name)); err != nil {
				return nil, err
			}
		case !present[i] && f.Required:
			return nil, fault.Validation(f.Name, fmt.Sprintf("The field %s is required.", f.Name))
		case !present[i] && f.Default != "":
			if err := setText(f, in.Elem().Field(f.Index), f.Default); err != nil {
				return nil, err
			}
		}
	}
	return in.Interface(), o.validate(in.Elem(), present)
}

func (o *Operation) readQuery(in reflect.Value, query url.Values, present []bool) error {
	for name, values := range query {
		i := slices.IndexFunc(o.Fields, func(f Field) bool { return f.Source == FromQuery && f.Name == name })
		if name == "" {
			return fault.Validation("query", "A query parameter has no name.")
		}
		if i < 0 {
			return fault.Validation(toPrintable(name), fmt.Sprintf("Unknown query parameter %s.%s", toPrintable(name), o.allowedNames(FromQuery)))
		}
		if len(values) != 1 {
			return fault.Validation(name, fmt.Sprintf("Duplicate query parameter %s.", name))
		}
		if err := setText(o.Fields[i], in.Field(o.Fields[i].Index), values[0]); err != nil {
			return err
		}
		present[i] = true
	}
	return nil
}

func (o *Operation) readBody(in reflect.Value, body []byte, present []bool) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	tok, err := dec.ReadToken()
	if !o.HasBody() && (err != nil || tok.Kind() != '{') {
		return fault.Validation("body", "This operation accepts no body. Omit it or send {}.").WithCause(err)
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
			return fault.Validation("body", "A field of the body has no name.")
		}
		if i < 0 {
			return fault.Validation(toPrintable(name), fmt.Sprintf("Unknown field %s.%s", toPrintable(name), o.allowedNames(FromBody)))
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
		if f.Kind != "" && dec.PeekKind() == '"' {
			tok, err := dec.ReadToken()
			if err != nil {
				return bodyFault(err)
			}
			if err := f.setID(in.Field(f.Index), tok.String()); err != nil {
				return err
			}
		} else if err := json.UnmarshalDecode(dec, in.Field(f.Index).Addr().Interface(), json.RejectUnknownMembers(true)); err != nil {
			return valueFault(f, err)
		}
		present[i] = true
	}
	if _, err := dec.ReadToken(); err != nil {
		return bodyFault(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return fault.Validation("body", "The body must be exactly one JSON object.")
	}
	return nil
}

// allowedNames lists the fields from a source, for the error about an unknown one.
func (o *Operation) allowedNames(source Source) string {
	var names []string
	for _, f := range o.Fields {
		if f.Source == source {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " Allowed: " + strings.Join(names, ", ") + "."
}

func bodyFault(err error) error {
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		if errors.Is(syn, jsontext.ErrDuplicateName) {
			name := pointerName(syn.JSONPointer, "body")
			return fault.Validation(name, fmt.Sprintf("Duplicate field %s.", name)).WithCause(err)
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
	where, want := f.Name, f.valueText()
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		where = pointerName(sem.JSONPointer, f.Name)
		if where != f.Name && sem.GoType != nil {
			want = kindOf(sem.GoType)
		}
		if errors.Is(sem.Err, json.ErrUnknownName) {
			return fault.Validation(where, fmt.Sprintf("Unknown field %s.", where)).WithCause(err)
		}
	}
	if errors.Is(err, ErrUUID) || errors.Is(err, ErrDate) {
		return fault.Validation(where, fmt.Sprintf("The field %s %s.", where, formatErrorText(err))).WithCause(err)
	}
	return fault.Validation(where, fmt.Sprintf("The field %s must be %s.", where, want)).WithCause(err)
}

// pointerName returns the name of the field at a JSON pointer, with dots between its
// parts. It returns fallback if the pointer names no field.
func pointerName(p jsontext.Pointer, fallback string) string {
	name := toPrintable(strings.ReplaceAll(strings.TrimPrefix(string(p), "/"), "/", "."))
	if name == "" {
		return fallback
	}
	return name
}

// formatErrorText returns the text of ErrUUID or ErrDate without the text that wraps it.
func formatErrorText(err error) string {
	if errors.Is(err, ErrUUID) {
		return ErrUUID.Error()
	}
	return ErrDate.Error()
}

// setText parses a path parameter, a query parameter or a default value into v.
func setText(f Field, v reflect.Value, text string) error {
	typeError := func() error {
		return fault.Validation(f.Name, fmt.Sprintf("The parameter %s must be %s.", f.Name, f.valueText()))
	}
	if f.Kind != "" {
		return f.setID(v, text)
	}
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch ptr := v.Addr().Interface().(type) {
	case *UUID:
		if err := ptr.UnmarshalText([]byte(text)); err != nil {
			return typeError()
		}
		return nil
	case *Date:
		if err := ptr.UnmarshalText([]byte(text)); err != nil {
			return typeError()
		}
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return typeError()
		}
		v.SetInt(n)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return typeError()
		}
		v.SetBool(b)
	default:
		return typeError()
	}
	return nil
}

// setID sets a field that identifies a record to an id or a name. VisitNames finds the
// names later. An empty text is an error, unless the field allows it.
func (f Field) setID(v reflect.Value, text string) error {
	if f.Type != f.Value() {
		v.FieldByName("Set").SetBool(true)
		v = v.FieldByName("Value")
	}
	id, err := ParseUUID(text)
	switch {
	case err == nil:
		text = string(id)
	case text == "" && f.AllowEmpty:
	default:
		if err := f.checkName(text); err != nil {
			return err
		}
	}
	v.SetString(text)
	return nil
}

// checkName checks a name in place of an id.
func (f Field) checkName(name string) error {
	if strings.TrimSpace(name) == "" {
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must be %s.", f.Name, f.valueText()))
	}
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return fault.Validation(f.Name, fmt.Sprintf("The name in the field %s must have at most %d characters and no control characters.", f.Name, maxName))
	}
	return nil
}

// valueText describes the values of the field, for messages.
func (f Field) valueText() string {
	if f.Kind != "" {
		return f.Kind.Choices()
	}
	return kindOf(f.Value())
}

// kindOf describes the values of a type, for messages.
func kindOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[UUID]():
		return "a UUID"
	case reflect.TypeFor[Date]():
		return "a date such as 2027-03-31"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

// toPrintable returns an untrusted name in printable form: valid UTF-8 without control
// characters, at most 64 characters long.
func toPrintable(name string) string {
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
