package tracker

import (
	"context"
	"strconv"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// listTimeEntries returns a page of the time entries that match the policy filter,
// latest day first. The first page contains the total minutes. The cursor holds the
// day and id of the page's last entry.
func (s *Service) listTimeEntries(ctx context.Context, c *executor.Call, in *contract.ListTimeEntriesIn, f authz.Filter) (*contract.TimeEntryPage, error) {
	if in.From != "" && in.To != "" && in.To < in.From {
		return nil, fault.Validation("to", "to cannot be before from.")
	}
	cursor, err := op.ReadCursor(in.Cursor, contract.ListTimeEntries.Name, c.Tenant, 2)
	if err != nil {
		return nil, err
	}
	page := &contract.TimeEntryPage{Page: op.Page[contract.TimeEntry]{Items: []contract.TimeEntry{}}}
	if cursor == nil {
		page.TotalMinutes = new(int64)
	}
	if !f.None() {
		if err := readTimeEntries(ctx, c, in, f, cursor, page); err != nil {
			return nil, err
		}
	}
	if len(page.Items) > 0 || cursor != nil || (in.ProjectID == "" && in.TaskID == "" && in.IssueID == "") {
		return page, nil
	}
	parent, err := loadParentRecord(ctx, c, in.ProjectID, in.TaskID, in.IssueID, false)
	if err != nil {
		return nil, err
	}
	// A caller who may only read its own entries gets an empty list, not an error.
	resource := parent.resource(c.Tenant)
	resource.Owner = string(c.Actor.UserID)
	return page, c.Decide(ctx, contract.PermTimeEntriesRead, resource)
}

func readTimeEntries(ctx context.Context, c *executor.Call, in *contract.ListTimeEntriesIn, f authz.Filter, cursor []string, page *contract.TimeEntryPage) error {
	st := &postgres.Statement{}
	st.Add(timeEntrySelect)
	if cursor == nil {
		// The uncorrelated subquery computes the sum once, not for each row.
		st.Add(`, (SELECT coalesce(sum(e.minutes), 0)`)
		addTimeEntryFilter(st, c, in, f)
		st.Add(`) AS total`)
	} else {
		st.Add(`, 0::bigint AS total`)
	}
	addTimeEntryFilter(st, c, in, f)
	if cursor != nil {
		day, err := op.ParseDate(cursor[0])
		if err != nil {
			return op.WrongCursor().WithCause(err)
		}
		id, err := op.ParseUUID(cursor[1])
		if err != nil {
			return op.WrongCursor().WithCause(err)
		}
		st.Add(` AND (e.spent_on, e.id) < (`, st.Arg(day), `::date, `, st.Arg(id), `::uuid)`)
	}
	st.Add(` ORDER BY e.spent_on DESC, e.id DESC LIMIT `, strconv.Itoa(in.Limit+1))

	type row struct {
		timeEntryRow
		Total int64
	}
	rows, err := postgres.Collect[row](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil || len(rows) == 0 {
		return err
	}
	if page.TotalMinutes != nil {
		*page.TotalMinutes = rows[0].Total
	}
	rowPage := op.NewPage(rows, in.Limit, func(last *row) string {
		return op.NewCursor(contract.ListTimeEntries.Name, c.Tenant, string(last.SpentOn), string(last.ID))
	})
	page.Page = *op.MapPage(rowPage, func(r *row) contract.TimeEntry { return *r.toTimeEntry() })
	return nil
}

// addTimeEntryFilter adds the FROM and WHERE clauses for the requested entries.
func addTimeEntryFilter(st *postgres.Statement, c *executor.Call, in *contract.ListTimeEntriesIn, f authz.Filter) {
	tenant := st.Arg(c.Tenant)
	st.Add(`
FROM projects.time_entries e`, projectJoin("e", tenant), `
WHERE e.tenant_id = `, tenant, ` AND `).Filter(f)
	for _, w := range []struct{ condition, value string }{
		{`e.project_id = `, string(in.ProjectID)}, {`e.task_id = `, string(in.TaskID)}, {`e.issue_id = `, string(in.IssueID)},
		{`e.user_id = `, string(in.UserID)}, {`e.spent_on >= `, string(in.From)}, {`e.spent_on <= `, string(in.To)},
	} {
		if w.value != "" {
			st.Add(` AND `, w.condition, st.Arg(w.value))
		}
	}
}
