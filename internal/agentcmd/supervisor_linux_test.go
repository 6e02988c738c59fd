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

// daemon starts a process that outlives the command: in its own session, with an ended
// parent and no open descriptor of the command. It writes its id to FILE.
const daemon = `setsid sh -c 'setsid sh -c "echo \$\$ >FILE.new; mv FILE.new FILE; exec sleep 300" </dev/null >/dev/null 2>&1 & exit 0'; `

// TestRun_DescendantsEndBeforeIt starts a descendant that leaves the command's process group
// and session. It must have ended when Run returns, however the command ends.
func TestRun_DescendantsEndBeforeIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timeout time.Duration
		rest    string
		cancel  bool
	}{
		"command exits":           {time.Minute, "until test -e FILE; do sleep 0.01; done", false},
		"command times out":       {2 * time.Second, "sleep 300", false},
		"ctx is cancelled":        {time.Minute, "sleep 300", true},
		"command kills its group": {time.Minute, "until test -e FILE; do sleep 0.01; done; kill -9 0", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := shellCommand(t, c.timeout, strings.ReplaceAll(daemon+c.rest, "FILE", file)).Run(ctx, string(uid.New()), nil)
				ended <- err
			}()
			pid := processID(t, file)
			if c.cancel {
				cancel()
			}
			err := <-ended
			if isAlive(pid) {
				t.Error("a descendant of the command runs after Run returned")
			}
			if (err == nil) != (name == "command exits") {
				t.Errorf("Run: got error %v, want one unless the command exits", err)
			}
		})
	}
}

// TestRun_KilledProcess kills the process that runs a command: its supervisor must end
// everything. If the supervisor was killed too, the next attempt must find and end the
// remaining processes before it starts.
func TestRun_KilledProcess(t *testing.T) {
	t.Parallel()
	if file := os.Getenv("AGENTCMD_VICTIM"); file != "" {
		_, _ = shellCommand(t, time.Minute, strings.ReplaceAll(daemon+"sleep 300", "FILE", file)).Run(t.Context(), os.Getenv("AGENTCMD_RUN"), nil)
		return
	}
	for name, both := range map[string]bool{"process": false, "process and supervisor": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, run := filepath.Join(t.TempDir(), "pid"), string(uid.New())
			victim := exec.Command(os.Args[0], "-test.run=^TestRun_KilledProcess$")
			victim.Env = append(os.Environ(), "AGENTCMD_VICTIM="+file, "AGENTCMD_RUN="+run)
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			pid := processID(t, file)
			if both {
				// Kill the supervisor first, because it would end the other processes.
				if err := syscall.Kill(parentOf(t, pid), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			_ = victim.Process.Kill()
			_ = victim.Wait()
			// The next attempt, in another process, reports whether the old one still runs.
			out, err := shellCommand(t, time.Minute, `case "$(cat /proc/`+strconv.Itoa(pid)+`/stat 2>/dev/null)" in ""|*") Z "*) ;; *) echo overlap;; esac; echo ran`).Run(t.Context(), run, nil)
			if err != nil || !bytes.Equal(out, []byte("ran\n")) {
				t.Errorf("next attempt: got %q, %v; want ran", out, err)
			}
			if isAlive(pid) {
				t.Error("a descendant of the killed attempt still runs")
			}
		})
	}
}

// parentOf returns a process's parent. For an orphan of a command this is the supervisor.
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

// An attempt does not start while another attempt at the same run is running.
func TestRun_ConcurrentAttempt_ReturnsErrOverlap(t *testing.T) {
	t.Parallel()
	file, run := filepath.Join(t.TempDir(), "pid"), string(uid.New())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = shellCommand(t, time.Minute, "echo $$ >"+file+".new; mv "+file+".new "+file+"; sleep 300").Run(ctx, run, nil)
	}()
	first := processID(t, file)
	second := filepath.Join(t.TempDir(), "second")
	if _, err := shellCommand(t, time.Minute, "touch "+second).Run(t.Context(), run, nil); !errors.Is(err, agentcmd.ErrOverlap) {
		t.Errorf("Run of a second attempt: got %v, want %v", err, agentcmd.ErrOverlap)
	}
	if _, err := os.Stat(second); err == nil || !isAlive(first) {
		t.Errorf("second attempt ran: %t, want false; first attempt ended: %t, want false", err == nil, !isAlive(first))
	}
	cancel()
	<-ended
}
