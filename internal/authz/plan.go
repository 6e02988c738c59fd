package authz

import (
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// plan is the filter of a list before the actor is known: a template of the rule, bound to
// the columns of one query. Binding an actor decides the leaves of the plan. The SQL text
// depends only on the states of the leaves, so it is written once per combination of states
// and cached.
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
	// dependsOnRow is false if the condition depends only on the actor.
	dependsOnRow bool
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
	l := leaf{kind: n.kind, left: n.left, right: n.right, dependsOnRow: n.left.isRow()}
	if l.dependsOnRow {
		l.column = columns.byName[n.left.row]
		if n.right.value != nil {
			_, l.null = n.right.value.(ast.Null)
			l.constant = l.column.validValues(valuesOf(n.kind, n.right.value))
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

// validValues removes the values that the column cannot contain. No row equals them, and
// the database would reject a statement that contains them.
func (c Column) validValues(values []string) []string {
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
	actorShape, args := p.bindOne(actor.term.Value)
	if len(actor.delegatedSubjects) == 0 || actorShape.verdict == isTrue {
		b.parts, b.args, b.verdict, b.named = []boundPart{{shape: actorShape}}, args, actorShape.verdict, actorShape.named
		return b
	}
	add := func(s *shape, args []any) {
		if s.verdict != isFalse {
			b.parts = append(b.parts, boundPart{s, len(b.args)})
			b.args = append(b.args, args...)
		}
	}
	add(actorShape, args)
	for _, delegated := range actor.delegatedSubjects {
		s, args := p.bindOne(delegated)
		if s.verdict == isTrue {
			return &boundFilter{parts: []boundPart{{shape: s}}, verdict: isTrue, named: s.named}
		}
		add(s, args)
	}
	b.verdict = anyOf
	if len(b.parts) == 0 {
		// No part includes any row. The actor's part gives the SQL text.
		b.parts, b.verdict = []boundPart{{shape: actorShape}}, isFalse
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
		if cached, ok := p.shapes.Load(key); ok {
			s, _ = cached.(*shape)
		}
	}
	if s == nil {
		s = p.newShape(states)
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

// decide evaluates a condition about the actor. For a condition about the row, it returns
// the values to compare with the row's column.
func (l *leaf) decide(actor ast.Value) (state, []string) {
	if !l.dependsOnRow {
		return stateOf(l.holdsFor(actor)), nil
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
		values = l.column.validValues(valuesOf(l.kind, v))
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

func stateOf(b bool) state {
	if b {
		return leafTrue
	}
	return leafFalse
}

// holdsFor evaluates a condition that does not depend on the row, as Rego does: a missing
// value makes it false.
func (l *leaf) holdsFor(actor ast.Value) bool {
	left := l.left.valueFor(actor)
	if left == nil {
		return false
	}
	switch l.kind {
	case equal:
		right := l.right.valueFor(actor)
		return right != nil && left.Compare(right) == 0
	case memberOf:
		return containsValue(l.right.valueFor(actor), left)
	case isText:
		_, ok := left.(ast.String)
		return ok
	default:
		b, ok := left.(ast.Boolean)
		return !ok || bool(b)
	}
}

// valueFor returns the value of an operand, or nil if the actor does not have it.
func (o *operand) valueFor(actor ast.Value) ast.Value {
	if o.actor == nil {
		return o.value
	}
	v, err := actor.Find(o.actor)
	if err != nil {
		return nil
	}
	return v
}

func containsValue(collection, value ast.Value) bool {
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
