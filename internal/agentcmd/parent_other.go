//go:build !linux

package agentcmd

import (
	"context"
	"syscall"
)

// canSupervise reports whether this system has subreapers.
const canSupervise = false

// Supervise carries out no command line here.
func Supervise([]string) (code int, ok bool) { return 0, false }

func (c *Command) runSupervised(context.Context, string, string, []byte) ([]byte, error) {
	return nil, ErrStart
}

// dieWithParent is not to be had here: the command of a killed process goes on
// until it ends by itself.
func dieWithParent(*syscall.SysProcAttr) {}

// keepToOneself has nothing to close: only some kernels show one process to another.
func keepToOneself() error { return nil }
