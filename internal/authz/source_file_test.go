package authz

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSource_RejectsFilesThatAreNotRegularOrTooLarge tries to read a pipe, a device and a
// large file. Reading a pipe would block, and a device could fill the memory.
func TestSource_RejectsFilesThatAreNotRegularOrTooLarge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		put  func(path string) error
		want string
	}{
		"a pipe":                 {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "not a regular file"},
		"a link to a device":     {func(path string) error { return os.Symlink("/dev/zero", path) }, "not a regular file"},
		"a file above the limit": {func(path string) error { return os.WriteFile(path, make([]byte, 11), 0o600) }, "larger than 10 bytes"},
		"a file":                 {func(path string) error { return os.WriteFile(path, make([]byte, 10), 0o600) }, ""},
	} {
		dir := t.TempDir()
		if err := c.put(filepath.Join(dir, "data.yaml")); err != nil {
			t.Fatal(err)
		}
		_, err := readRegular(os.DirFS(dir), "data.yaml", 10)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got error %v, want %q", name, err, c.want)
		}
	}
}
