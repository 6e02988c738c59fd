package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/text"
	"parapet/internal/op"
)

// canPrompt reports whether pt may ask for missing values: all streams are terminals, the
// output is not JSON, and the environment is no CI job.
func (inv *invocation) canPrompt() bool {
	return inv.InTerminal && inv.OutTerminal && inv.ErrTerminal && !inv.wantsJSON() && inv.Getenv("CI") == ""
}

// askMissing asks for the required arguments and flags that the command line lacks.
func (k *call) askMissing(cmd *cobra.Command, args []string) error {
	if !k.inv.canPrompt() {
		return nil
	}
	required := k.args
	switch {
	case k.mayOmitProject(args):
		required = required[1:]
	case k.omitsLast(args):
		required = nil
	}
	for _, a := range required[min(len(args), len(required)):] {
		answer, err := k.inv.ask(cmd.Context(), a.name, a.field)
		if err != nil {
			return err
		}
		k.prompted = append(k.prompted, answer)
	}
	for _, f := range k.op.Fields {
		flag := cmd.Flags().Lookup(k.flagName(f))
		if flag == nil || flag.Changed || !isRequired(flag) {
			continue
		}
		answer, err := k.inv.ask(cmd.Context(), flag.Name, f)
		if err != nil {
			return err
		}
		if err := cmd.Flags().Set(flag.Name, answer); err != nil {
			return usage(flagError(cmd, err))
		}
	}
	return nil
}

// ask asks for the value of a field: a long text in an editor, a value from a list by its
// name or number, anything else as a line. It asks again after an empty line.
func (inv *invocation) ask(ctx context.Context, name string, f op.Field) (string, error) {
	if isLongText(f) {
		return inv.edit(ctx, name)
	}
	for i, e := range f.Enum {
		fmt.Fprintf(inv.Err, "  %d) %s\n", i+1, text.Line(e))
	}
	label := strings.ReplaceAll(name, "-", " ")
	for {
		fmt.Fprintf(inv.Err, "%s%s: ", strings.ToUpper(label[:1]), label[1:])
		answer, err := inv.askLine(ctx)
		if err != nil {
			return "", err
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(f.Enum) {
			answer = f.Enum[n-1]
		}
		if answer != "" {
			return answer, nil
		}
	}
}

// askLine reads a line of the terminal. The end of the input (Ctrl-D) cancels the command.
func (inv *invocation) askLine(ctx context.Context) (string, error) {
	if inv.lines == nil {
		inv.lines = bufio.NewReader(inv.In)
	}
	line, err := inv.lines.ReadString('\n')
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, io.EOF):
		fmt.Fprintln(inv.Err)
		return "", errCancelled
	case err != nil:
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// edit returns a text that the user writes in $VISUAL or $EDITOR. An empty text cancels the
// command.
func (inv *invocation) edit(ctx context.Context, name string) (string, error) {
	file, err := os.CreateTemp("", "pt-*.md")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return "", err
	}
	words := strings.Fields(firstNonEmpty(inv.Getenv("VISUAL"), inv.Getenv("EDITOR"), "vi"))
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], file.Name())...) //nolint:gosec // the user chooses the editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inv.In, inv.Out, inv.Err
	if err := cmd.Run(); err != nil {
		return "", usagef("the editor %q failed: %w; set VISUAL or EDITOR, or give the %s on the command line", words[0], err, name)
	}
	written, err := os.ReadFile(file.Name())
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(written)) == "" {
		return "", errCancelled
	}
	return strings.TrimRight(string(written), "\r\n"), nil
}
