// Package riverschema migrates River's tables to the version of the library and grants
// parapet_jobs the privileges that River needs. It is separate from package jobs, so the
// migration does not link the workers and their dependencies.
package riverschema

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Name is the schema of River's tables.
const Name = "river"

// grantsSQL grants parapet_jobs access to River's tables. It runs after every migration,
// so it covers new tables.
const grantsSQL = `
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA river TO parapet_jobs;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA river TO parapet_jobs;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA river TO parapet_jobs;
REVOKE INSERT, UPDATE, DELETE ON river.river_migration FROM parapet_jobs;`

// Migrate migrates River's schema to the version of the library. It is a hook for
// migrate.Options.Extra. Each version runs in a separate transaction, because a
// new enum value cannot be used in the transaction that adds it.
func Migrate(ctx context.Context, conn *pgx.Conn) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(nil), &rivermigrate.Config{Schema: Name})
	if err != nil {
		return fmt.Errorf("riverschema: migrate: %w", err)
	}
	for {
		applied := 0
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			//nolint:staticcheck // the replacement needs a pool; MaxSteps runs one version per transaction
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
	if _, err := conn.Exec(ctx, grantsSQL, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("riverschema: grants: %w", err)
	}
	return nil
}
