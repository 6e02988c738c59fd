package pgtest

import (
	"os"
	"syscall"
)

// home returns the folder for the server's data: the memory file system if at least 1 GiB
// of it is free, otherwise the temporary folder.
func home() string {
	const memoryDir, requiredBytes = "/dev/shm", 1 << 30
	var st syscall.Statfs_t
	if err := syscall.Statfs(memoryDir, &st); err == nil && st.Bavail*uint64(st.Bsize) >= requiredBytes {
		return memoryDir
	}
	return os.TempDir()
}
