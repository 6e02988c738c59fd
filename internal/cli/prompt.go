package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"parapet/internal/cli/text"
)

// confirmDestructive returns an error if a destructive command can neither prompt on a
// terminal nor has --yes.
func (inv *invocation) confirmDestructive(yes bool) error {
	if yes || inv.canAsk() {
		return nil
	}
	return usagef("this command asks for confirmation, but there is no terminal; add --yes to run it without the question")
}

// canAsk reports whether a person can read a question and answer it.
func (inv *invocation) canAsk() bool { return inv.InTerminal && inv.ErrTerminal }

// confirm asks a question on the terminal. It returns errCancelled unless the answer is
// yes.
func (inv *invocation) confirm(ctx context.Context, format string, names ...any) error {
	for i, name := range names {
		names[i] = text.Line(fmt.Sprint(name))
	}
	fmt.Fprintf(inv.Err, format+" [y/N] ", names...)
	answer, err := inv.askLine(ctx)
	if err != nil {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	default:
		return errCancelled
	}
}

// readLine reads one line from standard input and removes the line end.
func (inv *invocation) readLine() (string, error) {
	line, err := bufio.NewReader(io.LimitReader(inv.In, 64<<10)).ReadString('\n')
	if err != nil && (err != io.EOF || line == "") {
		if err == io.EOF {
			return "", usagef("standard input is empty")
		}
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// password prompts for a password on the terminal, or reads the first line of standard
// input if that is not a terminal.
func (inv *invocation) password(ctx context.Context, email string) (string, error) {
	if !inv.InTerminal || inv.ReadSecret == nil {
		return inv.readLine()
	}
	return inv.askSecret(ctx, "Password for "+email)
}

// askSecret asks for a secret on the terminal, which does not show the answer. The end of the
// input (Ctrl-D) cancels the command.
func (inv *invocation) askSecret(ctx context.Context, question string) (string, error) {
	secret, err := inv.ReadSecret(ctx, text.Line(question)+": ")
	fmt.Fprintln(inv.Err)
	if errors.Is(err, io.EOF) {
		return "", errCancelled
	}
	return secret, err
}

// eraseLine is the escape sequence that clears the current line.
const eraseLine = "\r\x1b[K"

// showProgress prints a progress line to a terminal, in place of the previous one.
func (inv *invocation) showProgress(format string, args ...any) {
	if inv.ErrTerminal {
		fmt.Fprintf(inv.Err, eraseLine+format, args...)
	}
}

// clearProgress removes the progress line.
func (inv *invocation) clearProgress() {
	if inv.ErrTerminal {
		fmt.Fprint(inv.Err, eraseLine)
	}
}
