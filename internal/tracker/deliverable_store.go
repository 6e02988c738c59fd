package tracker

import (
	"context"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// deliverableType maps the policy attributes of a deliverable to columns of the
// aliases d (deliverable) and p (its project).
var deliverableType = authz.NewRecordType("deliverable", authz.Attributes[deliverableRow]{
	Tenant:         authz.TenantColumn[deliverableRow]("d.tenant_id"),
	ID:             authz.NewAttribute("d.id", func(r *deliverableRow) string { return string(r.ID) }),
	Project:        authz.NewAttribute("d.project_id", func(r *deliverableRow) string { return string(r.ProjectID) }),
	Organisation:   authz.NewAttribute("p.organisation_id", func(r *deliverableRow) string { return idText(r.OrganisationID) }),
	Creator:        authz.NewAttribute("d.created_by", func(r *deliverableRow) string { return string(r.CreatedBy) }),
	Owner:          authz.NewAttribute("d.owner_id", func(r *deliverableRow) string { return idText(r.OwnerID) }),
	Classification: authz.NewAttribute("p.classification", func(r *deliverableRow) string { return r.Classification }),
})

var deliverableColumns = deliverableType.Columns()

func deliverableConstraints() postgres.Constraints {
	return postgres.Constraints{
		"deliverables_of_project":      fault.NotFound("project"),
		"deliverables_task_in_project": fault.Validation("taskId", "The project has no such task."),
		"criteria_of_deliverable":      fault.NotFound("deliverable"),
		"criteria_of_task":             fault.NotFound("task"),
	}
}

// deliverableRow is a deliverable with its project's organisation and classification.
type deliverableRow struct {
	ID           op.UUID
	ProjectID    op.UUID
	TaskID       *op.UUID
	Title        string
	Description  string
	Status       string
	OwnerID      *op.UUID
	DueDate      *op.Date
	ReviewReason string
	CreatedBy    op.UUID
	CreatedAt    time.Time
	UpdatedAt    time.Time
	SubmittedBy  *op.UUID
	SubmittedAt  *time.Time
	ReviewedBy   *op.UUID
	ReviewedAt   *time.Time

	OrganisationID *op.UUID
	Classification string
}

const deliverableSelect = `
SELECT d.id, d.project_id, d.task_id, d.title, d.description, d.status, d.owner_id, d.due_date::text AS due_date, d.review_reason,
       d.created_by, d.created_at, d.updated_at, d.submitted_by, d.submitted_at, d.reviewed_by, d.reviewed_at,
       p.organisation_id, p.classification
FROM projects.projects p
JOIN projects.deliverables d ON d.tenant_id = @tenant AND d.project_id = p.id
WHERE p.tenant_id = @tenant AND p.id = @project AND d.project_id = @project`

const (
	deliverableByIDSQL = deliverableSelect + ` AND d.id = @id`
	lockDeliverableSQL = deliverableByIDSQL + ` FOR UPDATE OF d`
)

// loadDeliverable reads a deliverable of a project. lock also locks it for update.
func loadDeliverable(ctx context.Context, c *executor.Call, project, id op.UUID, lock bool) (deliverableRow, error) {
	args := postgres.Args{"tenant": c.Tenant, "project": project, "id": id}
	var row deliverableRow
	var err error
	if lock {
		row, err = lockAndRead[deliverableRow](ctx, c, lockProjectQuery(c, project), query{lockDeliverableSQL, args})
	} else {
		row, err = postgres.One[deliverableRow](ctx, c.DB, deliverableByIDSQL, args)
	}
	if postgres.IsNoRows(err) {
		return row, fault.NotFound("deliverable")
	}
	return row, err
}

// resource converts the deliverable to policy input.
func (r *deliverableRow) resource(tenant op.UUID) authz.Resource {
	return deliverableType.Resource(string(tenant), r)
}

// toSummary converts the row to the API type of lists.
func (r *deliverableRow) toSummary() contract.DeliverableSummary {
	return contract.DeliverableSummary{
		ID: r.ID, ProjectID: r.ProjectID, TaskID: postgres.ValueOrZero(r.TaskID), Title: r.Title, Status: r.Status, Owner: postgres.ValueOrZero(r.OwnerID),
		DueDate: postgres.ValueOrZero(r.DueDate), CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		SubmittedBy: postgres.ValueOrZero(r.SubmittedBy), SubmittedAt: r.SubmittedAt,
		ReviewedBy: postgres.ValueOrZero(r.ReviewedBy), ReviewedAt: r.ReviewedAt,
	}
}

// toDeliverable converts the row to the API type and reads its criteria.
func (r *deliverableRow) toDeliverable(ctx context.Context, c *executor.Call) (*contract.Deliverable, error) {
	criteria, err := loadCriteria(ctx, c, r.ProjectID, r.ID)
	if err != nil {
		return nil, err
	}
	return &contract.Deliverable{
		DeliverableSummary: r.toSummary(), Description: r.Description, ReviewReason: r.ReviewReason, Criteria: criteria,
	}, nil
}

const insertDeliverableSQL = `
INSERT INTO projects.deliverables (tenant_id, id, project_id, task_id, title, description, status, owner_id, due_date,
                                   created_by, created_at, updated_at)
VALUES (@tenant, @id, @project, @task, @title, @description, @status, @owner, @due, @creator, @now, @now)`

func insertDeliverableRow(ctx context.Context, c *executor.Call, r *deliverableRow) error {
	_, err := c.DB.Exec(ctx, insertDeliverableSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "project": r.ProjectID, "task": r.TaskID, "title": r.Title, "description": r.Description,
		"status": r.Status, "owner": r.OwnerID, "due": r.DueDate, "creator": r.CreatedBy, "now": c.Now,
	})
	return postgres.MapError(err, deliverableConstraints())
}

