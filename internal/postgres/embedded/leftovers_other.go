//go:build !linux

package embedded

import "syscall"

// processesIn returns the process id that the server wrote down, if that process still
// runs: there is no /proc to search.
func processesIn(dir string) ([]int, error) {
	f, err := readPidFile(dir)
	if err != nil || f.pid <= 1 || syscall.Kill(f.pid, 0) != nil {
		return nil, nil
	}
	return []int{f.pid}, nil
}

// dieWithParent does nothing: without Linux, the server of a killed owner runs until the
// next start ends it.
func dieWithParent(*syscall.SysProcAttr) {}
