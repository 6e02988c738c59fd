package prose

import (
	"strings"

	"parapet/internal/cli/text"
)

// tableRows returns the rows of a table, the first with the headings, or nil if the lines are
// none. A table has a line of hyphens below its headings.
func tableRows(lines []string) [][]string {
	if len(lines) < 2 || !strings.Contains(lines[0], "|") || !isDelimiterRow(lines[1]) {
		return nil
	}
	rows := [][]string{tableCells(lines[0])}
	for _, line := range lines[2:] {
		rows = append(rows, tableCells(line))
	}
	return rows
}

// isDelimiterRow reports whether a line separates the headings of a table from its rows.
func isDelimiterRow(line string) bool {
	return strings.Contains(line, "-") && strings.Contains(line, "|") && strings.Trim(line, " |:-") == ""
}

// tableCells splits a row at its bars. A bar after a backslash belongs to a cell.
func tableCells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = line[:len(line)-1]
	}
	var cells []string
	var cell strings.Builder
	for part := range strings.SplitSeq(line, "|") {
		if before, escaped := strings.CutSuffix(part, `\`); escaped {
			cell.WriteString(before + "|")
			continue
		}
		cell.WriteString(part)
		cells = append(cells, strings.TrimSpace(cell.String()))
		cell.Reset()
	}
	if cell.Len() > 0 {
		cells = append(cells, strings.TrimSpace(cell.String()))
	}
	return cells
}

// table returns the lines of a table. Its cells stay as they are in the source.
func (r *renderer) table(rows [][]string) []string {
	var widths []int
	for _, cells := range rows {
		for j, c := range cells {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], text.Width(c))
		}
	}
	var lines []string
	for i, cells := range rows {
		var b strings.Builder
		for j, c := range cells {
			b.WriteString(c + strings.Repeat(" ", widths[j]-text.Width(c)+2))
		}
		line := strings.TrimRight(b.String(), " ")
		if i == 0 {
			line = r.paint(bold, line)
		}
		lines = append(lines, line)
	}
	return lines
}
