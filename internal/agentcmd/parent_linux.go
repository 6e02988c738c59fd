package agentcmd

import (
	"fmt"
	"syscall"
)

// canSupervise reports whether this system has subreapers.
const canSupervise = true

// dieWithParent makes the kernel kill the child when this process dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// setDumpable is PR_SET_DUMPABLE of prctl.
const setDumpable = 4

// hideFromDebugger prevents other processes of the same user from reading this process's
// environment and memory under /proc, where the command would find the settings that
// are not in its own environment. It does not restrict root.
// Source: prctl(2), PR_SET_DUMPABLE; proc(5), /proc/pid/environ.
func hideFromDebugger() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0); errno != 0 {
		return fmt.Errorf("PR_SET_DUMPABLE: %w", errno)
	}
	return nil
}
