// Package migrate migrates a database to the schema that this program needs, and reports
// which migrations are pending.
//
// It guarantees:
//   - Migrations only go forward.
//   - An advisory lock allows one run at a time per database. Several databases of one
//     cluster can be migrated concurrently.
//   - Each file runs in one transaction, together with its row in parapet.migrations.
//   - A database whose history differs from the files, or that a newer program migrated, is
//     not changed.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/clock"
	"parapet/internal/postgres"
	"parapet/migrations"
)

// Options configure Up.
type Options struct {
	// RoleSecret derives the roles' passwords (postgres.RolePassword). If it is empty, no
	// password is set, for trust or peer authentication.
	RoleSecret string
	// Extra runs after the SQL files, on the same connection and under the same lock. It
	// is for migrations of libraries.
	Extra []func(ctx context.Context, conn *pgx.Conn) error
	// FS contains the files; nil means the program's own.
	FS fs.FS
	// Schemas orders FS's folders; nil means the program's own.
	Schemas []string
}

// Report lists what Up did.
type Report struct {
	Applied []Migration
	Took    time.Duration
}

// lockKey is the key of the advisory lock that a migration run holds.
const lockKey = 0x70617261706574 // "parapet"

const tableSQL = `
CREATE SCHEMA IF NOT EXISTS parapet;
CREATE TABLE IF NOT EXISTS parapet.migrations (
	schema     text        NOT NULL,
	version    integer     NOT NULL,
	name       text        NOT NULL,
	sha256     text        NOT NULL,
	applied_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (schema, version)
);`

const recordSQL = `
INSERT INTO parapet.migrations (schema, version, name, sha256)
VALUES (@schema, @version, @name, @sha256)`

// Up connects to url as a role that owns the database and may create roles, and applies
// the pending migrations.
func Up(ctx context.Context, url string, opts Options) (Report, error) {
	started := clock.System{}.Now()
	files, err := loadFiles(opts)
	if err != nil {
		return Report{}, err
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return Report{}, fmt.Errorf("migrate: address: %w", err)
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return Report{}, fmt.Errorf("migrate: connect: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	// The lock belongs to the session, so it is released even if this process is
	// killed.
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(lockKey)); err != nil {
		return Report{}, fmt.Errorf("migrate: lock: %w", err)
	}
	if _, err := conn.Exec(ctx, tableSQL, pgx.QueryExecModeSimpleProtocol); err != nil {
		return Report{}, fmt.Errorf("migrate: table parapet.migrations: %w", err)
	}
	pending, err := pendingFiles(ctx, conn, files)
	if err != nil {
		return Report{}, err
	}
	if err := ensureRoles(ctx, conn, opts.RoleSecret); err != nil {
		return Report{}, err
	}
	if err := ensureDatabase(ctx, conn); err != nil {
		return Report{}, err
	}
	if len(pending) < len(files) {
		// The first file revokes this privilege for the role that applied it, after it has
		// created the extensions, whose functions must stay executable by PUBLIC. This run
		// may use another role, and default privileges apply to one role only.
		const revoke = `ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC`
		if _, err := conn.Exec(ctx, revoke); err != nil {
			return Report{}, fmt.Errorf("migrate: default privileges: %w", err)
		}
	}
	report := Report{}
	for _, m := range pending {
		if err := applyFile(ctx, conn, m); err != nil {
			return report, err
		}
		report.Applied = append(report.Applied, m.Migration)
	}
	for _, extra := range opts.Extra {
		if err := extra(ctx, conn); err != nil {
			return report, fmt.Errorf("migrate: library migrations: %w", err)
		}
	}
	report.Took = clock.System{}.Now().Sub(started)
	return report, nil
}

// applyFile runs one file and records it, in one transaction.
func applyFile(ctx context.Context, conn *pgx.Conn, m file) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// A file has several statements and no arguments.
		if _, err := tx.Exec(ctx, m.sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, recordSQL, postgres.Args{
			"schema": m.Schema, "version": m.Version, "name": m.Name, "sha256": m.SHA256,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate: %s: %w%s", m.Path(), err, errorPosition(m.sql, err))
	}
	return nil
}

// Pending returns the program's migrations that the database lacks. If there are none, the
// database is ready. It fails as Up does if the histories differ. Every LOGIN role of the
// product except parapet_app may call it.
func Pending(ctx context.Context, q postgres.Querier) ([]Migration, error) {
	files, err := loadFiles(Options{})
	if err != nil {
		return nil, err
	}
	missing, err := pendingFiles(ctx, q, files)
	if err != nil {
		return nil, err
	}
	pending := make([]Migration, len(missing))
	for i, m := range missing {
		pending[i] = m.Migration
	}
	return pending, nil
}

// Errors for a database and a program that do not fit together.
var (
	// ErrChanged: the file of an applied migration was changed or removed.
	ErrChanged = errors.New("an applied migration was changed")
	// ErrNewer: the database has migrations that this program does not have.
	ErrNewer = errors.New("the database is newer than this program")
	// ErrGap: a migration was added before one that is already applied.
	ErrGap = errors.New("a migration was added before one that is already applied")
)

// defaults fills in the program's own files and schemas.
func (o Options) defaults() Options {
	if o.FS == nil {
		o.FS = migrations.FS
	}
	if o.Schemas == nil {
		o.Schemas = migrations.Schemas()
	}
	return o
}
