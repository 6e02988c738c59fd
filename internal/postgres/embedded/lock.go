package embedded

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// errLocked says that another process holds the lock.
var errLocked = errors.New("locked by another process")

// dirLock is a lock that the kernel lets go of when the process ends, however
// it ends. The file stays; its descriptor is not inherited by children.
type dirLock struct{ f *os.File }

func tryLock(path string) (*dirLock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return &dirLock{f}, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("flock: %w", err)
}

func (l *dirLock) release() {
	if l != nil {
		_ = l.f.Close()
	}
}
