package pgtest

import (
	"os"
	"syscall"
)

// home returns the folder for the server's data: in memory, if there is enough of it.
func home() string {
	const memory, enough = "/dev/shm", 1 << 30
	var st syscall.Statfs_t
	if err := syscall.Statfs(memory, &st); err == nil && st.Bavail*uint64(st.Bsize) >= enough {
		return memory
	}
	return os.TempDir()
}
