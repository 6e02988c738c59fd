// Package postgres provides access to the database: a connection pool for one LOGIN
// role, reads and transactions inside a tenant, and the mapping of database errors to
// faults.
//
// It guarantees:
//   - Only SetTenant and the statements built from it write app.tenant_id, and only for
//     the duration of a transaction, so a connection that is returned to the pool has no
//     tenant.
//   - A read is one round trip: the tenant setting, the check and the query are sent in
//     one batch, which is one implicit transaction. The server rejects writes in it.
//   - A caller waits at most two seconds for a connection and then gets UNAVAILABLE.
//     Database errors reach a response only through MapError.
//
// SQL stays in the module that owns the tables. Collect and One turn rows into
// structs. Arguments are named and strict (Args).
package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Querier runs statements. Reader, Tx, Pool and pgx.Tx implement it.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Args are the named arguments of a statement (@name). They are strict: a missing or
// an unused name is an error before anything is sent.
type Args = pgx.StrictNamedArgs

// DeleteInBatches repeats a DELETE that removes at most batch rows until it removes fewer, so that
// it holds row locks briefly. It returns the number of removed rows.
func DeleteInBatches(ctx context.Context, q Querier, batch int64, sql string, args ...any) (int64, error) {
	var total int64
	for {
		tag, err := q.Exec(ctx, sql, args...)
		if err != nil {
			return total, err
		}
		total += tag.RowsAffected()
		if tag.RowsAffected() < batch {
			return total, nil
		}
	}
}

// ErrNoRows is returned by One when there is no row. MapError turns it into
// NOT_FOUND; a caller that knows the noun returns fault.NotFound(noun) instead.
var ErrNoRows = pgx.ErrNoRows

// ErrTooManyRows is returned by One when there is more than one row.
var ErrTooManyRows = pgx.ErrTooManyRows

// Collect runs a query and returns every row as a T. Columns are matched to fields
// by name (tag `db`); a column without a field, or a field without a column, is
// an error. The result is not nil unless err is set.
func Collect[T any](ctx context.Context, q Querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// CollectScalars runs a query of one column and returns its values.
func CollectScalars[T any](ctx context.Context, q Querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// One runs a query that must return exactly one row and returns it as a T, with the
// rules of Collect. It returns ErrNoRows or ErrTooManyRows otherwise.
func One[T any](ctx context.Context, q Querier, sql string, args ...any) (T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		var zero T
		return zero, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
}

// IsNoRows reports whether err means that One or QueryRow found no row.
func IsNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
