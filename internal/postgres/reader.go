package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/admission"
)

// Check is a statement that runs before a query, or at the start of a transaction, in
// the same round trip and transaction. Scan reads its rows. If Scan returns an error,
// the query or Begin fails with that error. Scan need not close the rows and must not
// retain them.
type Check struct {
	SQL  string
	Args []any
	Scan func(pgx.Rows) error
}

// Reader runs each statement as a read in one tenant. The tenant setting, the check (if
// any) and the statement form one batch: one implicit transaction and, once the
// statements are prepared, one round trip. The server rejects writes in it. Every
// statement repeats the check. A Reader holds no connection between statements. It is
// safe for concurrent use if the check's Scan is.
type Reader struct {
	pool   *Pool
	tenant string
	check  *Check
}

// Read returns a Reader of tenant that runs check (nil for none) before every
// statement. An empty tenant means no tenant: row-level security then shows no rows.
func (p *Pool) Read(tenant string, check *Check) *Reader {
	return &Reader{pool: p, tenant: tenant, check: check}
}

// Query runs a statement. It returns errors of the tenant setting and of the check
// before any row. The connection is released when the rows are closed or read to their
// end. A second query may run while the rows are open; it uses another connection.
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

// QueryRow runs a statement and returns its first row; Scan returns any error.
func (r *Reader) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := r.Query(ctx, sql, args...)
	return firstRow{rows, err}
}

// Exec runs a statement and discards its rows. It exists so that Reader implements
// Querier; a statement that writes fails.
func (r *Reader) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	br, err := r.send(ctx, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := br.results.Exec()
	if closeErr := br.close(); err == nil {
		err = closeErr
	}
	return tag, err
}

// sentBatch is a batch whose results are being read, and its connection.
type sentBatch struct {
	results pgx.BatchResults
	conn    *conn
	// explicit reports that the transaction was started with BEGIN. If an error kept
	// the batch's COMMIT from running, close must roll it back.
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

// send sends the setting, the check and the statement. It reads the results of the
// first two, so the statement's result is next.
func (r *Reader) send(ctx context.Context, sql string, args []any) (_ *sentBatch, err error) {
	if err := checkTenant(r.tenant); err != nil {
		return nil, err
	}
	conn, err := r.pool.acquire(ctx, r.tenant, admission.Read)
	if err != nil {
		return nil, err
	}
	b := &sentBatch{conn: conn}
	sent := false
	defer func() {
		// Scan is the caller's code: if it panics, the connection must still be released.
		if !sent {
			if b.results == nil {
				conn.Release()
				return
			}
			if closeErr := b.close(); err == nil {
				err = closeErr
			}
		}
	}()

	batch := &pgx.Batch{}
	if r.pool.setting == SetLocal {
		b.explicit = true
		// SET takes no arguments and its text differs by tenant. It is sent with the
		// simple protocol before the batch, so it does not fill the statement cache.
		begin := "BEGIN READ ONLY; " + setLocalSQL(r.tenant)
		if err := conn.Conn().PgConn().Exec(ctx, begin).Close(); err != nil {
			endTransaction(conn.Conn())
			return nil, err
		}
	} else {
		batch.Queue(setTenantReadSQL, r.tenant)
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

// read passes the rows of the check to its Scan.
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
	// The server's error takes precedence: Scan may have seen only some of the rows.
	if rowsErr := rows.Err(); rowsErr != nil {
		return fmt.Errorf("postgres: check: %w", rowsErr)
	}
	return err
}
