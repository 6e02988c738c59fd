package mcp

import (
	"slices"
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
	// named has the paths of ids that are replaced by names, which are user-generated text.
	named map[string]bool
}

func (r *renderer) document(o *op.Operation, n *node) {
	if len(n.names) == 0 {
		r.doc.Line(o.ToolName() + " succeeded.")
		return
	}
	r.object("", r.withNames("", n), 2)
}

// withNames returns a copy of a value in which the name of a record replaces its id, if the
// response has a reference with the name next to the id and the tools accept it as input.
func (r *renderer) withNames(path string, n *node) *node {
	switch n.kind {
	case '[':
		named := &node{kind: n.kind}
		for _, item := range n.items {
			named.items = append(named.items, r.withNames(path+"[]", item))
		}
		return named
	case '{':
		references := map[string]bool{}
		named := &node{kind: n.kind, members: map[string]*node{}}
		for _, name := range n.names {
			reference := op.ReferenceName(name)
			m := n.members[reference]
			if m == nil || m.member("name") == nil || m.member("id") == nil || !op.AcceptsName(name) {
				named.set(name, r.withNames(join(path, name), n.members[name]))
				continue
			}
			references[reference] = true
			r.named[join(path, name)] = true
			r.present[join(path, reference)+".name"] = true
			named.set(name, &node{kind: '"', text: referenceText(m)})
		}
		named.names = slices.DeleteFunc(named.names, func(name string) bool { return references[name] })
		return named
	default:
		return n
	}
}

// referenceText returns what a tool accepts in place of the id, and the name: "APOLLO-17: Write
// the flight plan" or "lin@acme.example: Lin Chen". It returns the id for a record that the
// caller may not read.
func referenceText(n *node) string {
	text := n.member("name").lineText()
	if text == op.Redacted {
		return n.member("id").lineText()
	}
	for _, name := range []string{"key", "email"} {
		if m := n.member(name); m != nil {
			return m.lineText() + ": " + text
		}
	}
	return text
}

// label returns the name of a member, marked as untrusted if it contains user-generated
// text. A record that is named in place of its id is called like the argument for it.
func (r *renderer) label(path, name string, n *node) string {
	switch {
	case n.lineText() == "":
		return name
	case r.untrusted[path]:
		r.present[path] = true
	case !r.named[path]:
		return name
	default:
		name = op.ArgumentName(name)
	}
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
