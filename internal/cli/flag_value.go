package cli

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/pflag"

	"parapet/internal/op"
)

// fieldValue is a flag that sets a field of an operation's input.
type fieldValue struct {
	field op.Field
	v     reflect.Value
	// now is the current time in the time zone of the user.
	now   func() time.Time
	isSet bool
}

var _ pflag.Value = (*fieldValue)(nil)

// newFieldValue returns the flag that sets the field v.
func (inv *invocation) newFieldValue(f op.Field, v reflect.Value) *fieldValue {
	return &fieldValue{field: f, v: v, now: inv.localTime}
}

// localTime returns the current time in the time zone of the user.
func (inv *invocation) localTime() time.Time {
	if inv.Zone == nil {
		return inv.Clock.Now()
	}
	return inv.Clock.Now().In(inv.Zone)
}

// String implements pflag.Value. It returns no default value, because bind writes the
// default into the help text.
func (f *fieldValue) String() string { return "" }

// Type implements pflag.Value. It returns the placeholder of the value in help.
func (f *fieldValue) Type() string {
	switch t := f.field.Value(); {
	case f.field.Kind != "":
		return string(f.field.Kind)
	case t == reflect.TypeFor[op.UUID]():
		return "uuid"
	case t == reflect.TypeFor[op.Date]():
		return "date"
	case f.isDuration():
		return "duration"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return "n"
	case t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Bool:
		return ""
	case f.isJSON():
		return "json"
	case t.Kind() == reflect.Slice:
		return "list"
	default:
		return "text"
	}
}

// IsBoolFlag reports whether the flag needs no value.
func (f *fieldValue) IsBoolFlag() bool { return f.field.Value().Kind() == reflect.Bool }

// Set implements pflag.Value. An empty text clears a field that can be cleared. A list is
// split at commas; repeating the flag appends to the list.
func (f *fieldValue) Set(text string) error {
	v := f.v
	defer func() { f.isSet = true }()
	if v.Kind() == reflect.Struct {
		// Inputs have no fields with struct types except op.Opt.
		clears := text == "" && f.field.MinLength == nil && f.field.Enum == nil
		v.FieldByName("Set").SetBool(true)
		v.FieldByName("Null").SetBool(clears)
		if clears {
			return nil
		}
		v = v.FieldByName("Value")
	}
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if f.isJSON() {
		return f.setJSON(v, text)
	}
	if v.Kind() != reflect.Slice {
		return f.scalar(v, text)
	}
	if !f.isSet {
		v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	}
	for part := range strings.SplitSeq(text, ",") {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := f.scalar(item, strings.TrimSpace(part)); err != nil {
			return err
		}
		v.Set(reflect.Append(v, item))
	}
	return nil
}

// isJSON reports whether the value of the flag is JSON, because no plain text can express
// it: objects, and lists of objects.
func (f *fieldValue) isJSON() bool {
	t := f.field.Value()
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Map || t.Kind() == reflect.Interface
}

func (f *fieldValue) setJSON(v reflect.Value, text string) error {
	if err := json.Unmarshal([]byte(text), v.Addr().Interface(), json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("must be JSON that fits the field: %w", err)
	}
	return nil
}

func (f *fieldValue) scalar(v reflect.Value, text string) error {
	if f.field.Kind != "" {
		if id, err := op.ParseUUID(text); err == nil {
			text = string(id)
		}
		v.SetString(text)
		return nil
	}
	if v.Type() == reflect.TypeFor[op.Date]() && text != "" && f.now != nil {
		date, err := parseDate(text, f.now())
		v.SetString(string(date))
		return err
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if text == "" {
			// An empty filter counts as absent.
			return nil
		}
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		value, err := f.enumValue(text)
		v.SetString(value)
		return err
	case reflect.Int, reflect.Int64:
		n, err := f.integer(text)
		v.SetInt(n)
		return err
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("must be a number")
		}
		v.SetFloat(x)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("must be true or false")
		}
		v.SetBool(b)
	default:
		return fmt.Errorf("no flag supports the type %s", v.Type())
	}
	return nil
}

// enumValue returns the allowed value that equals text in any case. A field without an enum
// allows any text; an empty text counts as absent.
func (f *fieldValue) enumValue(text string) (string, error) {
	if f.field.Enum == nil || text == "" {
		return text, nil
	}
	for _, e := range f.field.Enum {
		if strings.EqualFold(e, text) {
			return e, nil
		}
	}
	return "", fmt.Errorf("must be one of %s%s", strings.Join(f.field.Enum, ", "), didYouMean(nearest(text, f.field.Enum)))
}

// isDuration reports whether the field is a number of seconds, minutes or days.
func (f *fieldValue) isDuration() bool {
	unit, _ := unitOfField(f.field)
	return unit > 0 && f.field.Value().Kind() == reflect.Int
}

// integer parses an integer, or a duration in the unit of the field: 1h30m is 90 minutes.
func (f *fieldValue) integer(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	unit, name := unitOfField(f.field)
	if unit == 0 {
		return 0, errors.New("must be an integer")
	}
	d, err := parseDuration(text, unit)
	if err != nil || d%unit != 0 {
		return 0, fmt.Errorf("must be a number of whole %s or a duration such as 90m, 1h30m, 2h or 1d", name)
	}
	return int64(d / unit), nil
}

// textList is the value of a custom flag.
type textList struct {
	flag   customFlag
	values []string
}

var _ pflag.Value = (*textList)(nil)

// Set implements pflag.Value. It keeps the last value, or all values of a list.
func (l *textList) Set(text string) error {
	switch {
	case l.flag.commas:
		l.values = append(l.values, strings.Split(text, ",")...)
	case l.flag.list:
		l.values = append(l.values, text)
	default:
		l.values = []string{text}
	}
	return nil
}

// String implements pflag.Value. It returns no default value.
func (l *textList) String() string { return "" }

// Type implements pflag.Value. The help of the flag has the placeholder.
func (l *textList) Type() string { return "text" }
