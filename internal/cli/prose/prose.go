// Package prose renders user-generated Markdown for a terminal.
//
// All text is escaped with package text, before and after it is parsed: the output has no
// control characters except line breaks and the escape sequences that the package writes
// itself. The address of a link is always visible, because its text may claim another one.
package prose

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	source "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"parapet/internal/cli/text"
)

// Options are the properties of the terminal.
type Options struct {
	// Width is the number of columns; 0 means unlimited.
	Width int
	// Color allows bold, italic and colored text. Without it, the marks of the Markdown remain.
	Color bool
	// Links makes addresses clickable, with OSC 8.
	Links bool
}

// maxDepth is the nesting depth from which blocks are shown as plain text.
const maxDepth = 12

// A document with more marks stays as it is, because the time to parse it grows with the
// square of their number.
const (
	// maxNested is the maximum number of marks of quotes and lists at the start of a line.
	maxNested = 32
	// maxInline is the maximum number of other marks in the document.
	maxInline = 4000
)

// Render returns the lines of a Markdown document, without a line break at the end.
func Render(markdown string, o Options) []string {
	markdown = strings.TrimRight(text.Block(markdown), "\n")
	if markdown == "" {
		return nil
	}
	if hasTooManyMarks(markdown) {
		return strings.Split(markdown, "\n")
	}
	r := &renderer{Options: o, source: []byte(markdown)}
	return r.blocks(newParser().Parse(source.NewReader(r.source)), o.Width, 0)
}

// newParser returns a parser of CommonMark. The extensions of the library are not used,
// because they add milliseconds to the start of the program: table.go reads tables, and other
// marks stay as they are.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(util.Prioritized(parser.LinkReferenceParagraphTransformer, 100)),
	)
}

// hasTooManyMarks reports whether the document exceeds maxNested or maxInline.
func hasTooManyMarks(markdown string) bool {
	inline := 0
	for line := range strings.SplitSeq(markdown, "\n") {
		nested := 0
		start := strings.TrimLeft(line, " \t>-+*0123456789.)")
		before := byte(' ')
		for _, c := range []byte(line[:len(line)-len(start)]) {
			if c == '>' || (c == ' ' && before != ' ') {
				nested++
			}
			before = c
		}
		for _, c := range []byte(start) {
			if strings.IndexByte("[]!*_`~<&", c) >= 0 {
				inline++
			}
		}
		if nested > maxNested || inline > maxInline {
			return true
		}
	}
	return false
}

type renderer struct {
	Options
	source []byte
}

// blocks returns the lines of the child blocks of a node, separated by empty lines unless
// the node is an item of a tight list.
func (r *renderer) blocks(parent ast.Node, width, depth int) []string {
	var lines []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		block := r.block(n, width, depth)
		if len(block) == 0 {
			continue
		}
		if len(lines) > 0 && !isTight(parent) {
			lines = append(lines, "")
		}
		lines = append(lines, block...)
	}
	return lines
}

func isTight(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.List:
		return n.IsTight
	case *ast.ListItem:
		list, ok := n.Parent().(*ast.List)
		return ok && list.IsTight
	default:
		return false
	}
}

// block returns the lines of a block.
func (r *renderer) block(n ast.Node, width, depth int) []string {
	if depth > maxDepth {
		return r.rawLines(n)
	}
	switch n := n.(type) {
	case *ast.Heading:
		return r.wrap(r.inlines(n, style{sgr: bold}), width)
	case *ast.Paragraph, *ast.TextBlock:
		if rows := tableRows(r.rawLines(n)); rows != nil {
			return r.table(rows)
		}
		return r.wrap(r.inlines(n, style{}), width)
	case *ast.ThematicBreak:
		return []string{r.paint(faint, strings.Repeat("─", ruleWidth(width)))}
	case *ast.Blockquote:
		return indent(r.blocks(n, narrower(width, 2), depth+1), r.paint(faint, "│")+" ", r.paint(faint, "│")+" ")
	case *ast.List:
		return r.list(n, width, depth)
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return indent(r.rawLines(n), codeIndent, codeIndent)
	default:
		return r.rawLines(n)
	}
}

const codeIndent = "    "

func ruleWidth(width int) int {
	if width <= 0 || width > 40 {
		return 40
	}
	return width
}

// list returns the lines of a list. Each item starts with a bullet or its number.
func (r *renderer) list(list *ast.List, width, depth int) []string {
	var lines []string
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		bullet := "• "
		if list.IsOrdered() {
			bullet = strconv.Itoa(number) + ". "
			number++
		}
		if len(lines) > 0 && !list.IsTight {
			lines = append(lines, "")
		}
		room := text.Width(bullet)
		body := r.blocks(item, narrower(width, room), depth+1)
		if body == nil {
			body = []string{""}
		}
		lines = append(lines, indent(body, bullet, strings.Repeat(" ", room))...)
	}
	return lines
}

// indent puts first before the first line and rest before the others. Lines have no spaces
// at their end.
func indent(lines []string, first, rest string) []string {
	indented := make([]string, len(lines))
	for i, line := range lines {
		prefix := rest
		if i == 0 {
			prefix = first
		}
		indented[i] = strings.TrimRight(prefix+line, " ")
	}
	return indented
}

// narrower returns a width without n columns; 0 means unlimited.
func narrower(width, n int) int {
	if width <= 0 {
		return 0
	}
	return max(width-n, 8)
}

// rawLines returns the source of a block.
func (r *renderer) rawLines(n ast.Node) []string {
	if n.Type() == ast.TypeInline {
		return nil
	}
	var lines []string
	segments := n.Lines()
	for i := range segments.Len() {
		s := segments.At(i)
		lines = append(lines, clean(string(s.Value(r.source))))
	}
	if lines == nil {
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			lines = append(lines, r.rawLines(c)...)
		}
	}
	return lines
}

// clean escapes a line of the source. It expands tabs and removes the line break.
func clean(s string) string {
	return text.Line(strings.ReplaceAll(strings.TrimRight(s, "\r\n"), "\t", "    "))
}
