package dev

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockFolder takes the data folder for this process. The kernel releases the lock
// when the process ends, however it ends. The file holds the process id for the
// error of the next one.
func lockFolder(dir string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("data folder: %w", err), f.Close())
		}
		pid, _ := io.ReadAll(io.LimitReader(f, 20))
		_ = f.Close()
		return nil, fmt.Errorf("data folder %s is in use by another ptd dev (process %s); stop it, or choose another folder with --data-dir", dir, strings.TrimSpace(string(pid)))
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := fmt.Fprintf(f, "%d\n", os.Getpid()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
