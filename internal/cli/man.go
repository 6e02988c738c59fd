package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/manual"
	"parapet/internal/cli/markdown"
)

// manualOut is the output of pt man --dir.
type manualOut struct {
	Dir   string   `json:"dir"`
	Pages []string `json:"pages"`
}

func newManCmd(inv *invocation) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man [command]",
		Short: "Print the manual page of a command, or write all pages",
		Long: `Print the manual page of a command, or of pt if you name no command, as input for
man. With --dir, write the pages of all commands to a directory.`,
		Example: `  pt man list-tasks | man -l -
  pt man --dir /usr/local/share/man/man1`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write the pages of all commands to this `directory`")
	return inv.setRun(cmd, reflect.TypeFor[manualOut](), func(ctx context.Context, args []string) error {
		if dir == "" {
			return inv.printPage(cmd.Root(), args)
		}
		if len(args) > 0 {
			return usagef("--dir writes the pages of all commands; name no command with it")
		}
		out := manualOut{Dir: dir}
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manual pages are public
			return usage(err)
		}
		for _, c := range manual.Pages(cmd.Root()) {
			var page bytes.Buffer
			if err := manual.Write(&page, c, inv.Version); err != nil {
				return err
			}
			name := manual.Name(c) + "." + manual.Section
			if err := os.WriteFile(filepath.Join(dir, name), page.Bytes(), 0o644); err != nil { //nolint:gosec // the same
				return usage(err)
			}
			out.Pages = append(out.Pages, name)
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
			d.Line(countOf(len(out.Pages), "pages") + " written to " + out.Dir + ".")
		}})
	})
}

// printPage prints the manual page of the command with the path words, such as
// "auth login".
func (inv *invocation) printPage(root *cobra.Command, words []string) error {
	if inv.wantsJSON() {
		return usagef("a manual page has no JSON form; use --json with --dir")
	}
	cmd, rest, err := root.Find(words)
	if err != nil || len(rest) > 0 {
		return usagef("unknown command %q", strings.Join(words, " "))
	}
	return manual.Write(inv.Out, cmd, inv.Version)
}
