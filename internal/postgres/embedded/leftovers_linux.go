package embedded

import (
	"os"
	"strconv"
	"syscall"
)

// processesIn gives the processes whose working folder is dir, which is how
// every process of a Postgres server is known. A zombie has no working folder, so
// that it is not among them though it still answers signals.
func processesIn(dir string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// Processes of other users cannot be read, and are none of ours.
		if cwd, err := os.Readlink("/proc/" + e.Name() + "/cwd"); err == nil && cwd == dir {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// dieWithParent has the kernel ask the child for a fast shutdown when we die.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
