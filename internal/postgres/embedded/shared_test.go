package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parapet/internal/postgres/embedded"
)

// sharedDir is a folder that the server's account can reach; t.TempDir is closed
// to it when the tests run as root.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "shared") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// workers counts the processes whose working folder is dir or below it.
func workers(dir string) int {
	n := 0
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, l := range links {
		if cwd, err := os.Readlink(l); err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) {
			n++
		}
	}
	return n
}

func generations(dir string) int {
	list, _ := filepath.Glob(filepath.Join(dir, "g-*"))
	return len(list)
}

func TestSharedServerEndsWithItsLastUser(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	first := spawn(t, "join", dir, nil)
	second := spawn(t, "join", dir, nil)
	third := spawn(t, "join", dir, nil)
	if first.url != second.url || second.url != third.url {
		t.Fatalf("three users have %s, %s, %s", first.url, second.url, third.url)
	}
	mustExec(t, first.url, `CREATE TABLE kept AS SELECT 'yes'::text AS answer`)
	first.leave(t)
	third.kill()
	// Longer than the server waits for a next user.
	for range 15 {
		if _, err := query(second.url, `SELECT answer || pg_sleep(0.2)::text FROM kept`); err != nil {
			t.Fatalf("the server ended with a user: %v", err)
		}
	}
	second.kill()
	eventually(t, "the end of the server and its data", func() bool { return generations(dir) == 0 && workers(dir) == 0 })
}

func TestSharedServerWaitsForTheNextUser(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	first := spawn(t, "join", dir, nil)
	first.kill()
	second, err := embedded.Join(t.Context(), embedded.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := second.URL("postgres", "postgres"); got != first.url {
		t.Errorf("the next user has %s, the one before had %s", got, first.url)
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "the end of the server and its data", func() bool { return generations(dir) == 0 && workers(dir) == 0 })
}

// TestSharedServerIsReplaced has users come and go around the moments when the
// server is about to end: whoever joins has a server that works.
func TestSharedServerIsReplaced(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	var users []*other
	for range 3 {
		users = append(users, spawn(t, "join again and again", dir, nil))
	}
	for _, u := range users {
		if err := u.cmd.Wait(); err != nil {
			t.Errorf("a user had a server that did not work: %v", err)
		}
	}
	eventually(t, "the end of the server and its data", func() bool { return generations(dir) == 0 && workers(dir) == 0 })
}
