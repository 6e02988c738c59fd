package cli

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// defaultPager shows text with escape sequences, ends at once if the text fits the screen,
// and leaves it there.
const defaultPager = "less -FRX"

// pagerGrace is how long a pager may take to end after pt got SIGTERM, and how long pt waits
// for a reader of the text that survives the pager.
const pagerGrace = 300 * time.Millisecond

// pagerStart is the time in which a pager that ends with an error has shown nothing.
const pagerStart = time.Second

// pagerVariables are the environment variables that a pager gets. The credential is not one
// of them.
var pagerVariables = []string{"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LESS", "LESSCHARSET", "LESSKEY", "PATH", "TERM", "TERMINFO", "USER"}

// print writes the output of a command. On a terminal, it shows an output that is longer
// than the screen in a pager.
func (inv *invocation) print(ctx context.Context, out string) error {
	if inv.OutTerminal && inv.Height > 0 && !inv.flags.noPager && strings.Count(out, "\n") >= inv.Height {
		words := strings.Fields(firstNonEmpty(inv.Getenv("PT_PAGER"), inv.Getenv("PAGER"), defaultPager))
		if len(words) > 0 && words[0] != "cat" {
			if shown, err := inv.page(ctx, words, out); shown || err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(inv.Out, out)
	return err
}

// page shows a text in a pager and waits until the user leaves it. Ctrl-C is for the pager:
// pt ignores it, because a pager may go on, and a pager that ends leaves the screen in order.
// A pager that closes its input before the end has shown what the user wanted to see.
//
// page returns false if the pager could not be started or ended with an error at once. It
// returns an error if pt was stopped.
func (inv *invocation) page(ctx context.Context, words []string, out string) (shown bool, err error) {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the user chooses the pager
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(out), inv.Out, inv.Err
	// A pager that gets SIGTERM restores the terminal.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = pagerGrace
	cmd.Env = []string{"LESS=FRX"} // for a pager that the user chose without options
	for _, name := range pagerVariables {
		if value := inv.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	defer inv.ignoreInterrupt()()
	started := inv.Clock.Now()
	if cmd.Start() != nil {
		return false, nil
	}
	exit := (*exec.ExitError)(nil)
	failed := errors.As(cmd.Wait(), &exit)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	// The exit code is -1 after a signal. A pager that the user has left may have any code.
	return !failed || exit.ExitCode() < 0 || inv.Clock.Now().Sub(started) >= pagerStart, nil
}

// ignoreInterrupt makes pt ignore Ctrl-C until the caller calls restore.
func (inv *invocation) ignoreInterrupt() (restore func()) {
	if inv.IgnoreInterrupt == nil {
		return func() {}
	}
	return inv.IgnoreInterrupt()
}
