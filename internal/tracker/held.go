package tracker

import (
	"context"

	"github.com/jackc/pgx/v5"

	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// query is a statement with its arguments.
type query struct {
	sql  string
	args postgres.Args
}

// lockProject is the statement that holds a project against its deletion and a
// change of it.
func lockProject(c *executor.Call, project op.UUID) query {
	return query{shareLockProjectSQL, postgres.Args{"tenant": c.Tenant, "project": project}}
}

// lockAndRead reads one row for a change, behind a statement that holds its project
// and gives nothing: so everybody takes the project first. Both travel at once,
// and the row is read with what the project is by then.
func lockAndRead[Row any](ctx context.Context, c *executor.Call, hold, read query) (Row, error) {
	var none Row
	batch := &pgx.Batch{}
	batch.Queue(hold.sql, hold.args)
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
