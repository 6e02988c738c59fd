// Package agentcmd runs the operator's command for agent runs: a program with arguments,
// without a shell, that reads JSON from standard input and writes JSON to standard output.
//
// It guarantees:
//   - The command sees no settings of this process. Its environment contains only the
//     variables of Allowed. On Linux, unless it runs as root, it also cannot read this
//     process's memory or environment. Its working directory is an empty temporary folder,
//     which is removed afterwards.
//   - The command ends when its timeout is over, when ctx is cancelled and, on Linux, when
//     this process dies. On Linux a supervisor (this program again) then ends everything
//     that the command started, even in other process groups and sessions, and no further
//     attempt at the run starts on this machine before that. On other systems, the process
//     group of the command is ended, except when this process is killed.
//   - The output is limited. Too much output is an error and is never truncated.
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

// Errors of Run.
var (
	ErrStart   = errors.New("agentcmd: the command could not be started")
	ErrExit    = errors.New("agentcmd: the command failed")
	ErrTimeout = errors.New("agentcmd: the command took too long")
	ErrOutput  = errors.New("agentcmd: the command wrote too much output")
	// ErrOverlap means that the command was not started because an earlier attempt at the
	// same run has not ended.
	ErrOverlap = errors.New("agentcmd: an earlier attempt has not ended")
)

const (
	// MaxOutput is the maximum length of the output in bytes.
	MaxOutput = 256 << 10
	// maxErrorBytes limits how much of standard error is part of an error.
	maxErrorBytes = 2 << 10
	// finalOutputTimeout is how long Run waits for output that another process still holds open.
	finalOutputTimeout = 2 * time.Second
)

// AllowedVariables returns the names of the variables that are passed to the command if they are set.
func AllowedVariables() []string { return []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"} }

// Command runs the operator's command.
type Command struct {
	argv       []string
	timeout    time.Duration
	env        []string
	supervisor string
}

const (
	// supervisorArgument is the first argument when this program runs as a supervisor.
	supervisorArgument = "agent-supervisor"
	// marker is the environment variable of the command that contains the run's id.
	marker = "PT_AGENT_RUN"
)

// WithSupervisor returns the command with a supervisor. program is the path of this program, whose
// main must call Supervise first.
func (c *Command) WithSupervisor(program string) *Command {
	supervised := *c
	supervised.supervisor = program
	return &supervised
}

// Environment returns the environment of the command.
func Environment(getenv func(string) string) []string {
	env := []string{}
	for _, name := range AllowedVariables() {
		if v := getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// New returns a command with its arguments and its complete environment.
func New(argv []string, timeout time.Duration, env []string) *Command {
	// exec would replace a nil environment by this process's own.
	return &Command{argv: argv, timeout: timeout, env: append([]string{}, env...)}
}

// Parse parses a command from a setting: a JSON array of the program and its arguments, or
// the same separated by spaces.
func Parse(text string) ([]string, error) {
	var argv []string
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if err := json.Unmarshal([]byte(text), &argv); err != nil {
			return nil, errors.New(`must be a program and its arguments, separated by spaces or a JSON array such as ["/opt/agent/run", "--fast"]`)
		}
	} else {
		argv = strings.Fields(text)
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("must name a program")
	}
	return argv, nil
}

// Timeout returns the time limit of a run.
func (c *Command) Timeout() time.Duration { return c.timeout }

// Run runs the command once, as an attempt at the run with the given id. It returns one
// of the errors above, or the error of ctx when that was cancelled.
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
	// The command is a setting of the operator; no part of it comes from a request.
	cmd := exec.CommandContext(timed, c.argv[0], c.argv[1:]...) //nolint:gosec // see above
	out, stderr := &boundedBuffer{limit: MaxOutput, onExceeded: cancel}, &boundedBuffer{limit: maxErrorBytes}
	cmd.Dir, cmd.Env = dir, c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = finalOutputTimeout

	done := make(chan error, 1)
	go func() {
		// The kernel treats the death of the thread that started the child as the
		// parent's death, so this thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			done <- fmt.Errorf("%w: %w", ErrStart, err)
			return
		}
		err := cmd.Wait()
		// End the processes that the command left in its group.
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
		return nil, fmt.Errorf("%w: %w: %s", ErrExit, err, strings.TrimSpace(stderr.data.String()))
	}
	return out.data.Bytes(), nil
}

// killGroup kills the command and everything that it started in its process group.
func killGroup(cmd *exec.Cmd) error {
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		return os.ErrProcessDone
	}
	return nil
}

// boundedBuffer stores the first bytes that are written to it and calls onExceeded when
// there are more. It has one writer and is read after that has finished.
type boundedBuffer struct {
	data     bytes.Buffer
	limit    int
	exceeded bool
	// onExceeded, if set, is called at the first byte over the limit.
	onExceeded func()
}

// Write accepts all bytes, so that the command does not block.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	available := b.limit - b.data.Len()
	if len(p) > available {
		b.data.Write(p[:available])
		if !b.exceeded && b.onExceeded != nil {
			b.onExceeded()
		}
		b.exceeded = true
		return len(p), nil
	}
	b.data.Write(p)
	return len(p), nil
}
