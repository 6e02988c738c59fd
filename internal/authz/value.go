package authz

import "github.com/open-policy-agent/opa/v1/ast"

// field returns the value of a key, or nil.
func field(o ast.Object, key string) ast.Value {
	if t := o.Get(ast.StringTerm(key)); t != nil {
		return t.Value
	}
	return nil
}

func text(o ast.Object, key string) string {
	s, _ := field(o, key).(ast.String)
	return string(s)
}

func boolean(o ast.Object, key string) bool {
	b, _ := field(o, key).(ast.Boolean)
	return bool(b)
}

func number(o ast.Object, key string) int {
	n, _ := field(o, key).(ast.Number)
	i, _ := n.Int()
	return i
}

// stringsAt returns the strings of an array or a set in its order, or nil.
func stringsAt(o ast.Object, key string) []string { return stringsOf(field(o, key)) }

func stringsOf(v ast.Value) []string {
	switch v := v.(type) {
	case *ast.Array:
		if v.Len() == 0 {
			return nil
		}
		out := make([]string, 0, v.Len())
		for i := range v.Len() {
			if s, ok := v.Elem(i).Value.(ast.String); ok {
				out = append(out, string(s))
			}
		}
		return out
	case ast.Set:
		if v.Len() == 0 {
			return nil
		}
		out := make([]string, 0, v.Len())
		for _, t := range v.Slice() {
			if s, ok := t.Value.(ast.String); ok {
				out = append(out, string(s))
			}
		}
		return out
	}
	return nil
}

// document builds an object. Callers omit empty values.
type document struct{ ast.Object }

func newDocument() document { return document{ast.NewObject()} }

func (d document) text(key, value string) {
	d.Insert(ast.StringTerm(key), ast.StringTerm(value))
}

func (d document) optional(key, value string) {
	if value != "" {
		d.text(key, value)
	}
}

func (d document) texts(key string, values []string) {
	d.Insert(ast.StringTerm(key), textsTerm(values))
}

func (d document) boolean(key string, value bool) {
	d.Insert(ast.StringTerm(key), ast.BooleanTerm(value))
}

func (d document) number(key string, value int) {
	d.Insert(ast.StringTerm(key), ast.IntNumberTerm(value))
}

func (d document) value(key string, value ast.Value) {
	d.Insert(ast.StringTerm(key), ast.NewTerm(value))
}

func (d document) lists(key string, values map[string][]string) {
	o := ast.NewObject()
	for k, v := range values {
		o.Insert(ast.StringTerm(k), textsTerm(v))
	}
	d.value(key, o)
}

func textsTerm(values []string) *ast.Term {
	terms := make([]*ast.Term, len(values))
	for i, v := range values {
		terms[i] = ast.StringTerm(v)
	}
	return ast.ArrayTerm(terms...)
}
