package agentcmd_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parapet/internal/agentcmd"
	"parapet/internal/uid"
)

// daemon is what a command does to outlive it: a child in a session of its own, whose
// parent ends, with nothing of the command's open. It writes its id to FILE.
const daemon = `setsid sh -c 'setsid sh -c "echo \$\$ >FILE.new; mv FILE.new FILE; exec sleep 300" </dev/null >/dev/null 2>&1 & exit 0'; `

// daemonID waits for the daemon and gives its id.
func daemonID(t *testing.T, file string) int {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			return pid
		}
	}
	t.Fatal("the daemon did not start")
	return 0
}

// TestRun_DescendantsEndBeforeIt: whatever way the command ends, a descendant that
// left its group and its session is gone when Run returns.
func TestRun_DescendantsEndBeforeIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timeout time.Duration
		rest    string
		cancel  bool
	}{
		"the command ends":   {time.Minute, "until test -e FILE; do sleep 0.01; done", false},
		"its time is over":   {2 * time.Second, "sleep 300", false},
		"it is called off":   {time.Minute, "sleep 300", true},
		"it kills its group": {time.Minute, "until test -e FILE; do sleep 0.01; done; kill -9 0", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := script(t, c.timeout, strings.ReplaceAll(daemon+c.rest, "FILE", file)).Run(ctx, string(uid.New()), nil)
				ended <- err
			}()
			pid := daemonID(t, file)
			if c.cancel {
				cancel()
			}
			err := <-ended
			if alive(pid) {
				t.Error("a descendant of the command outlives Run")
			}
			if (err == nil) != (name == "the command ends") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestRun_KilledProcess: when the process that runs a command is killed with signal
// 9, its supervisor ends everything. When that was killed too, the next attempt
// finds what is left and ends it before it starts.
func TestRun_KilledProcess(t *testing.T) {
	t.Parallel()
	if file := os.Getenv("AGENTCMD_VICTIM"); file != "" {
		_, _ = script(t, time.Minute, strings.ReplaceAll(daemon+"sleep 300", "FILE", file)).Run(t.Context(), os.Getenv("AGENTCMD_RUN"), nil)
		return
	}
	for name, both := range map[string]bool{"alone": false, "with its supervisor": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, run := filepath.Join(t.TempDir(), "pid"), string(uid.New())
			victim := exec.Command(os.Args[0], "-test.run=^TestRun_KilledProcess$")
			victim.Env = append(os.Environ(), "AGENTCMD_VICTIM="+file, "AGENTCMD_RUN="+run)
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			pid := daemonID(t, file)
			if both {
				// The supervisor first: it would end the rest by itself.
				if err := syscall.Kill(parentOf(t, pid), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			_ = victim.Process.Kill()
			_ = victim.Wait()
			// The next attempt, in another process, tells whether the old one still runs.
			out, err := script(t, time.Minute, `case "$(cat /proc/`+strconv.Itoa(pid)+`/stat 2>/dev/null)" in ""|*") Z "*) ;; *) echo overlap;; esac; echo ran`).Run(t.Context(), run, nil)
			if err != nil || !bytes.Equal(out, []byte("ran\n")) {
				t.Errorf("the next attempt says %q, %v", out, err)
			}
			if alive(pid) {
				t.Error("a descendant of the killed attempt still runs")
			}
		})
	}
}

// parentOf gives a process's parent: for an orphan of a command, the supervisor.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	parent, err := strconv.Atoi(strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

// TestRun_OneAttemptAtATime: an attempt does not start while another of the same run
// is under way.
func TestRun_OneAttemptAtATime(t *testing.T) {
	t.Parallel()
	file, run := filepath.Join(t.TempDir(), "pid"), string(uid.New())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = script(t, time.Minute, "echo $$ >"+file+".new; mv "+file+".new "+file+"; sleep 300").Run(ctx, run, nil)
	}()
	first := daemonID(t, file)
	second := filepath.Join(t.TempDir(), "second")
	if _, err := script(t, time.Minute, "touch "+second).Run(t.Context(), run, nil); !errors.Is(err, agentcmd.ErrOverlap) {
		t.Errorf("got %v, want %v", err, agentcmd.ErrOverlap)
	}
	if _, err := os.Stat(second); err == nil || !alive(first) {
		t.Errorf("the second attempt ran (%v), or the first was ended (%t)", err == nil, !alive(first))
	}
	cancel()
	<-ended
}
