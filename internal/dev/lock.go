package dev

import (
	"errors"
	"fmt"
	"path/filepath"

	"parapet/internal/filelock"
)

// lockFolder locks the data folder for this process.
func lockFolder(dir string) (*filelock.Lock, error) {
	lock, err := filelock.Try(filepath.Join(dir, "lock"))
	var held *filelock.HeldError
	switch {
	case errors.As(err, &held):
		holder := "another ptd dev"
		if held.PID != 0 {
			holder += fmt.Sprintf(" (process %d)", held.PID)
		}
		return nil, fmt.Errorf("data folder %s is in use by %s; stop it or choose another folder with --data-dir", dir, holder)
	case err != nil:
		return nil, fmt.Errorf("data folder: %w", err)
	}
	return lock, nil
}
