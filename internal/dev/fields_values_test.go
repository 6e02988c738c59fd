// The test sends two thousand requests, and twenty thousand with -thorough. The race
// detector makes them ten times slower, and other tests already send concurrent requests.
//go:build !race

package dev

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"parapet/internal/op"
)

// Hostile values for fields of any type.
var (
	hostileTexts = []string{
		"", " ", "\t\n", "0", "-1", "9223372036854775808", "1e400", "NaN", "true", "[]",
		"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f", "018F3C5E7A107C3E9D2B5B0A4C1D2E3F",
		"0001-01-01", "9999-12-31", "10000-01-01", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", "infinity",
		"\u202eabc\u2066", "\ufffd", "💥", "' OR 1=1--", `\`, "%", "a\x00b", "..", "a@b.example", strings.Repeat("x", 5000),
	}
	// hostileProse are values for fields that accept free text, which accept most values.
	hostileProse = []string{"", " ", "\t\n", "\u202eabc\u2066", "\ufffd", "💥", "' OR 1=1--", `\`, "%", "a\x00b", strings.Repeat("x", 5000)}
	// hostileIDs are values for fields that accept an id.
	hostileIDs = []string{
		"", " ", "0", "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f", "018F3C5E7A107C3E9D2B5B0A4C1D2E3F", "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3g",
		"\u202e", "a\x00b", "me", strings.Repeat("x", 5000),
	}
	// hostileJSON are values of the body that are not strings, or not valid strings.
	hostileJSON = []string{
		"null", "0", "-0", "-1", "1.5", "1e2", "1e400", "1e-400", "9223372036854775807", "-9223372036854775809", "123456789012345678901234567890",
		"true", "[]", "{}", "[null]", "[[]]", "[{}]", `[""]`, `[0]`, `["a","a"]`, `{"":""}`, `{"a":{"a":1,"a":2}}`,
		"\"\xff\"", `"\ud800"`, `"\u0000"`, `["\u0000"]`, `{"\u0000":1}`, `"\x"`, "", "nul", `"`, "1 2",
	}
	// largeJSON are values that are expensive to parse.
	largeJSON = []string{strings.Repeat("[", 20000), "[" + strings.Repeat(`"a",`, 2000) + `"a"]`}
)

// malformedRequests returns variants of a valid request with one malformed field each.
func malformedRequests(r fieldRequest) []fieldRequest {
	list := []fieldRequest{
		r.withUnknownMember("an unknown parameter", member{"nosuch", "1"}, true),
		r.withUnknownMember("a parameter without a name", member{"", "1"}, true),
	}
	for _, f := range r.o.Fields {
		list = append(list, malformedField(r, f)...)
	}
	return append(list, malformedBody(r)...)
}

// withUnknownMember adds an unknown query parameter or member of the body.
func (r fieldRequest) withUnknownMember(note string, one member, query bool) fieldRequest {
	m := r.with(op.Field{Name: one.name, Source: op.FromBody}, one.value)
	if query {
		m = r.with(op.Field{Name: one.name, Source: op.FromQuery}, one.value)
	}
	m.note, m.rejected = note, true
	if one.name == "" {
		m.field.Name = ""
	}
	return m
}

// malformedBody returns requests with a malformed body.
func malformedBody(r fieldRequest) []fieldRequest {
	var list []fieldRequest
	if !r.o.HasBody() {
		list = append(list, r.withUnknownMember("a member of a body that the operation does not take", member{"nosuch", "1"}, false))
		return append(list, r.withBody("an empty object", "{}", false))
	}
	for _, text := range []string{"[]", "null", `"x"`, "1", "{", "{}{}", "{}x", `{"a"}`, "{,}", "\xef\xbb\xbf{}", "\x00", strings.Repeat(`{"a":`, 20000)} {
		list = append(list, r.withBody(fmt.Sprintf("the body %.20q", text), text, true))
	}
	return append(list, r.withUnknownMember("an unknown member", member{"nosuch", "1"}, false))
}

// withBody returns the request with another body.
func (r fieldRequest) withBody(note, text string, rejected bool) fieldRequest {
	m := r.with(op.Field{Name: "body"}, "")
	m.raw, m.note, m.rejected = &text, note, rejected
	return m
}

