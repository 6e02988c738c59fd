package wiki_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	contract "parapet/internal/contract/wiki"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func TestPutPage_AddsAVersionOnlyForAChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.addPerson(person{})
	first := w.put("specs/reader", "# Reader API #\n\nOne.", fields{"sourceCommit": "0123abc"})
	if first.Result != contract.PageCreated || first.Version != 1 || first.Title != "Reader API" || first.Classification != "UNCLASSIFIED" || first.SourceCommit != "0123abc" {
		t.Errorf("first version: got %+v", first)
	}
	for _, c := range []struct {
		markdown string
		more     fields
		result   string
		version  int
		title    string
	}{
		{"# Reader API #\n\nOne.", fields{"sourceCommit": "fedcba9"}, "unchanged", 1, "Reader API"},
		{"# Reader API #\n\nOne.", fields{"classification": "UNCLASSIFIED", "title": "Reader API"}, "unchanged", 1, "Reader API"},
		{"# Reader API #\n\nTwo.", nil, "updated", 2, "Reader API"},
		{"# Reader API #\n\nTwo.", fields{"title": " Readers "}, "updated", 3, "Readers"},
		{"No heading", nil, "updated", 4, "reader"},
		{"#No heading", nil, "updated", 5, "reader"},
		{"## Heading of level 2", nil, "updated", 6, "reader"},
		{"\n#\tC#\n", nil, "updated", 7, "C#"},
		{"# " + strings.Repeat("ä", 300), nil, "updated", 8, strings.Repeat("ä", 200)},
	} {
		got := w.put("specs/reader", c.markdown, c.more)
		if got.Result != c.result || got.Version != c.version || got.Title != c.title {
			t.Errorf("put %.40q %v: got %s, version %d, title %q; want %s, %d, %q", c.markdown, c.more, got.Result, got.Version, got.Title, c.result, c.version, c.title)
		}
	}
	w.wantRecords(1, "page.created", contract.EventPageCreated, first.ID)
	w.wantRecords(7, "page.updated", contract.EventPageUpdated, first.ID)
	page := do[contract.Page](w, reader, "get-page", fields{"path": "specs/reader", "version": 2})
	if page.Markdown != "# Reader API #\n\nTwo." || page.Version != 2 || page.Title != "Reader API" || page.ID != first.ID {
		t.Errorf("version 2: got %+v", page)
	}
	if page = do[contract.Page](w, reader, "get-page", fields{"path": "specs/reader"}); page.Version != 8 || page.UpdatedBy != w.writer.id || page.EntityTag() != `"8"` {
		t.Errorf("current version: got %+v", page)
	}
	for _, in := range []fields{{"path": "specs/reader", "version": 9}, {"path": "specs/Reader"}, {"path": "specs"}} {
		w.wantError(fault.CodeNotFound, reader, "get-page", in)
	}
	var versions []int
	in := fields{"path": "specs/reader", "limit": 3}
	for {
		list := do[op.Page[contract.PageVersion]](w, reader, "list-page-versions", in)
		for _, v := range list.Items {
			versions = append(versions, v.Version)
		}
		if list.NextCursor == "" {
			break
		}
		in["cursor"] = list.NextCursor
	}
	if !slices.Equal(versions, []int{8, 7, 6, 5, 4, 3, 2, 1}) {
		t.Errorf("versions: got %v, want 8 to 1", versions)
	}
	for _, text := range []string{"One.", "Two."} {
		if n := w.count(`SELECT (SELECT count(*) FROM audit.entries WHERE changes::text LIKE $1) + (SELECT count(*) FROM events.outbox WHERE payload::text LIKE $1)`, "%"+text+"%"); n != 0 {
			t.Errorf("audit entries and events with the text of a page: got %d, want 0", n)
		}
	}
}

func TestPage_DeletedPageCanBeRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.addPerson(person{})
	id := w.put("a", "one").ID
	w.put("a", "two")
	at := fields{"path": "a"}
	do[op.None](w, w.writer, "delete-page", at)
	w.wantRecords(1, "page.deleted", contract.EventPageDeleted, id)
	for _, name := range []string{"get-page", "list-page-versions"} {
		w.wantError(fault.CodeNotFound, reader, name, at)
	}
	w.wantError(fault.CodeNotFound, w.writer, "delete-page", at)
	if list := do[op.Page[contract.PageEntry]](w, reader, "list-pages", fields{}); len(list.Items) != 0 {
		t.Errorf("list: got %+v, want no deleted page", list.Items)
	}
	w.wantError(fault.CodeForbidden, reader, "list-pages", fields{"deleted": true})
	if list := do[op.Page[contract.PageEntry]](w, w.writer, "list-pages", fields{"deleted": true}); len(list.Items) != 1 || list.Items[0].DeletedAt == nil {
		t.Errorf("deleted pages: got %+v, want the page", list.Items)
	}
	for range 2 {
		if got := do[contract.PageSummary](w, w.writer, "restore-page", at); got.Version != 2 || got.DeletedAt != nil {
			t.Errorf("restored page: got %+v, want version 2", got)
		}
	}
	w.wantRecords(1, "page.restored", contract.EventPageRestored, id)
	if got := do[contract.Page](w, reader, "get-page", at); got.Markdown != "two" || got.ID != id {
		t.Errorf("restored page: got %+v", got)
	}
	for _, c := range []struct {
		markdown string
		version  int
	}{{"two", 2}, {"three", 3}} {
		do[op.None](w, w.writer, "delete-page", at)
		if got := w.put("a", c.markdown); got.Result != contract.PageRestored || got.Version != c.version || got.ID != id {
			t.Errorf("put %q of a deleted page: got %+v, want version %d restored", c.markdown, got, c.version)
		}
	}
	w.wantError(fault.CodeNotFound, w.writer, "restore-page", fields{"path": "b"})
}

func TestPutPage_PreconditionNamesCurrentVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a", "one")
	w.put("a", "two")
	w.put("gone", "one")
	do[op.None](w, w.writer, "delete-page", fields{"path": "gone", "ifVersion": 1})
	for _, c := range []struct {
		operation string
		in        fields
		current   int
	}{
		{"put-page", fields{"path": "a", "markdown": "x", "ifVersion": 1}, 2},
		{"put-page", fields{"path": "a", "markdown": "two", "ifVersion": 3}, 2},
		{"put-page", fields{"path": "a", "markdown": "x", "ifVersion": 0}, 2},
		{"put-page", fields{"path": "new", "markdown": "x", "ifVersion": 1}, 0},
		{"put-page", fields{"path": "gone", "markdown": "x", "ifVersion": 1}, 0},
		{"delete-page", fields{"path": "a", "ifVersion": 1}, 2},
	} {
		f := w.wantError(fault.CodePrecondition, w.writer, c.operation, c.in)
		if f.Details["currentVersion"] != c.current {
			t.Errorf("%s %v: got details %v, want current version %d", c.operation, c.in, f.Details, c.current)
		}
	}
	for _, c := range []struct {
		path    string
		version int
		want    string
	}{{"a", 2, "updated"}, {"new", 0, "created"}, {"gone", 0, "restored"}} {
		if got := w.put(c.path, "three", fields{"ifVersion": c.version}); got.Result != c.want {
			t.Errorf("put %s with ifVersion %d: got %s, want %s", c.path, c.version, got.Result, c.want)
		}
	}
}

func TestPutPage_ConcurrentWritersLoseNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const writers = 8
	// Without a precondition, each text becomes a version. With one, one of each pair wins.
	write := func(path string, in func(i int) fields) (results []*contract.PutPageOut, failed int) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				out, err := w.call(w.writer, "put-page", in(i))
				mu.Lock()
				defer mu.Unlock()
				var f *fault.Error
				switch typed, ok := out.(*contract.PutPageOut); {
				case errors.As(err, &f) && f.Code == fault.CodePrecondition:
					failed++
				case err != nil || !ok:
					t.Errorf("put %s: %v", path, err)
				default:
					results = append(results, typed)
				}
			})
		}
		wg.Wait()
		return results, failed
	}
	results, _ := write("free", func(i int) fields { return fields{"path": "free", "markdown": fmt.Sprint(i)} })
	versions := map[int]bool{}
	for _, r := range results {
		versions[r.Version] = true
	}
	texts := w.count(`SELECT count(DISTINCT v.markdown) FROM wiki.page_versions v JOIN wiki.pages g ON g.tenant_id = v.tenant_id AND g.id = v.page_id WHERE g.path = 'free'`)
	if len(versions) != writers || texts != writers {
		t.Errorf("got %d versions with %d texts, want %d", len(versions), texts, writers)
	}
	if results, failed := write("guarded", func(i int) fields { return fields{"path": "guarded", "markdown": fmt.Sprint(i), "ifVersion": 0} }); len(results) != 1 || failed != writers-1 {
		t.Errorf("creation with a precondition: got %d successes and %d failures, want 1 and %d", len(results), failed, writers-1)
	}
}

func TestPutPage_IdempotencyKeyReturnsStoredResponse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(markdown, key string) (any, error) {
		return w.call(w.writer, "put-page", fields{"path": "a", "markdown": markdown}, withKey(key))
	}
	first, err := put("one", "k")
	if err != nil {
		t.Fatal(err)
	}
	w.put("a", "two")
	again, err := put("one", "k")
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("repeated request: got %+v, %v; want %+v", again, err, first)
	}
	if got := do[contract.Page](w, w.writer, "get-page", fields{"path": "a"}); got.Version != 2 || got.Markdown != "two" {
		t.Errorf("after the repeated request: got version %d, want 2", got.Version)
	}
	if _, err := put("other", "k"); !fault.HasCode(err, fault.CodeConflict) {
		t.Errorf("another request with the same key: got %v, want CONFLICT", err)
	}
	for range 2 {
		if _, err := w.call(w.writer, "delete-page", fields{"path": "a"}, withKey("d")); err != nil {
			t.Errorf("repeated deletion: %v", err)
		}
	}
}

