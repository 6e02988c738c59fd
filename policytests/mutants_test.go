package policytests_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// mutant is a copy of the policies with one change.
type mutant struct {
	// name identifies the change. It contains no line number, so it is stable as long as the
	// changed rule or value is.
	name string
	// where is the file and line, for messages.
	where string
	// pkg is the package of the changed rule; empty for data.
	pkg string
	// module replaces the module of this file. It is nil for data.
	file   string
	module *ast.Module
	// data replaces the data. It is nil for a rule.
	data object
}

// numberDuplicates makes the names unique by adding numbers.
func numberDuplicates(mutants []mutant) []mutant {
	seen := map[string]int{}
	for i := range mutants {
		seen[mutants[i].name]++
		if n := seen[mutants[i].name]; n > 1 {
			mutants[i].name += fmt.Sprintf(" #%d", n)
		}
	}
	return mutants
}

// ruleMutants returns all mutants of the rules.
func ruleMutants(t testing.TB, l *lab) []mutant {
	t.Helper()
	var out []mutant
	for _, file := range slices.Sorted(maps.Keys(l.rules)) {
		// A first copy finds the n-th change, a second copy receives it: the numbering is
		// the same in both.
		for n := 0; ; n++ {
			copied := l.rules[file].Copy()
			m := &mutator{want: n}
			m.module(copied)
			if m.made == "" {
				break
			}
			out = append(out, mutant{
				name:  strings.TrimPrefix(copied.Package.Path.String(), "data.") + "." + m.rule + ": " + m.made,
				where: fmt.Sprintf("%s:%d", file, m.line), pkg: copied.Package.Path.String(), file: file, module: copied,
			})
		}
	}
	return numberDuplicates(out)
}

// mutator makes the n-th possible change in a module.
type mutator struct {
	want, seen int
	made, rule string
	line       int
	current    *ast.Rule
}

// change reports whether this is the change to make.
func (m *mutator) change(loc *ast.Location, format string, args ...any) bool {
	if m.made != "" {
		return false
	}
	m.seen++
	if m.seen-1 != m.want {
		return false
	}
	m.made, m.rule = fmt.Sprintf(format, args...), m.current.Head.Ref().String()
	if loc != nil {
		m.line = loc.Row
	}
	return true
}

func (m *mutator) module(module *ast.Module) {
	for i := 0; i < len(module.Rules) && m.made == ""; i++ {
		m.current = module.Rules[i]
		name := m.current.Head.Ref().String()
		others := 0
		for _, r := range module.Rules {
			if r.Head.Ref().String() == name && !r.Default {
				others++
			}
		}
		if others > 1 && !m.current.Default && m.change(m.current.Location, "remove the definition `%s`", line(m.current.String())) {
			module.Rules = slices.Delete(module.Rules, i, i+1)
			return
		}
		m.changeRule(m.current)
	}
}

// changeRule changes a rule and its else chain.
func (m *mutator) changeRule(rule *ast.Rule) {
	for at := rule; at != nil && m.made == ""; at = at.Else {
		m.head(at)
		m.body(&at.Body)
		if at.Else == nil {
			continue
		}
		if m.change(at.Else.Location, "remove `else := %s if %s`", at.Else.Head.Value, line(at.Else.Body.String())) {
			at.Else = at.Else.Else
			return
		}
		next := at.Else
		// A branch that always holds would make the next one unreachable.
		if m.change(next.Location, "swap with the branch `%s if %s`", next.Head.Value, line(next.Body.String())) {
			at.Head.Value, next.Head.Value = next.Head.Value, at.Head.Value
			at.Body, next.Body = next.Body, at.Body
			return
		}
	}
}

// head changes the value of a rule.
func (m *mutator) head(rule *ast.Rule) {
	if v := rule.Head.Value; v != nil {
		if b, ok := v.Value.(ast.Boolean); ok {
			if (rule.Default || rule.Head.Key == nil) && m.change(rule.Location, "answer %v instead of %v", !b, b) {
				rule.Head.Value = ast.BooleanTerm(!bool(b))
				return
			}
		} else {
			m.term(v, rule.Location)
		}
	}
	if rule.Head.Key != nil {
		m.term(rule.Head.Key, rule.Location)
	}
}

