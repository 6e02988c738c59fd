package mcp

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// What a service answers may hold anything that people wrote.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":"\u202e","b":[1,null,{"c":"x"}]}`, `{"title":"\ud83d\u0000"}`, `[`, `{"items":[{"title":"a|b"}],"nextCursor":"x"}`, `{"\u200b":1,"\\u200b":2}`, strings.Repeat("[", 100)} {
		f.Add([]byte(seed))
	}
	s, err := New(operations(), "test", nil)
	if err != nil {
		f.Fatal(err)
	}
	tool := s.tools["list_tasks"]
	f.Fuzz(func(t *testing.T, doc []byte) {
		n, err := parse(doc)
		if err != nil || n.kind != '{' {
			return
		}
		res := tool.fit(n, "", nil)
		sent, err := json.Marshal(res)
		if err != nil || len(sent) > MaxResult {
			t.Fatalf("%d bytes (%v)", len(sent), err)
		}
		if strings.ContainsFunc(string(sent), func(r rune) bool { return r == 0x202e || r == 0x200b || r == 0xfeff || (r >= 0x80 && r < 0xa0) }) || !utf8.Valid(sent) {
			t.Fatalf("a hidden character comes through: %q", sent)
		}
		shown := n.encode(nil)
		again, err := parse(shown)
		if err != nil || !reflect.DeepEqual(again.encode(nil), shown) {
			t.Fatalf("%q is read back as another value (%v)", shown, err)
		}
	})
}

func FuzzView(f *testing.F) {
	for _, seed := range []string{"", "toolsets=all", "toolsets=default,tasks&read-only=1", "allow-destructive=TRUE", "x=1", "toolsets="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		v, err := readView(values)
		if err == nil && v.AllowDestructive && !strings.Contains(query, "allow-destructive") && !strings.Contains(query, "%") {
			t.Fatalf("%q allows what can't be undone", query)
		}
	})
}