func malformedField(r fieldRequest, f op.Field) []fieldRequest {
	var list []fieldRequest
	add := func(note, value string) {
		m := r.with(f, value)
		m.note, m.rejected = note, mustReject(f, value)
		list = append(list, m)
	}
	texts := hostileTexts
	switch {
	case f.Value() == reflect.TypeFor[op.UUID]():
		texts = hostileIDs
	case f.Value() == reflect.TypeFor[string]() && f.Format == "" && f.MaxLength != nil && *f.MaxLength >= 200:
		texts = hostileProse
	}
	if f.MaxLength != nil && f.Value().Kind() == reflect.String {
		texts = append(slices.Clone(texts), strings.Repeat("x", *f.MaxLength+1), strings.Repeat("💥", *f.MaxLength+1), strings.Repeat("💥", *f.MaxLength))
	}
	if len(f.Enum) > 0 {
		texts = append(slices.Clone(texts), strings.ToLower(f.Enum[0])+" ")
	}
	for _, text := range texts {
		if f.Source == op.FromPath && (text == "" || text == "..") {
			continue // another route
		}
		if f.Source != op.FromBody {
			add(fmt.Sprintf("the text %.40q", text), text)
			continue
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			panic(err)
		}
		add(fmt.Sprintf("the text %.40q", text), string(quoted))
	}
	if f.Source == op.FromPath {
		return list
	}
	if f.Source == op.FromQuery {
		add("invalid UTF-8", "\xff")
		m := r.with(f, "1")
		m.query = append(m.query, member{f.Name, "1"})
		m.note, m.rejected = "a repeated parameter", true
		return append(list, m)
	}
	values := slices.Concat(hostileJSON, largeJSON)
	if f.Value() == reflect.TypeFor[op.UUID]() {
		values = []string{"null", "0", "1e400", "true", "[]", "{}", `["\u0000"]`, "\"\xff\"", `"\ud800"`, "", `"`}
	}
	for _, value := range values {
		add(fmt.Sprintf("the JSON %.40q", value), value)
	}
	for note, name := range map[string]string{"a name in upper case": strings.ToUpper(f.Name), "a name with a blank": f.Name + " ", "a name with a NUL": f.Name + `\u0000`} {
		if name == f.Name {
			continue
		}
		m := r.with(f, "1")
		m.body[len(m.body)-1].name = name
		m.note, m.rejected = note, true
		m.field.Name = ""
		list = append(list, m)
	}
	m := r.with(f, "1")
	m.body = append(m.body, member{f.Name, "1"})
	m.note, m.rejected = "a repeated member", true
	m.field.Name = ""
	list = append(list, m)
	for _, nested := range nestedValues(f.Value(), r.json(f.Name)) {
		add(fmt.Sprintf("the JSON %.120q", nested), nested)
	}
	return list
}

// json returns the value of a member of the body; nil if it is missing.
func (r fieldRequest) json(name string) any {
	var v any
	for _, one := range r.body {
		if one.name == name && json.Unmarshal([]byte(one.value), &v) != nil {
			return nil
		}
	}
	return v
}

// mustReject reports whether no field of this kind accepts the value, so that the response
// must be a 400 that names the field.
func mustReject(f op.Field, value string) bool {
	text, isText := value, true
	if f.Source == op.FromBody {
		if json.Unmarshal([]byte(value), &text) != nil || !strings.HasPrefix(value, `"`) {
			text, isText = "", false
		}
	}
	if !isText {
		return false
	}
	kind := f.Value().Kind()
	switch {
	case strings.ContainsRune(text, 0):
		return true
	case text == "" && f.Source == op.FromQuery && !f.AllowEmpty && f.Name != "cursor":
		return true
	case text != "" || f.AllowEmpty:
		return f.MaxLength != nil && kind == reflect.String && len([]rune(text)) > *f.MaxLength
	default:
		return f.Required || f.Enum != nil || f.Format != "" || f.Pattern != nil || kind != reflect.String || f.Value() != reflect.TypeFor[string]()
	}
}

// nestedValues returns JSON values of a list or an object in which one item or one member
// of an object is malformed.
func nestedValues(t reflect.Type, base any) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var list []string
	switch {
	case t.Kind() == reflect.Slice:
		items, _ := base.([]any)
		item := exampleOf(t.Elem())
		if len(items) > 0 {
			item = items[0]
		}
		inner := nestedValues(t.Elem(), item)
		if inner == nil {
			inner = hostileJSONValues()
		}
		for _, v := range inner {
			list = append(list, "["+v+"]")
		}
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]():
		object, _ := base.(map[string]any)
		if object == nil {
			object, _ = exampleOf(t).(map[string]any)
		}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			for _, v := range append(hostileJSONValues(), nestedValues(t.Field(i).Type, object[name])...) {
				list = append(list, withMember(object, name, v))
			}
		}
		list = append(list, withMember(object, "nosuch", "1"), "{}")
	}
	return list
}

// hostileJSONValues returns all hostile values as JSON.
func hostileJSONValues() []string {
	list := slices.Clone(hostileJSON)
	for _, text := range hostileTexts {
		quoted, err := json.Marshal(text)
		if err != nil {
			panic(err)
		}
		list = append(list, string(quoted))
	}
	return list
}

// withMember returns an object with another value of one member.
func withMember(object map[string]any, name, value string) string {
	parts := []string{fmt.Sprintf("%q:%s", name, value)}
	for _, other := range slices.Sorted(maps.Keys(object)) {
		text, err := json.Marshal(object[other])
		if err != nil {
			panic(err)
		}
		if other != name {
			parts = append(parts, fmt.Sprintf("%q:%s", other, text))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// exampleOf returns an example value of the type as decoded JSON.
func exampleOf(t reflect.Type) any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "2026-03-31T17:00:00Z"
	case t == reflect.TypeFor[op.UUID]():
		return "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"
	case t == reflect.TypeFor[op.Date]():
		return "2026-03-31"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return exampleOf(t.Elem())
	case reflect.Slice:
		return []any{exampleOf(t.Elem())}
	case reflect.Struct:
		object := map[string]any{}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			object[name] = exampleOf(t.Field(i).Type)
		}
		return object
	case reflect.Bool:
		return true
	case reflect.String:
		return "x"
	default:
		return 1
	}
}
