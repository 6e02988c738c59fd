package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/postgres"
)

// Migration identifies one migration file.
type Migration struct {
	Schema  string
	Version int
	Name    string
	SHA256  string `db:"sha256"`
}

// Path returns the path of the file under migrations/.
func (m Migration) Path() string { return fmt.Sprintf("%s/%04d_%s.sql", m.Schema, m.Version, m.Name) }

type file struct {
	Migration
	sql string
}

// loadFiles reads the migration files in the order in which they run.
func loadFiles(opts Options) ([]file, error) {
	opts = opts.defaults()
	folders, err := fs.ReadDir(opts.FS, ".")
	if err != nil {
		return nil, fmt.Errorf("migrate: read: %w", err)
	}
	for _, d := range folders {
		if d.IsDir() && !slices.Contains(opts.Schemas, d.Name()) {
			return nil, fmt.Errorf("migrate: folder %s is not in the list of schemas", d.Name())
		}
	}
	var files []file
	for _, schema := range opts.Schemas {
		entries, err := fs.ReadDir(opts.FS, schema)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("migrate: read: %w", err)
		}
		version := 0
		for _, e := range entries { // sorted by name, so by number
			if path.Ext(e.Name()) != ".sql" {
				continue
			}
			m, err := parseName(schema, e.Name())
			if err != nil {
				return nil, err
			}
			version++
			if m.Version != version {
				return nil, fmt.Errorf("migrate: %s/%s: the next number must be %04d", schema, e.Name(), version)
			}
			sql, err := fs.ReadFile(opts.FS, path.Join(schema, e.Name()))
			if err != nil {
				return nil, fmt.Errorf("migrate: read: %w", err)
			}
			sum := sha256.Sum256(sql)
			m.SHA256 = hex.EncodeToString(sum[:])
			files = append(files, file{Migration: m, sql: string(sql)})
		}
	}
	return files, nil
}

// parseName parses NNNN_name.sql.
func parseName(schema, name string) (Migration, error) {
	number, rest, ok := strings.Cut(strings.TrimSuffix(name, ".sql"), "_")
	version, err := strconv.Atoi(number)
	m := Migration{Schema: schema, Version: version, Name: rest}
	if !ok || err != nil || version < 1 || version > 9999 || rest == "" || m.Path() != schema+"/"+name {
		return Migration{}, fmt.Errorf("migrate: %s/%s: the name must be NNNN_name.sql", schema, name)
	}
	return m, nil
}

// Hash returns one checksum over all migrations of the program, in order. Programs with
// the same hash create the same database.
func Hash() (string, error) {
	files, err := loadFiles(Options{})
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %s\n", f.Path(), f.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

const appliedSQL = `
SELECT schema, version, name, sha256
FROM parapet.migrations
ORDER BY schema, version`

// pendingFiles returns the files that the database lacks, or an error if the histories of
// database and files differ.
func pendingFiles(ctx context.Context, q postgres.Querier, files []file) ([]file, error) {
	applied, err := postgres.Collect[Migration](ctx, q, appliedSQL)
	if err != nil {
		var pg *pgconn.PgError
		if errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000") {
			return files, nil // the table or schema does not exist yet: all files are pending
		}
		return nil, fmt.Errorf("migrate: read parapet.migrations: %w", err)
	}
	known := make(map[string]map[int]file)
	for _, f := range files {
		if known[f.Schema] == nil {
			known[f.Schema] = make(map[int]file)
		}
		known[f.Schema][f.Version] = f
	}
	last := make(map[string]int)
	done := make(map[string]bool)
	for _, a := range applied {
		f, ok := known[a.Schema][a.Version]
		switch {
		case !ok && a.Version > len(known[a.Schema]):
			return nil, fmt.Errorf("migrate: %s is applied but not part of this program: %w; use the program version that applied it, or a later one", a.Path(), ErrNewer)
		case f.Name != a.Name || f.SHA256 != a.SHA256:
			return nil, fmt.Errorf("migrate: %s was applied with checksum %.12s, the file %s has %.12s: %w; restore the file and put the change into a new migration",
				a.Path(), a.SHA256, f.Path(), f.SHA256, ErrChanged)
		}
		last[a.Schema] = a.Version
		done[a.Path()] = true
	}
	var pending []file
	for _, f := range files {
		if done[f.Path()] {
			continue
		}
		if f.Version < last[f.Schema] {
			return nil, fmt.Errorf("migrate: %s is not applied, but %s %04d is: %w", f.Path(), f.Schema, last[f.Schema], ErrGap)
		}
		pending = append(pending, f)
	}
	return pending, nil
}

// errorPosition returns the line of a file at which the server reported an error, as text.
func errorPosition(sql string, err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Position < 1 {
		return ""
	}
	runes := []rune(sql)
	at := min(int(pg.Position)-1, len(runes))
	return fmt.Sprintf(" (line %d)", strings.Count(string(runes[:at]), "\n")+1)
}
