// Package agentcmd owns how the operator's command for agent runs is carried
// out: a program with arguments, never a shell, which reads JSON from its
// standard input and answers JSON on its standard output.
//
// It promises:
//   - The command sees none of this process's settings: its environment holds the
//     few variables of Allowed and nothing else, and on Linux, unless it runs as
//     root, this process shows it nothing of its own. It works in an empty folder
//     of its own, which is gone afterwards.
//   - It ends: when its time is over, when the work is called off, and, on Linux,
//     when this process dies. On Linux a supervisor, which is this program again,
//     ends with it everything that it started, also in other process groups and
//     sessions, and no attempt at a run starts on this machine before everything
//     of the earlier one is gone. Elsewhere what it started in its process group
//     ends with it, except when this process is killed.
//   - What it writes is bounded; what is too much is an error, not a cut text.
package agentcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Why a command gave no answer.
var (
	ErrStart   = errors.New("agentcmd: the command could not be started")
	ErrExit    = errors.New("agentcmd: the command failed")
	ErrTimeout = errors.New("agentcmd: the command took too long")
	ErrOutput  = errors.New("agentcmd: the command answered too much")
	// ErrOverlap says that the command was not started, because an earlier attempt at
	// the same run has not ended.
	ErrOverlap = errors.New("agentcmd: an earlier attempt has not ended")
)

const (
	// MaxOutput is the length in bytes of the longest answer.
	MaxOutput = 256 << 10
	// maxErrorBytes is how much of what the command complains of is told.
	maxErrorBytes = 2 << 10
	// finalOutputTimeout is how long output that somebody else still holds is waited for.
	finalOutputTimeout = 2 * time.Second
)

// Allowed are the variables that the command gets, where they are set.
func Allowed() []string { return []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"} }

// Command is the operator's command.
type Command struct {
	argv       []string
	timeout    time.Duration
	env        []string
	supervisor string
}

const (
	// supervisorArgument is the first argument of this program as a supervisor.
	supervisorArgument = "agent-supervisor"
	// marker is the variable of the command's environment that names its run.
	marker = "PT_AGENT_RUN"
)

// Supervised gives the command with a supervisor: program is this program, whose
// main calls Supervise first.
func (c *Command) Supervised(program string) *Command {
	supervised := *c
	supervised.supervisor = program
	return &supervised
}

// Environment is what the command gets of an environment.
func Environment(getenv func(string) string) []string {
	env := []string{}
	for _, name := range Allowed() {
		if v := getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// New makes a command of a program, its arguments and its whole environment.
func New(argv []string, timeout time.Duration, env []string) *Command {
	// A nil environment would be this process's own.
	return &Command{argv: argv, timeout: timeout, env: append([]string{}, env...)}
}

// Parse reads a command as a setting writes it: a JSON array of the program and
// its arguments, or the same separated by spaces.
func Parse(text string) ([]string, error) {
	var argv []string
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if err := json.Unmarshal([]byte(text), &argv); err != nil {
			return nil, errors.New(`it must be a program and its arguments: separated by spaces, or a JSON array such as ["/opt/agent/run", "--fast"]`)
		}
	} else {
		argv = strings.Fields(text)
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("it names no program")
	}
	return argv, nil
}

// Timeout is the time that a run of the command may take.
func (c *Command) Timeout() time.Duration { return c.timeout }

// Run carries the command out once, as an attempt at a run, which is named by its
// id. The error is one of those above, or ctx's own when the work was called off.
func (c *Command) Run(ctx context.Context, run string, input []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "ptd-agent-")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := hideFromDebugger(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	if c.supervisor != "" && canSupervise {
		return c.runSupervised(ctx, run, dir, input)
	}
	timed, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	// The command is the operator's own setting; no part of it comes from a request.
	cmd := exec.CommandContext(timed, c.argv[0], c.argv[1:]...) //nolint:gosec // see above
	out, complaints := &boundedBuffer{limit: MaxOutput, onExceeded: cancel}, &boundedBuffer{limit: maxErrorBytes}
	cmd.Dir, cmd.Env = dir, c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, complaints
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = finalOutputTimeout

	done := make(chan error, 1)
	go func() {
		// The kernel counts the death of the thread that started the child as the
		// parent's: so this one stays as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			done <- fmt.Errorf("%w: %w", ErrStart, err)
			return
		}
		err := cmd.Wait()
		// Whatever it left behind in its group.
		_ = killGroup(cmd)
		done <- err
	}()
	err = <-done
	switch {
	case out.exceeded:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrOutput, MaxOutput)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case timed.Err() != nil:
		return nil, fmt.Errorf("%w: more than %s", ErrTimeout, c.timeout)
	case errors.Is(err, ErrStart):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w: %s", ErrExit, err, strings.TrimSpace(complaints.data.String()))
	}
	return out.data.Bytes(), nil
}

// killGroup ends the command with all that it started in its group.
func killGroup(cmd *exec.Cmd) error {
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		return os.ErrProcessDone
	}
	return nil
}

// boundedBuffer keeps the first bytes that are written to it, and says when there are
// more. One writer uses it, and it is read when that has ended.
type boundedBuffer struct {
	data     bytes.Buffer
	limit    int
	exceeded bool
	// onExceeded is called at the first byte too many, where it is set.
	onExceeded func()
}

// Write takes everything, so that the command is not held up.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	room := b.limit - b.data.Len()
	if len(p) > room {
		b.data.Write(p[:room])
		if !b.exceeded && b.onExceeded != nil {
			b.onExceeded()
		}
		b.exceeded = true
		return len(p), nil
	}
	b.data.Write(p)
	return len(p), nil
}
