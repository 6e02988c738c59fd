// Package devtest provides tests with the data folder and database of a `ptd dev` that was
// already migrated and seeded, so a start takes a fraction of a second.
//
// The folder has no cluster: the database is a copy on the server that all tests share
// (pgtest). Tests of a real first start do not use this package.
package devtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
)

// Seed migrates and seeds the database of the settings, writes its secrets into the data
// folder, and closes everything (see dev.Seed).
type Seed func(ctx context.Context, dataDir string, getenv func(string) string) error

// Template is a seeded database with its data folder. It is seeded once per process.
type Template struct {
	database *pgtest.Template
	// files are the files of the data folder by name.
	files map[string][]byte
}

// Copy is a data folder with its database for one test.
type Copy struct {
	DataDir string
	DB      *pgtest.DB
}

// NewTemplate returns a template. The first test that copies it calls seed.
func NewTemplate(seed Seed) *Template {
	t := &Template{}
	t.database = pgtest.NewTemplate(func(ctx context.Context, db *pgtest.DB) error {
		dir, err := os.MkdirTemp("", "parapet-seed-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		settings := Copy{DB: db}.Settings()
		if err := seed(ctx, dir, func(name string) string { return settings[name] }); err != nil {
			return err
		}
		t.files, err = readFolder(dir)
		return err
	})
	return t
}

func readFolder(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// New returns a copy of the template, which is removed when the test ends.
func (t *Template) New(tb testing.TB) Copy {
	tb.Helper()
	c := Copy{DataDir: tb.TempDir(), DB: t.database.New(tb)}
	for name, text := range t.files {
		if err := os.WriteFile(filepath.Join(c.DataDir, name), text, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

// Settings returns the settings that make `ptd dev` use the copy's database.
func (c Copy) Settings() map[string]string {
	return map[string]string{"PORT": "0", "DATABASE_URL": c.DB.RoleURL(postgres.RoleApp), "DIRECT_URL": c.DB.URL()}
}

// Environ returns Settings as the environment of a process.
func (c Copy) Environ() []string {
	var env []string
	for name, value := range c.Settings() {
		env = append(env, name+"="+value)
	}
	return env
}
