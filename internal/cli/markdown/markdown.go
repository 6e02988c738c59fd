// Package markdown formats the output of pt: headings, fields, tables and quoted text.
//
// A plain document is Markdown and is reproducible. A rendered document has the same
// text, laid out for the width of a terminal. All text is escaped with package text.
package markdown

import (
	"strings"

	"parapet/internal/cli/text"
)

// Style is the layout of a document. The zero Style is plain Markdown.
type Style struct {
	// Rendered lays the document out for a terminal.
	Rendered bool
	// Color highlights headings and names. It applies only to rendered documents.
	Color bool
	// Width is the width of the terminal in columns; 0 means unlimited.
	Width int
}

const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	reset = "\x1b[0m"
)

// Doc builds a document.
type Doc struct {
	style  Style
	b      strings.Builder
	fields bool
}

// New returns an empty document.
func New(s Style) *Doc { return &Doc{style: s} }

// String returns the document. It ends with a newline unless it is empty.
func (d *Doc) String() string { return d.b.String() }

// block starts a new block: it writes an empty line unless the document is empty.
func (d *Doc) block() {
	if d.b.Len() > 0 {
		d.b.WriteByte('\n')
	}
	d.fields = false
}

func (d *Doc) paint(code, s string) string {
	if !d.style.Rendered || !d.style.Color {
		return s
	}
	return code + s + reset
}

// Heading writes a heading. The top level is 1.
func (d *Doc) Heading(level int, title string) {
	d.block()
	title = text.Line(title)
	if !d.style.Rendered {
		title = strings.Repeat("#", level) + " " + title
	}
	d.b.WriteString(d.paint(bold, title) + "\n")
}

// Field writes a name and its value. It writes nothing if the value is empty.
func (d *Doc) Field(name, value string) {
	if value == "" {
		return
	}
	if !d.fields {
		d.block()
		d.fields = true
	}
	name = text.Line(name) + ":"
	if d.style.Rendered {
		d.b.WriteString("  " + d.paint(dim, name) + " " + text.Line(value) + "\n")
		return
	}
	d.b.WriteString("- " + name + " " + text.Line(value) + "\n")
}

// Line writes a paragraph of one line.
func (d *Doc) Line(s string) {
	d.block()
	d.b.WriteString(text.Line(s) + "\n")
}

// Quote writes user-generated text as a block quote.
func (d *Doc) Quote(s string) {
	s = strings.TrimRight(text.Block(s), "\n")
	if s == "" {
		return
	}
	d.block()
	mark := ">"
	if d.style.Rendered {
		mark = "│"
	}
	for line := range strings.SplitSeq(s, "\n") {
		d.b.WriteString(strings.TrimRight(d.paint(dim, mark)+" "+line, " ") + "\n")
	}
}

// Table writes a table. If a rendered table is wider than the terminal, the column with
// index flex is truncated. The other columns are never truncated, so that users can copy
// their values.
func (d *Doc) Table(columns []string, rows [][]string, flex int) {
	d.block()
	if d.style.Rendered {
		d.renderTable(columns, rows, flex)
		return
	}
	d.row(columns)
	d.b.WriteString("|" + strings.Repeat(" --- |", len(columns)) + "\n")
	for _, r := range rows {
		d.row(r)
	}
}

func (d *Doc) row(cells []string) {
	d.b.WriteByte('|')
	for _, c := range cells {
		d.b.WriteString(" " + strings.ReplaceAll(text.Line(c), "|", `\|`) + " |")
	}
	d.b.WriteByte('\n')
}

// gap is the number of spaces between the columns of a rendered table.
const gap = 2

func (d *Doc) renderTable(columns []string, rows [][]string, flex int) {
	widths := make([]int, len(columns))
	cells := make([][]string, 0, len(rows)+1)
	for _, r := range append([][]string{columns}, rows...) {
		line := make([]string, len(r))
		for i, c := range r {
			line[i] = text.Line(c)
			widths[i] = max(widths[i], text.Width(line[i]))
		}
		cells = append(cells, line)
	}
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if over := total - d.style.Width; d.style.Width > 0 && over > 0 {
		widths[flex] = max(widths[flex]-over, min(widths[flex], 12))
	}
	for i, line := range cells {
		var b strings.Builder
		for j, c := range line {
			c = text.Cut(c, widths[j])
			b.WriteString(c)
			if j < len(line)-1 {
				b.WriteString(strings.Repeat(" ", widths[j]-text.Width(c)+gap))
			}
		}
		row := strings.TrimRight(b.String(), " ")
		if i == 0 {
			row = d.paint(bold, row)
		}
		d.b.WriteString(row + "\n")
	}
}
