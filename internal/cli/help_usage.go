package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// writeHelp writes the help of a command.
func writeHelp(cmd *cobra.Command) {
	text := wrapHelp(firstNonEmpty(cmd.Long, cmd.Short)) + "\n"
	if cmd.Runnable() || cmd.HasSubCommands() {
		text += "\n" + cmd.UsageString()
	}
	_, _ = io.WriteString(cmd.OutOrStdout(), text) // there is no other place to report an error
}

// writeUsage writes the part of the help that follows the description: the usage line, the
// examples, the subcommands and the flags. Unlike Cobra's, it breaks lines that are longer
// than helpWidth.
func writeUsage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		b.WriteString("\n  " + wrapCommand(cmd.UseLine()))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n  " + cmd.CommandPath() + " [command]")
	}
	if cmd.HasExample() {
		b.WriteString("\n\nExamples:")
		for line := range strings.Lines(cmd.Example) {
			b.WriteString("\n" + wrapCommand(strings.TrimRight(line, "\n")))
		}
	}
	for _, group := range cmd.Groups() {
		writeCommands(&b, cmd, group.ID, group.Title)
	}
	writeCommands(&b, cmd, "", "Commands:")
	writeFlagHelp(&b, "Flags:", cmd.LocalFlags())
	writeFlagHelp(&b, "Global Flags:", cmd.InheritedFlags())
	var topics []string
	for _, c := range cmd.Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			topics = append(topics, fmt.Sprintf("\n  %-*s %s", c.CommandPathPadding(), c.CommandPath(), c.Short))
		}
	}
	if len(topics) > 0 {
		b.WriteString("\n\nAdditional help topics:" + strings.Join(topics, ""))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n\nUse \"" + cmd.CommandPath() + " [command] --help\" for more information about a command.")
	}
	b.WriteString("\n")
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// writeCommands writes the subcommands of a group, if there are any.
func writeCommands(b *strings.Builder, cmd *cobra.Command, group, title string) {
	for _, c := range cmd.Commands() {
		if c.GroupID != group || (!c.IsAvailableCommand() && c.Name() != "help") {
			continue
		}
		if title != "" {
			b.WriteString("\n\n" + title)
			title = ""
		}
		fmt.Fprintf(b, "\n  %-*s %s", c.NamePadding(), c.Name(), c.Short)
	}
}

// writeFlagHelp writes the flags with their help, if there are any.
func writeFlagHelp(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString("\n\n" + title)
	for line := range strings.Lines(flags.FlagUsagesWrapped(helpWidth)) {
		b.WriteString("\n" + strings.TrimRight(line, " \n"))
	}
}

// wrapCommand breaks a command line that is longer than helpWidth in front of a word, with
// a backslash.
func wrapCommand(line string) string {
	var b strings.Builder
	for utf8.RuneCountInString(line) > helpWidth {
		at := lastBreak(line)
		if at <= 0 {
			break
		}
		b.WriteString(line[:at] + " \\\n")
		line = "      " + line[at+1:]
	}
	return b.String() + line
}

// lastBreak returns the index of the last space outside of quotes that leaves room for a
// backslash, or -1 if there is none. It prefers the space in front of a flag.
func lastBreak(line string) int {
	best, flag := -1, -1
	var quote byte
	for i := 7; i < len(line) && i <= helpWidth-2; i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ' ' && strings.HasPrefix(line[i+1:], "-"):
			flag = i
		case c == ' ':
			best = i
		}
	}
	if flag > 0 {
		return flag
	}
	return best
}
