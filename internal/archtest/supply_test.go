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

// TestWorkflows_AreRestricted: a workflow runs with permissions of the repository. Actions
// must be pinned, permissions must be explicit, and user input must not become code.
func TestWorkflows_AreRestricted(t *testing.T) {
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
				t.Errorf("%s: %s is not pinned to a commit, and tags can be moved", name, m[1])
			}
			if !strings.Contains(m[2], "# v") {
				t.Errorf("%s: %s lacks a comment with the version of the commit", name, m[1])
			}
		}
		if !strings.Contains(string(text), "\npermissions:") {
			t.Errorf("%s does not set permissions, so it has the default ones", name)
		}
		for _, bad := range []string{"write-all", "pull_request_target"} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s: %s runs code of external contributors with the repository's permissions", name, bad)
			}
		}
		if inRun.Match(text) {
			t.Errorf("%s: an expression inside run can contain code from a branch name: pass it by env", name)
		}
	}
}
