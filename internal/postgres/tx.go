package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/admission"
	"parapet/internal/fault"
)

// rollbackTimeout bounds a rollback, which does not use the context of the request.
const rollbackTimeout = 5 * time.Second

// Tx is a transaction in a tenant. It is not safe for concurrent use. Callers of
// Begin defer Rollback, which does nothing after Commit.
type Tx struct {
	pool    *Pool
	conn    *conn
	tx      pgx.Tx
	setting TenantSetting
	done    bool
	// xid is the transaction's id. Commit uses it to look up the outcome when the response is lost.
	// It is empty when the outcome is not looked up.
	xid   string
	final pgx.Batch
}

// Begin opens a transaction in tenant. An empty tenant means no tenant. BEGIN, the
// settings and the check (nil for none) are sent in one round trip; if the check
// fails, Begin rolls back and returns its error. A statement that waits for a
// lock longer than the pool's lock timeout fails with UNAVAILABLE. If the database
// is read-only, Begin returns UNAVAILABLE with ReasonReadOnly. The server ends a
// transaction that is idle for longer than IdleTimeout.
func (p *Pool) Begin(ctx context.Context, tenant string, check *Check) (*Tx, error) {
	return p.begin(ctx, tenant, check, admission.Write, true)
}

// BeginBulk is Begin for work that takes seconds, such as an import. It uses the bulk
// lane, which limits how many such transactions run concurrently.
func (p *Pool) BeginBulk(ctx context.Context, tenant string, check *Check) (*Tx, error) {
	return p.begin(ctx, tenant, check, admission.Bulk, true)
}

// begin opens a transaction. If identified is set, it also reads the transaction's id.
func (p *Pool) begin(ctx context.Context, tenant string, check *Check, lane admission.Lane, identified bool) (_ *Tx, err error) {
	if err := checkTenant(tenant); err != nil {
		return nil, err
	}
	conn, err := p.acquire(ctx, tenant, lane)
	if err != nil {
		return nil, err
	}
	t := &Tx{pool: p, conn: conn, setting: p.setting}
	started := false
	defer func() {
		if !started {
			t.Rollback()
		}
	}()

	if p.setting == SetLocal {
		tx, err := conn.Conn().Begin(ctx)
		if err != nil {
			return nil, err
		}
		t.tx = tx
		// The simple protocol: several statements in one round trip.
		results, err := tx.Conn().PgConn().Exec(ctx, setLocalSQL(tenant)+"; "+p.setLockTimeoutSQL()+"; "+readOnlySQL).ReadAll()
		if err != nil {
			return nil, err
		}
		if last := results[len(results)-1].Rows; len(last) == 1 && string(last[0][0]) == "on" {
			return nil, newReadOnlyError()
		}
		if identified {
			if err := tx.QueryRow(ctx, transactionIDSQL).Scan(&t.xid); err != nil {
				return nil, err
			}
		}
		if check != nil {
			batch := &pgx.Batch{}
			batch.Queue(check.SQL, check.Args...)
			if err := check.readAll(tx.SendBatch(ctx, batch)); err != nil {
				return nil, err
			}
		}
		started = true
		return t, nil
	}

	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{})
	batch.Queue(setTransactionSQL, tenant, p.lockTimeout, identified)
	if check != nil {
		batch.Queue(check.SQL, check.Args...)
	}
	results := conn.Conn().SendBatch(ctx, batch)
	t.tx = results.Tx()
	defer func() { _ = results.Close() }()
	if _, err := results.Exec(); err != nil {
		return nil, closeWith(results, err)
	}
	var mode string
	if err := results.QueryRow().Scan(nil, nil, nil, &mode, &t.xid); err != nil {
		return nil, closeWith(results, err)
	}
	if mode == "on" {
		return nil, closeWith(results, newReadOnlyError())
	}
	if err := check.readAll(results); err != nil {
		return nil, err
	}
	started = true
	return t, nil
}

// newReadOnlyError returns the error for a database that accepts no changes: a standby, or a
// primary whose operator has set default_transaction_read_only.
func newReadOnlyError() error {
	f := fault.Unavailable(errors.New("postgres: transaction_read_only is on")).WithReason(ReasonReadOnly)
	f.Message = "The database accepts no changes now; reads still work. Try again later."
	return f
}

// readAll reads the check as the last result of a batch and closes the batch.
func (c *Check) readAll(results pgx.BatchResults) error {
	if err := c.read(results); err != nil {
		return closeWith(results, err)
	}
	return results.Close()
}

// closeWith closes a failed batch and returns err.
func closeWith(results pgx.BatchResults, err error) error {
	_ = results.Close()
	return err
}

// Query implements Querier.
func (t *Tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.tx.Query(ctx, sql, args...)
}

// QueryRow implements Querier.
func (t *Tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.tx.QueryRow(ctx, sql, args...)
}

// Exec implements Querier.
func (t *Tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.tx.Exec(ctx, sql, args...)
}

// SendBatch sends several statements in one round trip.
func (t *Tx) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	return t.tx.SendBatch(ctx, batch)
}

// SetTenant changes the tenant of the transaction, for jobs that work on several
// tenants in one transaction.
func (t *Tx) SetTenant(ctx context.Context, tenant string) error {
	return setTenant(ctx, t.tx, tenant, t.setting)
}

// Savepoint runs f inside a savepoint. If f fails, its changes are rolled back, its
// error is returned, and the transaction remains usable.
func (t *Tx) Savepoint(ctx context.Context, f func(sp pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, t.tx, f)
}

// Raw returns the pgx transaction, for libraries that need one (River's InsertTx).
func (t *Tx) Raw() pgx.Tx { return t.tx }

// Rollback rolls back the transaction and releases its connection, even when the
// context of the request is cancelled. After Commit it does nothing, so callers can
// defer it. If the rollback fails, the connection is closed, and the server
// then rolls back; there is no error to handle.
func (t *Tx) Rollback() {
	if t.done {
		return
	}
	t.done = true
	defer t.conn.Release()
	endTransaction(t.conn.Conn())
}

// endTransaction rolls back the transaction that conn is in, if any. A connection that
// is busy or does not respond is left in a state in which the pool discards it.
func endTransaction(conn *pgx.Conn) {
	pg := conn.PgConn()
	if conn.IsClosed() || pg.IsBusy() || pg.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	_ = pg.Exec(ctx, "ROLLBACK").Close()
}

// InTx runs f in a transaction of tenant and commits it. It rolls back if f
// returns an error or panics. If the response to COMMIT is lost, InTx returns
// OUTCOME_UNKNOWN without looking up the outcome; see Commit.
func (p *Pool) InTx(ctx context.Context, tenant string, check *Check, f func(tx *Tx) error) error {
	tx, err := p.begin(ctx, tenant, check, admission.Write, false)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		if errors.Is(err, pgx.ErrTxCommitRollback) {
			return fmt.Errorf("postgres: commit of a failed transaction: %w", err)
		}
		return err
	}
	return nil
}
