package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how wide a line of help is at most.
const helpWidth = 84

// wrapped breaks the lines of help that are too long; those that are short
// enough stay, so that lists and examples keep their form.
func wrapped(text string) string {
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

// nameFlags makes the help of a command, which comes from the declaration of
// the operation, speak of the command's flags where that speaks of JSON: of a
// field by its name, and of null, which is an empty value here. names are those of
// the flags that a form holds.
func nameFlags(cmd *cobra.Command, names []string) {
	flags := map[string]string{"null": `""`}
	for _, name := range names {
		field, flag, renamed := strings.Cut(strings.TrimSuffix(name, "!"), ":")
		if !renamed {
			flag = toKebabCase(field)
		}
		if cmd.Flags().Lookup(flag) != nil {
			flags[field] = "--" + flag
		}
	}
	words := func(text string) string {
		return fieldWord.ReplaceAllStringFunc(text, func(word string) string {
			if flag, ok := flags[word]; ok {
				return flag
			}
			return word
		})
	}
	cmd.Long = wrapped(words(cmd.Long))
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = words(f.Usage) })
}
