package embedded_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parapet/internal/postgres/embedded"
	"parapet/internal/postgres/pgtest"
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

func TestStart_AfterClose_KeepsTheData(t *testing.T) {
	t.Parallel()
	// The folder is closed to other users; when root runs the tests, also to the server's account.
	dir := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !first.Owned() {
		t.Error("Owned: got false for a new folder")
	}
	for range 2 {
		if err := first.CreateDatabase(t.Context(), "parapet"); err != nil {
			t.Fatal(err)
		}
	}
	mustExec(t, first.URL("parapet", "postgres"), `CREATE TABLE kept AS SELECT 'yes'::text AS answer`)
	info, err := os.Stat(first.SocketDir())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("socket folder: got %v, %v; want the mode 0700", info, err)
	}
	if got, err := query(first.URL("postgres", "postgres"), `SELECT current_setting('listen_addresses') || current_setting('fsync')`); err != nil || got != "on" {
		t.Errorf("listen_addresses and fsync: got %q, %v; want on", got, err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-first.Done()
	if _, err := query(first.URL("parapet", "postgres"), `SELECT 'running'`); err == nil {
		t.Error("query after Close: got no error")
	}
	second := start(t, embedded.Options{Dir: dir})
	if got, err := query(second.URL("parapet", "postgres"), `SELECT answer FROM kept`); err != nil || got != "yes" {
		t.Errorf("query after a restart: got %q, %v; want yes", got, err)
	}
}

func TestStart_LongPath_UsesShortSocketPath(t *testing.T) {
	t.Parallel()
	server := start(t, embedded.Options{Dir: filepath.Join(t.TempDir(), strings.Repeat("long/", 30))})
	if len(server.SocketDir()) > 90 {
		t.Errorf("folder of the socket: got %s with %d bytes, want at most 90", server.SocketDir(), len(server.SocketDir()))
	}
}

func TestStart_SecondProcessAttaches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	owner := spawn(t, "start", dir, nil)
	mustExec(t, owner.url, `CREATE TABLE seen AS SELECT 'by both'::text AS answer`)
	attached, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if attached.Owned() || attached.Done() != nil {
		t.Error("attached server: got Owned true or a channel from Done, want false and nil")
	}
	if got, err := query(attached.URL("postgres", "postgres"), `SELECT answer FROM seen`); err != nil || got != "by both" {
		t.Errorf("query on the attached server: got %q, %v; want by both", got, err)
	}
	if err := attached.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := query(owner.url, `SELECT 'running'`); err != nil {
		t.Errorf("query after Close of an attached server: %v", err)
	}
	owner.leave(t)
	if _, err := query(owner.url, `SELECT 'running'`); err == nil {
		t.Error("query after the owner left: got no error")
	}
}

func TestStart_ConcurrentStartsHaveOneOwner(t *testing.T) {
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
		if _, err := query(s.URL("postgres", "postgres"), `SELECT 'running'`); err != nil {
			t.Error(err)
		}
		if s.Owned() {
			if owner != nil {
				t.Error("got two owners, want one")
			}
			owner = s
		}
	}
	if owner == nil {
		t.Fatal("got no owner, want one")
	}
	if err := owner.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStart_AfterKilledOwner_KeepsCommittedData kills the owner, in a second case together with the server's
// main process, and starts again immediately. Committed data must survive.
func TestStart_AfterKilledOwner_KeepsCommittedData(t *testing.T) {
	t.Parallel()
	for _, withServer := range []bool{false, true} {
		t.Run("kill server="+strconv.FormatBool(withServer), func(t *testing.T) {
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
				t.Error("Start after the owner was killed: got an attached server, want an owned one")
			}
			if got, err := query(again.URL("postgres", "postgres"), `SELECT answer FROM kept`); err != nil || got != "yes" {
				t.Errorf("query after the crash: got %q, %v; want yes", got, err)
			}
		})
	}
}

// TestServer_DiesWithKilledOwner kills the owner and starts no new one.
func TestServer_DiesWithKilledOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	owner := spawn(t, "start", dir, nil)
	owner.kill()
	pgtest.Eventually(t, time.Minute, "the server has ended", func() bool {
		_, err := query(owner.url, `SELECT 'running'`)
		return err != nil
	})
	pgtest.Eventually(t, time.Minute, "the server has removed postmaster.pid", func() bool {
		_, err := os.Stat(filepath.Join(dir, "data", "postmaster.pid"))
		return os.IsNotExist(err)
	})
	start(t, embedded.Options{Dir: dir}) // removes the socket folder
}

// TestStart_AfterKilledInitdb starts from an incomplete data.init.
func TestStart_AfterKilledInitdb(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data.init", "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data.init", "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := start(t, embedded.Options{Dir: dir})
	if _, err := query(server.URL("postgres", "postgres"), `SELECT 'running'`); err != nil {
		t.Error(err)
	}
}

func TestStart_RejectsForeignDataFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "data", "thesis.txt")
	if err := os.WriteFile(foreign, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := embedded.Start(t.Context(), embedded.Options{Dir: dir}); err == nil {
		_ = s.Close(t.Context())
		t.Error("Start in a folder with other files: got no error")
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("file of somebody else in the data folder: got %v, want it unchanged", err)
	}
}

func TestStart_WithoutBinaries_ReturnsError(t *testing.T) {
	t.Parallel()
	_, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), Binaries: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "initdb") {
		t.Errorf("Start: got %v, want an error that names initdb", err)
	}
}

func TestStart_InvalidConfiguration_ReturnsTheServersMessage(t *testing.T) {
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
		t.Errorf("Start: got %v, want an error that names no_such_setting", err)
	}
}
