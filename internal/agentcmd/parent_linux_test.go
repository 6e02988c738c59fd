package agentcmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRun_CannotReadTheParentsEnvironment also covers /proc of the parent. Root can read
// everything, so when root runs the tests, a process of another user runs it.
func TestRun_CannotReadTheParentsEnvironment(t *testing.T) {
	t.Parallel()
	if os.Getenv("AGENTCMD_PARENT") != "" {
		out, err := shellCommand(t, time.Minute, "cat /proc/$PPID/environ /proc/$PPID/maps; ls /proc/$PPID/fd; echo end").Run(t.Context(), "", nil)
		if err != nil || string(out) != "end\n" {
			t.Errorf("reading /proc of the parent: got %q, %v; want no content", out, err)
		}
		return
	}
	// Use a folder that the other user can enter.
	dir, err := os.MkdirTemp("", "agentcmd") //nolint:usetesting // t.TempDir cannot be entered by another user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, err := os.ReadFile(os.Args[0])
	name := filepath.Join(dir, "parent")
	if err == nil {
		err = os.WriteFile(name, program, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), name, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"AGENTCMD_PARENT=secret", "PATH=" + os.Getenv("PATH")}
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}
