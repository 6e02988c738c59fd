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

// Validate checks an input against the tags of its fields. in is a pointer to the
// operation's input type. A field with the zero value counts as absent, unless it is an
// Opt that is set or a non-nil pointer. Read calls it for decoded input; callers with a
// typed input, such as a command line, call it directly.
func (o *Operation) Validate(in any) error {
	return o.validate(reflect.ValueOf(in).Elem(), make([]bool, len(o.Fields)))
}

// validate checks an input. present reports, by index of o.Fields, which fields the
// client sent.
func (o *Operation) validate(in reflect.Value, present []bool) error {
	for i, f := range o.Fields {
		if err := f.validate(in.Field(f.Index), present[i]); err != nil {
			return err
		}
	}
	return nil
}

// Validate checks a value of the field in the input of an operation, as if the client sent
// the field. The error is a VALIDATION fault.
func (f Field) Validate(v reflect.Value) error { return f.validate(v, true) }

// validate checks a value against the tags of its field. present reports whether the
// client sent it, which a zero value does not show.
func (f Field) validate(v reflect.Value, present bool) error {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v, present = v.Elem(), true
	}
	if o, ok := v.Interface().(optional); ok {
		set, null, _ := o.state()
		if !set || null {
			return nil
		}
		v, present = v.FieldByName("Value"), true
	}
	if err := rejectNUL(f.Name, v); err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.String:
		return f.validateText(v.String(), present)
	case reflect.Int, reflect.Int32, reflect.Int64:
		return f.validateNumber(v.Int())
	case reflect.Slice:
		return f.validateLength(v.Len(), "items")
	default:
		return nil
	}
}

func (f Field) validateText(s string, present bool) error {
	if s == "" && !f.Required && f.MinLength == nil && (!present || f.acceptsEmpty()) {
		return nil
	}
	if !utf8.ValidString(s) {
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must be valid UTF-8.", f.Name))
	}
	if f.Required && strings.TrimSpace(s) == "" {
		return fault.Validation(f.Name, fmt.Sprintf("The field %s is required and can't be blank.", f.Name))
	}
	if s == "" && f.Source == FromQuery {
		return fault.Validation(f.Name, fmt.Sprintf("The parameter %s must not be empty. Set a value or omit it.", f.Name))
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
	if f.Kind != "" && s != "" {
		if _, err := ParseUUID(s); err == nil {
			return nil
		}
		return f.checkName(s)
	}
	if want := checkFormat(f.Format, s); want != "" {
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must be %s.", f.Name, want))
	}
	if s == "" {
		// A UUID or a date, whose type excludes the empty string.
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must be %s.", f.Name, f.valueText()))
	}
	return nil
}

// checkFormat returns "" if s has the format, else a description of the format.
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
			return "an email address"
		}
	case "uri":
		if u, err := url.Parse(s); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
			return "an http or https URL"
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
		limits := between(f.MinLength, f.MaxLength)
		if strings.HasSuffix(limits, " 1") {
			unit = strings.TrimSuffix(unit, "s")
		}
		return fault.Validation(f.Name, fmt.Sprintf("The field %s must have %s %s.", f.Name, limits, unit))
	}
	return nil
}

// between describes a range. One of the bounds may be nil.
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

// rejectNUL returns an error if a value contains a NUL character. PostgreSQL cannot store
// it, and logs and terminals may hide the text after it.
func rejectNUL(name string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if strings.ContainsRune(v.String(), 0) {
			return fault.Validation(name, fmt.Sprintf("The field %s must not contain a NUL character.", name))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return rejectNUL(name, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if strings.Contains(string(v.Bytes()), `\u0000`) {
				return fault.Validation(name, fmt.Sprintf("The field %s must not contain a NUL character.", name))
			}
			return nil
		}
		for i := range v.Len() {
			if err := rejectNUL(name, v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if err := rejectNUL(name, k); err != nil {
				return err
			}
			if err := rejectNUL(name, v.MapIndex(k)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				if err := rejectNUL(name, v.Field(i)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
