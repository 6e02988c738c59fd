package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"parapet/internal/cli"
)

// asPager is the argument with which the test binary runs as a pager.
const asPager = "-run-as-pager"

// runPager is a pager that reports Ctrl-C and goes on. It prints the text after Enter. It is
// no shell script, because a shell can miss a signal that arrives just before it reads.
func runPager() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() {
		for range signals {
			fmt.Println("INTERRUPTED")
		}
	}()
	keys, err := os.Open("/dev/tty")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("READY")
	_, _ = bufio.NewReader(keys).ReadString('\n')
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println("paged:" + lines.Text())
	}
}

func startPager(t *testing.T) *terminal {
	t.Helper()
	cmd := newPT(t, newAPI(t), []string{"get-task", "APOLLO-1", "--json"})
	cmd.Env = append(cmd.Env, "PT_PAGER="+os.Args[0]+" "+asPager)
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
