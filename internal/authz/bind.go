package authz

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// bind replaces the actor by one, which decides what it can, and writes the
// rest as SQL with parameters.
func (n *node) bind(actor *Subject, columns *Columns) *boundFilter {
	b := &binder{actor: actor.term.Value, columns: columns}
	tree := b.reduce(n)
	w := &writer{columns: columns, parts: make([]string, 1, 8)}
	switch tree.kind {
	case isTrue:
		w.text("TRUE")
	case isFalse:
		w.text("FALSE")
	default:
		w.node(tree)
	}
	f := &boundFilter{verdict: tree.kind, parts: w.parts, order: w.order, args: w.args}
	f.named = f.render("@policy_", 0)
	return f
}

type binder struct {
	actor   ast.Value
	columns *Columns
}

// bound is a tree without an actor: what is left to ask a row.
type bound struct {
	kind   kind
	kids   []bound
	column Column
	// values are those that the column is compared with; null asks for NULL.
	values []string
	null   bool
}

func constant(b bool) bound {
	if b {
		return bound{kind: isTrue}
	}
	return bound{kind: isFalse}
}

func (b *binder) reduce(n *node) bound {
	switch n.kind {
	case allOf:
		return b.join(n, isTrue, isFalse)
	case anyOf:
		return b.join(n, isFalse, isTrue)
	case notTrue:
		kid := b.reduce(n.kids[0])
		switch kid.kind {
		case isTrue:
			return constant(false)
		case isFalse:
			return constant(true)
		}
		return bound{kind: notTrue, kids: []bound{kid}}
	case equal, memberOf, isText, truthy:
		if n.left.isRow() {
			return b.row(n)
		}
		return constant(b.known(n))
	}
	return bound{kind: n.kind}
}

func (b *binder) join(n *node, neutral, absorbing kind) bound {
	out := bound{kind: n.kind}
	for _, kid := range n.kids {
		switch r := b.reduce(kid); r.kind {
		case absorbing:
			return bound{kind: absorbing}
		case neutral:
		case n.kind:
			out.kids = append(out.kids, r.kids...)
		default:
			out.kids = append(out.kids, r)
		}
	}
	switch len(out.kids) {
	case 0:
		return bound{kind: neutral}
	case 1:
		return out.kids[0]
	}
	return out
}

// value gives an operand's value, nil where the actor lacks it.
func (b *binder) value(o operand) ast.Value {
	if o.actor == nil {
		return o.value
	}
	v, err := b.actor.Find(o.actor)
	if err != nil {
		return nil
	}
	return v
}

// known evaluates a condition that asks nothing of the row, as Rego does: what
// is missing makes it false.
func (b *binder) known(n *node) bool {
	left := b.value(n.left)
	if left == nil {
		return false
	}
	switch n.kind {
	case equal:
		right := b.value(n.right)
		return right != nil && left.Compare(right) == 0
	case memberOf:
		return contains(b.value(n.right), left)
	case isText:
		_, ok := left.(ast.String)
		return ok
	default:
		truth, ok := left.(ast.Boolean)
		return !ok || bool(truth)
	}
}

func contains(collection, value ast.Value) bool {
	found := false
	look := func(t *ast.Term) { found = found || t.Value.Compare(value) == 0 }
	switch c := collection.(type) {
	case ast.Set:
		return c.Contains(ast.NewTerm(value))
	case *ast.Array:
		c.Foreach(look)
	case ast.Object:
		c.Foreach(func(_, v *ast.Term) { look(v) })
	}
	return found
}

// row turns a condition on the row's attribute into one on its column. Values
// that the column cannot hold are left out: they would equal no row.
func (b *binder) row(n *node) bound {
	column := b.columns.byName[n.left.row]
	out := bound{kind: n.kind, column: column}
	switch n.kind {
	case isText:
		if column.fixed {
			return constant(true)
		}
		if column.sql == "" {
			return constant(false)
		}
		return out
	case equal:
		switch v := b.value(n.right).(type) {
		case ast.String:
			out.values = []string{string(v)}
		case ast.Null:
			out.null = true
		}
	case memberOf:
		out.values = memberTexts(b.value(n.right))
	}
	if column.fixed {
		for _, v := range out.values {
			if v == column.literal {
				return constant(true)
			}
		}
		return constant(false)
	}
	if column.sql == "" {
		return constant(false)
	}
	if column.uuid {
		out.values = onlyUUIDs(out.values)
	}
	if len(out.values) == 0 && !out.null {
		return constant(false)
	}
	return out
}

func memberTexts(v ast.Value) []string {
	if o, ok := v.(ast.Object); ok {
		var out []string
		o.Foreach(func(_, t *ast.Term) {
			if s, ok := t.Value.(ast.String); ok {
				out = append(out, string(s))
			}
		})
		return out
	}
	return textsOf(v)
}

// onlyUUIDs keeps what is a uuid in canonical form: the database would refuse
// the statement for anything else.
func onlyUUIDs(values []string) []string {
	kept := values[:0:0]
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

// writer writes SQL as parts of text with arguments between them.
type writer struct {
	columns *Columns
	parts   []string
	order   []int
	args    []any
}

func (w *writer) text(s string) { w.parts[len(w.parts)-1] += s }

func (w *writer) arg(value any) {
	at := -1
	if s, ok := value.(string); ok {
		for i, have := range w.args {
			if have == s {
				at = i
			}
		}
	}
	if at < 0 {
		at = len(w.args)
		w.args = append(w.args, value)
	}
	w.order = append(w.order, at)
	w.parts = append(w.parts, "")
}

func (w *writer) node(b bound) {
	switch b.kind {
	case allOf:
		w.join(b.kids, " AND ")
	case anyOf:
		w.join(b.kids, " OR ")
	case notTrue:
		w.text("(")
		w.node(b.kids[0])
		w.text(") IS NOT TRUE")
	case isText:
		w.text(b.column.sql + " IS NOT NULL")
	case equal, memberOf:
		w.comparison(b)
	}
}

func (w *writer) join(kids []bound, with string) {
	for i, kid := range kids {
		if i > 0 {
			w.text(with)
		}
		if kid.kind == allOf || kid.kind == anyOf {
			w.text("(")
			w.node(kid)
			w.text(")")
		} else {
			w.node(kid)
		}
	}
}

func (w *writer) comparison(b bound) {
	cast := "text"
	if b.column.uuid {
		cast = "uuid"
	}
	w.text(b.column.sql)
	switch {
	case b.null:
		w.text(" IS NULL")
	case len(b.values) == 1:
		w.text(" = ")
		w.arg(b.values[0])
		w.text("::" + cast)
	default:
		w.text(" = ANY(")
		w.arg(b.values)
		w.text("::" + cast + "[])")
	}
}
