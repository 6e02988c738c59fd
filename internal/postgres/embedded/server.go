package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/filelock"
)

// superuser is the bootstrap role of the cluster. It owns everything that is migrated.
const superuser = "postgres"

// readyTimeout limits a start, including the recovery after a crash.
const readyTimeout = 2 * time.Minute

// Options configure the server.
type Options struct {
	// Dir contains the data folder, the lock and the server's log. It is created
	// if it does not exist.
	Dir string
	// Ephemeral trades durability for speed (fsync off): for tests only.
	Ephemeral bool
	// Log receives slow steps and repairs; nil discards them.
	Log *slog.Logger
	// Binaries is the folder of initdb and postgres (the setting PT_POSTGRES_BIN). If it
	// is empty, they are searched in PATH, in the folders of the usual packages (the
	// highest version) and finally downloaded.
	Binaries string
}

func (o Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// Server is a running server, owned by this process or by another.
type Server struct {
	socketDir string
	// proc is the child process that this process owns; nil for an attached server.
	proc *process
	lock *filelock.Lock
	// member keeps a shared server alive (see Join).
	member *os.File
}

// Start starts the server of opts.Dir, or attaches to the server that another process
// has started there. It returns when the server accepts connections. An attached server
// ends when its owner ends.
func Start(ctx context.Context, opts Options) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	dir, err := prepareDir(opts.Dir)
	if err != nil {
		return nil, err
	}
	for {
		lock, err := filelock.Try(filepath.Join(dir, "lock"))
		if err == nil {
			s, err := startOwned(ctx, opts, dir, lock)
			if err != nil {
				return nil, errors.Join(err, lock.Release())
			}
			return s, nil
		}
		var held *filelock.HeldError
		if !errors.As(err, &held) {
			return nil, fmt.Errorf("embedded: lock of %s: %w", dir, err)
		}
		if s := attach(ctx, dir); s != nil {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("embedded: another process owns %s, but its server does not respond: %w", dir, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// startOwned starts a server. The caller holds the lock.
func startOwned(ctx context.Context, opts Options, dir string, lock *filelock.Lock) (*Server, error) {
	log := opts.log()
	data := filepath.Join(dir, "data")
	if err := clearLeftovers(ctx, data, log); err != nil {
		return nil, err
	}
	bin, err := binaries(ctx, opts)
	if err != nil {
		return nil, err
	}
	acct, err := newAccount(data)
	if err != nil {
		return nil, err
	}
	c := cluster{dir: dir, bin: bin, account: acct, ephemeral: opts.Ephemeral}
	if err := c.ensure(ctx, log); err != nil {
		return nil, err
	}
	socketDir, err := c.socketDir()
	if err != nil {
		return nil, err
	}
	proc, err := c.start(ctx, socketDir)
	if err != nil {
		return nil, err
	}
	return &Server{socketDir: socketDir, proc: proc, lock: lock}, nil
}

// attach returns the server that another process runs in dir, or nil if it does
// not respond (yet).
func attach(ctx context.Context, dir string) *Server {
	pid, err := readPidFile(filepath.Join(dir, "data"))
	if err != nil || !pid.ready || pid.socketDir == "" {
		return nil
	}
	s := &Server{socketDir: pid.socketDir}
	if s.ping(ctx) != nil {
		return nil
	}
	return s
}

// ping returns nil if the server accepts connections.
func (s *Server) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres", superuser))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Owned reports whether this process started the server, so that Close ends it.
func (s *Server) Owned() bool { return s.proc != nil }

// SocketDir returns the folder of the server's socket.
func (s *Server) SocketDir() string { return s.socketDir }

// Superuser returns the name of the role that owns the cluster.
func (s *Server) Superuser() string { return superuser }

// URL returns the address of a database for a role.
func (s *Server) URL(db, user string) string {
	u := url.URL{Scheme: "postgres", User: url.User(user), Path: "/" + db}
	u.RawQuery = url.Values{"host": {s.socketDir}, "port": {port}, "sslmode": {"disable"}}.Encode()
	return u.String()
}

// CreateDatabase creates a database unless it exists.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres", superuser))
	if err != nil {
		return fmt.Errorf("embedded: connect: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var exists bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1)`, name).Scan(&exists)
	if err != nil || exists {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("embedded: create database %s: %w", name, err)
	}
	return nil
}

// Done is closed when an owned server has ended, by Close or on its own. For a
// server of another process it is never closed.
func (s *Server) Done() <-chan struct{} {
	if s.proc == nil {
		return nil
	}
	return s.proc.exited
}

// Close stops an owned server and waits for it. If ctx ends first, the server is
// shut down immediately, and its next start runs recovery. A server of another
// process keeps running.
func (s *Server) Close(ctx context.Context) error {
	if s.member != nil {
		return s.member.Close()
	}
	if s.proc == nil {
		return nil
	}
	err := s.proc.stop(ctx)
	// The next start creates it again. If it is not empty, others use it.
	_ = os.Remove(s.socketDir)
	return errors.Join(err, s.lock.Release())
}

// prepareDir creates the folder and returns its real path, which identifies the server's
// processes.
func prepareDir(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("embedded: Options.Dir is empty")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("embedded: server folder: %w", err)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("embedded: server folder: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("embedded: server folder: %w", err)
	}
	return resolved, nil
}
