package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/cli/text"
)

// node is a JSON value of a response. Object members keep their order. Invisible
// characters in strings are escaped.
type node struct {
	kind    jsontext.Kind
	text    string // value of a string
	full    string // value of a string before it was truncated
	raw     string // number, boolean or null
	names   []string
	members map[string]*node
	items   []*node
}

// maxDepth is the maximum nesting depth of a response.
const maxDepth = 64

func parse(doc []byte) (*node, error) {
	if len(bytes.TrimSpace(doc)) == 0 {
		return &node{kind: '{', members: map[string]*node{}}, nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(doc))
	n, err := read(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return n, nil
}

func read(dec *jsontext.Decoder, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &node{kind: tok.Kind()}
	switch n.kind {
	case '"':
		n.text = text.Block(tok.String())
	case '{':
		n.members = map[string]*node{}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			// Two names may be equal after escaping; the later member replaces the first.
			key := text.Line(name.String())
			m, err := read(dec, depth+1)
			if err != nil {
				return nil, err
			}
			n.set(key, m)
		}
		_, err = dec.ReadToken()
	case '[':
		for dec.PeekKind() != ']' {
			m, err := read(dec, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, m)
		}
		_, err = dec.ReadToken()
	default:
		n.raw = tok.String()
	}
	return n, err
}

func (n *node) set(name string, m *node) {
	if n.members[name] == nil {
		n.names = append(n.names, name)
	}
	n.members[name] = m
}

// member returns a member of an object, or nil.
func (n *node) member(name string) *node {
	if n == nil {
		return nil
	}
	return n.members[name]
}

// encode appends the value as JSON to b.
func (n *node) encode(b []byte) []byte {
	switch n.kind {
	case '"':
		b, _ = jsontext.AppendQuote(b, n.text) // text.Block returns valid UTF-8
		return b
	case '{':
		b = append(b, '{')
		for i, name := range n.names {
			if i > 0 {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, name)
			b = n.members[name].encode(append(b, ':'))
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, m := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = m.encode(b)
		}
		return append(b, ']')
	default:
		return append(b, n.raw...)
	}
}

// isScalar reports whether the value is neither an object nor an array.
func (n *node) isScalar() bool { return n.kind != '{' && n.kind != '[' }

// lineText returns a value as text for one line. Items of a list are separated by commas.
func (n *node) lineText() string {
	switch n.kind {
	case '"':
		return n.text
	case '[':
		parts := make([]string, len(n.items))
		for i, m := range n.items {
			parts[i] = m.lineText()
		}
		return strings.Join(parts, ", ")
	case 'n':
		return ""
	case '{':
		return string(n.encode(nil))
	default:
		return n.raw
	}
}

// isFlat reports whether the value is a scalar or a list of scalars.
func (n *node) isFlat() bool {
	return n.isScalar() || (n.kind == '[' && !slices.ContainsFunc(n.items, func(m *node) bool { return !m.isScalar() }))
}

// walk calls f for every string and list in the value, with its path.
func (n *node) walk(path string, f func(path string, n *node)) {
	switch n.kind {
	case '{':
		for _, name := range n.names {
			n.members[name].walk(join(path, name), f)
		}
	case '[':
		f(path, n)
		for _, m := range n.items {
			m.walk(path+"[]", f)
		}
	case '"':
		f(path, n)
	}
}

// cutText truncates a string to limit characters and appends a note with both lengths. A
// second call starts from the full text again.
func (n *node) cutText(limit int) {
	if n.full == "" {
		n.full = n.text
	}
	total := utf8.RuneCountInString(n.full)
	if total <= limit {
		return
	}
	end, count := 0, 0
	for end = range n.full {
		if count == limit {
			break
		}
		count++
	}
	n.text = fmt.Sprintf("%s… [truncated: %d of %d characters]", n.full[:end], limit, total)
}

// memberText returns the text of a member with one value, or "".
func (n *node) memberText(name string) string {
	if m := n.member(name); m != nil && m.isScalar() {
		return m.lineText()
	}
	return ""
}

// memberItems returns the items of a member that is a list.
func (n *node) memberItems(name string) []*node {
	if m := n.member(name); m != nil {
		return m.items
	}
	return nil
}
