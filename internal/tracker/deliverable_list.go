package tracker

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const deliverableListSelect = `
SELECT d.id, d.project_id, d.task_id, d.title, '' AS description, d.status, d.owner_id, d.due_date::text AS due_date,
       '' AS review_reason, d.created_by, d.created_at, d.updated_at, d.submitted_by, d.submitted_at, d.reviewed_by, d.reviewed_at,
       p.organisation_id, p.classification
FROM projects.projects p, LATERAL (
SELECT * FROM projects.deliverables d
WHERE d.tenant_id = `

// listDeliverables returns a page of a project's deliverables, ordered by id, newest
// first.
func (s *Service) listDeliverables(ctx context.Context, c *executor.Call, in *contract.ListDeliverablesIn, f authz.Filter) (*op.Page[contract.DeliverableSummary], error) {
	before, err := readIDCursor(in.Cursor, contract.ListDeliverables.Name, c.Tenant, in.ProjectID)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.DeliverableSummary]{Items: []contract.DeliverableSummary{}}
	if !f.None() {
		st := &postgres.Statement{}
		tenant, project := st.Arg(c.Tenant), st.Arg(in.ProjectID)
		st.Add(deliverableListSelect, tenant, ` AND d.project_id = `, project, ` AND `).Filter(f)
		if before != "" {
			st.Add(` AND d.id < `, st.Arg(before))
		}
		if in.Status != "" {
			st.Add(` AND d.status = `, st.Arg(in.Status))
		}
		if in.TaskID != "" {
			st.Add(` AND d.task_id = `, st.Arg(in.TaskID))
		}
		st.Add(` ORDER BY d.id DESC LIMIT `, st.Arg(in.Limit+1), `) d
WHERE p.tenant_id = `, tenant, ` AND p.id = `, project, ` ORDER BY d.id DESC`)
		rows, err := postgres.Collect[deliverableRow](ctx, c.DB, st.SQL(), st.Args()...)
		if err != nil {
			return nil, err
		}
		rowPage := op.NewPage(rows, in.Limit, func(last *deliverableRow) string {
			return op.NewCursor(contract.ListDeliverables.Name, c.Tenant, string(in.ProjectID), string(last.ID))
		})
		page = op.MapPage(rowPage, (*deliverableRow).toSummary)
	}
	if len(page.Items) > 0 {
		return page, nil
	}
	return page, requireProjectPermission(ctx, c, contract.PermDeliverablesRead, in.ProjectID)
}

// readIDCursor decodes the cursor of a list in a project that is ordered by id. It
// returns an empty id for the start of the list.
func readIDCursor(cursor, operation string, tenant, project op.UUID) (op.UUID, error) {
	keys, err := op.ReadCursor(cursor, operation, tenant, 2)
	if err != nil || keys == nil {
		return "", err
	}
	id, err := op.ParseUUID(keys[1])
	if err != nil || keys[0] != string(project) {
		return "", op.WrongCursor()
	}
	return id, nil
}
