package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/fault"
)

// transactionIDSQL reads the id of the transaction, which is needed to look up its outcome.
const transactionIDSQL = `SELECT pg_current_xact_id()::text`

// Final returns the batch that Commit sends in the same round trip as COMMIT. The server
// executes both without waiting for this process, so rows locked by the batch stay
// locked only briefly. Put statements here that lock rows which many transactions need,
// such as the head of an audit chain.
func (t *Tx) Final() *pgx.Batch { return &t.final }

// Commit sends the statements of Final and COMMIT in one round trip and ends the
// transaction.
//
// If the server returns an error, nothing is committed and Commit returns that error:
// a constraint violation, possibly deferred, or pgx.ErrTxCommitRollback if an earlier
// statement had failed. If the response is lost because the connection was cut or ctx
// ended, Commit queries the outcome on another connection. It returns nil if the
// transaction was committed, UNAVAILABLE if it was rolled back, and OUTCOME_UNKNOWN if
// the server does not report the outcome in time.
func (t *Tx) Commit(ctx context.Context) error {
	if t.done {
		return pgx.ErrTxClosed
	}
	t.done = true
	err := t.sendFinal(ctx)
	conn := t.conn.Conn()
	lost := err != nil && conn.IsClosed()
	if err != nil && !lost {
		endTransaction(conn)
	}
	// Release first, because resolve takes a connection from the same pool.
	t.conn.Release()
	if lost {
		return t.resolve(ctx, err)
	}
	return err
}

// sendFinal sends the final batch with COMMIT as its last statement. On an error the
// connection is closed, unless the server reported the error or nothing was sent.
func (t *Tx) sendFinal(ctx context.Context) error {
	t.final.Queue("commit")
	results := t.tx.SendBatch(ctx, &t.final)
	for range t.final.Len() - 1 {
		if _, err := results.Exec(); err != nil {
			return closeWith(results, err)
		}
	}
	tag, err := results.Exec()
	if err != nil {
		return closeWith(results, err)
	}
	// COMMIT has been answered, so an error of the connection no longer matters.
	_ = results.Close()
	if tag.String() == "ROLLBACK" {
		return pgx.ErrTxCommitRollback
	}
	return nil
}

// outcomeSQL reads the status of a transaction. It also terminates the session if it is
// still in the transaction: the session waits for a client that is gone, or it is stuck.
// The outcome is then final. A role may terminate its own sessions.
const outcomeSQL = `
SELECT coalesce(pg_xact_status($1::text::xid8), ''),
       (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_xid = ($1::text::xid8)::xid AND usename = current_user)`

const (
	// resolveTimeout limits how long Commit looks up a lost outcome.
	resolveTimeout    = 3 * time.Second
	resolveRetryDelay = 50 * time.Millisecond
)

// resolve looks up the outcome of a transaction whose COMMIT got no response.
func (t *Tx) resolve(ctx context.Context, lost error) error {
	if t.xid == "" {
		return fault.OutcomeUnknown(lost)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	for {
		var status string
		var ended int
		err := t.pool.QueryRow(ctx, outcomeSQL, t.xid).Scan(&status, &ended)
		switch {
		case err == nil && status == "committed":
			return nil
		case err == nil && status == "aborted" && t.setting != SetLocal:
			return fault.Unavailable(fmt.Errorf("postgres: the transaction was rolled back: %w", lost))
		case err == nil && status != "in progress":
			// The transaction is too old, or it was aborted on the coordinator only.
			return fault.OutcomeUnknown(lost)
		}
		select {
		case <-ctx.Done():
			return fault.OutcomeUnknown(errors.Join(lost, err))
		case <-time.After(resolveRetryDelay):
		}
	}
}
