package app

import (
	"context"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres/migrate"
	"parapet/jobs"
)

// Migrate brings the database of DIRECT_URL to the schema that this program needs,
// including River's tables.
func Migrate(ctx context.Context, cfg Config) (migrate.Report, error) {
	return migrate.Up(ctx, cfg.DirectURL, migrate.Options{
		RoleSecret: cfg.DBRoleSecret,
		Extra:      []func(context.Context, *pgx.Conn) error{jobs.Migrate},
	})
}
