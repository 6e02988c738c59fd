package embedded

import (
	"os"
	"strconv"
	"syscall"
)

// processesIn returns the processes whose working folder is dir; every process of a
// PostgreSQL server works in the data folder. A zombie has no working folder, so it is not
// listed although it still accepts signals.
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
		// Processes of other users cannot be read and are not relevant.
		if cwd, err := os.Readlink("/proc/" + e.Name() + "/cwd"); err == nil && cwd == dir {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// dieWithParent makes the kernel send the child a fast shutdown when the parent dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
