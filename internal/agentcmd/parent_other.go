//go:build !linux

package agentcmd

import (
	"context"
	"syscall"
)

// canSupervise reports whether this system has subreapers.
const canSupervise = false

// Supervise handles no command line: there is no supervisor on this system.
func Supervise([]string) (code int, ok bool) { return 0, false }

func (c *Command) runSupervised(context.Context, string, string, []byte) ([]byte, error) {
	return nil, ErrStart
}

// dieWithParent does nothing: on this system the command of a killed process runs until
// it ends by itself.
func dieWithParent(*syscall.SysProcAttr) {}

// hideFromDebugger does nothing on this system.
func hideFromDebugger() error { return nil }
