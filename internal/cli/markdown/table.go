package markdown

import (
	"cmp"
	"slices"
	"strings"

	"parapet/internal/cli/text"
)

// Color is the color of a value on a terminal. The zero Color is the terminal's default.
//
// The colors are readable on black and on white with the 16 colors of common terminals. Cyan
// and yellow are too light for white, blue is too dark for black, and a theme may use each of
// black, white and the bright colors as its background.
type Color string

// The colors. Strong is for what needs attention first.
const (
	Plain  Color = ""
	Bold   Color = "\x1b[1m"
	Faint  Color = "\x1b[2m"
	Red    Color = "\x1b[31m"
	Green  Color = "\x1b[32m"
	Purple Color = "\x1b[35m"
	Strong Color = "\x1b[1;31m"
)

// Column is a column of a table.
type Column struct {
	Name string
	// Flex marks the column that gets the space that is left, and is shortened if there is
	// too little. At most one column has it.
	Flex bool
	// Drop is when a narrow terminal omits the column: columns with higher numbers first. A
	// column with 0 is always shown.
	Drop int
}

// Cell is a value in a table.
type Cell struct {
	Text  string
	Color Color
}

// gap is the number of spaces between the columns of a rendered table.
const gap = 2

// minFlex is the width down to which the flexible column is shortened before another
// column is left out.
const minFlex = 24

// oneLine replaces line breaks, which a row of a rendered table cannot show.
var oneLine = strings.NewReplacer("\r\n", " ", "\n\n", " ", "\n", " ", "\t", " ")

// Grid writes a table. A rendered table fits the width of the terminal: the flexible column
// is shortened, and columns are left out by their rank. Grid returns the names of the
// columns that are left out. Other columns are never shortened, so that users can copy
// their values.
func (d *Doc) Grid(columns []Column, rows [][]Cell) (omitted []string) {
	d.block()
	if !d.style.Rendered {
		d.plainTable(columns, rows)
		return nil
	}
	widths := make([]int, len(columns))
	lines := make([][]Cell, len(rows))
	for j, c := range columns {
		widths[j] = text.Width(text.Line(c.Name))
	}
	for i, row := range rows {
		lines[i] = make([]Cell, len(row))
		for j, c := range row {
			lines[i][j] = Cell{text.Line(oneLine.Replace(c.Text)), c.Color}
			widths[j] = max(widths[j], text.Width(lines[i][j].Text))
		}
	}
	shown, omitted := fit(columns, widths, d.style.Width)
	var head strings.Builder
	for n, j := range shown {
		d.cell(&head, Cell{Text: text.Line(columns[j].Name)}, widths[j], n == len(shown)-1)
	}
	d.b.WriteString(d.paint(bold, strings.TrimRight(head.String(), " ")) + "\n")
	for _, line := range lines {
		var b strings.Builder
		for n, j := range shown {
			d.cell(&b, line[j], widths[j], n == len(shown)-1)
		}
		d.b.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
	return omitted
}

// fit chooses the columns that fit into the width, and reduces the width of the flexible
// one. It returns the indexes of the columns to show and the names of the others.
func fit(columns []Column, widths []int, width int) (shown []int, omitted []string) {
	shown = make([]int, len(columns))
	flex := -1
	for j, c := range columns {
		shown[j] = j
		if c.Flex {
			flex = j
		}
	}
	over := func() int {
		total := gap * (len(shown) - 1)
		for _, j := range shown {
			total += widths[j]
		}
		return total - width
	}
	if width <= 0 {
		return shown, nil
	}
	spare := func() int {
		if flex < 0 {
			return 0
		}
		return widths[flex] - min(widths[flex], minFlex)
	}
	for over() > spare() {
		last := slices.MaxFunc(shown, func(a, b int) int { return cmp.Compare(columns[a].Drop, columns[b].Drop) })
		if columns[last].Drop == 0 {
			break
		}
		shown = slices.DeleteFunc(shown, func(j int) bool { return j == last })
		omitted = append(omitted, columns[last].Name)
	}
	if n := over(); n > 0 && flex >= 0 {
		widths[flex] = max(widths[flex]-n, min(widths[flex], 12))
	}
	return shown, omitted
}

// cell writes a cell of a rendered table, padded unless it is the last one.
func (d *Doc) cell(b *strings.Builder, c Cell, width int, isLast bool) {
	shown := text.Cut(c.Text, width)
	padding := ""
	if !isLast {
		padding = strings.Repeat(" ", width-text.Width(shown)+gap)
	}
	b.WriteString(d.paint(string(c.Color), shown) + padding)
}

func (d *Doc) plainTable(columns []Column, rows [][]Cell) {
	d.b.WriteByte('|')
	for _, c := range columns {
		d.plainCell(c.Name)
	}
	d.b.WriteString("\n|" + strings.Repeat(" --- |", len(columns)) + "\n")
	for _, row := range rows {
		d.b.WriteByte('|')
		for _, c := range row {
			d.plainCell(c.Text)
		}
		d.b.WriteByte('\n')
	}
}

func (d *Doc) plainCell(s string) {
	d.b.WriteString(" " + strings.ReplaceAll(text.Line(s), "|", `\|`) + " |")
}

// Table writes a table of plain texts. The column with index flex is the flexible one.
func (d *Doc) Table(names []string, rows [][]string, flex int) {
	columns := make([]Column, len(names))
	for j, name := range names {
		columns[j] = Column{Name: name, Flex: j == flex}
	}
	cells := make([][]Cell, len(rows))
	for i, row := range rows {
		cells[i] = make([]Cell, len(row))
		for j, value := range row {
			cells[i][j] = Cell{Text: value}
		}
	}
	d.Grid(columns, cells)
}
