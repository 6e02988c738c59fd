package jobs

import (
	"context"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres/riverschema"
)

// Migrate migrates River's schema to the version of the library. It is a hook for
// migrate.Options.Extra.
func Migrate(ctx context.Context, conn *pgx.Conn) error { return riverschema.Migrate(ctx, conn) }
