package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the maximum length of a line of help, in bytes.
const helpWidth = 84

// wrapHelp breaks lines that are longer than helpWidth. It does not join short lines:
// lists and examples keep their layout.
func wrapHelp(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for len(line) > helpWidth {
			at := strings.LastIndexByte(line[:helpWidth], ' ')
			if at <= 0 {
				break
			}
			b.WriteString(line[:at] + "\n")
			line = line[at+1:]
		}
		b.WriteString(line)
	}
	return b.String()
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
