package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"parapet/internal/cli"
)

// runAsPT makes the test binary run as pt.
const runAsPT = "PT_TEST_RUN_AS_PT"

func TestMain(m *testing.M) {
	if os.Getenv(runAsPT) != "" {
		main()
	}
	if len(os.Args) == 2 && os.Args[1] == asPager {
		runPager()
		return
	}
	os.Exit(m.Run())
}

// terminalTimeout ends a pt that waits for input that the test does not send.
const terminalTimeout = time.Minute

// api is a fake of the service, which accepts every request and records its body.
type api struct {
	url    string
	mu     sync.Mutex
	bodies []string
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bodies = append(a.bodies, string(body))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f","key":"APOLLO-1","token":%q,"expiresAt":"2099-01-01T00:00:00Z"}`, testToken())
}

// sentBodies returns the bodies of all requests.
func (a *api) sentBodies() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.bodies, "\n")
}

// testToken returns a token of a session without a valid signature.
func testToken() string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"typ":"session","alg":"HS256"}`)) + "." + encode([]byte(`{"exp":4070908800}`)) + ".c2ln"
}

// terminal is a pt that runs in a pseudo-terminal.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	pty    *os.File
	screen strings.Builder
	// seen is the length of the output that expect has matched.
	seen int
}

// newPT returns the command pt with the settings for the service.
func newPT(t *testing.T, a *api, args []string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), terminalTimeout)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	// Also end the programs that pt has started, because they keep the terminal open.
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err == nil {
			return nil
		}
		return cmd.Process.Kill() // no group of its own, because it has no terminal
	}
	cmd.Env = []string{runAsPT + "=1", "TERM=xterm", "PT_CONFIG_DIR=" + t.TempDir(), "PT_BASE_URL=" + a.url, "PT_AUTH_TOKEN=" + testToken(), "PT_PROJECT=APOLLO"}
	return cmd
}

func startTerminal(t *testing.T, a *api, args []string) *terminal {
	t.Helper()
	return startInTerminal(t, newPT(t, a, args), 40)
}

// startInTerminal starts a command in a terminal with a number of lines.
func startInTerminal(t *testing.T, cmd *exec.Cmd, rows uint16) *terminal {
	t.Helper()
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &terminal{t: t, cmd: cmd, pty: f}
}

// read appends output to the screen. It returns false when pt has ended.
func (s *terminal) read() bool {
	part := make([]byte, 4096)
	n, err := s.pty.Read(part)
	s.screen.Write(part[:n])
	return err == nil
}

// expect waits until pt has printed the text, after the text of the previous call.
func (s *terminal) expect(want string) {
	s.t.Helper()
	for {
		if i := strings.Index(s.screen.String()[s.seen:], want); i >= 0 {
			s.seen += i + len(want)
			return
		}
		if !s.read() {
			s.t.Fatalf("pt ended without %q: got\n%s", want, s.screen.String())
		}
	}
}

// typeKeys sends keys to the terminal. \n is Enter, \x03 is Ctrl-C and \x04 is Ctrl-D.
func (s *terminal) typeKeys(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.pty, keys); err != nil {
		s.t.Fatal(err)
	}
}

// wait waits until pt ends, and returns its exit code.
func (s *terminal) wait() int {
	s.t.Helper()
	for s.read() {
	}
	exit := (*exec.ExitError)(nil)
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

func TestPrompt_AsksOnTerminal(t *testing.T) {
	t.Parallel()
	type step struct{ expect, keys string }
	const secret = "correct horse"
	for name, tc := range map[string]struct {
		args  string
		steps []step
		code  int
		// shown is in the output, hidden is not. sent is in the requests.
		shown, hidden, sent string
	}{
		"missing title": {"create-task", []step{{"Title: ", "Do it\n"}}, cli.ExitDone, "APOLLO-1", "", `"title":"Do it"`},
		"empty title":   {"create-task", []step{{"Title: ", "\n"}, {"the title must not be empty", ""}, {"Title: ", "Do it\n"}}, cli.ExitDone, "", "", `"title":"Do it"`},
		"too long title": {
			"create-task", []step{{"Title: ", strings.Repeat("x", 501) + "\n"}, {"at most 500", ""}, {"Title: ", "Do it\n"}}, cli.ExitDone, "", "", `"title":"Do it"`,
		},
		"value that is not in the list": {
			"transition-issue ISS-1", []step{{"IN_PROGRESS", ""}, {"To: ", "9\n"}, {"must be one of", ""}, {"To: ", "in_progress\n"}}, cli.ExitDone, "", "", `"IN_PROGRESS"`,
		},
		"three invalid answers": {
			"transition-issue ISS-1", []step{{"To: ", "9\n"}, {"To: ", "\n"}, {"To: ", "x\n"}}, cli.ExitUsage, "no valid answer in 3 attempts", "", "",
		},
		"missing argument":            {"get-task", []step{{"Task: ", "APOLLO-1\n"}}, cli.ExitDone, "APOLLO-1", "", ""},
		"label of a key":              {"issue-key", []step{{"Label: ", "laptop\n"}}, cli.ExitDone, "", "", `"label":"laptop"`},
		"Ctrl-D at a question":        {"create-task", []step{{"Title: ", "\x04"}}, cli.ExitCancelled, "Cancelled.", "", ""},
		"Ctrl-C at a question":        {"create-task", []step{{"Title: ", "\x03"}}, cli.ExitCancelled, "", "", ""},
		"Ctrl-D at a confirmation":    {"revoke-key 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f", []step{{"[y/N] ", "\x04"}}, cli.ExitCancelled, "Cancelled.", "", ""},
		"address and password":        {"auth login", []step{{"Email: ", "lin@acme.example\n"}, {"Password for lin@acme.example: ", secret + "\n"}}, cli.ExitDone, "Logged in", secret, `"password":"` + secret + `"`},
		"Ctrl-D at a password":        {"auth login --email lin@acme.example", []step{{"Password for", "\x04"}}, cli.ExitCancelled, "Cancelled.", "", ""},
		"Ctrl-C at a password":        {"auth login --email lin@acme.example", []step{{"Password for", "corr\x03"}}, cli.ExitCancelled, "", "corr", ""},
		"no question if all is given": {"create-task --title Do", nil, cli.ExitDone, "", "Title: ", `"title":"Do"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			s := startTerminal(t, a, strings.Fields(tc.args))
			for _, step := range tc.steps {
				s.expect(step.expect)
				s.typeKeys(step.keys)
			}
			code, screen := s.wait(), s.screen.String()
			if code != tc.code {
				t.Errorf("got exit code %d, want %d; screen:\n%s", code, tc.code, screen)
			}
			if !strings.Contains(screen, tc.shown) || (tc.hidden != "" && strings.Contains(screen, tc.hidden)) {
				t.Errorf("got the screen\n%s\nwant %q in it, and not %q", screen, tc.shown, tc.hidden)
			}
			if sent := a.sentBodies(); !strings.Contains(sent, tc.sent) || (tc.code != cli.ExitDone && tc.sent == "" && strings.Contains(sent, "title")) {
				t.Errorf("got the requests %q, want %q", sent, tc.sent)
			}
		})
	}
}

// A pipe in place of the keyboard gets no question, although the output is a terminal.
func TestPrompt_IsOffWithoutTerminal(t *testing.T) {
	t.Parallel()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	a := newAPI(t)
	cmd := newPT(t, a, []string{"create-task"})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("Do it\n"), tty, tty
	err = cmd.Run()
	tty.Close()
	shown, _ := io.ReadAll(screen)
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitUsage || strings.Contains(string(shown), "Title: ") || a.sentBodies() != "" {
		t.Errorf("got exit code %d (%v), the requests %q and\n%s\nwant exit %d, no question and no request", code, err, a.sentBodies(), shown, cli.ExitUsage)
	}
}
