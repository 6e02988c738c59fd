package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// ErrNoBinaries says that there is no Postgres to run; its text names what to
// install.
var ErrNoBinaries = errors.New("no PostgreSQL server program (initdb, postgres) was found")

// finder looks for the folder of initdb and postgres. Its fields are the places,
// so that a test can empty them.
type finder struct {
	lookPath func(string) (string, error)
	folders  []string // patterns
	download func(ctx context.Context) (string, error)
}

func systemFinder(log *slog.Logger) finder {
	return finder{
		lookPath: exec.LookPath,
		folders: []string{
			"/usr/lib/postgresql/*/bin",
			"/usr/pgsql-*/bin",
			"/usr/libexec/postgresql*",
			"/opt/homebrew/opt/postgresql@*/bin",
			"/usr/local/opt/postgresql@*/bin",
			"/Applications/Postgres.app/Contents/Versions/*/bin",
			"/usr/local/pgsql/bin",
		},
		download: func(ctx context.Context) (string, error) { return download(ctx, log) },
	}
}

func binaries(ctx context.Context, opts Options) (string, error) {
	return systemFinder(opts.log()).find(ctx, opts.Binaries)
}

// find gives the folder that was chosen, else the first one there is. A choice
// that is wrong is an error and not passed over.
func (f finder) find(ctx context.Context, chosen string) (string, error) {
	if chosen != "" {
		if !isComplete(chosen) {
			return "", fmt.Errorf("embedded: there is no initdb and postgres in %s (PT_POSTGRES_BIN)", chosen)
		}
		return chosen, nil
	}
	if path, err := f.lookPath("postgres"); err == nil {
		// A link in /usr/local/bin leads to the folder where all of them are.
		if target, err := filepath.EvalSymlinks(path); err == nil && isComplete(filepath.Dir(target)) {
			return filepath.Dir(target), nil
		}
	}
	var found []string
	for _, pattern := range f.folders {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue // a pattern of our own; a bad one fails its test
		}
		for _, m := range matches {
			if isComplete(m) {
				found = append(found, m)
			}
		}
	}
	if len(found) > 0 {
		return slices.MaxFunc(found, func(a, b string) int { return versionIn(a) - versionIn(b) }), nil
	}
	dir, err := f.download(ctx)
	if err != nil {
		return "", fmt.Errorf("embedded: %w: install it (%s), or set PT_POSTGRES_BIN to its folder, or DATABASE_URL to a server that runs already; a download failed too: %w",
			ErrNoBinaries, packageHint(), err)
	}
	return dir, nil
}

func packageHint() string {
	switch runtime.GOOS {
	case "darwin":
		return "brew install postgresql@17"
	case "linux":
		return "Debian, Ubuntu: apt install postgresql; Fedora: dnf install postgresql-server postgresql-contrib; Alpine: apk add postgresql postgresql-contrib"
	default:
		return "PostgreSQL 15 or later, with its contrib modules"
	}
}

// isComplete tells whether a folder has both programs.
func isComplete(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// versionIn reads the major version from a path such as
// /usr/lib/postgresql/15/bin or /opt/homebrew/opt/postgresql@17/bin.
func versionIn(path string) int {
	best, digits := 0, ""
	for _, r := range path + "/" {
		if r >= '0' && r <= '9' {
			digits += string(r)
			continue
		}
		if n, err := strconv.Atoi(digits); err == nil && n < 1000 {
			best = max(best, n)
		}
		digits = ""
	}
	return best
}

// download fetches the binaries of the embedded-postgres project into the user's
// cache, once. The library has no way to fetch only: it is made to start a
// server on a free port, and whatever becomes of that server (root may not run
// one), the binaries are there.
func download(ctx context.Context, log *slog.Logger) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	version := embeddedpostgres.V17
	root := filepath.Join(cache, "parapet", "postgres-"+string(version))
	bin := filepath.Join(root, "bin")
	if isComplete(bin) {
		return bin, nil
	}
	log.InfoContext(ctx, "no PostgreSQL installed, downloading it once", "version", string(version), "into", root)
	free, err := freePort(ctx)
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp("", "parapet-download-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	pg := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(version).Port(free).Logger(io.Discard).
		CachePath(filepath.Join(cache, "parapet", "download")).
		BinariesPath(root).
		RuntimePath(filepath.Join(scratch, "run")).
		DataPath(filepath.Join(scratch, "data")))
	startErr := pg.Start()
	if startErr == nil {
		if err := pg.Stop(); err != nil {
			return "", err
		}
	}
	if !isComplete(bin) {
		if startErr == nil {
			startErr = fmt.Errorf("no initdb in %s", bin)
		}
		return "", startErr
	}
	return bin, nil
}

// freePort finds a TCP port that nobody listens on.
func freePort(ctx context.Context) (uint32, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	_, text, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return 0, err
	}
	port, err := strconv.ParseUint(text, 10, 32)
	return uint32(port), err
}
