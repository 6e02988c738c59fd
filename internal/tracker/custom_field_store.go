package tracker

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

func fieldConstraints() postgres.Constraints {
	return postgres.Constraints{
		"custom_fields_name_once":      fault.Conflict("Another custom field of the project has this name."),
		"custom_fields_of_project":     fault.NotFound("project"),
		"custom_field_values_of_task":  fault.NotFound("task"),
		"custom_field_values_of_field": fault.Conflict("A custom field was deleted concurrently. Retry the request."),
	}
}

// fieldRow is a row of projects.custom_fields.
type fieldRow struct {
	ID        op.UUID
	ProjectID op.UUID
	Name      string
	Type      string
	Options   []string
	CreatedBy op.UUID
	CreatedAt time.Time
	UpdatedAt time.Time
	SortName  string
}

// toCustomField converts the row to the API type.
func (r *fieldRow) toCustomField() *contract.CustomField {
	f := &contract.CustomField{
		ID: r.ID, ProjectID: r.ProjectID, Name: r.Name, Type: r.Type, Options: r.Options,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	if f.Options == nil {
		f.Options = []string{}
	}
	return f
}

const fieldSelect = `
SELECT f.id, f.project_id, f.name, f.type, f.options, f.created_by, f.created_at, f.updated_at, f.sort_name
FROM projects.custom_fields f`

const fieldByIDSQL = fieldSelect + `
WHERE f.tenant_id = @tenant AND f.project_id = @project AND f.id = @id`

const fieldsOfProjectSQL = fieldSelect + `
WHERE f.tenant_id = @tenant AND f.project_id = @project
ORDER BY f.sort_name`

const countFieldsSQL = `SELECT count(*) FROM projects.custom_fields f WHERE f.tenant_id = @tenant AND f.project_id = @project`

const insertFieldSQL = `
INSERT INTO projects.custom_fields (tenant_id, id, project_id, name, type, options, created_by, created_at, updated_at)
VALUES (@tenant, @id, @project, @name, @type, @options, @actor, @now, @now)`

func insertFieldRow(ctx context.Context, c *executor.Call, r *fieldRow) error {
	_, err := c.DB.Exec(ctx, insertFieldSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "project": r.ProjectID, "name": r.Name, "type": r.Type, "options": r.Options,
		"actor": r.CreatedBy, "now": c.Now,
	})
	return postgres.MapError(err, fieldConstraints())
}

const usedOptionsSQL = `
SELECT DISTINCT v.value FROM projects.custom_field_values v
WHERE v.tenant_id = @tenant AND v.project_id = @project AND v.field_id = @field AND v.value <> ALL(@options::text[])
ORDER BY v.value LIMIT 20`

const updateFieldSQL = `
UPDATE projects.custom_fields f SET name = @name, options = @options, updated_at = @now
WHERE f.tenant_id = @tenant AND f.id = @id`

func updateFieldRow(ctx context.Context, c *executor.Call, r *fieldRow) error {
	_, err := c.DB.Exec(ctx, updateFieldSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "name": r.Name, "options": r.Options, "now": c.Now,
	})
	return postgres.MapError(err, fieldConstraints())
}

const deleteFieldSQL = `DELETE FROM projects.custom_fields f WHERE f.tenant_id = @tenant AND f.id = @id`

const fieldValuesSQL = `
SELECT v.field_id, f.name, f.type, v.value
FROM projects.custom_field_values v
JOIN projects.custom_fields f ON f.tenant_id = @tenant AND f.id = v.field_id
WHERE v.tenant_id = @tenant AND v.project_id = @project AND v.task_id = @task
ORDER BY f.sort_name`

// loadFieldValues returns the custom field values of a task, ordered by field name.
func loadFieldValues(ctx context.Context, c *executor.Call, r *taskRow) ([]contract.CustomFieldValue, error) {
	return postgres.Collect[contract.CustomFieldValue](ctx, c.DB, fieldValuesSQL, postgres.Args{
		"tenant": c.Tenant, "project": r.ProjectID, "task": r.ID,
	})
}

