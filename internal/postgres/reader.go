package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/admission"
)

// Check is a statement that travels in front of a query or at the beginning of
// a transaction, in the same round trip and the same transaction. Scan gets its
// rows before anything else is handed out; the error that it returns fails the
// query, or the beginning of the transaction, as it is. Scan need not close the
// rows, and must not keep them.
type Check struct {
	SQL  string
	Args []any
	Scan func(pgx.Rows) error
}

// Reader runs each statement as a read of one tenant: one batch, which is one
// implicit transaction and one round trip once the statements are prepared, of
// the tenant setting, the check if there is one, and the statement. The server
// refuses to write in it. Every statement repeats the check. A Reader holds no
// connection between statements and is safe for concurrent use if the check's
// Scan is.
type Reader struct {
	pool   *Pool
	tenant string
	check  *Check
}

// Read gives a Reader of tenant, whose every statement is preceded by check (nil
// for none). The empty tenant is none: row-level security then shows no row.
func (p *Pool) Read(tenant string, check *Check) *Reader {
	return &Reader{pool: p, tenant: tenant, check: check}
}

// Query runs a statement. An error of the setting or of the check comes before
// any row. The connection goes back when the rows are closed or read to their
// end; the rows of a second query may be open at the same time, on a connection
// of their own.
func (r *Reader) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	br, err := r.send(ctx, sql, args)
	if err != nil {
		return failedRows{err}, err
	}
	rows, err := br.results.Query()
	if err != nil {
		br.close()
		return failedRows{err}, err
	}
	return &releasingRows{Rows: rows, release: br.close}, nil
}

// QueryRow runs a statement and gives its first row; Scan returns every error.
func (r *Reader) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := r.Query(ctx, sql, args...)
	return firstRow{rows, err}
}

// Exec runs a statement whose rows do not matter. It is here so that a Reader
// is a Querier; a statement that writes fails.
func (r *Reader) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	br, err := r.send(ctx, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := br.results.Exec()
	if cerr := br.close(); err == nil {
		err = cerr
	}
	return tag, err
}

// sentBatch is a batch on its way, and the connection that it occupies.
type sentBatch struct {
	results pgx.BatchResults
	conn    *conn
	// explicit tells that the batch's transaction was begun by a BEGIN, and must
	// be ended should an error have kept the batch's own COMMIT from running.
	explicit bool
}

func (b *sentBatch) close() error {
	err := b.results.Close()
	if b.explicit && b.conn.Conn().PgConn().TxStatus() != 'I' {
		endTransaction(b.conn.Conn())
	}
	b.conn.Release()
	return err
}

// send sends setting, check and statement, and reads the results of the first
// two, so that the statement's result is next.
func (r *Reader) send(ctx context.Context, sql string, args []any) (_ *sentBatch, err error) {
	if err := validTenant(r.tenant); err != nil {
		return nil, err
	}
	conn, err := r.pool.acquire(ctx, r.tenant, admission.Read)
	if err != nil {
		return nil, err
	}
	b := &sentBatch{conn: conn}
	sent := false
	defer func() {
		// A check's Scan is foreign code: should it panic, the connection must not
		// stay out of the pool.
		if !sent {
			if b.results == nil {
				conn.Release()
				return
			}
			if cerr := b.close(); err == nil {
				err = cerr
			}
		}
	}()

	batch := &pgx.Batch{}
	if r.pool.setting == SetLocal {
		b.explicit = true
		// SET takes no arguments and its text differs by tenant: it goes by the
		// simple protocol, ahead of the batch, and fills no statement cache.
		begin := "BEGIN READ ONLY; " + setLocalSQL(r.tenant)
		if err := conn.Conn().PgConn().Exec(ctx, begin).Close(); err != nil {
			endTransaction(conn.Conn())
			return nil, err
		}
	} else {
		batch.Queue(sqlSetTenantRead, r.tenant)
	}
	if r.check != nil {
		batch.Queue(r.check.SQL, r.check.Args...)
	}
	batch.Queue(sql, args...)
	if b.explicit {
		batch.Queue("COMMIT")
	}
	b.results = conn.Conn().SendBatch(ctx, batch)
	if !b.explicit {
		if _, err := b.results.Exec(); err != nil {
			return nil, err
		}
	}
	if err := r.check.read(b.results); err != nil {
		return nil, err
	}
	sent = true
	return b, nil
}

// read hands the check's rows to its Scan.
func (c *Check) read(results pgx.BatchResults) error {
	if c == nil {
		return nil
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	if c.Scan == nil {
		rows.Close()
		return rows.Err()
	}
	err = c.Scan(rows)
	rows.Close()
	// What the server said comes first: with half the rows Scan may have drawn a
	// wrong conclusion.
	if rowsErr := rows.Err(); rowsErr != nil {
		return fmt.Errorf("postgres: check: %w", rowsErr)
	}
	return err
}