func (m *mutator) body(body *ast.Body) {
	for i := 0; i < len(*body) && m.made == ""; i++ {
		e := (*body)[i]
		if term, ok := e.Terms.(*ast.Term); ok && !e.Negated && term.Equal(ast.BooleanTerm(true)) {
			continue
		}
		if _, declares := e.Terms.(*ast.SomeDecl); !declares && !e.IsAssignment() && m.change(e.Location, "remove `%s`", line(e.String())) {
			*body = slices.Delete(slices.Clone(*body), i, i+1)
			if len(*body) == 0 {
				*body = ast.NewBody(ast.NewExpr(ast.BooleanTerm(true)))
			}
			return
		}
		m.expression(e)
	}
}

// operators maps each comparison to its replacement.
func operators() map[string]string {
	return map[string]string{"eq": "neq", "equal": "neq", "neq": "equal", "lt": "lte", "lte": "lt", "gt": "gte", "gte": "gt"}
}

func (m *mutator) expression(e *ast.Expr) {
	if e.Negated && m.change(e.Location, "affirm `%s`", line(e.String())) {
		e.Negated = false
		return
	}
	_, call := e.Terms.([]*ast.Term)
	if !e.Negated && call && !e.IsAssignment() && e.Operator() != nil && e.Operator().String() != "walk" && m.change(e.Location, "negate `%s`", line(e.String())) {
		e.Negated = true
		return
	}
	switch terms := e.Terms.(type) {
	case []*ast.Term:
		if with, ok := operators()[e.Operator().String()]; ok && m.change(e.Location, "%s instead of `%s`", with, line(e.String())) {
			terms[0] = ast.NewTerm(ast.Ref{ast.VarTerm(with)})
			return
		}
		for i, term := range terms[1:] {
			if e.IsAssignment() && i == 0 {
				continue // the assigned variable
			}
			m.term(term, e.Location)
		}
	case *ast.Term:
		m.term(terms, e.Location)
	case *ast.SomeDecl:
		for _, term := range terms.Symbols {
			m.term(term, e.Location)
		}
	case *ast.Every:
		m.term(terms.Domain, e.Location)
		m.body(&terms.Body)
	}
	for i := 0; i < len(e.With) && m.made == ""; i++ {
		if m.change(e.Location, "remove `%s`", e.With[i]) {
			e.With = slices.Delete(e.With, i, i+1)
		}
	}
}

// term changes constants, collections and calls in a term.
func (m *mutator) term(term *ast.Term, loc *ast.Location) {
	if m.made != "" {
		return
	}
	switch v := term.Value.(type) {
	case ast.Boolean:
		if m.change(loc, "%v instead of %v", !v, v) {
			term.Value = ast.Boolean(!bool(v))
		}
	case ast.Number:
		if n, whole := v.Int(); whole && m.change(loc, "%d instead of %d", n+1, n) {
			term.Value = ast.Number(strconv.Itoa(n + 1))
		}
	case ast.String:
		if m.change(loc, "another text instead of %v", v) {
			term.Value = v + "x"
		}
	case ast.Ref:
		// input.a.b is a path, but the keys of a lookup are values.
		for _, part := range v[1:] {
			if _, text := part.Value.(ast.String); !text {
				m.term(part, loc)
			}
		}
	case *ast.Array:
		for i := range v.Len() {
			if v.Len() > 0 && m.change(loc, "remove %v from %v", v.Elem(i), line(v.String())) {
				kept := []*ast.Term{}
				v.Foreach(func(t *ast.Term) {
					if t != v.Elem(i) {
						kept = append(kept, t)
					}
				})
				term.Value = ast.NewArray(kept...)
				return
			}
			m.term(v.Elem(i), loc)
		}
	case ast.Set:
		for _, element := range v.Slice() {
			if m.change(loc, "remove %v from %v", element, line(v.String())) {
				kept := ast.NewSet()
				v.Foreach(func(t *ast.Term) {
					if t != element {
						kept.Add(t)
					}
				})
				term.Value = kept
				return
			}
		}
	case ast.Object:
		changed := ast.NewObject()
		v.Foreach(func(key, value *ast.Term) {
			copied := value.Copy()
			m.term(copied, loc)
			changed.Insert(key, copied)
		})
		if m.made != "" {
			term.Value = changed
		}
	case ast.Call:
		for _, argument := range v[1:] {
			m.term(argument, loc)
		}
	case *ast.ArrayComprehension:
		m.term(v.Term, loc)
		m.body(&v.Body)
	case *ast.SetComprehension:
		m.term(v.Term, loc)
		m.body(&v.Body)
	case *ast.ObjectComprehension:
		m.term(v.Value, loc)
		m.body(&v.Body)
	}
}

