package op

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/fault"
)

// WriteArguments converts the arguments of a tool call to a request. arguments is one
// JSON object with all fields of the input: path, query and body, each with its argument
// name or its field name. Values for the body are copied unchanged, so that the service
// validates them. The types of path and query values are checked here, because a URL does
// not preserve them. If the key of a task is given, the project is optional. An unknown,
// duplicate or missing argument is a VALIDATION fault that names its field.
func (o *Operation) WriteArguments(arguments []byte) (Wire, error) {
	if text := bytes.TrimSpace(arguments); len(text) == 0 || string(text) == "null" {
		arguments = []byte("{}")
	}
	values, err := o.members(arguments)
	if err != nil {
		return Wire{}, err
	}
	if i, prefix := o.projectOfTask(values); prefix != "" {
		values[i] = jsontext.Value(strconv.Quote(prefix))
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
			part, err := f.pathText(value)
			if err != nil {
				return Wire{}, err
			}
			path = setPathParam(path, f, part)
		case FromQuery:
			if value == nil || value.Kind() == 'n' {
				continue
			}
			part, err := f.scalarText(value)
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

// members returns the values of an object's members, indexed like o.Fields. The value of
// an absent member is nil.
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
		i := slices.IndexFunc(o.Fields, func(f Field) bool { return f.Argument == name || f.Name == name })
		if i < 0 {
			return nil, fault.Validation(toPrintable(name), fmt.Sprintf("Unknown argument %s.%s", toPrintable(name), o.allowedArguments()))
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, bodyFault(err)
		}
		if f := o.Fields[i]; values[i] != nil {
			return nil, fault.Validation(f.Name, fmt.Sprintf("The argument %s is given twice, as %s and as %s. Omit one of them.", f.Argument, f.Argument, f.Name))
		}
		values[i] = value.Clone()
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, bodyFault(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fault.Validation("body", "The arguments must be exactly one JSON object.")
	}
	return values, nil
}

// allowedArguments lists the names of all fields, for the error about an unknown one.
func (o *Operation) allowedArguments() string {
	if len(o.Fields) == 0 {
		return ""
	}
	names := make([]string, len(o.Fields))
	for i, f := range o.Fields {
		names[i] = f.Argument
	}
	return " Allowed: " + strings.Join(names, ", ") + "."
}

// DerivesProject reports whether the project is optional for a call with arguments, because
// the key of the task contains its prefix.
func (o *Operation) DerivesProject() bool {
	project, task := o.projectAndTask()
	return project >= 0 && task >= 0
}

// projectAndTask returns the indexes of the path parameters for the project and its task,
// or -1.
func (o *Operation) projectAndTask() (project, task int) {
	return slices.IndexFunc(o.Fields, func(f Field) bool { return f.Source == FromPath && f.Name == "projectId" }),
		slices.IndexFunc(o.Fields, func(f Field) bool { return f.Source == FromPath && f.Name == "task" })
}

// taskKeyPattern matches a task key; its group is the prefix of the project.
var taskKeyPattern = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]{1,9})-[0-9]+$`)

// projectOfTask returns the index of the project and the prefix in the key of the task. The
// prefix is empty if the project is given, or the task is not given by its key.
func (o *Operation) projectOfTask(values []jsontext.Value) (project int, prefix string) {
	project, task := o.projectAndTask()
	if project < 0 || task < 0 || (values[project] != nil && values[project].Kind() != 'n') || values[task].Kind() != '"' {
		return project, ""
	}
	key, err := jsontext.AppendUnquote(nil, values[task])
	if err != nil {
		return project, ""
	}
	return project, TaskKeyPrefix(string(key))
}

// TaskKeyPrefix returns the prefix of the project in the key of a task: HW for HW-3. It
// returns "" for a text that is not a task key.
func TaskKeyPrefix(key string) string {
	if m := taskKeyPattern.FindStringSubmatch(key); m != nil {
		return m[1]
	}
	return ""
}

// pathText returns the text of a path parameter.
func (f Field) pathText(value jsontext.Value) (string, error) {
	if value == nil || value.Kind() == 'n' {
		return "", fault.Validation(f.Name, fmt.Sprintf("The field %s is required.", f.Name))
	}
	text, err := f.scalarText(value)
	if err != nil {
		return "", err
	}
	return text, f.checkPathParam(text)
}

// checkPathParam rejects a path parameter that is empty or contains a dot segment. A proxy
// could resolve dot segments and send the caller's credential to another route.
func (f Field) checkPathParam(text string) error {
	if text == "" {
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must not be empty.", f.Name))
	}
	for _, s := range strings.Split(text, "/") {
		if s == "." || s == ".." || (s == "" && f.Rest) {
			return fault.Validation(f.Name, fmt.Sprintf("The field %s must not contain the segments \".\" and \"..\", or an empty segment.", f.Name))
		}
	}
	return nil
}

// scalarText returns the text of a JSON value for a path or query. The value must have the
// field's type.
func (f Field) scalarText(value jsontext.Value) (string, error) {
	kind := byte('"')
	switch f.Value().Kind() {
	case reflect.Int, reflect.Int64:
		kind = '0'
	case reflect.Bool:
		kind = 't'
	}
	valueKind := byte(value.Kind())
	if valueKind == 'f' {
		valueKind = 't'
	}
	if valueKind != kind {
		return "", fault.Validation(f.Name, fmt.Sprintf("The parameter %s must be %s.", f.Name, f.valueText()))
	}
	if kind != '"' {
		return string(value), nil
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return "", fault.Validation(f.Name, fmt.Sprintf("The parameter %s must be %s.", f.Name, f.valueText()))
	}
	if strings.ContainsRune(string(text), 0) {
		return "", fault.Validation(f.Name, "The field "+strconv.Quote(f.Name)+" must not contain a NUL character.")
	}
	return string(text), nil
}
