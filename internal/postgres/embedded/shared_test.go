package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parapet/internal/postgres/embedded"
	"parapet/internal/postgres/pgtest"
)

// sharedDir returns a folder that the server's account can reach. When root runs the
// tests, t.TempDir is closed to it.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "shared") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// processesBelow returns the number of processes whose working folder is dir or below it.
func processesBelow(dir string) int {
	n := 0
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, l := range links {
		if cwd, err := os.Readlink(l); err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) {
			n++
		}
	}
	return n
}

// serverDirs returns the number of shared servers with a folder in dir.
func serverDirs(dir string) int {
	list, _ := filepath.Glob(filepath.Join(dir, "g-*"))
	return len(list)
}

func TestJoin_ServerEndsAfterItsLastUser(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	first := spawn(t, "join", dir, nil)
	second := spawn(t, "join", dir, nil)
	third := spawn(t, "join", dir, nil)
	if first.url != second.url || second.url != third.url {
		t.Fatalf("Join: got the addresses %s, %s and %s, want the same", first.url, second.url, third.url)
	}
	mustExec(t, first.url, `CREATE TABLE kept AS SELECT 'yes'::text AS answer`)
	first.leave(t)
	third.kill()
	// Keep querying for longer than the server waits for another user.
	for range 15 {
		if _, err := query(second.url, `SELECT answer || pg_sleep(0.2)::text FROM kept`); err != nil {
			t.Fatalf("query while a user is left: %v", err)
		}
	}
	second.kill()
	pgtest.Eventually(t, time.Minute, "the server has ended and its data are removed", func() bool { return serverDirs(dir) == 0 && processesBelow(dir) == 0 })
}

func TestJoin_SoonAfterTheLastUser_ReusesTheServer(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	first := spawn(t, "join", dir, nil)
	first.kill()
	second, err := embedded.Join(t.Context(), embedded.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := second.URL("postgres", "postgres"); got != first.url {
		t.Errorf("Join: got %s, want the address %s of the previous user", got, first.url)
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
	pgtest.Eventually(t, time.Minute, "the server has ended and its data are removed", func() bool { return serverDirs(dir) == 0 && processesBelow(dir) == 0 })
}

// TestJoin_WhileTheServerEnds has users join around the time when the server ends:
// each must get a working server.
func TestJoin_WhileTheServerEnds(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	var users []*childProcess
	for range 3 {
		users = append(users, spawn(t, "join repeatedly", dir, nil))
	}
	for _, u := range users {
		if err := u.cmd.Wait(); err != nil {
			t.Errorf("user that joins while the server ends: got %v, want a working server each time", err)
		}
	}
	pgtest.Eventually(t, time.Minute, "the server has ended and its data are removed", func() bool { return serverDirs(dir) == 0 && processesBelow(dir) == 0 })
}
