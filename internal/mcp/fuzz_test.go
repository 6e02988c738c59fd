package mcp

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"parapet/internal/client"
)

// A response may contain arbitrary user-generated text.
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
		res := tool.truncateToFit(n, "", nil)
		encoded, err := json.Marshal(res)
		if err != nil || len(encoded) > MaxResult {
			t.Fatalf("got %d bytes (%v), want at most %d", len(encoded), err, MaxResult)
		}
		if strings.ContainsFunc(string(encoded), func(r rune) bool { return r == 0x202e || r == 0x200b || r == 0xfeff || (r >= 0x80 && r < 0xa0) }) || !utf8.Valid(encoded) {
			t.Fatalf("the result contains an unescaped character: %q", encoded)
		}
		value := n.encode(nil)
		again, err := parse(value)
		if err != nil || !reflect.DeepEqual(again.encode(nil), value) {
			t.Fatalf("parsing and encoding %q: got another value (%v), want the same", value, err)
		}
	})
}

func FuzzReadView(f *testing.F) {
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
			t.Fatalf("readView(%q): got AllowDestructive, want it only on request", query)
		}
	})
}

// A URI must not lead to another route than that of its resource.
func FuzzResourceURI(f *testing.F) {
	s, err := New(operations(), "test", nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"HW-1", "HW", "a%2Fb", "..", "%2e%2e%2f", "HW-1?x=1", "HW-1#x", "%00", "\u202e"} {
		f.Add(seed)
	}
	isDots := func(segment string) bool { return segment == "." || segment == ".." }
	route := regexp.MustCompile(`^/api/projects/[^/?#]+(/tasks/[^/?#]+)?$`)
	f.Fuzz(func(t *testing.T, value string) {
		api := &fake{answer: func(r client.Request) (string, error) {
			if r.Method != http.MethodGet || !route.MatchString(r.Target) || slices.ContainsFunc(strings.Split(r.Target, "/"), isDots) {
				t.Errorf("%q: got the request %s %s", value, r.Method, r.Target)
			}
			return "{}", nil
		}}
		ctx := withExchange(t.Context(), &exchange{sender: api})
		for _, r := range resources() {
			if contents, err := s.read(ctx, r, value); err == nil && contents.Text == "" {
				t.Errorf("%q: got no text", value)
			}
		}
	})
}
