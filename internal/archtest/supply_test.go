package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	uses   = regexp.MustCompile(`(?m)^\s*-?\s*uses:\s*(\S+)(.*)$`)
	pinned = regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40}$`)
	inRun  = regexp.MustCompile(`(?m)^\s*(?:-\s*)?run:.*\$\{\{`)
)

// A workflow runs with the repository's rights: what it fetches is pinned, what it may do is said, what strangers write is never code.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(repo(t).root, ".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows found: %v", err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s: %s is not pinned to a commit: a tag can be moved", name, m[1])
			}
			if !strings.Contains(m[2], "# v") {
				t.Errorf("%s: %s does not say which version the commit is", name, m[1])
			}
		}
		if !strings.Contains(string(text), "\npermissions:") {
			t.Errorf("%s does not say its permissions, so it has whatever the default is", name)
		}
		for _, bad := range []string{"write-all", "pull_request_target"} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s: %s gives a stranger's change the repository's rights", name, bad)
			}
		}
		if inRun.Match(text) {
			t.Errorf("%s: an expression inside run is code that whoever names a branch can write: pass it by env", name)
		}
	}
}
