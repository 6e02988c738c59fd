package e2e

import (
	"bufio"
	"context"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// follower is a running pt command with --follow.
type follower struct {
	// out and errors are the lines that the command prints.
	out, errors *bufio.Scanner
	printed     []string
}

// follow starts a command. It ends with the test.
func (s *server) follow(t *testing.T, token string, args ...string) *follower {
	t.Helper()
	// A command that prints nothing fails the test at this limit.
	ctx, cancel := context.WithTimeout(t.Context(), 2*startTime)
	cmd := exec.CommandContext(ctx, s.pt, args...)
	cmd.Env = []string{"PT_BASE_URL=" + s.BaseURL, "PT_AUTH_TOKEN=" + token, "PT_CONFIG_DIR=" + t.TempDir()}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // the context ended the command
	})
	return &follower{out: bufio.NewScanner(out), errors: bufio.NewScanner(errs)}
}

// awaitEntries waits until the command has printed n entries.
func (f *follower) awaitEntries(t *testing.T, n int) {
	t.Helper()
	for len(f.printed) < n {
		if !f.out.Scan() {
			t.Fatalf("got the entries %q, want %d", f.printed, n)
		}
		f.printed = append(f.printed, f.out.Text())
	}
}

// awaitNote waits for the next line on stderr, which must contain a text.
func (f *follower) awaitNote(t *testing.T, want string) {
	t.Helper()
	if !f.errors.Scan() || !strings.Contains(f.errors.Text(), want) {
		t.Fatalf("stderr: got %q, want a line with %q", f.errors.Text(), want)
	}
}

// testFollow stops a server of its own, first with SIGTERM and then with SIGKILL. Each time,
// it starts the server again on the same port and database. --follow must print each entry
// once.
func (s *server) testFollow(t *testing.T) {
	t.Parallel()
	s = &server{pt: s.pt, dir: newDataFolder(t)}
	stop := s.run(t, "0")
	base, err := url.Parse(s.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	admin, manager := s.token(t, "admin@acme.example"), s.token(t, "project-manager@acme.example")
	var made struct{ Key string }
	s.mustSend(t, "POST", "/api/projects", manager, map[string]any{"name": "Sluice", "prefix": "SLUICE", "startDate": "2027-01-04"}, &made)
	var keys []string
	create := func(titles ...string) {
		for _, title := range titles {
			s.mustSend(t, "POST", "/api/projects/SLUICE/tasks", manager, map[string]any{"title": title}, &made)
			keys = append(keys, made.Key)
		}
	}
	logs := map[string]*follower{
		"audit":     s.follow(t, admin, "audit", "--follow", "--action", "task.created", "--jq", ".data.id"),
		"decisions": s.follow(t, admin, "decisions", "--follow", "--permission", "task.create", "--jq", ".data.id"),
	}
	each := func(check func(*follower)) {
		for _, f := range logs {
			check(f)
		}
	}
	for _, round := range []struct {
		signal os.Signal
		titles []string
	}{{syscall.SIGTERM, []string{"Open the gate", "Drain the basin", "Paint the wheel", "Order new chains"}}, {syscall.SIGKILL, []string{"Test the pump", "Count the bolts", "Weld the frame", "Fill the basin"}}} {
		create(round.titles[:2]...)
		if round.signal == syscall.SIGKILL {
			// The decision log is written asynchronously, so a killed server loses its end.
			each(func(f *follower) { f.awaitEntries(t, len(keys)) })
		}
		stop(round.signal)
		each(func(f *follower) { f.awaitNote(t, "pt keeps trying.") })
		stop = s.run(t, base.Port())
		create(round.titles[2:]...)
		each(func(f *follower) { f.awaitEntries(t, len(keys)) })
		each(func(f *follower) { f.awaitNote(t, "The service responds again.") })
	}
	for path, f := range map[string]*follower{
		"/api/audit/entries?action=task.created&limit=200": logs["audit"],
		"/api/decisions?permission=task.create&limit=200":  logs["decisions"],
	} {
		var page struct{ Items []struct{ ID string } }
		s.mustSend(t, "GET", path, admin, nil, &page)
		var want []string
		for _, entry := range slices.Backward(page.Items) {
			want = append(want, entry.ID)
		}
		if !slices.Equal(f.printed, want) || len(want) != len(keys) {
			t.Errorf("%s: printed %q, want %q", path, f.printed, want)
		}
	}
}
