// Package markdown formats the output of pt: headings, fields, tables and quoted text.
//
// A plain document is Markdown and is reproducible. A rendered document has the same
// text, laid out for the width of a terminal. All text is escaped with package text.
package markdown

import (
	"strings"
	"time"

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
	// Now makes times relative to it. The zero time makes them absolute.
	Now time.Time
	// Prose renders user-generated Markdown for a rendered document of the given width. It
	// returns escaped lines. Without it, the document quotes the source.
	Prose func(source string, width int) []string
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
	// footer reports whether the last line is a footer.
	footer bool
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
	d.fields, d.footer = false, false
}

func (d *Doc) paint(code, s string) string {
	if code == "" || s == "" || !d.style.Rendered || !d.style.Color {
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
func (d *Doc) Field(name, value string) { d.ColorField(name, Cell{Text: value}) }

// ColorField writes a field with a color.
func (d *Doc) ColorField(name string, c Cell) {
	value := c.Text
	if value == "" {
		return
	}
	if !d.fields {
		d.block()
		d.fields = true
	}
	name = text.Line(name) + ":"
	if d.style.Rendered {
		d.b.WriteString("  " + d.paint(dim, name) + " " + d.paint(string(c.Color), text.Line(value)) + "\n")
		return
	}
	d.b.WriteString("- " + name + " " + text.Line(value) + "\n")
}

// Line writes a paragraph of one line.
func (d *Doc) Line(s string) {
	d.block()
	d.b.WriteString(text.Line(s) + "\n")
}

// Footer writes a line about the document below it, on a terminal only.
func (d *Doc) Footer(s string) {
	if d.style.Rendered && s != "" {
		if !d.footer {
			d.block()
		}
		d.footer = true
		d.b.WriteString(d.paint(dim, text.Line(s)) + "\n")
	}
}

// Prose writes user-generated Markdown: rendered on a terminal, else its source as a block
// quote.
func (d *Doc) Prose(s string) {
	if !d.style.Rendered || d.style.Prose == nil {
		d.Quote(s)
		return
	}
	lines := d.style.Prose(s, max(d.style.Width-2, 0))
	if len(lines) == 0 {
		return
	}
	d.block()
	for _, line := range lines {
		d.b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
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