const (
	setFieldValuesSQL = `
INSERT INTO projects.custom_field_values (tenant_id, project_id, task_id, field_id, value)
SELECT @tenant, @project, @task, n.field, n.value
FROM unnest(@fields::uuid[], @values::text[]) AS n (field, value)
ON CONFLICT (tenant_id, project_id, task_id, field_id) DO UPDATE SET value = excluded.value`
	clearFieldValuesSQL = `
DELETE FROM projects.custom_field_values v
WHERE v.tenant_id = @tenant AND v.project_id = @project AND v.task_id = @task AND v.field_id = ANY(@fields::uuid[])`
	touchTaskSQL = `UPDATE projects.tasks t SET updated_at = @now WHERE t.tenant_id = @tenant AND t.id = @task`
)

func writeFieldValues(ctx context.Context, c *executor.Call, r *taskRow, set []op.UUID, values []string, cleared []op.UUID) error {
	batch := &pgx.Batch{}
	batch.Queue(clearFieldValuesSQL, postgres.Args{"tenant": c.Tenant, "project": r.ProjectID, "task": r.ID, "fields": cleared})
	batch.Queue(setFieldValuesSQL, postgres.Args{"tenant": c.Tenant, "project": r.ProjectID, "task": r.ID, "fields": set, "values": values})
	batch.Queue(touchTaskSQL, postgres.Args{"tenant": c.Tenant, "task": r.ID, "now": c.Now})
	return postgres.MapError(c.Tx.SendBatch(ctx, batch).Close(), fieldConstraints())
}

// listCustomFields returns a page of a project's fields, ordered by name. A caller
// who may read the project may read its fields.
func (s *Service) listCustomFields(ctx context.Context, c *executor.Call, in *contract.ListCustomFieldsIn, f authz.Filter) (*op.Page[contract.CustomField], error) {
	after, err := op.ReadCursor(in.Cursor, contract.ListCustomFields.Name, c.Tenant, 2)
	if err != nil {
		return nil, err
	}
	if after != nil && after[0] != string(in.ProjectID) {
		return nil, op.WrongCursor()
	}
	page := &op.Page[contract.CustomField]{Items: []contract.CustomField{}}
	if !f.None() {
		st := &postgres.Statement{}
		st.Add(`SELECT f.id, f.project_id, f.name, f.type, f.options, f.created_by, f.created_at, f.updated_at, f.sort_name
FROM projects.projects p
JOIN projects.custom_fields f ON f.tenant_id = p.tenant_id AND f.project_id = p.id
WHERE p.tenant_id = `, st.Arg(c.Tenant), ` AND p.id = `, st.Arg(in.ProjectID), ` AND `).Filter(f)
		if after != nil {
			st.Add(` AND f.sort_name > `, st.Arg(after[1]), `::text COLLATE "C"`)
		}
		st.Add(` ORDER BY f.sort_name LIMIT `, st.Arg(in.Limit+1))
		rows, err := postgres.Collect[fieldRow](ctx, c.DB, st.SQL(), st.Args()...)
		if err != nil {
			return nil, err
		}
		rowPage := op.NewPage(rows, in.Limit, func(last *fieldRow) string {
			return op.NewCursor(contract.ListCustomFields.Name, c.Tenant, string(in.ProjectID), last.SortName)
		})
		page = op.MapPage(rowPage, func(r *fieldRow) contract.CustomField { return *r.toCustomField() })
	}
	if len(page.Items) > 0 {
		return page, nil
	}
	project, err := loadProject(ctx, c, loadProjectSQL, in.ProjectID)
	if err != nil {
		return nil, err
	}
	return page, c.Decide(ctx, contract.PermProjectsRead, project.resource(c.Tenant))
}
