package authz

import (
	"strconv"
	"strings"
)

// shape is the SQL text of a bound filter without its values.
type shape struct {
	// verdict is isTrue or isFalse if the result does not depend on the row.
	verdict kind
	named   string
	parts   []string // the text before, between and after the arguments
	order   []int    // the index of the argument that follows each part
	sources []int    // the index of the leaf that gives each argument
}

// newShape returns the SQL of the plan for these states of the leaves.
func (p *plan) newShape(states []state) *shape {
	w := &writer{plan: p, states: states, parts: make([]string, 1, 8)}
	tree := w.reduce(p.root)
	switch tree.kind {
	case isTrue:
		w.text("TRUE")
	case isFalse:
		w.text("FALSE")
	default:
		w.writeNode(tree)
	}
	s := &shape{verdict: tree.kind, parts: w.parts, order: w.order, sources: w.sources}
	s.named = s.render("@policy_", 0)
	return s
}

func (s *shape) render(prefix string, offset int) string {
	var text strings.Builder
	text.WriteByte('(')
	for i, part := range s.parts {
		text.WriteString(part)
		if i < len(s.order) {
			text.WriteString(prefix)
			text.WriteString(strconv.Itoa(offset + s.order[i] + 1))
		}
	}
	text.WriteByte(')')
	return text.String()
}

// writer writes SQL as pieces of text with arguments between them.
type writer struct {
	plan    *plan
	states  []state
	parts   []string
	order   []int
	sources []int
}

// reduce removes decided leaves, and flattens nested ANDs and nested ORs.
func (w *writer) reduce(n *planNode) *planNode {
	switch n.kind {
	case isTrue, isFalse:
		return n
	case allOf:
		return w.join(n, isTrue, isFalse)
	case anyOf:
		return w.join(n, isFalse, isTrue)
	case isNotTrue:
		kid := w.reduce(n.kids[0])
		switch kid.kind {
		case isTrue:
			return &planNode{kind: isFalse}
		case isFalse:
			return &planNode{kind: isTrue}
		}
		return &planNode{kind: isNotTrue, kids: []*planNode{kid}}
	}
	switch w.states[n.leaf] {
	case leafFalse:
		return &planNode{kind: isFalse}
	case leafTrue:
		return &planNode{kind: isTrue}
	}
	return n
}

func (w *writer) join(n *planNode, neutral, absorbing kind) *planNode {
	out := &planNode{kind: n.kind}
	for _, kid := range n.kids {
		switch r := w.reduce(kid); r.kind {
		case absorbing:
			return &planNode{kind: absorbing}
		case neutral:
		case n.kind:
			out.kids = append(out.kids, r.kids...)
		default:
			out.kids = append(out.kids, r)
		}
	}
	switch len(out.kids) {
	case 0:
		return &planNode{kind: neutral}
	case 1:
		return out.kids[0]
	}
	return out
}

func (w *writer) writeNode(n *planNode) {
	switch n.kind {
	case allOf:
		w.writeJoined(n.kids, " AND ")
	case anyOf:
		w.writeJoined(n.kids, " OR ")
	case isNotTrue:
		// The NOT of Rego is true if a NULL in the row makes the comparison NULL.
		w.text("(")
		w.writeNode(n.kids[0])
		w.text(") IS NOT TRUE")
	default:
		w.writeCondition(n.leaf)
	}
}

func (w *writer) writeJoined(kids []*planNode, with string) {
	for i, kid := range kids {
		if i > 0 {
			w.text(with)
		}
		if kid.kind == allOf || kid.kind == anyOf {
			w.text("(")
			w.writeNode(kid)
			w.text(")")
		} else {
			w.writeNode(kid)
		}
	}
}

func (w *writer) writeCondition(i int) {
	l := &w.plan.leaves[i]
	cast := "text"
	if l.column.uuid {
		cast = "uuid"
	}
	w.text(l.column.sql)
	switch {
	case l.kind == isText:
		w.text(" IS NOT NULL")
	case l.null:
		w.text(" IS NULL")
	case w.states[i] == leafOneValue:
		w.text(" = ")
		w.arg(i)
		w.text("::" + cast)
	default:
		w.text(" = ANY(")
		w.arg(i)
		w.text("::" + cast + "[])")
	}
}

func (w *writer) text(s string) { w.parts[len(w.parts)-1] += s }

// arg adds the values of a leaf. Leaves with the same source share one argument.
func (w *writer) arg(i int) {
	argument := len(w.sources)
	for existing, source := range w.sources {
		if w.states[source] == w.states[i] && w.plan.leaves[source].sameValues(&w.plan.leaves[i]) {
			argument = existing
			break
		}
	}
	if argument == len(w.sources) {
		w.sources = append(w.sources, i)
	}
	w.order = append(w.order, argument)
	w.parts = append(w.parts, "")
}

func (l *leaf) sameValues(other *leaf) bool {
	if l.column.uuid != other.column.uuid || l.kind != other.kind {
		return false
	}
	if l.right.actor != nil && other.right.actor != nil {
		return l.right.actor.Equal(other.right.actor)
	}
	return l.right.value != nil && other.right.value != nil && l.right.value.Compare(other.right.value) == 0
}
