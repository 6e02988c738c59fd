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

	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/fault"
)

// WriteArguments makes the request of an operation from one JSON object that
// holds the fields of its whole input, from wherever they come: the arguments of
// a tool. What goes into the body is passed on as it is, so that the service's
// own reading accepts or refuses it; what goes into path and query is held to
// its kind here, where it loses it. An unknown, a doubled and a missing argument
// are VALIDATION faults that name it.
func (o *Operation) WriteArguments(arguments []byte) (Wire, error) {
	if given := bytes.TrimSpace(arguments); len(given) == 0 || string(given) == "null" {
		arguments = []byte("{}")
	}
	values, err := o.members(arguments)
	if err != nil {
		return Wire{}, err
	}
	w := Wire{Method: o.Method}
	path := o.Path
	query := url.Values{}
	body := []byte{'{'}
	for i, f := range o.Fields {
		value := values[i]
		switch f.Source {
		case FromBody:
			if value == nil {
				continue
			}
			if len(body) > 1 {
				body = append(body, ',')
			}
			if body, err = jsontext.AppendQuote(body, f.Name); err != nil {
				return Wire{}, err
			}
			body = append(append(body, ':'), value...)
		case FromPath:
			part, err := f.part(value)
			if err != nil {
				return Wire{}, err
			}
			path = fillPart(path, f, part)
		case FromQuery:
			if value == nil || value.Kind() == 'n' {
				continue
			}
			part, err := f.scalar(value)
			if err != nil {
				return Wire{}, err
			}
			query.Set(f.Name, part)
		}
	}
	if o.HasBody() {
		w.Body = append(body, '}')
	}
	w.Target = path
	if len(query) > 0 {
		w.Target += "?" + query.Encode()
	}
	return w, nil
}

// members takes the object apart: the value of each field, nil where it is not
// given.
func (o *Operation) members(object []byte) ([]jsontext.Value, error) {
	values := make([]jsontext.Value, len(o.Fields))
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, bodyFault(err)
	}
	if tok.Kind() != '{' {
		return nil, fault.Validation("body", "The arguments must be one JSON object.")
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, bodyFault(err)
		}
		name := tok.String()
		i := slices.IndexFunc(o.Fields, func(f Field) bool { return f.Name == name })
		if i < 0 {
			return nil, fault.Validation(isPrintable(name), fmt.Sprintf("There is no argument %s here.%s", isPrintable(name), o.arguments()))
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, bodyFault(err)
		}
		values[i] = value.Clone()
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, bodyFault(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fault.Validation("body", "The arguments must be one JSON object and nothing after it.")
	}
	return values, nil
}

// arguments lists every name, for the error that names a stranger.
func (o *Operation) arguments() string {
	if len(o.Fields) == 0 {
		return ""
	}
	names := make([]string, len(o.Fields))
	for i, f := range o.Fields {
		names[i] = f.Name
	}
	return " Known: " + strings.Join(names, ", ") + "."
}

// part gives the text of a path part.
func (f Field) part(value jsontext.Value) (string, error) {
	if value == nil || value.Kind() == 'n' {
		return "", fault.Validation(f.Name, fmt.Sprintf("The field %s is required.", f.Name))
	}
	text, err := f.scalar(value)
	if err != nil {
		return "", err
	}
	return text, f.checkPart(text)
}

// checkPart refuses a path part that is empty, or that a proxy on the way would take
// for a step to another folder: another route, with the caller's credential.
func (f Field) checkPart(text string) error {
	for _, s := range strings.Split(text, "/") {
		if s == "." || s == ".." || (s == "" && (f.Rest || text == "")) {
			return fault.Validation(f.Name, fmt.Sprintf("The parameter %s must not be empty, a dot or two.", f.Name))
		}
	}
	return nil
}

// scalar gives the text of a value that is to stand in a path or a query; it
// must be JSON of the field's kind.
func (f Field) scalar(value jsontext.Value) (string, error) {
	kind := byte('"')
	switch f.Value().Kind() {
	case reflect.Int, reflect.Int64:
		kind = '0'
	case reflect.Bool:
		kind = 't'
	}
	given := byte(value.Kind())
	if given == 'f' {
		given = 't'
	}
	if given != kind {
		return "", fault.Validation(f.Name, fmt.Sprintf("The parameter %s must be %s.", f.Name, kindOf(f.Value())))
	}
	if kind != '"' {
		return string(value), nil
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return "", fault.Validation(f.Name, fmt.Sprintf("The parameter %s must be %s.", f.Name, kindOf(f.Value())))
	}
	if strings.ContainsRune(string(text), 0) {
		return "", fault.Validation(f.Name, "The field "+strconv.Quote(f.Name)+" holds a NUL character.")
	}
	return string(text), nil
}
