package op

import (
	"fmt"
	"net/mail"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parapet/internal/fault"
)

// Validate checks an input against the tags of its fields. in is a pointer to
// the operation's input type. A field at its zero value counts as absent unless
// it is an Opt that is set or a pointer. Read validates what it reads itself; a
// caller that has a typed value already (a command line) calls Validate alone.
func (o *Operation) Validate(in any) error {
	return o.validate(reflect.ValueOf(in).Elem(), make([]bool, len(o.Fields)))
}

// validate checks an input. given tells by index which fields the client sent.
func (o *Operation) validate(in reflect.Value, given []bool) error {
	for i, f := range o.Fields {
		if err := f.validate(in.Field(f.Index), given[i]); err != nil {
			return err
		}
	}
	return nil
}

// validate checks a value against the tags of its field. given says that the
// client sent it, which its zero value does not tell.
func (f Field) validate(v reflect.Value, given bool) error {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v, given = v.Elem(), true
	}
	if o, ok := v.Interface().(optional); ok {
		set, null, _ := o.state()
		if !set || null {
			return nil
		}
		v, given = v.FieldByName("Value"), true
	}
	if err := noNUL(f.Name, v); err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.String:
		return f.validateText(v.String(), given)
	case reflect.Int, reflect.Int32, reflect.Int64:
		return f.validateNumber(v.Int())
	case reflect.Slice:
		return f.validateLength(v.Len(), "items")
	default:
		return nil
	}
}

func (f Field) validateText(s string, given bool) error {
	if s == "" && !f.Required && f.MinLength == nil && (!given || f.acceptsEmpty()) {
		return nil
	}
	if !utf8.ValidString(s) {
		return fault.Validation(f.Name, fmt.Sprintf("The field %s is not valid UTF-8.", f.Name))
	}
	if f.Required && strings.TrimSpace(s) == "" {
		return fault.Validation(f.Name, fmt.Sprintf("The field %s is required and can't be blank.", f.Name))
	}
	if s == "" && f.Source == FromQuery {
		return fault.Validation(f.Name, fmt.Sprintf("The query parameter %s is empty. Give it a value or leave it out.", f.Name))
	}
	if err := f.validateLength(utf8.RuneCountInString(s), "characters"); err != nil {
		return err
	}
	if f.Enum != nil && !slices.Contains(f.Enum, s) {
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must be one of %s.", f.Name, strings.Join(f.Enum, ", ")))
	}
	if f.Pattern != nil && !f.Pattern.MatchString(s) {
		if f.Form != "" {
			return fault.Validation(f.Name, fmt.Sprintf("The field %s must be %s.", f.Name, f.Form))
		}
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must have the form %s.", f.Name, f.Pattern))
	}
	if want := checkFormat(f.Format, s); want != "" {
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must be %s.", f.Name, want))
	}
	if s == "" {
		// The type alone says that the empty text is no value: an id or a date.
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must be %s.", f.Name, kindOf(f.Value())))
	}
	return nil
}

// checkFormat gives what the text must be, or "" where it is that.
func checkFormat(format, s string) string {
	switch format {
	case "uuid":
		if _, err := ParseUUID(s); err != nil {
			return "a UUID"
		}
	case "date":
		if _, err := ParseDate(s); err != nil {
			return "a date such as 2027-03-31"
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			return "a timestamp such as 2027-03-31T17:00:00Z"
		}
	case "email":
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s || a.Name != "" {
			return "an e-mail address"
		}
	case "uri":
		if u, err := url.Parse(s); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
			return "an http or https address"
		}
	}
	return ""
}

func (f Field) validateNumber(n int64) error {
	if (f.Minimum != nil && n < *f.Minimum) || (f.Maximum != nil && n > *f.Maximum) {
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must be %s.", f.Name, between(f.Minimum, f.Maximum)))
	}
	return nil
}

func (f Field) validateLength(n int, unit string) error {
	if (f.MinLength != nil && n < *f.MinLength) || (f.MaxLength != nil && n > *f.MaxLength) {
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must have %s %s.", f.Name, between(f.MinLength, f.MaxLength), unit))
	}
	return nil
}

func between[N int | int64](low, high *N) string {
	switch {
	case low == nil:
		return fmt.Sprintf("at most %d", *high)
	case high == nil:
		return fmt.Sprintf("at least %d", *low)
	default:
		return fmt.Sprintf("%d to %d", *low, *high)
	}
}

// noNUL refuses a NUL anywhere in a value: Postgres can't keep one, and in a
// log or a terminal it hides what follows.
func noNUL(name string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if strings.ContainsRune(v.String(), 0) {
			return fault.Validation(name, fmt.Sprintf("The field %s holds a NUL character.", name))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return noNUL(name, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if strings.Contains(string(v.Bytes()), `\u0000`) {
				return fault.Validation(name, fmt.Sprintf("The field %s holds a NUL character.", name))
			}
			return nil
		}
		for i := range v.Len() {
			if err := noNUL(name, v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if err := noNUL(name, k); err != nil {
				return err
			}
			if err := noNUL(name, v.MapIndex(k)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				if err := noNUL(name, v.Field(i)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
