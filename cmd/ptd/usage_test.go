package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestACommandLineThatCannotBeUnderstood ends with 64 and one line that says why.
func TestACommandLineThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"nosuch", "--nosuch", "dev extra", "serve --port", "audit nosuch", "audit keygen", "audit verify --tenant acme", "audit verify --checkpoint x",
		"db:provision-service-principals --tenant acme", "policy nosuch", "policy sign x", "policy keygen a", "policy check --public-key x y", "events unpark", "events parked --limit 0", "migrate --dry-run",
	} {
		cmd := exec.Command(binary, strings.Fields(line)...)
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 64 || strings.Count(string(out), "\n") != 1 {
			t.Errorf("ptd %s: exit code %d, %s", line, code, out)
		}
	}
}

// TestParkedEvents asks a server's database for what could not be delivered.
func TestParkedEvents(t *testing.T) {
	t.Parallel()
	_, info := seededServer(t)
	for line, want := range map[string]string{"events parked": "", "events unpark notifications": "0 put back\n"} {
		cmd := exec.Command(binary, strings.Fields(line)...)
		cmd.Env = []string{"DATABASE_URL=" + info.DatabaseURL}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("ptd %s: %v, %q", line, err, out)
		}
	}
}
