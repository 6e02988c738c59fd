// Package riverschema owns River's tables in our database: it brings them to the
// version of the library and grants parapet_jobs what River needs. It is apart
// from package jobs so that migrating links no worker and nothing that workers
// call.
package riverschema

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Name is where River's tables lie.
const Name = "river"

// sqlGrants gives parapet_jobs what River needs of its own tables. It runs after
// every migration: a new table of River's is granted with it.
const sqlGrants = `
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA river TO parapet_jobs;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA river TO parapet_jobs;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA river TO parapet_jobs;
REVOKE INSERT, UPDATE, DELETE ON river.river_migration FROM parapet_jobs;`

// Migrate brings River's schema to the version of the library: the hook that
// migrate.Options.Extra takes. Each version is a transaction of its own, since a
// new value of an enum cannot be used in the transaction that adds it.
func Migrate(ctx context.Context, conn *pgx.Conn) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(nil), &rivermigrate.Config{Schema: Name})
	if err != nil {
		return fmt.Errorf("riverschema: migrate: %w", err)
	}
	for {
		applied := 0
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			//nolint:staticcheck // its successor wants a pool; one version a transaction is what it is deprecated for lacking
			result, err := migrator.MigrateTx(ctx, tx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{MaxSteps: 1})
			if err == nil {
				applied = len(result.Versions)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("riverschema: migrate: %w", err)
		}
		if applied == 0 {
			break
		}
	}
	if _, err := conn.Exec(ctx, sqlGrants, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("riverschema: grants: %w", err)
	}
	return nil
}
