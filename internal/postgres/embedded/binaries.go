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

// ErrNoBinaries is returned if no PostgreSQL server is installed. The text around it
// names the packages to install.
var ErrNoBinaries = errors.New("no PostgreSQL server program (initdb, postgres) found")

// finder looks for the folder of initdb and postgres. Its fields are the places to
// search, so tests can replace them.
type finder struct {
	lookPath func(string) (string, error)
	folders  []string // glob patterns
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

// find returns the configured folder. If none is configured, it searches PATH, the folders
// of the usual packages (the highest version), and downloads the programs as a last resort.
// A configured folder without the programs is an error.
func (f finder) find(ctx context.Context, configured string) (string, error) {
	if configured != "" {
		if !isComplete(configured) {
			return "", fmt.Errorf("embedded: PT_POSTGRES_BIN=%s contains no initdb and postgres", configured)
		}
		return configured, nil
	}
	if path, err := f.lookPath("postgres"); err == nil {
		// A link in /usr/local/bin leads to the folder that has all programs.
		if target, err := filepath.EvalSymlinks(path); err == nil && isComplete(filepath.Dir(target)) {
			return filepath.Dir(target), nil
		}
	}
	var found []string
	for _, pattern := range f.folders {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue // a test verifies the patterns
		}
		for _, m := range matches {
			if isComplete(m) {
				found = append(found, m)
			}
		}
	}
	if len(found) > 0 {
		return slices.MaxFunc(found, func(a, b string) int { return parseVersion(a) - parseVersion(b) }), nil
	}
	dir, err := f.download(ctx)
	if err != nil {
		return "", fmt.Errorf("embedded: %w: install PostgreSQL (%s), or set PT_POSTGRES_BIN to its bin folder, or set DATABASE_URL to a running server; the download failed: %w",
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

// isComplete reports whether a folder has both programs.
func isComplete(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// parseVersion returns the major version in a path such as
// /usr/lib/postgresql/15/bin or /opt/homebrew/opt/postgresql@17/bin.
func parseVersion(path string) int {
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

// download fetches the binaries of the embedded-postgres project into the user's cache,
// once. The library can fetch them only by starting a server, so download starts one on a
// free port and stops it. It does not matter if the server fails to start, for example as
// root, because the library extracts the binaries before.
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
	log.InfoContext(ctx, "PostgreSQL is not installed; downloading it once", "version", string(version), "into", root)
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
			startErr = fmt.Errorf("the download contains no initdb in %s", bin)
		}
		return "", startErr
	}
	return bin, nil
}

// freePort returns a TCP port that is not in use.
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
