package oracle_test

import "encoding/json"

// corrupt returns a copy of an input with one to three changed fields: it removes a field,
// sets it to null, to another type or an unknown value, or adds an unknown field. It copies
// the input, because drawn documents share parts.
func (d *drawer) corrupt(in any) any {
	doc := clone(in)
	for range 1 + d.rnd.IntN(3) {
		paths := pathsOf(doc, nil)
		if len(paths) == 0 {
			break
		}
		doc = change(doc, paths[d.rnd.IntN(len(paths))], d.corruptValue)
	}
	if o, ok := doc.(map[string]any); ok {
		o["actor"] = onlyStrings(o["actor"])
		if o["actor"] == nil {
			delete(o, "actor")
		}
	}
	return doc
}

// onlyStrings removes values that are not strings from the lists of an actor: the policies
// compute these lists, so they contain only strings. All other fields of an actor can be
// corrupted.
func onlyStrings(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = onlyStrings(item)
		}
	case []any:
		texts := make([]any, 0, len(v))
		for _, item := range v {
			switch item := item.(type) {
			case string:
				texts = append(texts, item)
			case map[string]any:
				if _, delegated := item["grants"]; delegated { // of a delegation
					texts = append(texts, onlyStrings(item))
				}
			}
		}
		return texts
	}
	return v
}

// corruptValue returns the new value of a field; false removes the field.
func (d *drawer) corruptValue(v any) (any, bool) {
	switch d.rnd.IntN(10) {
	case 0, 1, 2:
		return nil, false
	case 3:
		return nil, true
	case 4:
		return []any{true, false, 0, 1, 365, -1, 1.5, "", "x", map[string]any{}, []any{}}[d.rnd.IntN(11)], true
	case 5:
		return map[string]any{"value": v}, true
	case 6:
		return []any{v}, true
	case 7:
		if o, ok := v.(map[string]any); ok {
			o[d.pick([]string{"is_admin", "tenant_id", "bypass", "permissions2", "own"})] = []any{true, map[string]any{"tenant": true}, "Admin"}[d.rnd.IntN(3)]
			return o, true
		}
		if list, ok := v.([]any); ok {
			return append(list, []any{nil, 1, true, "x", map[string]any{}, d.pick(permissions)}[d.rnd.IntN(6)]), true
		}
		return "unknown", true
	case 8:
		if s, ok := v.(string); ok && s != "" {
			return []any{s + " ", " " + s, swapCase(s), s + "x", s[:len(s)-1]}[d.rnd.IntN(5)], true
		}
		if b, ok := v.(bool); ok {
			return !b, true
		}
		return "unknown", true
	default:
		return d.pick([]string{tenants[1], organisations[0], projects[0], users[0], "SECRET", "ACTIVE", "SERVICE", "session", "*"}), true
	}
}

func swapCase(s string) string {
	b := []byte(s)
	for i, c := range b {
		switch {
		case 'a' <= c && c <= 'z':
			b[i] = c - 32
		case 'A' <= c && c <= 'Z':
			b[i] = c + 32
		}
	}
	return string(b)
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = clone(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = clone(item)
		}
		return out
	}
	return v
}

// valuePath is the path to a value: names and positions.
type valuePath []any

// pathsOf lists the paths of all values in a stable order.
func pathsOf(v any, under valuePath) []valuePath {
	var out []valuePath
	switch v := v.(type) {
	case map[string]any:
		for _, k := range keys(v) {
			p := append(append(valuePath{}, under...), k)
			out = append(append(out, p), pathsOf(v[k], p)...)
		}
	case []any:
		for i, item := range v {
			p := append(append(valuePath{}, under...), i)
			out = append(append(out, p), pathsOf(item, p)...)
		}
	}
	return out
}

// change replaces the value at the path, or removes it if the function returns false.
func change(v any, p valuePath, to func(any) (any, bool)) any {
	switch v := v.(type) {
	case map[string]any:
		k := p[0].(string)
		if len(p) > 1 {
			v[k] = change(v[k], p[1:], to)
			return v
		}
		if item, keep := to(v[k]); keep {
			v[k] = item
		} else {
			delete(v, k)
		}
		return v
	case []any:
		i := p[0].(int)
		if len(p) > 1 {
			v[i] = change(v[i], p[1:], to)
			return v
		}
		if item, keep := to(v[i]); keep {
			v[i] = item
			return v
		}
		return append(v[:i:i], v[i+1:]...)
	}
	return v
}

// minimise removes parts of the input one by one, as long as disagree still returns true
// for the rest.
func minimise(in any, disagree func(any) bool) any {
	for i := 0; ; {
		paths := pathsOf(in, nil)
		if i >= len(paths) {
			return in
		}
		candidate := change(clone(in), paths[i], func(any) (any, bool) { return nil, false })
		if disagree(candidate) {
			in = candidate
		} else {
			i++
		}
	}
}

func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
