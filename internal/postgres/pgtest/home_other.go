//go:build !linux

package pgtest

import "os"

// home is where the server's data goes.
func home() string { return os.TempDir() }
