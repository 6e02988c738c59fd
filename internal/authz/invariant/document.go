package invariant

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// object is a JSON object.
type object map[string]any

// with returns a copy with this value of the field.
func (o object) with(key string, value any) object {
	out := make(object, len(o)+1)
	maps.Copy(out, o)
	out[key] = value
	return out
}

// without returns a copy without the field.
func (o object) without(key string) object {
	out := maps.Clone(o)
	delete(out, key)
	return out
}

// withPath returns a copy with this value at the path, whose elements are separated by
// slashes.
func (o object) withPath(path string, value any) object {
	key, rest, nested := strings.Cut(path, "/")
	if !nested {
		return o.with(key, value)
	}
	inner, _ := o[key].(object)
	return o.with(key, inner.withPath(rest, value))
}

// withoutPath returns a copy without the value at the path.
func (o object) withoutPath(path string) object {
	key, rest, nested := strings.Cut(path, "/")
	if !nested {
		return o.without(key)
	}
	inner, _ := o[key].(object)
	return o.with(key, inner.withoutPath(rest))
}

// invalidValues returns values of every JSON type that no rule can accept as a name, an id
// or a non-empty list.
func invalidValues() []any {
	return []any{nil, 7, -1, "", "unknown", []any{}, []any{nil}, object{}, object{"x": nil}}
}

// wrongTypes returns invalid values that are not strings.
func wrongTypes() []any {
	return []any{nil, 7, []any{}, []any{nil}, object{}, object{"x": nil}}
}

// minimise removes fields from the request as long as the decision stays wrong.
func (c *checker) minimise(q query, keep []string) query {
	keep = append(keep, "caller/user/id", "caller/user", "caller/tenant")
	for again := true; again; {
		again = false
		if q.caller != nil {
			for _, path := range paths(q.caller.input, "caller") {
				smaller := query{newCaller(removePath(q.caller.input, strings.TrimPrefix(path, "caller/"))), q.entry, q.request}
				if !overlapsAny(path, keep) && c.stillWrong(smaller) {
					q, again = smaller, true
					break
				}
			}
		}
		for _, path := range paths(q.request, "request") {
			smaller := query{q.caller, q.entry, removePath(q.request, strings.TrimPrefix(path, "request/"))}
			if !overlapsAny(path, keep) && c.stillWrong(smaller) {
				q, again = smaller, true
				break
			}
		}
	}
	return q
}

// overlapsAny reports whether the path is one of keep, contains one or is part of one.
func overlapsAny(path string, keep []string) bool {
	return slices.ContainsFunc(keep, func(k string) bool {
		return k == path || strings.HasPrefix(k, path+"/") || strings.HasPrefix(path, k+"/")
	})
}

func (c *checker) stillWrong(q query) bool {
	problem := c.describeProblem(q)
	wrong := problem != "" && c.err == nil
	c.err = nil
	return wrong
}

// paths lists the paths in a document below parent, outer ones first.
func paths(value any, parent string) []string {
	var outer, nested []string
	visit := func(key string, inner any) {
		path := parent + "/" + key
		outer = append(outer, path)
		nested = append(nested, paths(inner, path)...)
	}
	switch value := value.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			visit(key, value[key])
		}
	case []any:
		for i, inner := range value {
			visit(strconv.Itoa(i), inner)
		}
	}
	return append(outer, nested...)
}

// removePath returns a copy of the document without the value at the path.
func removePath(o object, path string) object {
	out, _ := deletePath(o, strings.Split(path, "/")).(object)
	return out
}

func deletePath(value any, path []string) any {
	switch value := value.(type) {
	case object:
		if len(path) == 1 {
			return value.without(path[0])
		}
		return value.with(path[0], deletePath(value[path[0]], path[1:]))
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(value) {
			return value
		}
		out := slices.Clone(value)
		if len(path) == 1 {
			return slices.Delete(out, i, i+1)
		}
		out[i] = deletePath(out[i], path[1:])
		return out
	}
	return value
}

// list converts strings to a JSON array.
func list(texts ...string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

// member returns the value of a key, or nil.
func member(value ast.Value, key string) ast.Value {
	if o, ok := value.(ast.Object); ok {
		if term := o.Get(ast.StringTerm(key)); term != nil {
			return term.Value
		}
	}
	return nil
}

// toValue converts the document to an OPA value.
func toValue(value any) ast.Value {
	switch value := value.(type) {
	case ast.Value:
		return value
	case object:
		pairs := make([][2]*ast.Term, 0, len(value))
		for key, inner := range value {
			pairs = append(pairs, [2]*ast.Term{ast.StringTerm(key), ast.NewTerm(toValue(inner))})
		}
		return ast.NewObject(pairs...)
	case []any:
		terms := make([]*ast.Term, len(value))
		for i, inner := range value {
			terms[i] = ast.NewTerm(toValue(inner))
		}
		return ast.NewArray(terms...)
	case string:
		return ast.String(value)
	case bool:
		return ast.Boolean(value)
	case int:
		return ast.Number(strconv.Itoa(value))
	case float64:
		return ast.Number(strconv.FormatFloat(value, 'f', -1, 64))
	}
	return ast.NullValue
}
