package agentcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"parapet/internal/filelock"
)

const (
	// setChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl: orphaned descendants become
	// children of this process. Source: prctl(2).
	setChildSubreaper = 36
	// waitAll is __WALL of waitpid: wait for children of every kind. Source: waitpid(2).
	waitAll = 0x40000000
	// previousExitTimeout is how long a supervisor waits until an earlier attempt has ended.
	previousExitTimeout = 10 * time.Second
	pollInterval        = 10 * time.Millisecond
	// controlFD and reportFD are the descriptors of the pipes between this program and its supervisor.
	controlFD, reportFD = 3, 4
)

// Results in a supervisor's report.
const (
	reportExit    = "exit"
	reportStart   = "start"
	reportTimeout = "timeout"
	reportOverlap = "overlap"
	reportStopped = "stopped"
)

// Supervise runs this program as a supervisor if args are a supervisor's command line, and
// returns the exit code; otherwise ok is false. main must call it first.
//
// A supervisor runs one command. When the command ends, its timeout is over, or the control
// pipe is closed (by the process that started the supervisor or, when that is killed, by
// the kernel), the supervisor kills every descendant of the command and exits after the
// last of them. As their subreaper it also finds descendants that left the process group or
// the session.
func Supervise(args []string) (code int, ok bool) {
	if len(args) < 5 || args[1] != supervisorArgument {
		return 0, false
	}
	timeout, err := time.ParseDuration(args[3])
	report := os.NewFile(reportFD, "report")
	syscall.CloseOnExec(controlFD)
	syscall.CloseOnExec(reportFD)
	if err == nil {
		err = supervise(args[2], timeout, args[4:], report)
	}
	if err != nil {
		fmt.Fprintf(report, "%s %s", reportStart, err)
		return 1, true
	}
	return 0, true
}

func supervise(run string, timeout time.Duration, argv []string, report io.Writer) error {
	// Pdeathsig refers to the thread that starts the command, so it must not end early.
	runtime.LockOSThread()
	if err := hideFromDebugger(); err != nil {
		return err
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return fmt.Errorf("PR_SET_CHILD_SUBREAPER: %w", errno)
	}
	orphaned := make(chan struct{})
	go func() {
		_, _ = os.NewFile(controlFD, "control").Read(make([]byte, 1))
		close(orphaned)
	}()
	if run != "" {
		lock, err := lockAttempt(run, orphaned)
		if err != nil {
			fmt.Fprintf(report, "%s %s", reportOverlap, err)
			return nil
		}
		defer func() { _ = lock.Remove() }()
	}
	select {
	case <-orphaned:
		fmt.Fprint(report, reportStopped)
		return nil
	default:
	}
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...) //nolint:gosec // the command is a setting of the operator
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if run != "" {
		cmd.Env = append(os.Environ(), marker+"="+run)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan syscall.WaitStatus, 1)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		reapChildren(cmd.Process.Pid, ended)
	}()
	var text string
	select {
	case status := <-ended:
		text = fmt.Sprintf("%s %d", reportExit, exitCode(status))
	case <-time.After(timeout):
		text = reportTimeout
	case <-orphaned:
		text = reportStopped
	}
	for {
		killDescendants(os.Getpid())
		select {
		case <-gone:
			fmt.Fprint(report, text)
			return nil
		case <-time.After(pollInterval):
		}
	}
}

// reapChildren waits for all children and sends the status of the command to ended.
func reapChildren(command int, ended chan<- syscall.WaitStatus) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, waitAll, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return
		case pid == command:
			ended <- status
		}
	}
}

// exitCode returns the exit code as a shell does: 128 plus the number of a signal.
func exitCode(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// killDescendants kills every process that currently descends from root.
func killDescendants(root int) {
	children := make(map[int][]int)
	for _, p := range processes() {
		if text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p), "stat")); err == nil {
			// The program's name, in parentheses, may contain any character.
			fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
			if parent, err := strconv.Atoi(string(fields[1])); err == nil {
				children[parent] = append(children[parent], p)
			}
		}
	}
	for below := children[root]; len(below) > 0; below = below[1:] {
		_ = syscall.Kill(below[0], syscall.SIGKILL)
		below = append(below, children[below[0]]...)
	}
}

