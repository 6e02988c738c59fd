package wiki_test

import (
	"fmt"
	"strings"
	"testing"

	contract "parapet/internal/contract/wiki"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func TestSearchPages_RanksAndFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("specs/reader", "# Reader API\n\n"+strings.Repeat("Filler text. ", 40)+"The granite cache holds pages.\n"+strings.Repeat("More text. ", 40))
	w.put("specs/granite", "# Granite\n\nA stone.")
	w.put("notes/stone", "# Stones\n\nGranite, marble and slate.")
	w.put("notes/changed", "granite")
	w.put("notes/changed", "marble")
	w.put("notes/gone", "granite")
	do[op.None](w, w.writer, "delete-page", fields{"path": "notes/gone"})
	w.put("specs/secret", "# Granite secret", fields{"classification": "SECRET"})
	other := w.addPerson(person{roles: []string{"Admin"}, clearance: "SECRET", tenant: w.globex})
	do[contract.PutPageOut](w, other, "put-page", fields{"path": "theirs", "markdown": "granite"})
	reader := w.addPerson(person{})
	for _, c := range []struct {
		who  *person
		in   fields
		want string
	}{
		{reader, fields{"search": "granite"}, "specs/granite notes/stone specs/reader"},
		{reader, fields{"search": "GRAN"}, "specs/granite notes/stone specs/reader"},
		{reader, fields{"search": "ranit"}, "specs/granite"},
		{reader, fields{"search": "granite marble"}, "notes/stone"},
		{reader, fields{"search": "granite -stone"}, "notes/stone specs/reader"},
		{reader, fields{"search": "granite", "prefix": "specs"}, "specs/granite specs/reader"},
		{reader, fields{"search": "granite", "prefix": "spec"}, ""},
		{reader, fields{"search": "nothing"}, ""},
		{w.writer, fields{"search": "secret"}, "specs/secret"},
		{reader, fields{"search": "secret"}, ""},
		{other, fields{"search": "granite"}, "theirs"},
	} {
		for _, limit := range []int{1, 20} {
			in := fields{"limit": limit}
			for k, v := range c.in {
				in[k] = v
			}
			var got []string
			for {
				page := do[op.Page[contract.PageHit]](w, c.who, "search-pages", in)
				for _, hit := range page.Items {
					got = append(got, hit.Path)
				}
				if page.NextCursor == "" {
					break
				}
				in["cursor"] = page.NextCursor
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v, limit %d: got %q, want %q", c.in, limit, got, c.want)
			}
		}
	}
	hit := do[op.Page[contract.PageHit]](w, reader, "search-pages", fields{"search": "cache"}).Items[0]
	if !strings.HasPrefix(hit.Snippet, "…") || !strings.HasSuffix(hit.Snippet, "…") || !strings.Contains(hit.Snippet, "The granite cache holds pages. More text.") {
		t.Errorf("snippet: got %q, want the text around the match", hit.Snippet)
	}
	for field, in := range map[string]fields{"search": {"search": "--- %"}, "prefix": {"search": "x", "prefix": "/"}, "cursor": {"search": "x", "cursor": "x"}} {
		if f := w.wantError(fault.CodeValidation, reader, "search-pages", in); f.Field != field {
			t.Errorf("%v: got field %q, want %q", in, f.Field, field)
		}
	}
}

func TestDiffPage_ComparesVersionsThatTheCallerCanRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.addPerson(person{})
	w.put("a", "one\ntwo\nthree\n", fields{"classification": "SECRET"})
	w.put("a", "one\n2\nthree\n", fields{"classification": "UNCLASSIFIED"})
	w.put("a", "one\n2\nthree\nfour\n")
	for _, c := range []struct {
		who  *person
		in   fields
		want string
	}{
		{reader, fields{}, "@@ -1,3 +1,4 @@\n one\n 2\n three\n+four\n"},
		{reader, fields{"from": 0, "to": 2}, "@@ -0,0 +1,3 @@\n+one\n+2\n+three\n"},
		{w.writer, fields{"from": 1, "to": 3}, "@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n"},
	} {
		c.in["path"] = "a"
		out := do[contract.PageDiff](w, c.who, "diff-page", c.in)
		want := fmt.Sprintf("--- a (version %d)\n+++ a (version %d)\n%s", out.From, out.To, c.want)
		if !strings.HasSuffix(out.Diff, want) {
			t.Errorf("%v: got %q, want %q", c.in, out.Diff, want)
		}
	}
	for _, in := range []fields{{"path": "a", "from": 1}, {"path": "a", "to": 1}, {"path": "a", "to": 4}, {"path": "b"}} {
		w.wantError(fault.CodeNotFound, reader, "diff-page", in)
	}
	if f := w.wantError(fault.CodeValidation, reader, "diff-page", fields{"path": "a", "from": 3}); f.Field != "from" {
		t.Errorf("from after to: got field %q, want from", f.Field)
	}
}
