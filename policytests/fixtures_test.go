package policytests_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"parapet/internal/authz"
)

const (
	acme      = "00000000-0000-7000-8000-000000000001"
	globex    = "00000000-0000-7000-8000-000000000002"
	orgA      = "00000000-0000-7000-8000-0000000000a1"
	orgB      = "00000000-0000-7000-8000-0000000000a2"
	projectA  = "00000000-0000-7000-8000-0000000000b1"
	projectB  = "00000000-0000-7000-8000-0000000000b2"
	worker    = "00000000-0000-7000-8000-0000000000c1"
	colleague = "00000000-0000-7000-8000-0000000000c2"
	robot     = "00000000-0000-7000-8000-0000000000d1"
)

// object is a JSON object.
type object = map[string]any

func newEngine(t testing.TB) *authz.Engine {
	t.Helper()
	e, err := authz.New(t.Context(), authz.Config{
		Logger:  slog.New(slog.DiscardHandler),
		Timeout: time.Minute, // a slow machine must not fail the test
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// parse parses a JSON document; each call returns a new copy.
func parse(t testing.TB, text string) object {
	t.Helper()
	var o object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// mutation is a document with one change.
type mutation struct {
	path string
	name string
	doc  object
}

// corruptedValues returns corrupted values: null and values of every JSON type that no rule
// knows.
func corruptedValues() map[string]any {
	return map[string]any{
		"null": nil, "number": 7.0, "negative": -1.0, "text": "unknown", "empty text": "",
		"list": []any{}, "list of null": []any{nil}, "object": object{}, "object of null": object{"x": nil},
		"uuid": "00000000-0000-7000-8000-00000000ffff",
	}
}

// mutations removes every key and element of the document in turn, and replaces it by every
// corrupted value. Booleans are also replaced by their text.
func mutations(t testing.TB, text string) []mutation {
	t.Helper()
	var out []mutation
	for _, path := range allPaths(parse(t, text)) {
		doc := parse(t, text)
		remove(doc, path)
		out = append(out, mutation{join(path), "removed", doc})
		for name, value := range corruptedValues() {
			doc := parse(t, text)
			put(doc, path, value)
			out = append(out, mutation{join(path), name, doc})
		}
		doc = parse(t, text)
		if b, ok := get(doc, path).(bool); ok {
			put(doc, path, strconv.FormatBool(b))
			out = append(out, mutation{join(path), "its text", doc})
		}
	}
	return out
}

func join(path []string) string {
	s := ""
	for _, p := range path {
		s += "/" + p
	}
	return s
}

// allPaths lists the paths of every key and element of a document.
func allPaths(doc any) [][]string {
	var out [][]string
	add := func(key string, value any) {
		out = append(out, []string{key})
		for _, sub := range allPaths(value) {
			out = append(out, append([]string{key}, sub...))
		}
	}
	switch doc := doc.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(doc)) {
			add(key, doc[key])
		}
	case []any:
		for i, value := range doc {
			add(strconv.Itoa(i), value)
		}
	}
	return out
}

func get(doc any, path []string) any {
	for _, key := range path {
		switch d := doc.(type) {
		case object:
			doc = d[key]
		case []any:
			i, _ := strconv.Atoi(key)
			doc = d[i]
		}
	}
	return doc
}

func put(doc object, path []string, value any) {
	last := path[len(path)-1]
	switch parent := get(doc, path[:len(path)-1]).(type) {
	case object:
		parent[last] = value
	case []any:
		i, _ := strconv.Atoi(last)
		parent[i] = value
	}
}

func remove(doc object, path []string) {
	last, above := path[len(path)-1], path[:len(path)-1]
	switch parent := get(doc, above).(type) {
	case object:
		delete(parent, last)
	case []any:
		i, _ := strconv.Atoi(last)
		put(doc, above, slices.Delete(parent, i, i+1))
	}
}
