package mcp

import (
	"strings"

	"parapet/internal/cli/markdown"
	"parapet/internal/op"
)

// renderer writes an answer as Markdown: every member of it, for the clients
// that show their model nothing else.
type renderer struct {
	doc       *markdown.Doc
	untrusted map[string]bool
	// seen are the untrusted places that hold something.
	seen map[string]bool
}

func (r *renderer) document(o *op.Operation, n *node) {
	if len(n.names) == 0 {
		r.doc.Line("Done: " + o.ToolName() + ".")
		return
	}
	r.object("", n, 2)
}

// label is a member's name with what there is to know of its text.
func (r *renderer) label(path, name string, n *node) string {
	if !r.untrusted[path] || n.words() == "" {
		return name
	}
	r.seen[path] = true
	return name + " (untrusted)"
}

// object writes what fits into lines first, then long texts, then what is inside.
func (r *renderer) object(path string, n *node, level int) {
	var long, nested []string
	for _, name := range n.names {
		m, at := n.members[name], join(path, name)
		switch {
		case !m.flat():
			nested = append(nested, name)
		case m.kind == '"' && (len(m.text) > shortText || strings.Contains(m.text, "\n")):
			long = append(long, name)
		default:
			r.doc.Field(r.label(at, name, m), m.words())
		}
	}
	for _, name := range long {
		m := n.members[name]
		r.doc.Line(r.label(join(path, name), name, m) + ":")
		r.doc.Quote(m.text)
	}
	for _, name := range nested {
		m, at := n.members[name], join(path, name)
		if m.kind == '[' {
			r.list(at, name, m, level)
			continue
		}
		r.doc.Heading(level, at)
		r.object(at, m, level+1)
	}
}

// list writes objects as a table where their members fit into cells.
func (r *renderer) list(path, name string, n *node, level int) {
	r.doc.Heading(level, name)
	var columns []string
	inCells := true
	known := map[string]bool{}
	for _, item := range n.items {
		inCells = inCells && item.kind == '{'
		for _, c := range item.names {
			m := item.members[c]
			inCells = inCells && m.flat() && (m.kind != '"' || len(m.text) <= shortText)
			if !known[c] {
				known[c] = true
				columns = append(columns, c)
			}
		}
	}
	if !inCells {
		for _, item := range n.items {
			if item.kind != '{' {
				r.doc.Line(item.words())
				continue
			}
			r.doc.Heading(level+1, title(item))
			r.object(path+"[]", item, level+2)
		}
		return
	}
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c
		for _, item := range n.items {
			if m := item.members[c]; m != nil {
				if l := r.label(join(path+"[]", c), c, m); l != c {
					heads[i] = l
				}
			}
		}
	}
	rows := make([][]string, len(n.items))
	for i, item := range n.items {
		rows[i] = make([]string, len(columns))
		for j, c := range columns {
			if m := item.members[c]; m != nil {
				rows[i][j] = m.words()
			}
		}
	}
	r.doc.Table(heads, rows, 0)
}

// title names an item of a list by what tells it from the others.
func title(n *node) string {
	for _, name := range []string{"key", "id", "name"} {
		if m := n.at(name); m != nil && m.scalar() && m.words() != "" {
			return m.words()
		}
	}
	return "item"
}
