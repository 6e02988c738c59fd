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

// nonEmptyField returns a field that is a non-empty string.
func nonEmptyField(o object, name string) (string, bool) {
	s, ok := o[name].(string)
	return s, ok && s != ""
}

// stringField returns a field that is a string, or "".
func stringField(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

// isTrue reports whether a field is the boolean true.
func isTrue(o object, name string) bool {
	b, _ := o[name].(bool)
	return b
}

// stringsOf returns the strings of a list and skips other values. For a value that is not a
// list, it returns nil.
func stringsOf(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// integerField returns a field that is a number, and whether it is an integer.
func integerField(o object, name string) (n int, isInteger, present bool) {
	v, present := o[name]
	if !present {
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

// cutUUID returns the text after the prefix if it is a UUID in canonical form.
func cutUUID(s, prefix string) (string, bool) {
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

func (s set) addAll(other set) set {
	for item := range other {
		s.add(item)
	}
	return s
}

func (s set) intersect(other set) set {
	out := set{}
	for item := range s {
		if other.has(item) {
			out.add(item)
		}
	}
	return out
}

func (s set) equal(other set) bool {
	return len(s) == len(other) && len(s.intersect(other)) == len(s)
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
