package cli

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// editorPlaceholder is the value of a text that the user will write in the editor. With it,
// the rest of the input can be validated before the editor opens.
const editorPlaceholder = "…"

// editorField returns the long text of the input that a flag sets, and the flag's name. An
// input has at most one.
func (k *call) editorField() (f op.Field, flag string, ok bool) {
	for _, f := range k.op.Fields {
		if flag := k.flagName(f); f.Source == op.FromBody && isLongText(f) && !isSecret(f) && flag != "" {
			return f, flag, true
		}
	}
	return op.Field{}, "", false
}

// bindEditor adds --editor to a command that writes a long text.
func (k *call) bindEditor(cmd *cobra.Command) {
	_, flag, ok := k.editorField()
	if !ok || !k.op.Effect.Changes() {
		return
	}
	verb := "write"
	if k.readOperation() != nil && k.op.Method == http.MethodPatch {
		verb = "edit"
	}
	cmd.Flags().BoolVarP(&k.opensEditor, "editor", "e", false, verb+" the "+strings.ReplaceAll(flag, "-", " ")+" in $VISUAL or $EDITOR")
}

// prepareEditor checks that --editor can open an editor, and counts the long text as given.
func (k *call) prepareEditor(cmd *cobra.Command) error {
	if !k.opensEditor {
		return nil
	}
	_, flag, _ := k.editorField()
	switch {
	case cmd.Flags().Changed(flag):
		return usagef("use either --editor or --%s", flag)
	case !k.inv.InTerminal || !k.inv.OutTerminal || !k.inv.ErrTerminal:
		return usagef("--editor needs a terminal for input and output; in a pipe, give the text with --%s TEXT, or with --%s - from standard input", flag, flag)
	}
	return cmd.Flags().Set(flag, editorPlaceholder)
}

// editText sets the long text to what the user writes in the editor. The editor starts with
// the present text if an operation reads the record. An unchanged text cancels the command.
func (k *call) editText(ctx context.Context, c *client.Client) error {
	if !k.opensEditor {
		return nil
	}
	f, flag, _ := k.editorField()
	before, err := k.presentText(ctx, c, f)
	if err != nil {
		return err
	}
	after, err := k.inv.edit(ctx, flag, before)
	if err != nil {
		return err
	}
	// An editor can be open for hours.
	if now, err := k.presentText(ctx, c, f); err != nil || now != before {
		if err == nil {
			err = fault.Conflict("Somebody else changed the " + f.Name + " while the editor was open; your text was not written.")
		}
		return err
	}
	return k.inv.newFieldValue(f, k.in.Field(f.Index)).Set(after)
}

// presentText returns the text of the record that an update changes, or "" if the command
// creates a record or no operation reads it.
func (k *call) presentText(ctx context.Context, c *client.Client, f op.Field) (string, error) {
	if k.op.Method != http.MethodPatch {
		return "", nil
	}
	out, err := k.readRecord(ctx, c)
	if err != nil || !out.IsValid() {
		return "", err
	}
	if v, ok := newRecord(out).member(f.Name); ok && v.Kind() == reflect.String {
		return v.String(), nil
	}
	return "", nil
}

// edit returns a text that the user writes in $VISUAL or $EDITOR, which starts with the text
// before. An empty or unchanged text cancels the command. Ctrl-C is for the editor.
func (inv *invocation) edit(ctx context.Context, name, before string) (string, error) {
	before = trimLineEnds(before)
	start := before
	if start != "" {
		start += "\n"
	}
	path, err := writeDraft(start)
	if err != nil {
		return "", err
	}
	defer os.Remove(path)
	words := strings.Fields(firstNonEmpty(inv.Getenv("VISUAL"), inv.Getenv("EDITOR"), "vi"))
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], path)...) //nolint:gosec // the user chooses the editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inv.In, inv.Out, inv.Err
	restore := inv.ignoreInterrupt()
	err = cmd.Run()
	restore()
	if err != nil {
		if isInterrupted(err) {
			return "", errCancelled
		}
		return "", usagef("the editor %q failed: %w; set VISUAL or EDITOR, or give the %s on the command line", words[0], err, name)
	}
	written, err := os.ReadFile(path) //nolint:gosec // pt created the file
	if err != nil {
		return "", err
	}
	inv.draft = trimLineEnds(string(written))
	if strings.TrimSpace(inv.draft) == "" || inv.draft == before {
		inv.draft = ""
		return "", errCancelled
	}
	return inv.draft, nil
}

// isInterrupted reports whether a program ended because of Ctrl-C.
func isInterrupted(err error) bool {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGINT
}

func trimLineEnds(text string) string { return strings.TrimRight(text, "\r\n") }

// writeDraft writes a text into a new file that only the user can read.
func writeDraft(text string) (path string, err error) {
	file, err := os.CreateTemp("", "pt-*.md")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	return file.Name(), errors.Join(err, file.Close())
}

// saveDraft saves what the user wrote in the editor after a command failed, and says where.
func (inv *invocation) saveDraft() {
	if inv.draft == "" {
		return
	}
	path, err := writeDraft(inv.draft + "\n")
	if err != nil {
		inv.printNote("Your text could not be saved (%v):\n%s", err, text.Block(inv.draft))
		return
	}
	inv.printNote("Your text is in %s.", path)
}