func TestPage_ValidationErrorNamesField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a", "x")
	for _, c := range []struct {
		operation, field string
		in               fields
	}{
		{"put-page", "path", fields{"path": "a//b", "markdown": "x"}},
		{"put-page", "path", fields{"path": "../a", "markdown": "x"}},
		{"put-page", "path", fields{"path": "a%2fb", "markdown": "x"}},
		{"put-page", "path", fields{"path": "a\u200b", "markdown": "x"}},
		{"put-page", "markdown", fields{"path": "a"}},
		{"put-page", "markdown", fields{"path": "a", "markdown": " \n"}},
		{"put-page", "markdown", fields{"path": "a", "markdown": "x\x00"}},
		{"put-page", "markdown", fields{"path": "a", "markdown": strings.Repeat("x", 500001)}},
		{"put-page", "title", fields{"path": "a", "markdown": "x", "title": strings.Repeat("x", 201)}},
		{"put-page", "classification", fields{"path": "a", "markdown": "x", "classification": "TOP"}},
		{"put-page", "sourceCommit", fields{"path": "a", "markdown": "x", "sourceCommit": "main"}},
		{"put-page", "ifVersion", fields{"path": "a", "markdown": "x", "ifVersion": -1}},
		{"put-page", "authorId", fields{"path": "a", "markdown": "x", "authorId": w.acme}},
		{"get-page", "path", fields{"path": "/a"}},
		{"get-page", "version", fields{"path": "a", "version": 0}},
		{"delete-page", "path", fields{"path": "."}},
		{"delete-page", "ifVersion", fields{"path": "a", "ifVersion": 0}},
		{"restore-page", "path", fields{"path": `a\b`}},
		{"list-pages", "prefix", fields{"prefix": "a/"}},
		{"list-pages", "depth", fields{"depth": 0}},
		{"list-pages", "cursor", fields{"cursor": "x"}},
		{"list-page-versions", "path", fields{"path": "a/"}},
		{"list-page-versions", "cursor", fields{"path": "a", "cursor": "x"}},
	} {
		if f := w.wantError(fault.CodeValidation, w.writer, c.operation, c.in); f.Field != c.field {
			t.Errorf("%s %.80s: got field %q (%s), want %q", c.operation, fmt.Sprint(c.in), f.Field, f.Message, c.field)
		}
	}
}

func TestListPages_FlatAndByLevel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paths := []string{"a", "a/b", "a/b/c", "a/d", "a-b", "a.c/x", "b/c/d/e", "b/c/d/f", "z"}
	for _, path := range paths {
		w.put(path, "text")
	}
	w.put("b/secret", "text", fields{"classification": "SECRET"})
	w.put("b/secret-2/x", "text", fields{"classification": "SECRET"})
	reader := w.addPerson(person{})
	for _, c := range []struct {
		in   fields
		want string
	}{
		{fields{}, "a a/b a/b/c a/d a-b a.c/x b/c/d/e b/c/d/f z"},
		{fields{"prefix": "a"}, "a a/b a/b/c a/d"},
		{fields{"prefix": "a/b"}, "a/b a/b/c"},
		{fields{"prefix": "b"}, "b/c/d/e b/c/d/f"},
		{fields{"prefix": "b/secret"}, ""},
		{fields{"prefix": "A"}, ""},
		{fields{"depth": 1}, "a+3 a-b a.c(1) b(2) z"},
		{fields{"depth": 2}, "a a/b+1 a/d a-b a.c/x b/c(2) z"},
		{fields{"prefix": "a", "depth": 1}, "a a/b+1 a/d"},
		{fields{"prefix": "b/c", "depth": 1}, "b/c/d(2)"},
	} {
		for _, limit := range []int{1, 2, 200} {
			in := fields{"limit": limit}
			for k, v := range c.in {
				in[k] = v
			}
			var got []string
			for {
				list := do[op.Page[contract.PageEntry]](w, reader, "list-pages", in)
				for _, e := range list.Items {
					text := e.Path
					switch {
					case e.ID == "":
						text += fmt.Sprintf("(%d)", e.Pages)
					case e.Pages > 0:
						text += fmt.Sprintf("+%d", e.Pages)
					}
					got = append(got, text)
				}
				if list.NextCursor == "" {
					break
				}
				in["cursor"] = list.NextCursor
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v, limit %d: got %q, want %q", c.in, limit, strings.Join(got, " "), c.want)
			}
		}
	}
	first := do[op.Page[contract.PageEntry]](w, reader, "list-pages", fields{"limit": 1})
	for _, in := range []fields{{"cursor": first.NextCursor, "prefix": "a"}, {"cursor": first.NextCursor, "depth": 1}} {
		w.wantError(fault.CodeValidation, reader, "list-pages", in)
	}
}
