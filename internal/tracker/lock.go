package tracker

import (
	"context"

	"github.com/jackc/pgx/v5"

	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// query is an SQL statement with its arguments.
type query struct {
	sql  string
	args postgres.Args
}

// lockProjectQuery returns the query that locks a project against deletion and change.
func lockProjectQuery(c *executor.Call, project op.UUID) query {
	return query{shareLockProjectSQL, postgres.Args{"tenant": c.Tenant, "project": project}}
}

// lockAndRead executes the lock query, which locks the row's project, and then reads one
// row. All writers lock the project first, which prevents deadlocks. Both queries are sent
// in one batch. The read sees the state after the lock was granted.
func lockAndRead[Row any](ctx context.Context, c *executor.Call, lock, read query) (Row, error) {
	var none Row
	batch := &pgx.Batch{}
	batch.Queue(lock.sql, lock.args)
	batch.Queue(read.sql, read.args)
	results := c.Tx.SendBatch(ctx, batch)
	defer func() { _ = results.Close() }()
	if _, err := results.Exec(); err != nil {
		return none, err
	}
	rows, err := results.Query()
	if err != nil {
		return none, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Row])
}
