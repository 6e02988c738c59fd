package tracker

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Reads the task that becomes the epic or the parent of a task, or that a task depends
// on. It locks that task, so that its type, project and parent don't change before the
// relation is stored.
const relatedTaskSQL = `
SELECT t.id, t.project_id, t.issue_type, t.parent_task_id, t.created_by, t.assignee_id, p.organisation_id, p.classification
FROM projects.tasks t
JOIN projects.projects p ON p.tenant_id = @tenant AND p.id = t.project_id
WHERE t.tenant_id = @tenant AND t.id = @id
FOR SHARE OF t`

type relatedTaskRow struct {
	ID             op.UUID
	ProjectID      op.UUID
	IssueType      string
	ParentTaskID   *op.UUID
	CreatedBy      op.UUID
	AssigneeID     *op.UUID
	OrganisationID *op.UUID
	Classification string
}

// resource converts the related task to policy input.
func (r *relatedTaskRow) resource(tenant op.UUID) authz.Resource {
	task := taskRow{
		ID: r.ID, ProjectID: r.ProjectID, OrganisationID: r.OrganisationID, CreatedBy: r.CreatedBy, AssigneeID: r.AssigneeID,
		Classification: r.Classification,
	}
	return task.resource(tenant)
}

// loadRelatedTask reads and locks the other task of a relation, for example the new epic of
// a task. If the caller may not read it, the error is the same as for a task that does not
// exist. field and noun are used in that error.
func loadRelatedTask(ctx context.Context, c *executor.Call, field, noun string, id op.UUID) (relatedTaskRow, error) {
	notFound := fault.Validation(field, "There is no such "+noun+".")
	row, err := postgres.One[relatedTaskRow](ctx, c.DB, relatedTaskSQL, postgres.Args{"tenant": c.Tenant, "id": id})
	if postgres.IsNoRows(err) {
		return row, notFound
	}
	if err != nil {
		return row, err
	}
	if err := c.Decide(ctx, contract.PermTasksRead, row.resource(c.Tenant)); err != nil {
		return row, notFound.WithCause(err)
	}
	return row, nil
}

// setEpic sets the epic of the task; an empty id removes it from its epic.
func setEpic(ctx context.Context, c *executor.Call, r *taskRow, epic op.UUID) error {
	r.EpicID, r.EpicProjectID = postgres.NullIfZero(epic), nil
	if epic == "" {
		return nil
	}
	if r.IssueType == contract.TypeEpic {
		return fault.Validation("epicId", "An epic cannot belong to another epic.")
	}
	epicRow, err := loadRelatedTask(ctx, c, "epicId", "epic", epic)
	if err != nil {
		return err
	}
	if epicRow.IssueType != contract.TypeEpic {
		return fault.Validation("epicId", "The task in epicId is not an epic.")
	}
	if epicRow.ProjectID != r.ProjectID {
		r.EpicProjectID = &epicRow.ProjectID
	}
	return nil
}

const hasSubTasksSQL = `
SELECT EXISTS (SELECT 1 FROM projects.tasks t
               WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.parent_task_id = @id)`

const hasChildrenSQL = `SELECT EXISTS (SELECT 1 FROM projects.tasks t WHERE t.tenant_id = @tenant AND t.epic_id = @id)`

// setParent makes the task a sub-task of the parent; an empty id makes it a top-level
// task. Sub-tasks cannot have sub-tasks.
func setParent(ctx context.Context, c *executor.Call, r *taskRow, parent op.UUID) error {
	r.ParentTaskID = postgres.NullIfZero(parent)
	if parent == "" {
		return nil
	}
	switch {
	case parent == r.ID:
		return fault.Validation("parentTaskId", "A task cannot be its own sub-task.")
	case r.IssueType == contract.TypeEpic:
		return fault.Validation("parentTaskId", "An epic cannot be a sub-task.")
	}
	parentRow, err := loadRelatedTask(ctx, c, "parentTaskId", "task", parent)
	switch {
	case err != nil:
		return err
	case parentRow.ProjectID != r.ProjectID:
		return fault.Validation("parentTaskId", "The parent is in another project. A sub-task must be in its parent's project.")
	case parentRow.IssueType == contract.TypeEpic:
		return fault.Validation("parentTaskId", "The parent is an epic. Use epicId to add the task to an epic.")
	case parentRow.ParentTaskID != nil:
		return fault.Validation("parentTaskId", "The parent is a sub-task. A sub-task cannot have sub-tasks.")
	}
	hasRows, err := queryExists(ctx, c, hasSubTasksSQL, postgres.Args{"tenant": c.Tenant, "project": r.ProjectID, "id": r.ID})
	if err == nil && hasRows {
		err = fault.Conflict("The task has sub-tasks, so it cannot become a sub-task.")
	}
	return err
}

// checkIssueTypeChange returns an error if the new issue type conflicts with the task's
// sub-tasks or children.
func checkIssueTypeChange(ctx context.Context, c *executor.Call, r, old *taskRow) error {
	if old.IssueType == contract.TypeEpic {
		hasRows, err := queryExists(ctx, c, hasChildrenSQL, postgres.Args{"tenant": c.Tenant, "id": r.ID})
		if err == nil && hasRows {
			err = fault.Conflict("The epic has children, so its type cannot change.")
		}
		return err
	}
	if r.IssueType == contract.TypeEpic {
		hasRows, err := queryExists(ctx, c, hasSubTasksSQL, postgres.Args{"tenant": c.Tenant, "project": r.ProjectID, "id": r.ID})
		if err == nil && hasRows {
			err = fault.Conflict("The task has sub-tasks, so it cannot become an epic.")
		}
		return err
	}
	return nil
}

func queryExists(ctx context.Context, c *executor.Call, sql string, args postgres.Args) (bool, error) {
	var found bool
	err := c.DB.QueryRow(ctx, sql, args).Scan(&found)
	return found, err
}
