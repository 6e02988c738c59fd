//go:build !linux

package agentcmd

import "syscall"

// dieWithParent is not to be had here: the command of a killed process goes on
// until it ends by itself.
func dieWithParent(*syscall.SysProcAttr) {}

// keepToOneself has nothing to close: only some kernels show one process to another.
func keepToOneself() error { return nil }
