package oracle

import (
	"regexp"
	"slices"
	"strings"
)

// object is a JSON object. A value of another type counts as an object without fields.
type object = map[string]any

func asObject(v any) object {
	o, _ := v.(map[string]any)
	return o
}

// text returns a field that is a non-empty string.
func text(o object, name string) (string, bool) {
	s, ok := o[name].(string)
	return s, ok && s != ""
}

// word returns a field that is a string, or "".
func word(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

// yes reports whether a field is the boolean true.
func yes(o object, name string) bool {
	b, _ := o[name].(bool)
	return b
}

// texts returns the strings of a list. It skips other values; a value that is not a list has
// none.
func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// number returns a field that is a number, and whether it is an integer.
func number(o object, name string) (n int, whole, there bool) {
	v, there := o[name]
	if !there {
		return 0, false, false
	}
	switch v := v.(type) {
	case int:
		return v, true, true
	case float64:
		return int(v), v == float64(int(v)), true
	}
	return 0, false, true
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// after returns the text after the prefix if it is a UUID in canonical form.
func after(s, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	return rest, ok && uuid.MatchString(rest)
}

// set is a set of strings.
type set map[string]struct{}

func setOf(items ...string) set {
	s := set{}
	for _, item := range items {
		s[item] = struct{}{}
	}
	return s
}

func (s set) add(item string) { s[item] = struct{}{} }

func (s set) has(item string) bool {
	_, ok := s[item]
	return ok
}

func (s set) with(other set) set {
	for item := range other {
		s.add(item)
	}
	return s
}

func (s set) both(other set) set {
	out := set{}
	for item := range s {
		if other.has(item) {
			out.add(item)
		}
	}
	return out
}

func (s set) equal(other set) bool {
	return len(s) == len(other) && len(s.both(other)) == len(s)
}

// list returns the set as a sorted JSON list.
func (s set) list() []any {
	names := make([]string, 0, len(s))
	for item := range s {
		names = append(names, item)
	}
	slices.Sort(names)
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}
