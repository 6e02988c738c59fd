package authz

import (
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// plan is a template for the columns of one query. Binding an actor decides the leaves of
// the plan. The SQL text depends only on the states of the leaves, so it is written once per
// combination of states and cached.
type plan struct {
	root   *planNode
	leaves []leaf
	// shapes caches the written SQL texts by the states of the leaves.
	shapes sync.Map
}

// planNode is a node of a plan: an AND, an OR, a NOT, or the index of a leaf.
type planNode struct {
	kind kind
	kids []*planNode
	leaf int
}

// state is the result of binding a leaf: decided, or compared with the row's column using
// one value or several.
type state uint8

const (
	leafFalse state = iota
	leafTrue
	leafOneValue
	leafManyValues
	stateBits = 2
	// maxLeaves is the number of leaves whose states fit into one key. For a plan with more
	// leaves, the text is written again for every binding.
	maxLeaves = 64 / stateBits
)

// leaf is a single condition.
type leaf struct {
	kind        kind
	left, right operand
	column      Column
	// about is true if the condition depends on the row, and false if it depends on the
	// actor.
	about bool
	// constant contains the values that do not depend on the actor.
	constant []string
	// null is true if the condition tests the row's column for NULL.
	null bool
}

// plan binds the template to columns.
func (n *node) plan(columns *Columns) *plan {
	p := &plan{}
	p.root = p.add(n, columns)
	return p
}

func (p *plan) add(n *node, columns *Columns) *planNode {
	out := &planNode{kind: n.kind}
	switch n.kind {
	case isTrue, isFalse:
		return out
	case allOf, anyOf, isNotTrue:
		for _, kid := range n.kids {
			out.kids = append(out.kids, p.add(kid, columns))
		}
		return out
	}
	l := leaf{kind: n.kind, left: n.left, right: n.right, about: n.left.isRow()}
	if l.about {
		l.column = columns.byName[n.left.row]
		if n.right.value != nil {
			_, l.null = n.right.value.(ast.Null)
			l.constant = l.column.fitting(valuesOf(n.kind, n.right.value))
		}
	}
	out.leaf = len(p.leaves)
	p.leaves = append(p.leaves, l)
	return out
}

// valuesOf returns the texts that satisfy a comparison with the value.
func valuesOf(k kind, v ast.Value) []string {
	if k == memberOf {
		if o, ok := v.(ast.Object); ok {
			var out []string
			o.Foreach(func(_, t *ast.Term) {
				if s, ok := t.Value.(ast.String); ok {
					out = append(out, string(s))
				}
			})
			return out
		}
		return stringsOf(v)
	}
	if s, ok := v.(ast.String); ok {
		return []string{string(s)}
	}
	return nil
}

// fitting removes the values that the column cannot contain. They equal no row, and the
// database would reject a statement with them.
func (c Column) fitting(values []string) []string {
	if !c.uuid {
		return values
	}
	for _, v := range values {
		if !isUUID(v) {
			return onlyUUIDs(values)
		}
	}
	return values
}

func onlyUUIDs(values []string) []string {
	var kept []string
	for _, v := range values {
		if isUUID(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f':
		default:
			return false
		}
	}
	return true
}

// bind decides the leaves for the actor and for each of its delegated subjects. A row passes
// if one of them may read it.
func (p *plan) bind(actor *Subject) *boundFilter {
	b := &boundFilter{}
	own, args := p.bindOne(actor.term.Value)
	if len(actor.delegatedSubjects) == 0 || own.verdict == isTrue {
		b.parts, b.args, b.verdict, b.named = []boundPart{{shape: own}}, args, own.verdict, own.named
		return b
	}
	// The plan that includes no rows is used only if all parts include none.
	nothing := boundPart{shape: own}
	add := func(s *shape, args []any) {
		if s.verdict != isFalse {
			b.parts = append(b.parts, boundPart{s, len(b.args)})
			b.args = append(b.args, args...)
		}
	}
	add(own, args)
	for _, delegated := range actor.delegatedSubjects {
		s, args := p.bindOne(delegated)
		if s.verdict == isTrue {
			return &boundFilter{parts: []boundPart{{shape: s}}, verdict: isTrue, named: s.named}
		}
		add(s, args)
	}
	b.verdict = anyOf
	if len(b.parts) == 0 {
		b.parts, b.verdict = []boundPart{nothing}, isFalse
	}
	b.named = b.render("@policy_", 0)
	return b
}

// bindOne returns the text and the values for one actor document.
func (p *plan) bindOne(actor ast.Value) (*shape, []any) {
	var key uint64
	states := make([]state, len(p.leaves))
	values := make([][]string, len(p.leaves))
	for i := range p.leaves {
		states[i], values[i] = p.leaves[i].decide(actor)
		key = key<<stateBits | uint64(states[i])
	}
	var s *shape
	if len(p.leaves) <= maxLeaves {
		if kept, ok := p.shapes.Load(key); ok {
			s, _ = kept.(*shape)
		}
	}
	if s == nil {
		s = p.write(states)
		if len(p.leaves) <= maxLeaves {
			p.shapes.Store(key, s)
		}
	}
	args := make([]any, len(s.sources))
	for i, source := range s.sources {
		if states[source] == leafOneValue {
			args[i] = values[source][0]
		} else {
			args[i] = values[source]
		}
	}
	return s, args
}

// decide evaluates the conditions about the actor, and finds the values to compare with the
// row's column.
func (l *leaf) decide(actor ast.Value) (state, []string) {
	if !l.about {
		return truth(l.known(actor)), nil
	}
	switch {
	case l.column.fixed && l.kind == isText:
		return leafTrue, nil
	case l.column.sql == "" && !l.column.fixed:
		return leafFalse, nil
	case l.kind == isText, l.null && !l.column.fixed:
		return leafOneValue, nil
	}
	values := l.constant
	if l.right.actor != nil {
		v, err := actor.Find(l.right.actor)
		if err != nil {
			return leafFalse, nil
		}
		values = l.column.fitting(valuesOf(l.kind, v))
	}
	if l.column.fixed {
		for _, v := range values {
			if v == l.column.literal {
				return leafTrue, nil
			}
		}
		return leafFalse, nil
	}
	switch len(values) {
	case 0:
		return leafFalse, nil
	case 1:
		return leafOneValue, values
	}
	return leafManyValues, values
}

func truth(b bool) state {
	if b {
		return leafTrue
	}
	return leafFalse
}

// known evaluates a condition that does not depend on the row, as Rego does: a missing value
// makes it false.
func (l *leaf) known(actor ast.Value) bool {
	left := l.left.of(actor)
	if left == nil {
		return false
	}
	switch l.kind {
	case equal:
		right := l.right.of(actor)
		return right != nil && left.Compare(right) == 0
	case memberOf:
		return holds(l.right.of(actor), left)
	case isText:
		_, ok := left.(ast.String)
		return ok
	default:
		b, ok := left.(ast.Boolean)
		return !ok || bool(b)
	}
}

// of returns the value of an operand, or nil if the actor does not have it.
func (o *operand) of(actor ast.Value) ast.Value {
	if o.actor == nil {
		return o.value
	}
	v, err := actor.Find(o.actor)
	if err != nil {
		return nil
	}
	return v
}

func holds(collection, value ast.Value) bool {
	found := false
	look := func(t *ast.Term) { found = found || t.Value.Compare(value) == 0 }
	switch c := collection.(type) {
	case ast.Set:
		return c.Contains(&ast.Term{Value: value})
	case *ast.Array:
		c.Foreach(look)
	case ast.Object:
		c.Foreach(func(_, v *ast.Term) { look(v) })
	}
	return found
}
