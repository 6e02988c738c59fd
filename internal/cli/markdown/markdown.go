// Package markdown owns how pt shows an answer to people: headings, fields,
// tables and quoted text.
//
// It promises that a plain document is Markdown and the same bytes for the same
// answer, that a rendered one is the same text laid out for a terminal of a
// width, and that every text given to it goes through package text first: no
// command can forget to.
package markdown

import (
	"strings"

	"parapet/internal/cli/text"
)

// Style says how a document is laid out; the zero Style is plain Markdown.
type Style struct {
	// Rendered lays the document out for a terminal.
	Rendered bool
	// Color marks headings and names; only in a rendered document.
	Color bool
	// Width is the terminal's, in columns; 0 means that nothing is cut.
	Width int
}

const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	reset = "\x1b[0m"
)

// Doc is a document as it is written.
type Doc struct {
	style  Style
	b      strings.Builder
	fields bool
}

// New begins a document.
func New(s Style) *Doc { return &Doc{style: s} }

// String gives the document, with a line end at its end.
func (d *Doc) String() string { return d.b.String() }

// block puts an empty line before what follows, unless it is the first thing.
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

// Heading writes a heading of a level from 1.
func (d *Doc) Heading(level int, title string) {
	d.block()
	title = text.Line(title)
	if !d.style.Rendered {
		title = strings.Repeat("#", level) + " " + title
	}
	d.b.WriteString(d.paint(bold, title) + "\n")
}

// Field writes a name and its value; an empty value is left out.
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

// Line writes a line of its own.
func (d *Doc) Line(s string) {
	d.block()
	d.b.WriteString(text.Line(s) + "\n")
}

// Quote writes text that somebody else wrote, its lines marked as such.
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

// Table writes rows under the names of their columns. In a rendered document
// the column flex gives way where the table is wider than the terminal; the
// others are never cut, so that what they hold can be copied.
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

// gap stands between the columns of a rendered table.
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
