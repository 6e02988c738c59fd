package embedded

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// port is part of the socket file's name. The server listens on no TCP port.
const port = "5432"

// hba allows every local connection: the permissions of the socket's folder decide who may
// connect. It allows no TCP connection.
const hba = "# Written by Parapet. The permissions of the socket's folder decide who may connect.\nlocal all all trust\n"

// maxSocketPath is the maximum length of a socket's path on Linux: sun_path has 108 bytes,
// of which one is the final NUL and one is kept free.
const maxSocketPath = 106

// cluster is a data folder and the way to run it.
type cluster struct {
	dir       string // holds data, data.init, postgres.log
	bin       string
	account   account
	ephemeral bool
}

func (c cluster) data() string { return filepath.Join(c.dir, "data") }
func (c cluster) log() string  { return filepath.Join(c.dir, "postgres.log") }

// ensure creates the data folder unless it exists. initdb writes into data.init, which is
// then renamed, so a killed initdb leaves no folder that looks complete.
func (c cluster) ensure(ctx context.Context, log *slog.Logger) error {
	if _, err := os.Stat(filepath.Join(c.data(), "PG_VERSION")); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("embedded: %w", err)
	}
	if entries, err := os.ReadDir(c.data()); err == nil && len(entries) > 0 {
		return fmt.Errorf("embedded: %s is not empty and is not a PostgreSQL data folder", c.data())
	}
	fresh := filepath.Join(c.dir, "data.init")
	if err := stopProcesses(ctx, fresh, log); err != nil {
		return err
	}
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if err := c.account.chown(fresh); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	args := []string{"-U", superuser, "-A", "trust", "-E", "UTF8", "--no-locale"}
	if c.ephemeral {
		args = append(args, "--no-sync")
	}
	cmd, done, err := c.command(ctx, "initdb", fresh, args...)
	if err != nil {
		return err
	}
	defer done()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("embedded: initdb: %w: %s", err, lastLines(out))
	}
	if err := os.WriteFile(filepath.Join(fresh, "pg_hba.conf"), []byte(hba), 0o600); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	_ = os.Remove(c.data()) // it is empty or does not exist
	if err := os.Rename(fresh, c.data()); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	log.InfoContext(ctx, "created a database cluster", "dir", c.data())
	return nil
}

// command prepares a PostgreSQL program that works on the data folder dir. If the program
// runs as another user, that user may not be able to open the path (for example below
// /root), so the folder is passed as an open file descriptor.
func (c cluster) command(ctx context.Context, program, dir string, args ...string) (*exec.Cmd, func(), error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, program))
	cmd.Dir = "/"
	cmd.Env = serverEnvironment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.account.credential()}
	done := func() {}
	if c.account.switchesUser && hasDescriptorPaths() {
		f, err := os.Open(dir)
		if err != nil {
			return nil, nil, fmt.Errorf("embedded: %w", err)
		}
		cmd.ExtraFiles = []*os.File{f} // descriptor 3
		dir = "/proc/self/fd/3"
		done = func() { _ = f.Close() }
	}
	cmd.Args = append(append(cmd.Args, "-D", dir), args...)
	return cmd, done, nil
}

// hasDescriptorPaths reports whether /proc/self/fd leads to open files.
func hasDescriptorPaths() bool {
	_, err := os.Stat("/proc/self/fd/0")
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// serverEnvironment returns the environment of the server: the process's own, without the
// variables that change the settings of libpq and the server.
func serverEnvironment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "LANG") {
			env = append(env, kv)
		}
	}
	return append(env, "LC_ALL=C", "TZ=UTC")
}

// arguments returns the server's command-line settings.
func (c cluster) arguments(socketDir string) []string {
	settings := []string{
		"listen_addresses=",
		"port=" + port,
		"unix_socket_directories=" + socketDir,
		"unix_socket_permissions=0700",
		"timezone=UTC",
		"log_timezone=UTC",
		"log_min_messages=warning",
	}
	if c.ephemeral {
		settings = append(settings,
			"fsync=off", "synchronous_commit=off", "full_page_writes=off",
			"wal_level=minimal", "max_wal_senders=0", "autovacuum=off",
			"checkpoint_timeout=1h", "max_wal_size=4GB", "max_connections=500")
	} else {
		// Analyze new tables within seconds of the first import, because until then the
		// planner has no statistics.
		settings = append(settings, "max_connections=200", "autovacuum_naptime=5s")
	}
	var args []string
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args
}

// socketDir creates the folder of the socket. It is next to the data if the path is
// short enough and accessible to the account; otherwise it is in the temporary folder, with
// a name derived from the data folder's path.
func (c cluster) socketDir() (string, error) {
	dir := filepath.Join(c.dir, "socket")
	if c.account.switchesUser || len(dir)+len("/.s.PGSQL."+port+".lock") > maxSocketPath {
		sum := sha256.Sum256([]byte(c.dir))
		dir = filepath.Join(os.TempDir(), "parapet-"+hex.EncodeToString(sum[:6]))
		if len(dir)+len("/.s.PGSQL."+port+".lock") > maxSocketPath {
			dir = filepath.Join("/tmp", filepath.Base(dir))
		}
	}
	err := os.Mkdir(dir, 0o700)
	switch {
	case err == nil:
		if err := c.account.chown(dir); err != nil {
			return "", fmt.Errorf("embedded: socket folder: %w", err)
		}
		return dir, nil
	case !errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("embedded: socket folder: %w", err)
	}
	// Anybody can create names under /tmp. Accept only a folder that the account owns
	// and that is closed to others, because its owner controls the database.
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("embedded: socket folder: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(st.Uid) != c.account.userID() {
		return "", fmt.Errorf("embedded: socket folder: %s exists but is not a folder with mode 0700 owned by user %d; remove it", dir, c.account.userID())
	}
	return dir, nil
}

// lastLines returns the end of a program's output, for an error's text.
func lastLines(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) > 5 {
		lines = lines[len(lines)-5:]
	}
	return string(bytes.Join(lines, []byte("; ")))
}
