package embedded

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"parapet/internal/filelock"
)

// supervisor runs a shared server and ends it after its last user. Every user holds
// the write end of the pipe `users` open; reading from the pipe ends when the last user has
// closed it or was killed. Then the server waits a short time for another user, and
// keeps waiting while process $2 (the command that runs the tests) lives. Then the script
// renames `users`, so that nobody can join, waits for users that joined just before,
// stops the server and removes the folder.
const supervisor = `
dir=$1 until=$2; shift 2
exec 3<users
"$@" >>postgres.log 2>&1 3<&- 4>&- &
server=$!
rounds=0
while [ $rounds -lt 10 ] && kill -0 $server 2>/dev/null; do
	cat <&3 >/dev/null
	sleep 0.2
	rounds=$((rounds + 1))
	if [ -n "$until" ] && [ -d "/proc/$until" ]; then rounds=0; fi
done
mv users closed
cat <&3 >/dev/null
kill -INT $server 2>/dev/null
wait $server
cd /
rm -rf "$dir"
`

// Join returns the server that all processes of this user share under dir, and
// starts it if there is none. No process owns it: it ends shortly after the last process
// that joined has closed it or was killed, and its data is removed. It is for tests;
// opts.Ephemeral is implied.
func Join(ctx context.Context, opts Options) (*Server, error) {
	opts.Ephemeral = true
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	base, err := prepareDir(opts.Dir)
	if err != nil {
		return nil, err
	}
	// The supervisor runs in this folder and removes its subfolder.
	acct, err := newAccount(base)
	if err != nil {
		return nil, err
	}
	if err := checkOwner(base, acct); err != nil {
		return nil, err
	}
	if err := acct.chown(base); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	lock, err := waitForLock(ctx, filepath.Join(base, "lock"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Release() }()
	serverDirs, err := filepath.Glob(filepath.Join(base, "g-*"))
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	for _, dir := range serverDirs {
		s, err := joinServer(ctx, opts, dir)
		if err != nil {
			return nil, err
		}
		if s != nil {
			return s, nil
		}
	}
	return startShared(ctx, opts, base, acct)
}

// checkOwner returns an error if another user created the folder.
func checkOwner(dir string, acct account) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || (int(st.Uid) != os.Geteuid() && int(st.Uid) != acct.userID()) {
		return fmt.Errorf("embedded: %s belongs to another user", dir)
	}
	return nil
}

func waitForLock(ctx context.Context, path string) (*filelock.Lock, error) {
	for {
		lock, err := filelock.Try(path)
		if err == nil {
			return lock, nil
		}
		var held *filelock.HeldError
		if !errors.As(err, &held) {
			return nil, fmt.Errorf("embedded: lock: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("embedded: lock %s: %w", path, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// joinServer joins the shared server of a folder g-…. It returns nil if the server cannot be
// joined. If the server ended without removing its folder, joinServer removes it.
func joinServer(ctx context.Context, opts Options, dir string) (*Server, error) {
	users, err := os.OpenFile(filepath.Join(dir, "users"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		s := &Server{member: users}
		// This process holds the pipe, so the server keeps running from here on.
		if pid, processErr := readPidFile(filepath.Join(dir, "data")); processErr == nil && pid.ready {
			s.socketDir = pid.socketDir
			if s.ping(ctx) == nil {
				return s, nil
			}
		}
		_ = users.Close() // it crashed; its supervisor removes it
		return nil, nil
	}
	supervisors, processErr := processesIn(dir)
	if processErr != nil {
		return nil, fmt.Errorf("embedded: %w", processErr)
	}
	if len(supervisors) > 0 {
		return nil, nil // it is shutting down
	}
	if err := stopProcesses(ctx, filepath.Join(dir, "data"), opts.log()); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	return nil, nil
}

// startShared creates a cluster and its supervisor. The caller holds the lock.
func startShared(ctx context.Context, opts Options, base string, acct account) (_ *Server, err error) {
	bin, err := binaries(ctx, opts)
	if err != nil {
		return nil, err
	}
	name := make([]byte, 3)
	if _, err := rand.Read(name); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	dir := filepath.Join(base, "g-"+hex.EncodeToString(name))
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	for _, d := range []string{dir, filepath.Join(dir, "socket")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, fmt.Errorf("embedded: %w", err)
		}
		if err := acct.chown(d); err != nil {
			return nil, fmt.Errorf("embedded: %w", err)
		}
	}
	c := cluster{dir: dir, bin: bin, account: acct, ephemeral: true}
	if err := c.ensure(ctx, opts.log()); err != nil {
		return nil, err
	}
	users := filepath.Join(dir, "users")
	if err := syscall.Mkfifo(users, 0o600); err != nil {
		return nil, fmt.Errorf("embedded: pipe: %w", err)
	}
	if err := acct.chown(users); err != nil {
		return nil, fmt.Errorf("embedded: pipe: %w", err)
	}
	//nolint:noctx // the script is a constant; it outlives the caller
	cmd := exec.Command("/bin/sh", append([]string{"-c", supervisor, "supervisor", dir, testRunnerPID(),
		filepath.Join(bin, "postgres"), "-D", c.data()}, c.arguments(filepath.Join(dir, "socket"))...)...)
	cmd.Dir = dir
	cmd.Env = serverEnvironment()
	// In its own session, the supervisor does not receive the signals that end the tests.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: acct.credential(), Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("embedded: supervisor: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	s := &Server{socketDir: filepath.Join(dir, "socket")}
	if s.member, err = openUsers(ctx, users, exited); err != nil {
		return nil, err
	}
	for {
		if pid, err := readPidFile(c.data()); err == nil && pid.ready {
			return s, nil
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-exited:
			err = errors.New("the supervisor ended")
		case <-time.After(3 * time.Millisecond):
			continue
		}
		out, _ := os.ReadFile(c.log())
		_ = s.member.Close()
		return nil, fmt.Errorf("embedded: the shared server did not start: %w: %s", err, lastLines(out))
	}
}

// openUsers opens the write end of the pipe `users`. It waits until the supervisor has
// opened the read end.
func openUsers(ctx context.Context, path string, exited <-chan struct{}) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.ENXIO) {
			return nil, fmt.Errorf("embedded: pipe: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("embedded: the supervisor does not respond: %w", ctx.Err())
		case <-exited:
			return nil, errors.New("embedded: the supervisor ended during its start")
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// testRunnerPID returns the process id of the go command that runs this test. It is empty if
// another program runs the test, or if there is no /proc, in which the supervisor sees
// whether the command still runs.
func testRunnerPID() string {
	ppid := os.Getppid()
	comm, err := os.ReadFile("/proc/" + strconv.Itoa(ppid) + "/comm")
	if err != nil || strings.TrimSpace(string(comm)) != "go" {
		return ""
	}
	return strconv.Itoa(ppid)
}
