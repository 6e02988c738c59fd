package op

import (
	"bytes"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Wire is the HTTP request for an operation.
type Wire struct {
	Method string
	// Target is the escaped path with the query.
	Target string
	// Body is the JSON body, or nil if there is none.
	Body []byte
}

// Write encodes an input as a request that Read decodes. in is a pointer to the
// operation's input type. It omits optional fields with the zero value, Opt fields that
// are not set, and nil pointers.
func (o *Operation) Write(in any) (Wire, error) {
	v := reflect.ValueOf(in)
	if v.Kind() != reflect.Pointer || v.Type().Elem() != o.In {
		return Wire{}, fmt.Errorf("op: %s: the input must be *%s, not %T", o.Name, o.In, in)
	}
	v = v.Elem()
	w := Wire{Method: o.Method}
	path := o.Path
	query := url.Values{}
	var body bytes.Buffer
	enc := jsontext.NewEncoder(&body)
	if o.HasBody() {
		if err := enc.WriteToken(jsontext.BeginObject); err != nil {
			return Wire{}, err
		}
	}
	for _, f := range o.Fields {
		fv := v.Field(f.Index)
		switch {
		case f.Source == FromPath:
			part := formatValue(fv)
			if err := f.checkPathParam(part); err != nil {
				return Wire{}, err
			}
			path = setPathParam(path, f, part)
		case isOmitted(f, fv):
		case f.Source == FromQuery:
			query.Set(f.Name, formatValue(fv))
		default:
			if err := enc.WriteToken(jsontext.String(f.Name)); err != nil {
				return Wire{}, err
			}
			if err := json.MarshalEncode(enc, fv.Interface(), json.Deterministic(true)); err != nil {
				return Wire{}, fmt.Errorf("op: %s: field %s: %w", o.Name, f.Name, err)
			}
		}
	}
	if o.HasBody() {
		if err := enc.WriteToken(jsontext.EndObject); err != nil {
			return Wire{}, err
		}
		w.Body = bytes.TrimSpace(body.Bytes())
	}
	w.Target = path
	if len(query) > 0 {
		w.Target += "?" + query.Encode()
	}
	return w, nil
}

func isOmitted(f Field, v reflect.Value) bool {
	if o, ok := v.Interface().(optional); ok {
		set, _, _ := o.state()
		return !set
	}
	return !f.Required && v.IsZero()
}

func setPathParam(path string, f Field, value string) string {
	if f.Rest {
		parts := strings.Split(value, "/")
		for i, p := range parts {
			parts[i] = url.PathEscape(p)
		}
		return strings.Replace(path, "{"+f.Name+"...}", strings.Join(parts, "/"), 1)
	}
	return strings.Replace(path, "{"+f.Name+"}", url.PathEscape(value), 1)
}

func formatValue(v reflect.Value) string {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return fmt.Sprint(v.Interface())
}
