//go:build !linux

package embedded

import "syscall"

// processesIn has no /proc to read here: it trusts the process id that the
// server wrote down, if that process still answers.
func processesIn(dir string) ([]int, error) {
	f, err := readPidFile(dir)
	if err != nil || f.pid <= 1 || syscall.Kill(f.pid, 0) != nil {
		return nil, nil
	}
	return []int{f.pid}, nil
}

// dieWithParent is not to be had here: a killed owner's server goes on until the
// next start ends it.
func dieWithParent(*syscall.SysProcAttr) {}
