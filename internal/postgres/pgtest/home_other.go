//go:build !linux

package pgtest

import "os"

// home returns the folder for the server's data.
func home() string { return os.TempDir() }
