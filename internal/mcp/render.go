package mcp

import (
	"strings"

	"parapet/internal/cli/markdown"
	"parapet/internal/op"
)

// renderer writes all members of a response as Markdown, for clients that ignore
// structured content.
type renderer struct {
	doc *markdown.Doc
	// untrusted has the paths of members with user-generated text.
	untrusted map[string]bool
	// present has those of the untrusted paths that are not empty in this response.
	present map[string]bool
}

func (r *renderer) document(o *op.Operation, n *node) {
	if len(n.names) == 0 {
		r.doc.Line(o.ToolName() + " succeeded.")
		return
	}
	r.object("", n, 2)
}

// label returns the name of a member, marked as untrusted if it contains user-generated
// text.
func (r *renderer) label(path, name string, n *node) string {
	if !r.untrusted[path] || n.lineText() == "" {
		return name
	}
	r.present[path] = true
	return name + " (untrusted)"
}

// object writes short members first, then long texts, then nested objects and lists.
func (r *renderer) object(path string, n *node, level int) {
	var long, nested []string
	for _, name := range n.names {
		m, at := n.members[name], join(path, name)
		switch {
		case !m.isFlat():
			nested = append(nested, name)
		case m.kind == '"' && (len(m.text) > shortText || strings.Contains(m.text, "\n")):
			long = append(long, name)
		default:
			r.doc.Field(r.label(at, name, m), m.lineText())
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

// list writes a list as a table if the members of its items fit into cells, else item by
// item.
func (r *renderer) list(path, name string, n *node, level int) {
	r.doc.Heading(level, name)
	var columns []string
	fits := true
	known := map[string]bool{}
	for _, item := range n.items {
		fits = fits && item.kind == '{'
		for _, c := range item.names {
			m := item.members[c]
			fits = fits && m.isFlat() && (m.kind != '"' || len(m.text) <= shortText)
			if !known[c] {
				known[c] = true
				columns = append(columns, c)
			}
		}
	}
	if !fits {
		for _, item := range n.items {
			if item.kind != '{' {
				r.doc.Line(item.lineText())
				continue
			}
			r.doc.Heading(level+1, title(item))
			r.object(path+"[]", item, level+2)
		}
		return
	}
	headings := make([]string, len(columns))
	for i, c := range columns {
		headings[i] = c
		for _, item := range n.items {
			if m := item.members[c]; m != nil {
				if l := r.label(join(path+"[]", c), c, m); l != c {
					headings[i] = l
				}
			}
		}
	}
	rows := make([][]string, len(n.items))
	for i, item := range n.items {
		rows[i] = make([]string, len(columns))
		for j, c := range columns {
			if m := item.members[c]; m != nil {
				rows[i][j] = m.lineText()
			}
		}
	}
	r.doc.Table(headings, rows, 0)
}

// title returns the key, ID or name of a list item.
func title(n *node) string {
	for _, name := range []string{"key", "id", "name"} {
		if m := n.member(name); m != nil && m.isScalar() && m.lineText() != "" {
			return m.lineText()
		}
	}
	return "item"
}
