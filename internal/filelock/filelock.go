// Package filelock locks a file for one process at a time.
//
// The kernel releases a lock when the process that holds it ends for any reason. Child
// processes of the holder do not inherit the lock.
package filelock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Lock is a lock that this process holds.
type Lock struct{ file *os.File }

// HeldError is returned if the lock is held by another process, or by another Lock of this
// process.
type HeldError struct {
	Path string
	// PID is the process that holds the lock; 0 if the file does not contain it.
	PID int
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return e.Path + " is locked by another process"
	}
	return fmt.Sprintf("%s is locked by process %d", e.Path, e.PID)
}

// maxRemovals limits the retries of Try, for file systems on which isCurrent is never true.
const maxRemovals = 1000

// Try acquires the lock of the file at path without waiting and writes the process id
// into the file. It creates the file with mode 0600 if needed and does not follow a
// symbolic link. It returns a *HeldError if the lock is held.
func Try(path string) (*Lock, error) {
	for range maxRemovals {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600) //nolint:gosec // the caller names the file
		if err != nil {
			return nil, err
		}
		switch err := lock(file); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return nil, errors.Join(&HeldError{Path: path, PID: readPID(file)}, file.Close())
		case err != nil:
			return nil, errors.Join(&os.PathError{Op: "flock", Path: path, Err: err}, file.Close())
		}
		// The holder may have removed the file after this process opened it; see Remove.
		if !isCurrent(file, path) {
			if err := file.Close(); err != nil {
				return nil, err
			}
			continue
		}
		if err := writePID(file); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return &Lock{file}, nil
	}
	return nil, fmt.Errorf("%s was removed %d times while it was being locked", path, maxRemovals)
}

func lock(file *os.File) error {
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// isCurrent reports whether path still refers to the open file.
func isCurrent(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, named)
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func readPID(file *os.File) int {
	text, err := io.ReadAll(io.LimitReader(file, 20))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

// Release releases the lock and keeps the file. Further calls, and calls on a nil Lock, do
// nothing.
func (l *Lock) Release() error {
	if l == nil {
		return nil
	}
	if err := l.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Remove removes the file and releases the lock.
func (l *Lock) Remove() error {
	return errors.Join(os.Remove(l.file.Name()), l.file.Close())
}
