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

// TestMain lets the test binary act as its own supervisor.
func TestMain(m *testing.M) {
	if code, ok := agentcmd.Supervise(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// shellCommand returns a command that runs the lines in a shell.
func shellCommand(t *testing.T, timeout time.Duration, lines string) *agentcmd.Command {
	t.Helper()
	env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/home/agent", "DATABASE_URL": "postgres://secret@db/x", "API_KEY_JWT_SECRET": "secret"}
	return agentcmd.New([]string{"sh", "-c", lines}, timeout, agentcmd.Environment(func(n string) string { return env[n] })).WithSupervisor(os.Args[0])
}

func TestRun_PassesInputAndArguments(t *testing.T) {
	t.Parallel()
	out, err := shellCommand(t, time.Minute, "cat; echo noise >&2").Run(t.Context(), "", []byte(`{"a":1}`))
	if err != nil || string(out) != `{"a":1}` {
		t.Errorf("Run of cat: got output %s, %v, want the input", out, err)
	}
	// Arguments are passed literally, without a shell.
	out, err = agentcmd.New([]string{"printf", "%s|", "a b", "$HOME", ";", "`id`"}, time.Minute, agentcmd.Environment(os.Getenv)).Run(t.Context(), "", nil)
	if err != nil || string(out) != "a b|$HOME|;|`id`|" {
		t.Errorf("Run of printf: got output %s, %v, want the arguments unchanged", out, err)
	}
}

func TestRun_EnvironmentAndFolderAreClean(t *testing.T) {
	t.Parallel()
	out, err := shellCommand(t, time.Minute, "env; pwd; ls -A").Run(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	if strings.Contains(text, "secret") || strings.Contains(text, "DATABASE_URL") || !strings.Contains(text, "HOME=/home/agent") {
		t.Errorf("environment of the command: got\n%s", text)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	dir := lines[len(lines)-1]
	if !strings.HasPrefix(filepath.Base(dir), "ptd-agent-") {
		t.Errorf("working directory: got %s, want an empty temporary folder", dir)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the working directory was not removed: %v", err)
	}
}

func TestRun_FailedCommand_ReturnsError(t *testing.T) {
	t.Parallel()
	for note, c := range map[string]struct {
		command *agentcmd.Command
		want    error
	}{
		"program not found":   {agentcmd.New([]string{"/nonexistent/agent"}, time.Minute, agentcmd.Environment(os.Getenv)), agentcmd.ErrStart},
		"exits with status 3": {shellCommand(t, time.Minute, "echo why >&2; exit 3"), agentcmd.ErrExit},
		"killed":              {shellCommand(t, time.Minute, "kill -9 $$"), agentcmd.ErrExit},
		"times out":           {shellCommand(t, 200*time.Millisecond, "sleep 300"), agentcmd.ErrTimeout},
		"writes too much":     {shellCommand(t, time.Minute, "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done"), agentcmd.ErrOutput},
	} {
		started := time.Now()
		out, err := c.command.Run(t.Context(), "", nil)
		if !errors.Is(err, c.want) || out != nil {
			t.Errorf("%s: Run: got %q, %v; want %v", note, out, err, c.want)
		}
		if took := time.Since(started); took > time.Minute {
			t.Errorf("%s: Run took %s, want at most 1m", note, took)
		}
		if note == "exits with status 3" && !strings.Contains(err.Error(), "why") {
			t.Errorf("%s: Run: got %v, want an error with standard error", note, err)
		}
	}
}

// The process group ends after a timeout, a cancellation and a regular exit.
func TestRun_KillsTheProcessGroup(t *testing.T) {
	t.Parallel()
	for note, c := range map[string]struct {
		timeout time.Duration
		lines   string
		cancel  bool
	}{
		"timeout":      {2 * time.Second, "sleep 300 & echo $! >FILE.new; mv FILE.new FILE; wait", false},
		"cancelled":    {time.Minute, "sleep 300 & echo $! >FILE.new; mv FILE.new FILE; wait", true},
		"regular exit": {time.Minute, "sleep 300 >/dev/null 2>&1 & echo $! >FILE.new; mv FILE.new FILE; exit 0", false},
	} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := shellCommand(t, c.timeout, strings.ReplaceAll(c.lines, "FILE", file)).Run(ctx, "", nil)
				ended <- err
			}()
			pid := processID(t, file)
			if c.cancel {
				cancel()
			}
			if err := <-ended; (err == nil) != (note == "regular exit") {
				t.Errorf("error of Run: got %v, want one unless the command exits", err)
			}
			for end := time.Now().Add(time.Minute); isAlive(pid); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("a process of the command still runs")
				}
			}
		})
	}
}

// processID waits until a command has written a process id to the file, and returns it. The
// process is killed when the test ends.
func processID(t *testing.T, file string) int {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			return pid
		}
	}
	t.Fatal("the process did not start")
	return 0
}

// isAlive reports whether a process runs and is not a zombie.
func isAlive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return len(fields) > 0 && fields[0] != "Z"
}

func TestParse_AcceptsWordsOrJSONList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"/opt/agent --fast": {"/opt/agent", "--fast"}, `["/opt/an agent", "a b"]`: {"/opt/an agent", "a b"},
		"": nil, "  ": nil, "[]": nil, `[""]`: nil, `["a", 1]`: nil, `["a"`: nil,
	} {
		got, err := agentcmd.Parse(text)
		if (err == nil) != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("Parse(%q): got %v, %v", text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`["a","b"]`)
	f.Add("a b")
	f.Fuzz(func(t *testing.T, text string) {
		if argv, err := agentcmd.Parse(text); err == nil && (len(argv) == 0 || argv[0] == "") {
			t.Fatalf("Parse(%q): got %v, want a program", text, argv)
		}
	})
}
