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

const epicByIDSQL = taskSelect + ` AND t.id = @id AND t.issue_type = 'EPIC'`

// loadEpic reads an epic of the tenant. It returns NOT_FOUND if the id is not that of an
// epic or if the caller may not read the epic.
func loadEpic(ctx context.Context, c *executor.Call, id op.UUID) (taskRow, error) {
	row, err := postgres.One[taskRow](ctx, c.DB, epicByIDSQL, postgres.Args{"tenant": c.Tenant, "id": id})
	if postgres.IsNoRows(err) {
		return row, fault.NotFound("epic")
	}
	if err != nil {
		return row, err
	}
	if err := c.Decide(ctx, contract.PermTasksRead, row.resource(c.Tenant)); err != nil {
		return row, fault.NotFound("epic").WithCause(err)
	}
	return row, nil
}

// epicChildRow is a child of an epic. Shown reports whether the caller may read it.
type epicChildRow struct {
	ID             op.UUID
	ProjectID      op.UUID
	Number         int64
	Prefix         string
	Title          string
	Status         string
	StatusCategory string
	IssueType      string
	Priority       string
	Progress       int
	AssigneeID     *op.UUID
	DueDate        *op.Date
	Shown          bool
}

// listEpicChildren uses this with a subquery that limits the page before the join, so
// that only the page's rows are read.
const epicChildrenSelect = `
SELECT t.id, t.project_id, t.number, p.prefix, t.title, t.status, t.status_category, t.issue_type, t.priority, t.progress,
       t.assignee_id, t.due_date::text AS due_date, `

// listEpicChildren returns a page of an epic's children in all projects of the tenant,
// ordered by project and number. Children that the filter rejects are masked, not
// omitted.
func (s *Service) listEpicChildren(ctx context.Context, c *executor.Call, in *contract.ListEpicChildrenIn, f authz.Filter) (*op.Page[contract.EpicChild], error) {
	from, err := readChildCursor(c, in)
	if err != nil {
		return nil, err
	}
	epic, err := loadEpic(ctx, c, in.EpicID)
	if err != nil {
		return nil, err
	}
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	st.Add(epicChildrenSelect, `coalesce(`).Filter(f).Add(`, FALSE) AS shown
FROM (SELECT * FROM projects.tasks t
      WHERE t.tenant_id = `, tenant, ` AND t.epic_id = `, st.Arg(epic.ID))
	if from.project != "" {
		st.Add(` AND (t.project_id, t.number) > (`, st.Arg(from.project), `::uuid, `, st.Arg(from.number), `::bigint)`)
	}
	st.Add(` ORDER BY t.project_id, t.number LIMIT `, st.Arg(in.Limit+1), ` OFFSET `, st.Arg(from.skip), `) t
JOIN projects.projects p ON p.tenant_id = `, tenant, ` AND p.id = t.project_id
ORDER BY t.project_id, t.number`)
	rows, err := postgres.Collect[epicChildRow](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.EpicChild]{Items: make([]contract.EpicChild, 0, len(rows))}
	for i := range rows[:min(len(rows), in.Limit)] {
		r := &rows[i]
		page.Items = append(page.Items, r.toEpicChild(c.Tenant, epic.ProjectID))
		from.skip++
		if r.Shown {
			from = childCursor{project: r.ProjectID, number: r.Number}
		}
	}
	if len(rows) > in.Limit {
		page.NextCursor = from.text(c.Tenant, in.EpicID)
	}
	return page, nil
}

// toEpicChild converts the row to the API type.
func (r *epicChildRow) toEpicChild(tenant, epicProject op.UUID) contract.EpicChild {
	if !r.Shown {
		return contract.EpicChild{ID: opaqueID(tenant, r.ID), Key: contract.Redacted, Title: contract.Redacted, IsCrossProject: true}
	}
	return contract.EpicChild{
		ID: r.ID, Key: taskKey(r.Prefix, r.Number), Title: r.Title, IsCrossProject: r.ProjectID != epicProject, ProjectID: r.ProjectID,
		Status: r.Status, StatusCategory: r.StatusCategory, IssueType: r.IssueType, Priority: r.Priority, Progress: &r.Progress,
		Assignee: postgres.ValueOrZero(r.AssigneeID), DueDate: postgres.ValueOrZero(r.DueDate),
	}
}

// childCursor is the start of a page: the last child that the caller could read, plus
// the number of masked children to skip after it. The client can decode the cursor, so
// it must not contain a masked child.
type childCursor struct {
	project op.UUID
	number  int64
	skip    int64
}

// text encodes the cursor for the client.
func (k childCursor) text(tenant, epic op.UUID) string {
	return op.NewCursor(contract.ListEpicChildren.Name, tenant, string(epic), string(k.project),
		strconv.FormatInt(k.number, 10), strconv.FormatInt(k.skip, 10))
}

func readChildCursor(c *executor.Call, in *contract.ListEpicChildrenIn) (childCursor, error) {
	keys, err := op.ReadCursor(in.Cursor, contract.ListEpicChildren.Name, c.Tenant, 4)
	if err != nil || keys == nil {
		return childCursor{}, err
	}
	k := childCursor{project: op.UUID(keys[1])}
	_, idErr := op.ParseUUID(keys[1])
	number, numberErr := strconv.ParseInt(keys[2], 10, 64)
	skip, skipErr := strconv.ParseInt(keys[3], 10, 64)
	if keys[0] != string(in.EpicID) || (idErr != nil && keys[1] != "") || numberErr != nil || skipErr != nil || skip < 0 {
		return k, op.WrongCursor()
	}
	k.number, k.skip = number, skip
	return k, nil
}
