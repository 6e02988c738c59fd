package filelock_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"parapet/internal/filelock"
)

// holderPath is the environment variable that makes the test program hold the lock of a
// file until its input ends.
const holderPath = "FILELOCK_TEST_HOLDER"

func TestMain(m *testing.M) {
	path := os.Getenv(holderPath)
	if path == "" {
		os.Exit(m.Run())
	}
	lock, err := filelock.Try(path)
	if err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("locked\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = lock.Release()
}

// startHolder starts a process that holds the lock of path.
func startHolder(t *testing.T, path string) (cmd *exec.Cmd, input io.WriteCloser) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(program)
	cmd.Env = append(os.Environ(), holderPath+"="+path)
	input, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "locked\n" {
		t.Fatalf("the holder printed %q, %v; want locked", line, err)
	}
	return cmd, input
}

func requireHeld(t *testing.T, path string, pid int) {
	t.Helper()
	lock, err := filelock.Try(path)
	var held *filelock.HeldError
	if !errors.As(err, &held) || held.PID != pid || held.Path != path {
		t.Fatalf("Try: got %v, %v; want a HeldError for %s with PID %d", lock, err, path, pid)
	}
	if text := err.Error(); text != path+" is locked by process "+strconv.Itoa(pid) {
		t.Errorf("HeldError: got text %q", text)
	}
}

func requireFree(t *testing.T, path string) {
	t.Helper()
	lock, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != strconv.Itoa(os.Getpid())+"\n" {
		t.Errorf("lock file: got %q, %v; want this process's id", text, err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestTry_HeldByAnotherProcess(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*exec.Cmd, io.WriteCloser) error{
		"holder releases":  func(_ *exec.Cmd, input io.WriteCloser) error { return input.Close() },
		"holder is killed": func(cmd *exec.Cmd, _ io.WriteCloser) error { return cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "lock")
			// A longer old content must not become part of the process id.
			if err := os.WriteFile(path, []byte("12345678901234567\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			holder, input := startHolder(t, path)
			requireHeld(t, path, holder.Process.Pid)
			if err := end(holder, input); err != nil {
				t.Fatal(err)
			}
			_ = holder.Wait()
			requireFree(t, path)
		})
	}
}

func TestTry_HeldByThisProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	requireHeld(t, path, os.Getpid())
	// A child process must not inherit the lock.
	child := exec.Command("cat")
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Wait() }()
	defer func() { _ = input.Close() }()
	for range 2 {
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
	}
	requireFree(t, path)
}

func TestTry_HeldByUnknownProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }()
	if err := os.WriteFile(path, []byte("somebody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Try(path); err == nil || err.Error() != path+" is locked by another process" {
		t.Errorf("Try: got %v", err)
	}
}

func TestTry_InvalidPath_ReturnsError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"missing folder": filepath.Join(dir, "none", "lock"), "symbolic link": link, "folder": dir} {
		var held *filelock.HeldError
		if _, err := filelock.Try(path); err == nil || errors.As(err, &held) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Try: got %v, want an error with the path", name, err)
		}
	}
	if _, err := os.Lstat(target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the target of the link was created (%v)", err)
	}
}

// TestRemove_KeepsTheLockExclusive locks and removes a file from many goroutines. Without
// the check in Try, one could hold the lock of a removed file while another holds that of
// its successor.
func TestRemove_KeepsTheLockExclusive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var holders atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for taken := 0; taken < 50; {
				lock, err := filelock.Try(path)
				var held *filelock.HeldError
				if errors.As(err, &held) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d goroutines hold the lock, want 1", n)
				}
				taken++
				holders.Add(-1)
				if err := lock.Remove(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was not removed: %v", err)
	}
}
