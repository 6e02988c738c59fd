package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"parapet/internal/cli/text"
)

// confirmDestructive refuses what can't be undone where nobody can be asked and --yes
// was not given.
func (inv *invocation) confirmDestructive(yes bool) error {
	if yes || (inv.InTerminal && inv.ErrTerminal) {
		return nil
	}
	return usagef("this can't be undone and there is no terminal to ask on: add --yes")
}

// confirm asks a question on the terminal; everything but yes cancels.
func (inv *invocation) confirm(ctx context.Context, format string, names ...any) error {
	for i, name := range names {
		names[i] = text.Line(fmt.Sprint(name))
	}
	fmt.Fprintf(inv.Err, format+" [y/N] ", names...)
	answer, err := inv.readLine()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	default:
		return errCancelled
	}
}

// readLine reads one line of the input, without its end.
func (inv *invocation) readLine() (string, error) {
	line, err := bufio.NewReader(io.LimitReader(inv.In, 64<<10)).ReadString('\n')
	if err != nil && (err != io.EOF || line == "") {
		if err == io.EOF {
			return "", usagef("the input is empty")
		}
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// password asks for one on the terminal without showing it, else it takes the
// first line of the input.
func (inv *invocation) password(ctx context.Context, email string) (string, error) {
	if !inv.InTerminal || inv.ReadSecret == nil {
		return inv.readLine()
	}
	fmt.Fprintf(inv.Err, "Password of %s: ", text.Line(email))
	secret, err := inv.ReadSecret(ctx)
	fmt.Fprintln(inv.Err)
	return secret, err
}

// eraseLine moves to the beginning of the line and clears it.
const eraseLine = "\r\x1b[K"

// showProgress shows on a terminal how far a long piece of work is, in the place
// of what it showed before.
func (inv *invocation) showProgress(format string, args ...any) {
	if inv.ErrTerminal {
		fmt.Fprintf(inv.Err, eraseLine+format, args...)
	}
}

// clearProgress takes the progress away.
func (inv *invocation) clearProgress() {
	if inv.ErrTerminal {
		fmt.Fprint(inv.Err, eraseLine)
	}
}
