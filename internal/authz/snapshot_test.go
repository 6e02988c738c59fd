package authz

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// FuzzAppendCanonical compares appendCanonical with canonical. Role names are keys of
// objects and can be any string.
func FuzzAppendCanonical(f *testing.F) {
	for _, texts := range [][2]string{
		{"", "a"}, {"Köchin", "Zebra"}, {"\U0001F600", "\uE000"}, {"\uFB33", "\U0001F600"}, {"a\"\\/\b\f\n\r\t\x01\x7f<>&", "\u2028"}, {"ab", "a"},
	} {
		f.Add(texts[0], texts[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == b {
			return // an object has no duplicate keys
		}
		o := ast.NewObject(
			[2]*ast.Term{ast.StringTerm(a), ast.SetTerm(ast.StringTerm(b), ast.StringTerm(a))},
			[2]*ast.Term{ast.StringTerm(b), ast.ArrayTerm(ast.BooleanTerm(true), ast.NullTerm(), ast.ObjectTerm(), ast.ArrayTerm(), ast.SetTerm())},
		)
		got, err := appendCanonical(nil, o)
		if err != nil {
			return // invalid UTF-8
		}
		value, err := ast.JSON(o)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if text, err = canonical(text); err != nil || !bytes.Equal(got, text) {
			t.Errorf("got %s, want %s (%v)", got, text, err)
		}
	})
}