// processes returns the ids of all processes.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	var list []int
	for _, name := range names {
		if p, err := strconv.Atoi(name); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// lockAttempt locks the run for this attempt, across all processes of this machine. The
// supervisor of an earlier attempt holds the lock until its last descendant has ended. If
// that supervisor was killed, lockAttempt finds its processes by the marker in their
// environment and kills them.
func lockAttempt(run string, orphaned <-chan struct{}) (*filelock.Lock, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("ptd-agent-locks-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(st.Uid) != os.Getuid() {
		return nil, fmt.Errorf("%s must be a folder with mode 0700 owned by this user", dir)
	}
	name := filepath.Join(dir, filepath.Base(run))
	end := time.Now().Add(previousExitTimeout)
	for {
		lock, err := filelock.Try(name)
		var held *filelock.HeldError
		switch {
		case err == nil && !killMarked(run):
			return lock, nil
		case err != nil && !errors.As(err, &held):
			return nil, err
		}
		_ = lock.Release()
		if time.Now().After(end) {
			return nil, errors.New("an earlier attempt is still running")
		}
		select {
		case <-orphaned:
			return nil, errors.New("cancelled")
		case <-time.After(pollInterval):
		}
	}
}

// killMarked kills the processes of earlier attempts and reports whether it found any.
func killMarked(run string) bool {
	mark, found := []byte(marker+"="+run), false
	for _, p := range processes() {
		environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p), "environ"))
		if err == nil && slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return bytes.Equal(v, mark) }) {
			found = syscall.Kill(p, syscall.SIGKILL) == nil || found
		}
	}
	return found
}

// runSupervised runs the command under a supervisor.
func (c *Command) runSupervised(ctx context.Context, run, dir string, input []byte) ([]byte, error) {
	controlRead, controlWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	defer func() { _ = controlWrite.Close() }()
	reportRead, reportWrite, err := os.Pipe()
	if err != nil {
		_ = controlRead.Close()
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	defer func() { _ = reportRead.Close() }()

	supervisorCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	argv := slices.Concat([]string{supervisorArgument, run, c.timeout.String()}, c.argv)
	cmd := exec.CommandContext(supervisorCtx, c.supervisor, argv...) //nolint:gosec // this program
	out, stderr := &boundedBuffer{limit: MaxOutput, onExceeded: cancel}, &boundedBuffer{limit: maxErrorBytes}
	cmd.Dir, cmd.Env = dir, c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, stderr
	cmd.ExtraFiles = []*os.File{controlRead, reportWrite}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Closing the control pipe makes the supervisor exit after the last descendant. It is
	// killed only if that takes too long.
	cmd.Cancel = controlWrite.Close
	cmd.WaitDelay = previousExitTimeout
	err = cmd.Start()
	_ = controlRead.Close()
	_ = reportWrite.Close()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	// The supervisor enforces the timeout, because this process may be paused.
	late := time.AfterFunc(c.timeout+previousExitTimeout+finalOutputTimeout, cancel)
	defer late.Stop()
	err = cmd.Wait()
	// A command that does not read its input has not failed.
	if errors.Is(err, syscall.EPIPE) {
		err = nil
	}
	text, _ := io.ReadAll(io.LimitReader(reportRead, maxErrorBytes))
	word, rest, _ := strings.Cut(string(text), " ")
	switch {
	case out.exceeded:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrOutput, MaxOutput)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case word == reportTimeout, supervisorCtx.Err() != nil:
		return nil, fmt.Errorf("%w: more than %s", ErrTimeout, c.timeout)
	case word == reportOverlap:
		return nil, fmt.Errorf("%w: %s", ErrOverlap, rest)
	case word == reportStart:
		return nil, fmt.Errorf("%w: %s", ErrStart, rest)
	case word == reportExit && rest == "0" && err == nil:
		return out.data.Bytes(), nil
	default:
		return nil, fmt.Errorf("%w: status %s: %s", ErrExit, rest, strings.TrimSpace(stderr.data.String()))
	}
}
