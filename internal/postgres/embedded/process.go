package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server that runs as a child process.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // the reason why it ended; set before exited is closed
}

// start runs the server and waits until it accepts connections.
func (c cluster) start(ctx context.Context, socketDir string) (*process, error) {
	log, err := os.OpenFile(c.log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	defer func() { _ = log.Close() }()
	// The server outlives ctx, which limits only the start.
	cmd, done, err := c.command(context.WithoutCancel(ctx), "postgres", c.data(), c.arguments(socketDir)...)
	if err != nil {
		return nil, err
	}
	defer done()
	cmd.Stdout, cmd.Stderr = log, log
	// The server has its own process group, so an interrupt at the terminal reaches only
	// this process, which then stops the server last.
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr)

	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel treats the death of the thread that started the child as the
		// parent's death, so this thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("embedded: start postgres: %w", err)
	}
	if err := p.waitReady(ctx, c); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

func (p *process) waitReady(ctx context.Context, c cluster) error {
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for {
		if pid, err := readPidFile(c.data()); err == nil && pid.ready && pid.pid == p.cmd.Process.Pid {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.exited:
			out, _ := os.ReadFile(c.log())
			return fmt.Errorf("embedded: postgres exited during its start (%w): %s", p.err, lastLines(out))
		case <-ctx.Done():
			return fmt.Errorf("embedded: postgres is not ready: %w", ctx.Err())
		}
	}
}

// stop ends the server with a fast shutdown. If ctx ends first, it uses an immediate
// shutdown.
func (p *process) stop(ctx context.Context) error {
	fast, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if p.signal(fast, syscall.SIGINT) {
		return nil
	}
	immediate, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if p.signal(immediate, syscall.SIGQUIT) {
		return nil
	}
	p.kill()
	return errors.New("embedded: postgres did not end in time and was killed")
}

// signal sends a signal and reports whether the server ended before ctx did.
func (p *process) signal(ctx context.Context, sig syscall.Signal) bool {
	// On an error, the server has ended already, and exited is closed shortly.
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.exited:
		return true
	case <-ctx.Done():
		return false
	}
}

// kill sends SIGKILL to the process group.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.exited
}

// pidFile is the content of postmaster.pid.
type pidFile struct {
	pid       int
	socketDir string
	ready     bool
}

func readPidFile(data string) (pidFile, error) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return pidFile{}, err
	}
	lines := strings.Split(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return pidFile{}, fmt.Errorf("postmaster.pid: %w", err)
	}
	if pid <= 1 {
		// Signals to these numbers would reach whole process groups.
		return pidFile{}, fmt.Errorf("postmaster.pid: process %d", pid)
	}
	f := pidFile{pid: pid}
	if len(lines) > 4 {
		f.socketDir = strings.TrimSpace(lines[4])
	}
	if len(lines) > 7 {
		f.ready = strings.TrimSpace(lines[7]) == "ready"
	}
	return f, nil
}
