package op

import (
	"reflect"
	"strconv"
	"strings"
)

// fieldTag has the pairs of a struct tag. It is parsed once, because reading more than ten
// keys of each field of the contracts one by one would be most of the start time of pt.
type fieldTag []tagPair

type tagPair struct{ key, value string }

// parseTag parses a struct tag in the conventional format: key:"value" pairs, separated by
// spaces. It ignores what follows a malformed pair, like package reflect.
func parseTag(tag reflect.StructTag) fieldTag {
	var pairs fieldTag
	rest := string(tag)
	for {
		key, quoted, found := strings.Cut(strings.TrimLeft(rest, " "), `:"`)
		if !found {
			return pairs
		}
		end := strings.IndexByte(quoted, '"')
		for end > 0 && quoted[end-1] == '\\' {
			next := strings.IndexByte(quoted[end+1:], '"')
			if next < 0 {
				return pairs
			}
			end += 1 + next
		}
		if end < 0 {
			return pairs
		}
		value := quoted[:end]
		if strings.IndexByte(value, '\\') >= 0 {
			unquoted, err := strconv.Unquote(`"` + value + `"`)
			if err != nil {
				return pairs
			}
			value = unquoted
		}
		pairs, rest = append(pairs, tagPair{key, value}), quoted[end+1:]
	}
}

// Lookup returns the value of a key. ok is false if the tag has no such key.
func (t fieldTag) Lookup(key string) (value string, ok bool) {
	for _, p := range t {
		if p.key == key {
			return p.value, true
		}
	}
	return "", false
}

// Get returns the value of a key, or "".
func (t fieldTag) Get(key string) string {
	value, _ := t.Lookup(key)
	return value
}
