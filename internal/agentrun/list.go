package agentrun

import (
	"context"
	"encoding/json"
	"strconv"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const runPageSelect = `
SELECT r.id
FROM projects.agent_runs r
WHERE r.tenant_id = `

// list returns a page of the runs that the caller may see, latest first. It first
// selects the page's ids with the index for the requested filter, and then reads the
// rows.
func (s *Service) list(ctx context.Context, c *executor.Call, in *contract.ListRunsIn, f authz.Filter) (*op.Page[contract.AgentRunSummary], error) {
	page := &op.Page[contract.AgentRunSummary]{Items: []contract.AgentRunSummary{}}
	cursor, err := op.ReadTimeCursor(in.Cursor, contract.ListRuns.Name, c.Tenant)
	if err != nil || f.None() {
		return page, err
	}
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	// Filter with a subquery per run: with a join, the planner would read and sort all runs
	// of all projects.
	st.Add(runPageSelect, tenant, ` AND (SELECT `).Filter(f).Add(` FROM projects.projects p WHERE p.tenant_id = `, tenant, ` AND p.id = r.project_id)`)
	for _, e := range []struct{ column, value string }{
		{"r.project_id", string(in.ProjectID)}, {"r.task_id", string(in.TaskID)}, {"r.agent_id", string(in.Agent)}, {"r.status", in.Status},
	} {
		if e.value != "" {
			st.Add(` AND `, e.column, ` = `, st.Arg(e.value))
		}
	}
	if cursor != nil {
		st.Add(` AND (r.created_at, r.id) < (`, st.Arg(cursor.At), `, `, st.Arg(cursor.ID), `)`)
	}
	st.Add(` ORDER BY r.created_at DESC, r.id DESC LIMIT `, strconv.Itoa(in.Limit+1))
	ids, err := postgres.CollectScalars[op.UUID](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil || len(ids) == 0 {
		return page, err
	}
	more := len(ids) > in.Limit
	ids = ids[:min(len(ids), in.Limit)]
	rows, err := postgres.Collect[Row](ctx, c.DB, runsByIDsSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	if err != nil {
		return nil, err
	}
	byID := make(map[op.UUID]*Row, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	for _, id := range ids {
		// A run that was deleted between the two queries is skipped.
		if row := byID[id]; row != nil {
			page.Items = append(page.Items, s.toRunSummary(row))
			if more {
				page.NextCursor = op.NewCursor(contract.ListRuns.Name, c.Tenant, op.CursorTime(row.CreatedAt), string(row.ID))
			}
		}
	}
	shown := make([]*contract.AgentRunSummary, len(page.Items))
	for i := range page.Items {
		shown[i] = &page.Items[i]
	}
	return page, s.RedactTasks(ctx, c, shown...)
}

// toRunSummary returns the API object, with a note if the run cannot start in this
// process.
func (s *Service) toRunSummary(r *Row) contract.AgentRunSummary {
	summary := r.toSummary()
	if r.Status == contract.RunQueued && s.Command == nil {
		summary.Note = noCommandMessage
	}
	return summary
}

func loadToRead(ctx context.Context, c *executor.Call, in *contract.GetRunIn) (Row, authz.Resource, error) {
	row, err := loadRun(ctx, c, runByIDSQL, in.RunID)
	return row, row.resource(c.Tenant), err
}

func (s *Service) get(ctx context.Context, c *executor.Call, _ *contract.GetRunIn, row Row) (*contract.AgentRun, error) {
	run := &contract.AgentRun{AgentRunSummary: s.toRunSummary(&row)}
	if len(row.Outcome) > 0 {
		if err := json.Unmarshal(row.Outcome, &run.Outcome); err != nil {
			return nil, fault.Internal(err)
		}
	}
	return run, s.RedactTasks(ctx, c, &run.AgentRunSummary)
}
