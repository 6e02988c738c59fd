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

// node is a value of an answer, its members in the order that the service wrote
// them. Texts are kept with what can't be seen made visible.
type node struct {
	kind    jsontext.Kind
	text    string // of a string
	whole   string // of a string that was cut: what it was before
	raw     string // of a number, boolean or null
	names   []string
	members map[string]*node
	items   []*node
}

// maxDepth bounds how deep an answer is nested.
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
			// Two names may become one when they are made visible: the later one stays.
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

// at gives a member of an object, or nil.
func (n *node) at(name string) *node {
	if n == nil {
		return nil
	}
	return n.members[name]
}

// encode writes the value as JSON.
func (n *node) encode(b []byte) []byte {
	switch n.kind {
	case '"':
		b, _ = jsontext.AppendQuote(b, n.text) // what Block gives is valid UTF-8
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

// scalar tells a value that is shown in one word or text.
func (n *node) scalar() bool { return n.kind != '{' && n.kind != '[' }

// words is a scalar, or a list of them, as it is shown in a line.
func (n *node) words() string {
	switch n.kind {
	case '"':
		return n.text
	case '[':
		parts := make([]string, len(n.items))
		for i, m := range n.items {
			parts[i] = m.words()
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

// flat tells a value that fits into a cell: a scalar or a list of scalars.
func (n *node) flat() bool {
	return n.scalar() || (n.kind == '[' && !slices.ContainsFunc(n.items, func(m *node) bool { return !m.scalar() }))
}

// each calls f with every text and list in the value, and with its path.
func (n *node) each(path string, f func(path string, n *node)) {
	switch n.kind {
	case '{':
		for _, name := range n.names {
			n.members[name].each(join(path, name), f)
		}
	case '[':
		f(path, n)
		for _, m := range n.items {
			m.each(path+"[]", f)
		}
	case '"':
		f(path, n)
	}
}

// cutText shortens a text to its first characters, most at most, and says so in
// its place.
func (n *node) cutText(most int) {
	if n.whole == "" {
		n.whole = n.text
	}
	total := utf8.RuneCountInString(n.whole)
	if total <= most {
		return
	}
	end, count := 0, 0
	for end = range n.whole {
		if count == most {
			break
		}
		count++
	}
	n.text = fmt.Sprintf("%s… [cut: %d of %d characters are shown]", n.whole[:end], most, total)
}
