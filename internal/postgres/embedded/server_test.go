package embedded_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"parapet/internal/postgres/embedded"
)

func start(t *testing.T, opts embedded.Options) *embedded.Server {
	t.Helper()
	opts.Ephemeral = true
	server, err := embedded.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return server
}

func TestStartStopStart(t *testing.T) {
	t.Parallel()
	// The folder is closed to everybody but us: as root, to the server's account.
	dir := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !first.Owned() {
		t.Error("not the owner of a new folder's server")
	}
	for range 2 {
		if err := first.CreateDatabase(t.Context(), "parapet"); err != nil {
			t.Fatal(err)
		}
	}
	mustExec(t, first.URL("parapet", "postgres"), `CREATE TABLE kept AS SELECT 'yes'::text AS answer`)
	info, err := os.Stat(first.SocketDir())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("socket folder: %v, %v", info, err)
	}
	if got, err := query(first.URL("postgres", "postgres"), `SELECT current_setting('listen_addresses') || current_setting('fsync')`); err != nil || got != "on" {
		t.Errorf("listens on and fsync: %q, %v", got, err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-first.Done()
	if _, err := query(first.URL("parapet", "postgres"), `SELECT 'still there'`); err == nil {
		t.Error("the server answers after Close")
	}
	second := start(t, embedded.Options{Dir: dir})
	if got, err := query(second.URL("parapet", "postgres"), `SELECT answer FROM kept`); err != nil || got != "yes" {
		t.Errorf("after a restart: %q, %v", got, err)
	}
}

func TestLongPath(t *testing.T) {
	t.Parallel()
	server := start(t, embedded.Options{Dir: filepath.Join(t.TempDir(), strings.Repeat("long/", 30))})
	if len(server.SocketDir()) > 90 {
		t.Errorf("socket in %s", server.SocketDir())
	}
}

func TestSecondProcessAttaches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	owner := spawn(t, "start", dir, nil)
	mustExec(t, owner.url, `CREATE TABLE seen AS SELECT 'by both'::text AS answer`)
	attached, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if attached.Owned() || attached.Done() != nil {
		t.Error("the attached server is said to be owned")
	}
	if got, err := query(attached.URL("postgres", "postgres"), `SELECT answer FROM seen`); err != nil || got != "by both" {
		t.Errorf("%q, %v", got, err)
	}
	if err := attached.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := query(owner.url, `SELECT 'there'`); err != nil {
		t.Errorf("closing an attached server ended it: %v", err)
	}
	owner.leave(t)
	if _, err := query(owner.url, `SELECT 'there'`); err == nil {
		t.Error("the server outlives its owner")
	}
}

func TestManyStartAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servers := make(chan *embedded.Server, 4)
	for range cap(servers) {
		go func() {
			s, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, Ephemeral: true})
			if err != nil {
				t.Error(err)
			}
			servers <- s
		}()
	}
	var owner *embedded.Server
	for range cap(servers) {
		s := <-servers
		if s == nil {
			continue
		}
		if _, err := query(s.URL("postgres", "postgres"), `SELECT 'there'`); err != nil {
			t.Error(err)
		}
		if s.Owned() {
			if owner != nil {
				t.Error("two owners")
			}
			owner = s
		}
	}
	if owner == nil {
		t.Fatal("no owner")
	}
	if err := owner.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestKilledOwner kills the owner, and in a second case the server's main process
// with it, and starts anew at once: what was committed is there.
func TestKilledOwner(t *testing.T) {
	t.Parallel()
	for _, withServer := range []bool{false, true} {
		t.Run("server too "+strconv.FormatBool(withServer), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			owner := spawn(t, "start durable", dir, nil)
			mustExec(t, owner.url, `CREATE TABLE kept AS SELECT 'yes'::text AS answer`)
			text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
			if err != nil {
				t.Fatal(err)
			}
			if withServer {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			owner.kill()
			again := start(t, embedded.Options{Dir: dir})
			if !again.Owned() {
				t.Error("attached to what a killed process left")
			}
			if got, err := query(again.URL("postgres", "postgres"), `SELECT answer FROM kept`); err != nil || got != "yes" {
				t.Errorf("after the crash: %q, %v", got, err)
			}
		})
	}
}

// TestServerDiesWithKilledOwner is about the time when nobody starts it again.
func TestServerDiesWithKilledOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	owner := spawn(t, "start", dir, nil)
	owner.kill()
	eventually(t, "the end of the server", func() bool {
		_, err := query(owner.url, `SELECT 'there'`)
		return err != nil
	})
	eventually(t, "its clean end", func() bool {
		_, err := os.Stat(filepath.Join(dir, "data", "postmaster.pid"))
		return os.IsNotExist(err)
	})
	start(t, embedded.Options{Dir: dir}) // which clears the folder of the socket
}

// TestKilledInitdb leaves a half-made cluster behind.
func TestKilledInitdb(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data.init", "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data.init", "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := start(t, embedded.Options{Dir: dir})
	if _, err := query(server.URL("postgres", "postgres"), `SELECT 'there'`); err != nil {
		t.Error(err)
	}
}

func TestFolderOfSomebodyElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	precious := filepath.Join(dir, "data", "thesis.txt")
	if err := os.WriteFile(precious, []byte("all of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := embedded.Start(t.Context(), embedded.Options{Dir: dir}); err == nil {
		_ = s.Close(t.Context())
		t.Error("started in a folder that is no cluster")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestBinariesThatAreNotThere(t *testing.T) {
	t.Parallel()
	_, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), Binaries: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "initdb") {
		t.Errorf("got %v", err)
	}
}

func TestServerThatDoesNotStartSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, embedded.Options{Dir: dir})
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "postgresql.conf"), []byte("no_such_setting = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("got %v", err)
	}
}