const updateDeliverableSQL = `
UPDATE projects.deliverables d
SET task_id = @task, title = @title, description = @description, status = @status, owner_id = @owner, due_date = @due,
    review_reason = @reason, submitted_by = @submitted_by, submitted_at = @submitted_at,
    reviewed_by = @reviewed_by, reviewed_at = @reviewed_at, updated_at = @now
WHERE d.tenant_id = @tenant AND d.id = @id`

func updateDeliverableRow(ctx context.Context, c *executor.Call, r *deliverableRow) error {
	_, err := c.DB.Exec(ctx, updateDeliverableSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "task": r.TaskID, "title": r.Title, "description": r.Description, "status": r.Status,
		"owner": r.OwnerID, "due": r.DueDate, "reason": r.ReviewReason, "submitted_by": r.SubmittedBy, "submitted_at": r.SubmittedAt,
		"reviewed_by": r.ReviewedBy, "reviewed_at": r.ReviewedAt, "now": c.Now,
	})
	return postgres.MapError(err, deliverableConstraints())
}

const deleteDeliverableSQL = `DELETE FROM projects.deliverables d WHERE d.tenant_id = @tenant AND d.id = @id`

// recordDeliverable adds the audit entry and the event of a change and returns the API
// type.
func recordDeliverable(ctx context.Context, c *executor.Call, r *deliverableRow, action string, event *op.EventType, changed []string, details map[string]any) (*contract.Deliverable, error) {
	d, err := r.toDeliverable(ctx, c)
	if err != nil {
		return nil, err
	}
	changes := map[string]any{"projectId": r.ProjectID}
	if changed != nil {
		changes["fields"] = changed
	}
	for name, v := range details {
		changes[name] = v
	}
	// Copied because the response may be redacted for the caller, but the event must
	// not be.
	payload := *d
	c.Record(executor.Change{
		Action: action, Type: "deliverable", ID: r.ID, Classification: r.Classification,
		Fields: changed, Details: changes,
		Event: event, Payload: &payload,
	})
	return d, nil
}
