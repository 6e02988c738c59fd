package embedded

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// createFakeInstallation creates a folder that contains programs with the names of
// PostgreSQL's.
func createFakeInstallation(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func emptyFinder() finder {
	return finder{
		lookPath: func(string) (string, error) { return "", exec.ErrNotFound },
		download: func(context.Context) (string, error) { return "", errors.New("no network") },
	}
}

func TestFinder_WithoutBinaries_NamesWhatToInstall(t *testing.T) {
	t.Parallel()
	_, err := emptyFinder().find(t.Context(), "")
	if !errors.Is(err, ErrNoBinaries) {
		t.Fatalf("find: got %v, want ErrNoBinaries", err)
	}
	for _, word := range []string{"install", "postgresql", "PT_POSTGRES_BIN", "DATABASE_URL", "no network"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("find: the error does not contain %q: %v", word, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("find: got an error of several lines: %v", err)
	}
}

func TestFinder_SearchOrder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	setting := createFakeInstallation(t, filepath.Join(root, "setting"))
	inPath := createFakeInstallation(t, filepath.Join(root, "path"))
	createFakeInstallation(t, filepath.Join(root, "lib", "9", "bin"))
	newest := createFakeInstallation(t, filepath.Join(root, "lib", "16", "bin"))
	link := filepath.Join(root, "links", "postgres")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(inPath, "postgres"), link); err != nil {
		t.Fatal(err)
	}
	f := emptyFinder()
	f.download = func(context.Context) (string, error) { return "downloaded", nil }
	configured := ""
	wantFound := func(want string) {
		t.Helper()
		if got, err := f.find(t.Context(), configured); err != nil || got != want {
			t.Errorf("find: got %q (%v), want %q", got, err, want)
		}
	}
	wantFound("downloaded")
	f.folders = []string{filepath.Join(root, "none", "*"), filepath.Join(root, "lib", "*", "bin")}
	wantFound(newest)
	f.lookPath = func(string) (string, error) { return link, nil }
	wantFound(inPath)
	configured = setting
	wantFound(setting)
	if got, err := f.find(t.Context(), root); err == nil || !strings.Contains(err.Error(), "PT_POSTGRES_BIN") {
		t.Errorf("find: got %q, %v; want an error that names PT_POSTGRES_BIN", got, err)
	}
}

func TestSystemFinder_PatternsAndVersions(t *testing.T) {
	t.Parallel()
	for _, pattern := range systemFinder(nil).folders {
		if _, err := filepath.Match(pattern, "/"); err != nil {
			t.Errorf("invalid pattern %s: %v", pattern, err)
		}
	}
	for path, want := range map[string]int{
		"/usr/lib/postgresql/15/bin": 15, "/opt/homebrew/opt/postgresql@17/bin": 17, "/usr/pgsql-16/bin": 16,
		"/usr/local/pgsql/bin": 0, "/Applications/Postgres.app/Contents/Versions/9.6/bin": 9,
	} {
		if got := parseVersion(path); got != want {
			t.Errorf("parseVersion(%s): got %d, want %d", path, got, want)
		}
	}
}

func FuzzReadPidFile(f *testing.F) {
	f.Add("123\n/data\n1700000000\n5432\n/tmp/socket\n\n  5432001  1\nready   \n")
	f.Add("")
	f.Add("-1\n\n\n\n\n\n\nstarting")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "postmaster.pid"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		pid, err := readPidFile(dir)
		if err == nil && pid.pid <= 1 {
			t.Errorf("readPidFile: got process %d from %q", pid.pid, text)
		}
	})
}
