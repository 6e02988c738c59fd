// Package migrate brings a database to the state that this program needs, and
// tells whether it is there.
//
// It promises: forward only; one runner at a time for a database (an advisory
// lock), any number of databases of one cluster at a time; each file in one
// transaction together with its row in parapet.migrations; no work at all on a
// database whose history differs from the files, or which a newer program made.
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

// Options are what Up may be told.
type Options struct {
	// RoleSecret derives the roles' passwords (postgres.RolePassword). Empty: no
	// password is set, for trust or peer authentication.
	RoleSecret string
	// Extra runs after the SQL, on the same connection and under the same lock:
	// migrations that belong to a library.
	Extra []func(ctx context.Context, conn *pgx.Conn) error
	// FS holds the files; nil means those of the program.
	FS fs.FS
	// Schemas orders FS's folders; nil means those of the program.
	Schemas []string
}

// Report says what Up did.
type Report struct {
	Applied []Migration
	Took    time.Duration
}

// lockKey is the advisory lock of a database's migration run.
const lockKey = 0x70617261706574 // "parapet"

const sqlTable = `
CREATE SCHEMA IF NOT EXISTS parapet;
CREATE TABLE IF NOT EXISTS parapet.migrations (
	schema     text        NOT NULL,
	version    integer     NOT NULL,
	name       text        NOT NULL,
	sha256     text        NOT NULL,
	applied_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (schema, version)
);`

const sqlRecord = `
INSERT INTO parapet.migrations (schema, version, name, sha256)
VALUES (@schema, @version, @name, @sha256)`

// Up connects to url, as a role that may create roles and owns the database,
// and applies what is missing.
func Up(ctx context.Context, url string, opts Options) (Report, error) {
	started := clock.System{}.Now()
	files, err := load(opts)
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

	// The lock belongs to the session: it is gone with the connection, however
	// this process ends.
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(lockKey)); err != nil {
		return Report{}, fmt.Errorf("migrate: lock: %w", err)
	}
	if _, err := conn.Exec(ctx, sqlTable, pgx.QueryExecModeSimpleProtocol); err != nil {
		return Report{}, fmt.Errorf("migrate: table parapet.migrations: %w", err)
	}
	pending, err := compare(ctx, conn, files)
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
		// The first file does this after it has created the extensions, whose
		// functions stay open to all. Default privileges belong to the role that
		// creates, and this run's may be another than the first one's.
		const revoke = `ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC`
		if _, err := conn.Exec(ctx, revoke); err != nil {
			return Report{}, fmt.Errorf("migrate: default privileges: %w", err)
		}
	}
	report := Report{}
	for _, m := range pending {
		if err := apply(ctx, conn, m); err != nil {
			return report, err
		}
		report.Applied = append(report.Applied, m.Migration)
	}
	for _, extra := range opts.Extra {
		if err := extra(ctx, conn); err != nil {
			return report, fmt.Errorf("migrate: after the SQL: %w", err)
		}
	}
	report.Took = clock.System{}.Now().Sub(started)
	return report, nil
}

// apply runs one file and records it, whole or not at all.
func apply(ctx context.Context, conn *pgx.Conn, m file) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// A file holds several statements and no arguments.
		if _, err := tx.Exec(ctx, m.sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlRecord, postgres.Args{
			"schema": m.Schema, "version": m.Version, "name": m.Name, "sha256": m.SHA256,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate: %s: %w%s", m.Path(), err, position(m.sql, err))
	}
	return nil
}

// Pending tells which of the program's migrations the database lacks; none means
// that it is ready. It fails as Up does where the histories differ. Any of the
// product's LOGIN roles may ask, but for parapet_app.
func Pending(ctx context.Context, q postgres.Querier) ([]Migration, error) {
	files, err := load(Options{})
	if err != nil {
		return nil, err
	}
	missing, err := compare(ctx, q, files)
	if err != nil {
		return nil, err
	}
	pending := make([]Migration, len(missing))
	for i, m := range missing {
		pending[i] = m.Migration
	}
	return pending, nil
}

// The ways in which a database and the program can disagree.
var (
	// ErrChanged: a file that was applied is not what it was, or is gone.
	ErrChanged = errors.New("an applied migration was changed")
	// ErrNewer: the database has migrations that this program does not know.
	ErrNewer = errors.New("the database is newer than this program")
	// ErrGap: a file is missing below one that was applied.
	ErrGap = errors.New("a migration was put before one that is applied")
)

// defaults fills in the program's own files.
func (o Options) defaults() Options {
	if o.FS == nil {
		o.FS = migrations.FS
	}
	if o.Schemas == nil {
		o.Schemas = migrations.Schemas()
	}
	return o
}
