package main

import (
	"os/exec"
	"strings"
	"testing"
)

// An invalid command line exits with code 64 and prints one line.
func TestUsage_InvalidCommandLine_ExitsWith64(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"nosuch", "--nosuch", "dev extra", "serve --port", "audit nosuch", "audit keygen", "audit verify --tenant acme", "audit verify --checkpoint x",
		"db:provision-service-principals --tenant acme", "policy nosuch", "policy sign x", "policy keygen a", "policy check --public-key x y", "events unpark", "events parked --limit 0", "migrate --dry-run",
	} {
		cmd := exec.Command(binary, strings.Fields(line)...)
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 64 || strings.Count(string(out), "\n") != 1 {
			t.Errorf("ptd %s: got exit code %d, %s; want 64 and one line", line, code, out)
		}
	}
}

// The events commands list and retry parked deliveries of a database.
func TestEvents_ParkedAndUnpark(t *testing.T) {
	t.Parallel()
	_, info := seededServer(t)
	for line, want := range map[string]string{"events parked": "", "events unpark notifications": "0 deliveries returned to the queue\n"} {
		cmd := exec.Command(binary, strings.Fields(line)...)
		cmd.Env = []string{"DATABASE_URL=" + info.DatabaseURL}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("ptd %s: got %v, %q", line, err, out)
		}
	}
}
