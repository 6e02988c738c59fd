package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/fault"
)

// sqlTransactionID gives the id of the transaction, by which its outcome can be
// looked up.
const sqlTransactionID = `SELECT pg_current_xact_id()::text`

// Final is the batch that Commit sends in the same round trip as COMMIT. What is
// queued here locks rows only while the server works: it carries out the batch and
// COMMIT without waiting for this process. Statements whose locks many others wait
// for, such as the head of an audit chain, belong here and nowhere else.
func (t *Tx) Final() *pgx.Batch { return &t.final }

// Commit sends the statements of Final and COMMIT in one round trip and ends the
// transaction.
//
// After an error of the server nothing is committed, and the error is the server's:
// a broken constraint, also a deferred one, or pgx.ErrTxCommitRollback where an
// earlier error had broken the transaction. Where the response is lost, because the
// connection was cut or ctx ended, Commit asks the server on another connection and
// gives nil if the transaction was committed, UNAVAILABLE if it was not, and
// OUTCOME_UNKNOWN if the server does not say so in time.
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
	// First, because the other connection comes from the same pool.
	t.conn.Release()
	if lost {
		return t.resolve(ctx, err)
	}
	return err
}

// sendFinal sends the final batch with COMMIT as its last statement. An error
// leaves the connection closed unless the server has said that nothing is
// committed, or nothing was sent.
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
	// The response to COMMIT is here: what becomes of the connection after it
	// changes nothing.
	_ = results.Close()
	if tag.String() == "ROLLBACK" {
		return pgx.ErrTxCommitRollback
	}
	return nil
}

// A session that has not ended the transaction by now waits for a client that is
// gone, or is stuck: it is ended, so that the outcome is final. A role may end its
// own sessions.
const sqlOutcome = `
SELECT coalesce(pg_xact_status($1::text::xid8), ''),
       (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_xid = ($1::text::xid8)::xid AND usename = current_user)`

const (
	// resolveTimeout bounds the time in which Commit looks up a lost outcome.
	resolveTimeout    = 3 * time.Second
	resolveRetryDelay = 50 * time.Millisecond
)

// resolve finds out what became of a transaction whose COMMIT was not answered.
func (t *Tx) resolve(ctx context.Context, lost error) error {
	if t.xid == "" {
		return fault.OutcomeUnknown(lost)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	for {
		var status string
		var ended int
		err := t.pool.QueryRow(ctx, sqlOutcome, t.xid).Scan(&status, &ended)
		switch {
		case err == nil && status == "committed":
			return nil
		case err == nil && status == "aborted" && t.setting != SetLocal:
			return fault.Unavailable(fmt.Errorf("postgres: the transaction was rolled back: %w", lost))
		case err == nil && status != "in progress":
			// Too old, or aborted on the coordinator alone.
			return fault.OutcomeUnknown(lost)
		}
		select {
		case <-ctx.Done():
			return fault.OutcomeUnknown(errors.Join(lost, err))
		case <-time.After(resolveRetryDelay):
		}
	}
}
