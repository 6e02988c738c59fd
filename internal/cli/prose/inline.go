package prose

import (
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"parapet/internal/cli/text"
)

// The escape sequences of the package.
const (
	bold      = "\x1b[1m"
	faint     = "\x1b[2m"
	italic    = "\x1b[3m"
	underline = "\x1b[4m"
	magenta   = "\x1b[35m"
	reset     = "\x1b[0m"
	linkStart = "\x1b]8;;"
	linkEnd   = "\x1b\\"
)

// style is how a piece of text looks.
type style struct {
	// sgr are escape sequences.
	sgr string
	// address is where the piece links to, or "".
	address string
}

// piece is a text with one style, without a line break. A piece with isBreak is a line break.
type piece struct {
	style
	text    string
	isBreak bool
}

func (r *renderer) paint(sgr, s string) string {
	if !r.Color || sgr == "" || s == "" {
		return s
	}
	return sgr + s + reset
}

// inlines returns the pieces of the inline children of a node.
func (r *renderer) inlines(parent ast.Node, s style) []piece {
	var pieces []piece
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		pieces = append(pieces, r.inline(n, s)...)
	}
	return pieces
}

func (r *renderer) inline(n ast.Node, s style) []piece {
	switch n := n.(type) {
	case *ast.Text:
		value := string(n.Value(r.source))
		if !n.IsRaw() {
			value = decode(n.Value(r.source))
		}
		pieces := []piece{{style: s, text: text.Line(strings.ReplaceAll(value, "\t", " "))}}
		switch {
		case n.HardLineBreak():
			pieces = append(pieces, piece{isBreak: true})
		case n.SoftLineBreak():
			pieces = append(pieces, piece{style: s, text: " "})
		}
		return pieces
	case *ast.String:
		return []piece{{style: s, text: text.Line(string(n.Value))}}
	case *ast.Emphasis:
		if n.Level == 1 {
			return r.marked(n, s, italic, "*")
		}
		return r.marked(n, s, bold, "**")
	case *ast.CodeSpan:
		return r.marked(n, s, magenta, "`")
	case *ast.Link:
		address := decode(n.Destination)
		return r.link(r.inlines(n, linked(s, address)), address, s)
	case *ast.Image:
		label := append([]piece{{style: s, text: "image: "}}, r.inlines(n, s)...)
		return r.link(label, decode(n.Destination), s)
	case *ast.AutoLink:
		return []piece{{style: linked(s, string(n.URL(r.source))), text: text.Line(string(n.Label(r.source)))}}
	case *ast.RawHTML:
		var pieces []piece
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			pieces = append(pieces, piece{style: s, text: clean(string(segment.Value(r.source)))})
		}
		return pieces
	default:
		return r.inlines(n, s)
	}
}

// decode returns a text without its backslash escapes and character references.
func decode(source []byte) string {
	return html.UnescapeString(string(util.UnescapePunctuations(source)))
}

// marked returns the pieces of an emphasized node: with an escape sequence, or with the mark
// of the Markdown if the terminal has no colors.
func (r *renderer) marked(n ast.Node, s style, sgr, mark string) []piece {
	inner := s
	if r.Color {
		inner.sgr, mark = s.sgr+sgr, ""
	}
	pieces := r.inlines(n, inner)
	if mark == "" {
		return pieces
	}
	return append(append([]piece{{style: s, text: mark}}, pieces...), piece{style: s, text: mark})
}

// linked returns the style of the text of a link.
func linked(s style, address string) style {
	s.sgr += underline
	s.address = linkAddress(address)
	return s
}

// link returns the label of a link and, unless the label is the address, the address.
func (r *renderer) link(label []piece, address string, s style) []piece {
	var shown strings.Builder
	for _, p := range label {
		shown.WriteString(p.text)
	}
	address = text.Line(address)
	if address == "" || shown.String() == address {
		return label
	}
	s.sgr += faint
	return append(label, piece{style: s, text: " (" + address + ")"})
}

// linkAddress returns an address that a terminal may open, or "": an absolute URL with a
// scheme that opens a page or a message. It returns "" for an address with a user name,
// because the user name can look like the host.
func linkAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto") {
		return ""
	}
	encoded := u.String()
	if strings.IndexFunc(encoded, func(c rune) bool { return c <= ' ' || c > '~' }) >= 0 {
		return ""
	}
	return encoded
}

// wrap joins pieces to lines of at most width columns. It breaks lines at spaces; a longer
// word has a line of its own.
func (r *renderer) wrap(pieces []piece, width int) []string {
	var lines []string
	var line, word strings.Builder
	lineWidth, wordWidth, spaces := 0, 0, 0
	flushWord := func() {
		if wordWidth == 0 {
			return
		}
		if lineWidth > 0 && width > 0 && lineWidth+spaces+wordWidth > width {
			lines = append(lines, line.String())
			line.Reset()
			lineWidth, spaces = 0, 0
		}
		if lineWidth > 0 {
			line.WriteString(strings.Repeat(" ", spaces))
			lineWidth += spaces
		}
		line.WriteString(word.String())
		lineWidth += wordWidth
		word.Reset()
		wordWidth, spaces = 0, 0
	}
	for _, p := range pieces {
		if p.isBreak {
			flushWord()
			lines = append(lines, line.String())
			line.Reset()
			lineWidth, spaces = 0, 0
			continue
		}
		for i, part := range strings.Split(p.text, " ") {
			if i > 0 {
				flushWord()
				spaces = 1
			}
			if part != "" {
				word.WriteString(r.styled(p.style, part))
				wordWidth += text.Width(part)
			}
		}
	}
	flushWord()
	if lineWidth > 0 || len(lines) == 0 {
		lines = append(lines, line.String())
	}
	return lines
}

// styled returns a text with the escape sequences of its style.
func (r *renderer) styled(s style, part string) string {
	painted := r.paint(s.sgr, part)
	if !r.Links || s.address == "" {
		return painted
	}
	return linkStart + s.address + linkEnd + painted + linkStart + linkEnd
}

// Strip removes the escape sequences that the package writes.
func Strip(line string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(line, "\x1b")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := "m"
		if strings.HasPrefix(rest, "]") {
			end = linkEnd
		}
		_, line, _ = strings.Cut(rest, end)
	}
}
