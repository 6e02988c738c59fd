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
	// setChildSubreaper is prctl's PR_SET_CHILD_SUBREAPER: an orphan of any descendant
	// becomes a child of this process. Source: prctl(2).
	setChildSubreaper = 36
	// waitAll is waitpid's __WALL: children of every kind. Source: waitpid(2).
	waitAll = 0x40000000
	// previousExitTimeout is how long a supervisor waits for the end of an earlier attempt.
	previousExitTimeout = 10 * time.Second
	pollInterval        = 10 * time.Millisecond
	// controlFD and reportFD are the pipes between this program and its supervisor.
	controlFD, reportFD = 3, 4
)

// The words of a supervisor's report.
const (
	reportExit    = "exit"
	reportStart   = "start"
	reportTimeout = "timeout"
	reportOverlap = "overlap"
	reportStopped = "stopped"
)

// Supervise carries out the command line of a supervisor and gives its exit code;
// ok is false where args are another command line. It must come first in main.
//
// A supervisor runs one command. When the command ends, its time is over, or the
// process that started the supervisor has closed the control pipe, which the kernel
// does when that process is killed, the supervisor kills every descendant of the
// command and ends after the last of them. Descendants that left the process group
// or the session are its children all the same, because it is their subreaper.
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
	// The parent of the command is the thread that starts it: see Pdeathsig.
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
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...) //nolint:gosec // the operator's own setting
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

// reapChildren waits for every child until there is none, and returns how the command ended.
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

// exitCode is the shell's: 128 and the number of the signal.
func exitCode(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// killDescendants kills every process below root that is there now.
func killDescendants(root int) {
	children := make(map[int][]int)
	for _, p := range processes() {
		if text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p), "stat")); err == nil {
			// The name of the program, in brackets, may hold anything.
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

// processes lists the ids of all processes.
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

// lockAttempt takes the run for this attempt, in whatever process of this machine
// an earlier one was: its supervisor holds the lock until the last descendant is
// gone. Where that supervisor itself was killed, the processes that it left are
// found by the marker in their environment and killed.
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
		return nil, fmt.Errorf("%s is not a folder of this user alone", dir)
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
			return nil, errors.New("an earlier attempt still runs")
		}
		select {
		case <-orphaned:
			return nil, errors.New("called off")
		case <-time.After(pollInterval):
		}
	}
}

// killMarked kills the processes of earlier attempts and reports whether there were
// any.
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

// runSupervised carries the command out below a supervisor of its own.
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

	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	argv := slices.Concat([]string{supervisorArgument, run, c.timeout.String()}, c.argv)
	cmd := exec.CommandContext(ending, c.supervisor, argv...) //nolint:gosec // this very program
	out, complaints := &boundedBuffer{limit: MaxOutput, onExceeded: cancel}, &boundedBuffer{limit: maxErrorBytes}
	cmd.Dir, cmd.Env = dir, c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, complaints
	cmd.ExtraFiles = []*os.File{controlRead, reportWrite}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The supervisor ends by itself, after the last descendant. It is killed only
	// when it does not.
	cmd.Cancel = controlWrite.Close
	cmd.WaitDelay = previousExitTimeout
	err = cmd.Start()
	_ = controlRead.Close()
	_ = reportWrite.Close()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	// The supervisor keeps the time itself, because this process may be paused.
	late := time.AfterFunc(c.timeout+previousExitTimeout+finalOutputTimeout, cancel)
	defer late.Stop()
	err = cmd.Wait()
	// A command that reads nothing of its input has failed in nothing.
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
	case word == reportTimeout, ending.Err() != nil:
		return nil, fmt.Errorf("%w: more than %s", ErrTimeout, c.timeout)
	case word == reportOverlap:
		return nil, fmt.Errorf("%w: %s", ErrOverlap, rest)
	case word == reportStart:
		return nil, fmt.Errorf("%w: %s", ErrStart, rest)
	case word == reportExit && rest == "0" && err == nil:
		return out.data.Bytes(), nil
	default:
		return nil, fmt.Errorf("%w: status %s: %s", ErrExit, rest, strings.TrimSpace(complaints.data.String()))
	}
}
