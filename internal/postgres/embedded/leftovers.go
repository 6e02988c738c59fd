package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// clearLeftovers ends the server processes of a killed owner in a data folder, and removes
// the files that would prevent a new server from starting. The caller holds the lock, so
// the owner of every process in the folder has ended.
func clearLeftovers(ctx context.Context, data string, log *slog.Logger) error {
	if err := stopProcesses(ctx, data, log); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(data, "postmaster.pid")); errors.Is(err, fs.ErrNotExist) {
		return nil // the server ended cleanly, or there is no cluster yet
	}
	// A truncated file has no process id; it is removed too.
	pid, _ := readPidFile(data)
	log.InfoContext(ctx, "removing what a killed database server left", "dir", data, "pid", pid.pid)
	if pid.socketDir != "" {
		_ = os.Remove(filepath.Join(pid.socketDir, ".s.PGSQL."+port))
		_ = os.Remove(filepath.Join(pid.socketDir, ".s.PGSQL."+port+".lock"))
	}
	if err := os.Remove(filepath.Join(data, "postmaster.pid")); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// stopProcesses ends every process that works in dir: first with a fast shutdown,
// then with SIGKILL.
func stopProcesses(ctx context.Context, dir string, log *slog.Logger) error {
	for i, timeout := range []time.Duration{10 * time.Second, 5 * time.Second, 5 * time.Second} {
		signal := []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL}[i]
		pids, err := processesIn(dir)
		if err != nil {
			return fmt.Errorf("embedded: list processes in %s: %w", dir, err)
		}
		if len(pids) == 0 {
			return nil
		}
		log.InfoContext(ctx, "ending the remaining processes of a killed database server", "dir", dir, "pids", pids, "signal", signal.String())
		if signal == syscall.SIGKILL {
			for _, pid := range pids {
				_ = syscall.Kill(pid, signal)
			}
		} else if f, err := readPidFile(dir); err == nil && slices.Contains(pids, f.pid) {
			_ = syscall.Kill(f.pid, signal)
		}
		if gone, err := waitForExit(ctx, dir, timeout); err != nil || gone {
			return err
		}
	}
	return fmt.Errorf("embedded: processes in %s did not end", dir)
}

func waitForExit(ctx context.Context, dir string, timeout time.Duration) (bool, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		pids, err := processesIn(dir)
		if err != nil {
			return false, fmt.Errorf("embedded: list processes in %s: %w", dir, err)
		}
		if len(pids) == 0 {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-timer.C:
			return false, nil
		case <-time.After(10 * time.Millisecond):
		}
	}
}