// line returns the text without line breaks, truncated for messages.
func line(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 160 {
		text = text[:160] + "…"
	}
	return text
}

// dataMutants changes every value of the policy data. It skips descriptions, which have no
// effect.
func dataMutants(l *lab) []mutant {
	policy := l.data["parapet"].(object)
	permissions := slices.Sorted(maps.Keys(policy["catalogue"].(object)["permissions"].(object)))
	var out []mutant
	add := func(path []string, what string, value any, remove bool) {
		out = append(out, mutant{
			name: "data.parapet." + strings.Join(path, ".") + ": " + what,
			data: changed(l.data, append([]string{"parapet"}, path...), value, remove),
		})
	}
	var visit func(path []string, value any)
	visit = func(path []string, value any) {
		last := path[len(path)-1]
		switch v := value.(type) {
		case object:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if key == "description" {
					continue
				}
				inner := append(slices.Clone(path), key)
				add(inner, "removed", nil, true)
				visit(inner, v[key])
			}
			if len(path) == 3 && path[1] == "permissions" && v["platform"] == nil {
				add(append(slices.Clone(path), "platform"), "true", true, false)
			}
		case []any:
			for i := range v {
				add(path, fmt.Sprintf("without %v", v[i]), slices.Delete(slices.Clone(v), i, i+1), false)
				if i > 0 && last == "ladder" {
					swapped := slices.Clone(v)
					swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
					add(path, fmt.Sprintf("%v before %v", v[i], v[i-1]), swapped, false)
				}
			}
			more := []string{"unknown"}
			switch {
			case last == "grants" || last == "administrative_grants":
				more = permissions
			case last == "administrative":
				more = slices.Sorted(maps.Keys(policy["roles"].(object)["defaults"].(object)))
			case path[0] == "audit":
				more = []string{"own", "organisation", "tenant", "classified"}
			case path[0] == "catalogue" && len(path) == 3 && path[1] == "own":
				more = []string{"creator", "owner"}
			}
			for _, name := range more {
				if !slices.Contains(v, any(name)) {
					add(path, "with "+name, append(slices.Clone(v), any(name)), false)
				}
			}
		case string:
			switch v {
			case "read":
				add(path, "write", "write", false)
			case "write":
				add(path, "read", "read", false)
			default:
				add(path, v+"x", v+"x", false)
			}
			if last == "module" {
				add(path, "wiki or identity", map[bool]string{true: "identity", false: "wiki"}[v == "wiki"], false)
			}
		case bool:
			add(path, fmt.Sprint(!v), !v, false)
		default:
			if n, err := strconv.Atoi(fmt.Sprint(v)); err == nil {
				add(path, strconv.Itoa(n+1), json.Number(strconv.Itoa(n+1)), false)
				add(path, strconv.Itoa(n-1), json.Number(strconv.Itoa(n-1)), false)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(policy)) {
		visit([]string{key}, policy[key])
	}
	slices.SortStableFunc(out, func(a, b mutant) int { return cmp.Compare(a.name, b.name) })
	return numberDuplicates(out)
}

// changed returns a copy of the data with another value at the path, or without one.
func changed(data object, path []string, value any, remove bool) object {
	out := maps.Clone(data)
	switch {
	case len(path) > 1:
		inner, _ := data[path[0]].(object)
		out[path[0]] = changed(inner, path[1:], value, remove)
	case remove:
		delete(out, path[0])
	default:
		out[path[0]] = value
	}
	return out
}
