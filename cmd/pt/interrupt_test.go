package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"parapet/internal/cli"
)

// interruptiblePager reports Ctrl-C and goes on. It prints the text after Enter.
const interruptiblePager = `#!/bin/sh
trap 'echo INTERRUPTED' INT
echo READY
until read -r key </dev/tty; do :; done
sed s/^/paged:/
`

func startPager(t *testing.T) *terminal {
	t.Helper()
	pager := filepath.Join(t.TempDir(), "pager")
	if err := os.WriteFile(pager, []byte(interruptiblePager), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := newPT(t, newAPI(t), []string{"get-task", "APOLLO-1", "--json"})
	cmd.Env = append(cmd.Env, "PT_PAGER="+pager, "PATH="+os.Getenv("PATH"))
	s := startInTerminal(t, cmd, 1)
	s.expect("READY")
	return s
}

func TestPager_CtrlCGoesToPagerAndCutsNoOutput(t *testing.T) {
	t.Parallel()
	s := startPager(t)
	for range 2 {
		s.typeKeys("\x03")
		s.expect("INTERRUPTED")
	}
	s.typeKeys("\n")
	s.expect("paged:")
	s.expect("APOLLO-1")
	if code := s.wait(); code != cli.ExitDone {
		t.Errorf("got exit code %d, want %d; screen:\n%s", code, cli.ExitDone, s.screen.String())
	}
}

func TestPager_SIGTERMEndsPagerAndIsNoSuccess(t *testing.T) {
	t.Parallel()
	s := startPager(t)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(); code != cli.ExitCancelled {
		t.Errorf("got exit code %d, want %d; screen:\n%s", code, cli.ExitCancelled, s.screen.String())
	}
}
