package oracle_test

import "encoding/json"

// spoil damages an input in one to three places: it removes a field, sets it to null, to
// another type or an unknown value, or adds an unknown field. It copies the input first,
// because drawn documents share parts.
func (d *drawer) spoil(in any) any {
	doc := clone(in)
	for range 1 + d.rnd.IntN(3) {
		places := placesOf(doc, nil)
		if len(places) == 0 {
			break
		}
		doc = change(doc, places[d.rnd.IntN(len(places))], d.damage)
	}
	if o, ok := doc.(map[string]any); ok {
		o["actor"] = onlyTexts(o["actor"])
		if o["actor"] == nil {
			delete(o, "actor")
		}
	}
	return doc
}

// onlyTexts removes values that are not strings from the lists of an actor: the policies
// compute these lists, so they contain only strings. Everything else about an actor may be
// damaged.
func onlyTexts(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = onlyTexts(item)
		}
	case []any:
		texts := make([]any, 0, len(v))
		for _, item := range v {
			switch item := item.(type) {
			case string:
				texts = append(texts, item)
			case map[string]any:
				if _, delegated := item["grants"]; delegated { // of a delegation
					texts = append(texts, onlyTexts(item))
				}
			}
		}
		return texts
	}
	return v
}

// damage returns the new value of a field; false removes the field.
func (d *drawer) damage(v any) (any, bool) {
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
			o[d.one([]string{"is_admin", "tenant_id", "bypass", "permissions2", "own"})] = []any{true, map[string]any{"tenant": true}, "Admin"}[d.rnd.IntN(3)]
			return o, true
		}
		if list, ok := v.([]any); ok {
			return append(list, []any{nil, 1, true, "x", map[string]any{}, d.one(permissions)}[d.rnd.IntN(6)]), true
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
		return d.one([]string{tenants[1], organisations[0], projects[0], users[0], "SECRET", "ACTIVE", "SERVICE", "session", "*"}), true
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

// place is the path to a value: names and positions.
type place []any

// placesOf lists the paths of all values in a stable order.
func placesOf(v any, under place) []place {
	var out []place
	switch v := v.(type) {
	case map[string]any:
		for _, k := range keys(v) {
			p := append(append(place{}, under...), k)
			out = append(append(out, p), placesOf(v[k], p)...)
		}
	case []any:
		for i, item := range v {
			p := append(append(place{}, under...), i)
			out = append(append(out, p), placesOf(item, p)...)
		}
	}
	return out
}

// change replaces the value at the path, or removes it if the function returns false.
func change(v any, p place, to func(any) (any, bool)) any {
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
		places := placesOf(in, nil)
		if i >= len(places) {
			return in
		}
		candidate := change(clone(in), places[i], func(any) (any, bool) { return nil, false })
		if disagree(candidate) {
			in = candidate
		} else {
			i++
		}
	}
}

func pretty(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
