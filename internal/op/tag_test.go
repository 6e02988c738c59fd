package op

import (
	"reflect"
	"testing"
)

func FuzzParseTag(f *testing.F) {
	for _, tag := range []string{
		`json:"id,omitempty" doc:"The id."`, `query:"a" pattern:"^[a-z]\\d+$" doc:"A \"quoted\" word."`, `json:"a"doc:"b"`, ``, `json`, `json:"a`, `json:"a\`, `json:"\q"`,
	} {
		f.Add(tag)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		for _, p := range parseTag(reflect.StructTag(tag)) {
			want, ok := reflect.StructTag(tag).Lookup(p.key)
			if got := parseTag(reflect.StructTag(tag)).Get(p.key); ok && got != want {
				t.Errorf("%q: the value of %q is %q, want %q", tag, p.key, got, want)
			}
		}
	})
}

// TestParseTag_AgreesWithReflect compares the tags of a struct with package reflect.
func TestParseTag_AgreesWithReflect(t *testing.T) {
	t.Parallel()
	type example struct {
		A string `json:"a,omitempty" required:"true" pattern:"^[a-z]\\d\"$" doc:"Says \"a\": b."`
		B int    `query:"b" minimum:"1" doc:"" default:"2"`
		C bool
	}
	for _, sf := range reflect.VisibleFields(reflect.TypeFor[example]()) {
		for _, key := range []string{"json", "query", "required", "pattern", "doc", "minimum", "default", "absent"} {
			want, wantOK := sf.Tag.Lookup(key)
			if got, ok := parseTag(sf.Tag).Lookup(key); got != want || ok != wantOK {
				t.Errorf("%s, %s: got %q, %v, want %q, %v", sf.Name, key, got, ok, want, wantOK)
			}
		}
	}
}
