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

// An edge binds a task to an epic of the tenant or to a parent of its own
// project. The other end is held while the edge is made, so that it cannot stop
// being what it has to be meanwhile.
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

// resource is the task at the other end as the policies know it.
func (r *relatedTaskRow) resource(tenant op.UUID) authz.Resource {
	task := taskRow{
		ID: r.ID, ProjectID: r.ProjectID, OrganisationID: r.OrganisationID, CreatedBy: r.CreatedBy, AssigneeID: r.AssigneeID,
		Classification: r.Classification,
	}
	return task.resource(tenant)
}

// loadDependencyEnd reads the other end of an edge. One that the caller may not read does
// not exist, in the same words.
func loadDependencyEnd(ctx context.Context, c *executor.Call, field, noun string, id op.UUID) (relatedTaskRow, error) {
	nothing := fault.Validation(field, "There is no such "+noun+".")
	end, err := postgres.One[relatedTaskRow](ctx, c.DB, relatedTaskSQL, postgres.Args{"tenant": c.Tenant, "id": id})
	if postgres.IsNoRows(err) {
		return end, nothing
	}
	if err != nil {
		return end, err
	}
	if err := c.Decide(ctx, contract.PermTasksRead, end.resource(c.Tenant)); err != nil {
		return end, nothing.WithCause(err)
	}
	return end, nil
}

// setEpic puts the task under an epic, or takes it out with the empty id.
func setEpic(ctx context.Context, c *executor.Call, r *taskRow, epic op.UUID) error {
	r.EpicID, r.EpicProjectID = optional(epic), nil
	if epic == "" {
		return nil
	}
	if r.IssueType == contract.TypeEpic {
		return fault.Validation("epicId", "An epic belongs to no epic.")
	}
	end, err := loadDependencyEnd(ctx, c, "epicId", "epic", epic)
	if err != nil {
		return err
	}
	if end.IssueType != contract.TypeEpic {
		return fault.Validation("epicId", "That task is not an epic.")
	}
	if end.ProjectID != r.ProjectID {
		r.EpicProjectID = &end.ProjectID
	}
	return nil
}

const hasSubTasksSQL = `
SELECT EXISTS (SELECT 1 FROM projects.tasks t
               WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.parent_task_id = @id)`

const hasChildrenSQL = `SELECT EXISTS (SELECT 1 FROM projects.tasks t WHERE t.tenant_id = @tenant AND t.epic_id = @id)`

// setParent makes the task a sub-task, or a task of its own with the empty id. A
// sub-task has no sub-tasks.
func setParent(ctx context.Context, c *executor.Call, r *taskRow, parent op.UUID) error {
	r.ParentTaskID = optional(parent)
	if parent == "" {
		return nil
	}
	switch {
	case parent == r.ID:
		return fault.Validation("parentTaskId", "A task can't be its own sub-task.")
	case r.IssueType == contract.TypeEpic:
		return fault.Validation("parentTaskId", "An epic is no sub-task.")
	}
	end, err := loadDependencyEnd(ctx, c, "parentTaskId", "task", parent)
	switch {
	case err != nil:
		return err
	case end.ProjectID != r.ProjectID:
		return fault.Validation("parentTaskId", "A sub-task belongs to the project of its parent.")
	case end.IssueType == contract.TypeEpic:
		return fault.Validation("parentTaskId", "An epic has no sub-tasks; name it in epicId.")
	case end.ParentTaskID != nil:
		return fault.Validation("parentTaskId", "A sub-task has no sub-tasks of its own.")
	}
	has, err := exists(ctx, c, hasSubTasksSQL, postgres.Args{"tenant": c.Tenant, "project": r.ProjectID, "id": r.ID})
	if err == nil && has {
		err = fault.Conflict("The task has sub-tasks, so that it can't become one.")
	}
	return err
}

// checkRetype refuses a change of kind that would break an edge.
func checkRetype(ctx context.Context, c *executor.Call, r, old *taskRow) error {
	if old.IssueType == contract.TypeEpic {
		has, err := exists(ctx, c, hasChildrenSQL, postgres.Args{"tenant": c.Tenant, "id": r.ID})
		if err == nil && has {
			err = fault.Conflict("The epic has children, so that it must stay an epic.")
		}
		return err
	}
	if r.IssueType == contract.TypeEpic {
		has, err := exists(ctx, c, hasSubTasksSQL, postgres.Args{"tenant": c.Tenant, "project": r.ProjectID, "id": r.ID})
		if err == nil && has {
			err = fault.Conflict("The task has sub-tasks, so that it can't become an epic.")
		}
		return err
	}
	return nil
}

func exists(ctx context.Context, c *executor.Call, sql string, args postgres.Args) (bool, error) {
	var there bool
	err := c.DB.QueryRow(ctx, sql, args).Scan(&there)
	return there, err
}
