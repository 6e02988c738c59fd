package cli

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the maximum length of a line of help, in columns.
const helpWidth = 84

// wrapHelp fills the lines of each paragraph, and of the last column of a table. Other
// indented lines are commands and lists: only those that are too long change.
func wrapHelp(text string) string {
	var b strings.Builder
	var paragraph []string
	indent := 0
	flush := func() {
		if len(paragraph) > 0 {
			writeFilled(&b, strings.Join(paragraph, " "), strings.Repeat(" ", indent))
		}
		paragraph, indent = nil, 0
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		switch {
		case line == "":
			flush()
			b.WriteString("\n")
		case line[0] == ' ' && indent > 0 && len(line)-len(strings.TrimLeft(line, " ")) == indent:
			paragraph = append(paragraph, strings.TrimLeft(line, " ")) // continues the last column
		case line[0] == ' ':
			flush()
			if column, isTable := lastColumn(line); isTable {
				paragraph, indent = []string{line}, column
			} else {
				writeFilled(&b, line, strings.Repeat(" ", column))
			}
		default:
			if indent > 0 {
				flush()
			}
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return strings.TrimRight(b.String(), "\n")
}

// writeFilled writes a text in lines of at most helpWidth. All lines but the first start
// with indent.
func writeFilled(b *strings.Builder, text, indent string) {
	for utf8.RuneCountInString(text) > helpWidth {
		at, column := -1, 0
		for i, r := range text {
			if column > helpWidth {
				break
			}
			if r == ' ' && i > len(indent) {
				at = i
			}
			column++
		}
		if at < 0 {
			break
		}
		b.WriteString(strings.TrimRight(text[:at], " ") + "\n")
		text = indent + strings.TrimLeft(text[at:], " ")
	}
	b.WriteString(text + "\n")
}

// lastColumn returns the start of the last column of an indented line, and whether the
// line has more than one column. Two spaces separate columns.
func lastColumn(line string) (column int, isTable bool) {
	start := len(line) - len(strings.TrimLeft(line, " "))
	if at := strings.LastIndex(line[start:], "  "); at >= 0 {
		return start + at + 2, true
	}
	return start, false
}

var fieldWord = regexp.MustCompile(`\b[a-z]+[A-Z][A-Za-z]*\b|\bnull\b`)

// replaceFieldNames replaces the JSON terms in the help of a command. The help comes from
// the operation, so it names JSON fields: a field name becomes the name of its flag, and
// null becomes "". names are the flags by field.
func replaceFieldNames(cmd *cobra.Command, names map[string]string) {
	flags := map[string]string{"null": `""`}
	for field, flag := range names {
		flags[field] = "--" + flag
	}
	words := func(text string) string {
		return fieldWord.ReplaceAllStringFunc(text, func(word string) string {
			if flag, ok := flags[word]; ok {
				return flag
			}
			return word
		})
	}
	cmd.Long = wrapHelp(words(cmd.Long))
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = words(f.Usage) })
}
