package agentcmd_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parapet/internal/agentcmd"
)

// TestMain lets the test binary be its own supervisor.
func TestMain(m *testing.M) {
	if code, ok := agentcmd.Supervise(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// script is a command that runs these lines of a shell.
func script(t *testing.T, timeout time.Duration, lines string) *agentcmd.Command {
	t.Helper()
	env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/home/agent", "DATABASE_URL": "postgres://secret@db/x", "API_KEY_JWT_SECRET": "secret"}
	return agentcmd.New([]string{"sh", "-c", lines}, timeout, agentcmd.Environment(func(n string) string { return env[n] })).Supervised(os.Args[0])
}

func TestACommandReadsAndAnswers(t *testing.T) {
	t.Parallel()
	out, err := script(t, time.Minute, "cat; echo noise >&2").Run(t.Context(), "", []byte(`{"a":1}`))
	if err != nil || string(out) != `{"a":1}` {
		t.Errorf("got %s, %v", out, err)
	}
	// Words are arguments, whatever a shell would make of them.
	out, err = agentcmd.New([]string{"printf", "%s|", "a b", "$HOME", ";", "`id`"}, time.Minute, agentcmd.Environment(os.Getenv)).Run(t.Context(), "", nil)
	if err != nil || string(out) != "a b|$HOME|;|`id`|" {
		t.Errorf("got %s, %v", out, err)
	}
}

func TestACommandSeesNoSecret(t *testing.T) {
	t.Parallel()
	out, err := script(t, time.Minute, "env; pwd; ls -A").Run(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	if strings.Contains(text, "secret") || strings.Contains(text, "DATABASE_URL") || !strings.Contains(text, "HOME=/home/agent") {
		t.Errorf("its environment is\n%s", text)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	dir := lines[len(lines)-1]
	if !strings.HasPrefix(filepath.Base(dir), "ptd-agent-") {
		t.Errorf("it works in %s, which is not an empty folder of its own", dir)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is still there: %v", err)
	}
}

func TestACommandThatGivesNoAnswer(t *testing.T) {
	t.Parallel()
	for note, c := range map[string]struct {
		command *agentcmd.Command
		want    error
	}{
		"not there": {agentcmd.New([]string{"/nonexistent/agent"}, time.Minute, agentcmd.Environment(os.Getenv)), agentcmd.ErrStart},
		"fails":     {script(t, time.Minute, "echo why >&2; exit 3"), agentcmd.ErrExit},
		"killed":    {script(t, time.Minute, "kill -9 $$"), agentcmd.ErrExit},
		"slow":      {script(t, 200*time.Millisecond, "sleep 60"), agentcmd.ErrTimeout},
		"talks":     {script(t, time.Minute, "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done"), agentcmd.ErrOutput},
	} {
		begun := time.Now()
		out, err := c.command.Run(t.Context(), "", nil)
		if !errors.Is(err, c.want) || out != nil {
			t.Errorf("%s: got %q, %v, want %v", note, out, err, c.want)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s: took %s", note, took)
		}
		if note == "fails" && !strings.Contains(err.Error(), "why") {
			t.Errorf("%s: %v does not tell why", note, err)
		}
	}
}

// TestTheGroupEndsWithTheCommand: by time, by being called off, and after a
// regular end.
func TestTheGroupEndsWithTheCommand(t *testing.T) {
	t.Parallel()
	for note, c := range map[string]struct {
		timeout time.Duration
		lines   string
		cancel  time.Duration
	}{
		"time":       {300 * time.Millisecond, "sleep 300 & echo $! >PID; wait", time.Minute},
		"called off": {time.Minute, "sleep 300 & echo $! >PID; wait", 300 * time.Millisecond},
		"done":       {time.Minute, "sleep 300 >/dev/null 2>&1 & echo $! >PID; exit 0", time.Minute},
	} {
		file := filepath.Join(t.TempDir(), "pid")
		ctx, cancel := context.WithTimeout(t.Context(), c.cancel)
		_, err := script(t, c.timeout, strings.ReplaceAll(c.lines, "PID", file)).Run(ctx, "", nil)
		cancel()
		if (err == nil) != (note == "done") {
			t.Errorf("%s: %v", note, err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(5 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%s: what the command started still runs", note)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}

// alive tells whether a process runs; one that only waits to be buried does not.
func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return len(fields) > 0 && fields[0] != "Z"
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"/opt/agent --fast": {"/opt/agent", "--fast"}, `["/opt/an agent", "a b"]`: {"/opt/an agent", "a b"},
		"": nil, "  ": nil, "[]": nil, `[""]`: nil, `["a", 1]`: nil, `["a"`: nil,
	} {
		got, err := agentcmd.Parse(text)
		if (err == nil) != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`["a","b"]`)
	f.Add("a b")
	f.Fuzz(func(t *testing.T, text string) {
		if argv, err := agentcmd.Parse(text); err == nil && (len(argv) == 0 || argv[0] == "") {
			t.Fatalf("%q names no program: %v", text, argv)
		}
	})
}
