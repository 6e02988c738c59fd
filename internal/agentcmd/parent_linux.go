package agentcmd

import "syscall"

// dieWithParent has the kernel end the child when we die, however that is.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
