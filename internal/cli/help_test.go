package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestHelp_IsReadable checks the help of every command: the width of its lines, no
// backquotes, no paragraph twice, and an example.
func TestHelp_IsReadable(t *testing.T) {
	t.Parallel()
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			visit(c)
		}
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.InitDefaultHelpFlag()
		if err := cmd.Help(); err != nil {
			t.Errorf("%s --help: %v", cmd.CommandPath(), err)
		}
		checkHelp(t, cmd, out.String())
	}
	visit(testRoot())
}

func checkHelp(t *testing.T, cmd *cobra.Command, help string) {
	t.Helper()
	isTopic := cmd.RunE == nil && cmd.Run == nil && !cmd.HasSubCommands()
	if cmd.Example == "" && !isTopic {
		t.Errorf("%s has no example", cmd.CommandPath())
	}
	if strings.Contains(help, "`") {
		t.Errorf("%s --help contains a backquote: %q", cmd.CommandPath(), help[strings.IndexByte(help, '`'):][:40])
	}
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, "\n")
		if n := utf8.RuneCountInString(line); n > helpWidth {
			t.Errorf("%s --help has a line of %d columns, want at most %d: %s", cmd.CommandPath(), n, helpWidth, line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("%s --help has a line that ends in a space: %q", cmd.CommandPath(), line)
		}
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(help, "\n\n") {
		text := strings.Join(strings.Fields(part), " ")
		for _, sentence := range append(strings.SplitAfter(text, ". "), text) {
			sentence = strings.TrimSuffix(strings.TrimSpace(sentence), ".")
			if len(sentence) > 30 && seen[sentence] && !strings.HasPrefix(sentence, "pt ") {
				t.Errorf("%s --help says twice: %s", cmd.CommandPath(), sentence)
			}
		}
		for _, sentence := range append(strings.SplitAfter(text, ". "), text) {
			seen[strings.TrimSuffix(strings.TrimSpace(sentence), ".")] = true
		}
	}
}

func TestWrapHelp_FillsParagraphsAndColumns(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 30)
	for _, tc := range []struct{ name, text, want string }{
		{"short lines", "One\ntwo.\n\nThree.", "One two.\n\nThree."},
		{"long line", long, strings.TrimSpace(strings.Repeat("word ", 17)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 13))},
		{"list after a paragraph", "Forms:\n  one\n  two\nEnd.", "Forms:\n  one\n  two\nEnd."},
		{"table", "  name  first\n        second\n  key   third", "  name  first second\n  key   third"},
		{"long column", "  name  " + long, "  name  " + strings.TrimSpace(strings.Repeat("word ", 15)) + "\n        " + strings.TrimSpace(strings.Repeat("word ", 15))},
		{"word longer than a line", strings.Repeat("x", 90), strings.Repeat("x", 90)},
	} {
		if got := wrapHelp(tc.text); got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, tc.want)
		} else if again := wrapHelp(got); again != got {
			t.Errorf("%s: wrapped twice: got\n%s\nwant\n%s", tc.name, again, got)
		}
	}
}

func TestWrapCommand_BreaksInFrontOfFlagsAndOutsideQuotes(t *testing.T) {
	t.Parallel()
	quoted := `  pt create-task --title "` + strings.Repeat("x ", 30) + `-y" --priority HIGH`
	want := "  pt create-task \\\n      --title \"" + strings.Repeat("x ", 30) + "-y\" \\\n      --priority HIGH"
	if got := wrapCommand(quoted); got != want {
		t.Errorf("long command: got\n%s\nwant\n%s", got, want)
	}
	if got := wrapCommand("  pt list-tasks"); got != "  pt list-tasks" {
		t.Errorf("short command: got %q, want no change", got)
	}
}
