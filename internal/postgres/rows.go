package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// releasingRows wraps rows and calls release once, when the rows are closed or read
// to their end.
type releasingRows struct {
	pgx.Rows
	release func() error
	err     error
}

func (r *releasingRows) Close() {
	r.Rows.Close()
	if r.release == nil {
		return
	}
	release := r.release
	r.release = nil
	if err := release(); err != nil && r.Rows.Err() == nil {
		r.err = err
	}
}

// Err returns the error of the rows, or else the error of release: a batch can still
// fail when its implicit transaction ends.
func (r *releasingRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}

func (r *releasingRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *releasingRows) Scan(dest ...any) error {
	err := r.Rows.Scan(dest...)
	if err != nil {
		r.Close()
	}
	return err
}

func (r *releasingRows) Values() ([]any, error) {
	values, err := r.Rows.Values()
	if err != nil {
		r.Close()
	}
	return values, err
}

// firstRow implements pgx.Row: it reads the first row and closes the rest.
type firstRow struct {
	rows pgx.Rows
	err  error
}

func (r firstRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}

// failedRows are the rows of a query that failed.
type failedRows struct{ err error }

var errQueryFailed = errors.New("postgres: the query failed")

func (failedRows) Close()                                       {}
func (r failedRows) Err() error                                 { return r.err }
func (failedRows) CommandTag() pgconn.CommandTag                { return pgconn.CommandTag{} }
func (failedRows) FieldDescriptions() []pgconn.FieldDescription { return nil }
func (failedRows) Next() bool                                   { return false }
func (r failedRows) Scan(...any) error                          { return errors.Join(errQueryFailed, r.err) }
func (r failedRows) Values() ([]any, error)                     { return nil, errors.Join(errQueryFailed, r.err) }
func (failedRows) RawValues() [][]byte                          { return nil }
func (failedRows) Conn() *pgx.Conn                              { return nil }
func (failedRows) TypeMap() *pgtype.Map                         { return nil }
