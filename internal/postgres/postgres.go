// Package postgres owns the way to the database: a pool for one LOGIN role,
// reads and transactions inside a tenant, and the mapping of database errors
// to the product's own.
//
// It promises:
//   - Nothing but SetTenant and the statements built from it writes
//     app.tenant_id, and only for the length of a transaction, so that a
//     connection that goes back to the pool carries no tenant.
//   - A read is one round trip: tenant setting, check and query travel in one
//     batch, which is one implicit transaction, and the server refuses writes
//     in it.
//   - A caller waits at most two seconds for a connection and then gets
//     UNAVAILABLE; errors of the database reach an answer only through
//     MapError.
//
// SQL stays with the module that owns the tables; rows become structs by
// Collect and One, arguments are named and strict (Args).
package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Querier runs statements. A Reader, a Tx, a Pool and a plain pgx.Tx all are
// one, so that a store's function does not care which it was given.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Args are the named arguments of a statement (@name). They are strict: a name
// that the statement does not use, or lacks, is an error before anything is
// sent.
type Args = pgx.StrictNamedArgs

// ErrNoRows is what One returns when there is no row. MapError turns it into
// NOT_FOUND; a caller who knows the noun answers fault.NotFound(noun) itself.
var ErrNoRows = pgx.ErrNoRows

// ErrTooManyRows is what One returns when there is more than one row.
var ErrTooManyRows = pgx.ErrTooManyRows

// Collect runs a query and gives every row as a T, matching columns to fields
// by name (tag `db`); a column without a field, or a field without a column, is
// an error. The result is never nil when err is.
func Collect[T any](ctx context.Context, q Querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// CollectScalars runs a query of one column and gives its values.
func CollectScalars[T any](ctx context.Context, q Querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// One runs a query that must give exactly one row and gives it as a T, with the
// rules of Collect. No row is ErrNoRows, a second one ErrTooManyRows.
func One[T any](ctx context.Context, q Querier, sql string, args ...any) (T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		var zero T
		return zero, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
}

// IsNoRows tells whether err says that One or QueryRow found nothing.
func IsNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
