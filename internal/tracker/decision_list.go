package tracker

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const decisionPageSQL = `
SELECT d.id, d.question, d.options, d.status, d.answer, d.chosen_option, d.raised_by, d.session_id, d.created_at,
       d.resolved_at, d.resolved_by
FROM projects.decision_requests d
WHERE d.tenant_id = @tenant AND d.project_id = @project AND d.task_id = @task
  AND (@status = '' OR d.status = @status)
  AND (@before::timestamptz IS NULL OR (d.created_at, d.id) < (@before::timestamptz, @before_id::uuid))
ORDER BY d.created_at DESC, d.id DESC
LIMIT @limit`

// listDecisionsHandler returns a page of a task's decision requests, latest first. A
// caller who may read the task may read its requests.
func loadTaskToReadDecisions(ctx context.Context, c *executor.Call, in *contract.ListDecisionRequestsIn) (taskRow, authz.Resource, error) {
	return loadTaskResource(ctx, c, in.ProjectID, in.Task, false)
}

func listDecisions(ctx context.Context, c *executor.Call, in *contract.ListDecisionRequestsIn, task taskRow) (*op.Page[contract.DecisionRequest], error) {
	args := postgres.Args{
		"tenant": c.Tenant, "project": task.ProjectID, "task": task.ID, "status": in.Status,
		"before": nil, "before_id": nil, "limit": in.Limit + 1,
	}
	after, err := op.ReadTimeCursor(in.Cursor, contract.ListDecisionRequests.Name, c.Tenant)
	if err != nil {
		return nil, err
	}
	if after != nil {
		args["before"], args["before_id"] = after.At, after.ID
	}
	rows, err := postgres.Collect[decisionRow](ctx, c.DB, decisionPageSQL, args)
	if err != nil {
		return nil, err
	}
	page := op.NewPage(rows, in.Limit, func(last *decisionRow) string {
		return op.NewCursor(contract.ListDecisionRequests.Name, c.Tenant, op.CursorTime(last.CreatedAt), string(last.ID))
	})
	return op.MapPage(page, func(r *decisionRow) contract.DecisionRequest { return *r.toDecisionRequest(&task) }), nil
}

// awaitingDecisionFilter is the first key in the cursors of readAwaitingTasks. list-tasks
// therefore rejects these cursors in lists with another order.
const awaitingDecisionFilter = "awaiting-decision"

// readAwaitingTasks returns a page of the tasks with an open decision request, oldest
// request first. Its statement scans the index of open requests and stops when the page is
// full.
func readAwaitingTasks(ctx context.Context, c *executor.Call, q *taskQuery, f authz.Filter) (*op.Page[contract.TaskSummary], error) {
	after, err := op.ReadTimeCursor(q.cursor, q.operation.Name, c.Tenant, awaitingDecisionFilter, string(q.project))
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.TaskSummary]{Items: []contract.TaskSummary{}}
	var cursors []op.TimeCursor
	if !f.None() {
		epics, err := c.Filter(ctx, contract.PermTasksRead, epicProjectColumns)
		if err != nil {
			return nil, err
		}
		if cursors, err = scanAwaitingTasks(ctx, c, q.awaitingStatement(c, f, epics, after), page); err != nil {
			return nil, err
		}
	}
	if n := q.limit; len(page.Items) > n {
		page.Items = page.Items[:n]
		page.NextCursor = op.NewCursor(q.operation.Name, c.Tenant, awaitingDecisionFilter, string(q.project),
			op.CursorTime(cursors[n-1].At), string(cursors[n-1].ID))
	}
	return page, redactInitiatives(ctx, c, initiativeRefs(page.Items)...)
}

func (q *taskQuery) awaitingStatement(c *executor.Call, f, epics authz.Filter, after *op.TimeCursor) *postgres.Statement {
	st := &postgres.Statement{}
	b := q.begin(st, c, epics, `, d.id AS decision_id, d.created_at AS decision_at`)
	st.Add(`
FROM projects.decision_requests d
JOIN projects.tasks t ON t.tenant_id = `, b.tenant, ` AND t.id = d.task_id`)
	b.addConditions(f)
	st.Add(` AND d.tenant_id = `, b.tenant, ` AND d.status = 'open'`)
	if b.project != "" {
		st.Add(` AND d.project_id = `, b.project)
	}
	if after != nil {
		st.Add(` AND (d.created_at, d.id) > (`, st.Arg(after.At), `, `, st.Arg(after.ID), `)`)
	}
	b.addFilters(c)
	b.end(`d.created_at, d.id`, strconv.Itoa(q.limit+1))
	if b.project != "" {
		st.Add(`
ORDER BY page.decision_at, page.decision_id`)
	}
	return st
}

// scanAwaitingTasks adds the tasks of the statement's result to the page and returns the
// cursor of each.
func scanAwaitingTasks(ctx context.Context, c *executor.Call, st *postgres.Statement, page *op.Page[contract.TaskSummary]) ([]op.TimeCursor, error) {
	rows, err := c.DB.Query(ctx, st.SQL(), st.Args()...)
	if err != nil {
		return nil, err
	}
	var r taskRow
	var isEpicVisible bool
	var cursor op.TimeCursor
	var cursors []op.TimeCursor
	_, err = pgx.ForEachRow(rows, append(r.listScanTargets(), &isEpicVisible, &cursor.ID, &cursor.At), func() error {
		item := r.toSummary()
		item.DecisionRequestID = cursor.ID
		if !isEpicVisible {
			item.EpicID = opaqueID(c.Tenant, item.EpicID)
		}
		page.Items, cursors = append(page.Items, item), append(cursors, cursor)
		return nil
	})
	return cursors, err
}
