package agentcmd

import (
	"fmt"
	"syscall"
)

// canSupervise reports whether this system has subreapers.
const canSupervise = true

// dieWithParent has the kernel end the child when we die, however that is.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// setDumpable is prctl's PR_SET_DUMPABLE.
const setDumpable = 4

// hideFromDebugger closes what the kernel shows of this process to others of the same
// user: else the command finds the secrets that are not in its environment in that
// of its parent, under /proc, or in its memory. For root nothing is closed.
// Source: prctl(2), PR_SET_DUMPABLE; proc(5), /proc/pid/environ.
func hideFromDebugger() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0); errno != 0 {
		return fmt.Errorf("PR_SET_DUMPABLE: %w", errno)
	}
	return nil
}
