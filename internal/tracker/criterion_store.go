package tracker

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// criterionType maps the policy attributes of a criterion to columns of the aliases
// d and t (its deliverable or task) and p (their project). Creator and owner are
// those of the deliverable or task. The alias k is the criterion.
var criterionType = authz.NewRecordType("criterion", authz.Attributes[criterionWithParent]{
	Tenant:       authz.TenantColumn[criterionWithParent]("k.tenant_id"),
	ID:           criterionAttribute("coalesce(k.deliverable_id, k.task_id)", func(r authz.Resource) string { return r.ID }),
	Project:      criterionAttribute("k.project_id", func(r authz.Resource) string { return r.Project }),
	Organisation: criterionAttribute("p.organisation_id", func(r authz.Resource) string { return r.Organisation }),
	Creator:      criterionAttribute("coalesce(d.created_by, t.created_by)", func(r authz.Resource) string { return r.Creator }),
	Owner: criterionAttribute("CASE WHEN d.id IS NULL THEN t.assignee_id ELSE d.owner_id END",
		func(r authz.Resource) string { return r.Owner }),
	Classification: criterionAttribute("p.classification", func(r authz.Resource) string { return r.Classification }),
})

// criterionAttribute defines an attribute that is read from the criterion's parent.
func criterionAttribute(sql string, of func(authz.Resource) string) authz.Attribute[criterionWithParent] {
	return authz.NewAttribute(sql, func(o *criterionWithParent) string { return of(o.parentResource("")) })
}

var criterionColumns = criterionType.Columns()

const criterionSelect = `
SELECT k.id, k.project_id, k.deliverable_id, k.task_id, k.text, k.met, k.met_by, k.met_at, k.failed,
       k.created_by, k.created_at, k.updated_at
FROM projects.criteria k`

const criterionByIDSQL = criterionSelect + `
WHERE k.tenant_id = @tenant AND k.project_id = @project AND k.id = @id`

const deliverableCriteriaSQL = criterionSelect + `
WHERE k.tenant_id = @tenant AND k.project_id = @project AND k.deliverable_id = @deliverable
ORDER BY k.id`

// loadCriteria returns the criteria of a deliverable, oldest first, never nil.
func loadCriteria(ctx context.Context, c *executor.Call, project, deliverable op.UUID) ([]contract.Criterion, error) {
	rows, err := postgres.Collect[criterionRow](ctx, c.DB, deliverableCriteriaSQL, postgres.Args{
		"tenant": c.Tenant, "project": project, "deliverable": deliverable,
	})
	criteria := make([]contract.Criterion, len(rows))
	for i := range rows {
		criteria[i] = *rows[i].toCriterion()
	}
	return criteria, err
}

const countCriteriaSQL = `
SELECT count(*) FROM projects.criteria k
WHERE k.tenant_id = @tenant AND k.project_id = @project AND (k.deliverable_id = @deliverable::uuid OR k.task_id = @task::uuid)`

const insertCriterionSQL = `
INSERT INTO projects.criteria (tenant_id, id, project_id, deliverable_id, task_id, text, created_by, created_at, updated_at)
VALUES (@tenant, @id, @project, @deliverable, @task, @text, @actor, @now, @now)`

func insertCriterionRow(ctx context.Context, c *executor.Call, r *criterionRow) error {
	_, err := c.DB.Exec(ctx, insertCriterionSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "project": r.ProjectID, "deliverable": r.DeliverableID, "task": r.TaskID, "text": r.Text,
		"actor": c.Actor.UserID, "now": c.Now,
	})
	return postgres.MapError(err, deliverableConstraints())
}

const updateCriterionSQL = `
UPDATE projects.criteria k
SET text = @text, met = @met, met_by = @met_by, met_at = @met_at, updated_at = @now
WHERE k.tenant_id = @tenant AND k.id = @id`

func updateCriterionRow(ctx context.Context, c *executor.Call, r *criterionRow) error {
	_, err := c.DB.Exec(ctx, updateCriterionSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "text": r.Text, "met": r.Met, "met_by": r.MetBy, "met_at": r.MetAt, "now": c.Now,
	})
	return err
}

const failCriteriaSQL = `
UPDATE projects.criteria k
SET failed = true, met = false, met_by = NULL, met_at = NULL, updated_at = @now
WHERE k.tenant_id = @tenant AND k.project_id = @project AND k.deliverable_id = @deliverable AND k.id = ANY(@ids::uuid[])`

const deleteCriterionSQL = `DELETE FROM projects.criteria k WHERE k.tenant_id = @tenant AND k.id = @id`

const criterionListFrom = `
FROM projects.criteria k
JOIN projects.projects p ON p.tenant_id = k.tenant_id AND p.id = k.project_id
LEFT JOIN projects.deliverables d ON d.tenant_id = k.tenant_id AND d.project_id = k.project_id AND d.id = k.deliverable_id
LEFT JOIN projects.tasks t ON t.tenant_id = k.tenant_id AND t.id = k.task_id
WHERE k.tenant_id = `

// listCriteria returns a page of the criteria in a project, oldest first.
func (s *Service) listCriteria(ctx context.Context, c *executor.Call, in *contract.ListCriteriaIn, f authz.Filter) (*op.Page[contract.Criterion], error) {
	after, err := readIDCursor(in.Cursor, contract.ListCriteria.Name, c.Tenant, in.ProjectID)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.Criterion]{Items: []contract.Criterion{}}
	if !f.None() {
		st := &postgres.Statement{}
		st.Add(`SELECT k.id, k.project_id, k.deliverable_id, k.task_id, k.text, k.met, k.met_by, k.met_at, k.failed,
       k.created_by, k.created_at, k.updated_at`, criterionListFrom, st.Arg(c.Tenant), ` AND k.project_id = `, st.Arg(in.ProjectID), ` AND `).Filter(f)
		for _, condition := range []struct {
			sql   string
			value op.UUID
		}{{"k.deliverable_id = ", in.DeliverableID}, {"k.task_id = ", in.TaskID}, {"k.id > ", after}} {
			if condition.value != "" {
				st.Add(` AND `, condition.sql, st.Arg(condition.value))
			}
		}
		st.Add(` ORDER BY k.id LIMIT `, st.Arg(in.Limit+1))
		rows, err := postgres.Collect[criterionRow](ctx, c.DB, st.SQL(), st.Args()...)
		if err != nil {
			return nil, err
		}
		rowPage := op.NewPage(rows, in.Limit, func(last *criterionRow) string {
			return op.NewCursor(contract.ListCriteria.Name, c.Tenant, string(in.ProjectID), string(last.ID))
		})
		page = op.MapPage(rowPage, func(r *criterionRow) contract.Criterion { return *r.toCriterion() })
	}
	if len(page.Items) > 0 {
		return page, nil
	}
	return page, requireProjectPermission(ctx, c, contract.PermDeliverablesRead, in.ProjectID)
}
