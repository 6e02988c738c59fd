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

// decisionRow is a row of projects.decision_requests.
type decisionRow struct {
	ID           op.UUID
	Question     string
	Options      []string
	Status       string
	Answer       *string
	ChosenOption *int
	RaisedBy     op.UUID
	SessionID    *string
	CreatedAt    time.Time
	ResolvedAt   *time.Time
	ResolvedBy   *op.UUID
}

const decisionSelect = `
SELECT d.id, d.question, d.options, d.status, d.answer, d.chosen_option, d.raised_by, d.session_id, d.created_at,
       d.resolved_at, d.resolved_by
FROM projects.decision_requests d
WHERE d.tenant_id = @tenant AND d.project_id = @project AND d.task_id = @task`

const (
	decisionByIDSQL   = decisionSelect + ` AND d.id = @id`
	lockDecisionSQL   = decisionByIDSQL + ` FOR UPDATE OF d`
	openDecisionSQL   = decisionSelect + ` AND d.status = 'open'`
	latestDecisionSQL = decisionSelect + ` ORDER BY d.created_at DESC, d.id DESC LIMIT 1`
)

// findDecision reads a decision request of the task with one of the statements above.
// It returns nil if there is none.
func findDecision(ctx context.Context, c *executor.Call, sql string, task *taskRow, extraArgs postgres.Args) (*decisionRow, error) {
	args := postgres.Args{"tenant": c.Tenant, "project": task.ProjectID, "task": task.ID}
	for name, v := range extraArgs {
		args[name] = v
	}
	row, err := postgres.One[decisionRow](ctx, c.DB, sql, args)
	if postgres.IsNoRows(err) {
		return nil, nil
	}
	return &row, err
}

// loadDecision reads a decision request of the task by its id. It returns NOT_FOUND
// if the request belongs to another task.
func loadDecision(ctx context.Context, c *executor.Call, sql string, task *taskRow, id op.UUID) (*decisionRow, error) {
	row, err := findDecision(ctx, c, sql, task, postgres.Args{"id": id})
	if err == nil && row == nil {
		err = fault.NotFound("decision request")
	}
	return row, err
}

// toDecisionRequest converts the row to the API type.
func (r *decisionRow) toDecisionRequest(task *taskRow) *contract.DecisionRequest {
	d := &contract.DecisionRequest{
		ID: r.ID, ProjectID: task.ProjectID, TaskID: task.ID, TaskKey: task.key(), Question: r.Question, Options: r.Options,
		Status: r.Status, Answer: postgres.ValueOrZero(r.Answer), ChosenOptionIndex: r.ChosenOption, RaisedBy: r.RaisedBy,
		SessionID: postgres.ValueOrZero(r.SessionID), CreatedAt: r.CreatedAt, ResolvedAt: r.ResolvedAt, ResolvedBy: postgres.ValueOrZero(r.ResolvedBy),
	}
	if d.Options == nil {
		d.Options = []string{}
	}
	return d
}

const projectOwnerSQL = `SELECT p.owner_id FROM projects.projects p WHERE p.tenant_id = @tenant AND p.id = @project`

// loadProjectOwner returns the owner of a project, nil if it has none.
func loadProjectOwner(ctx context.Context, c *executor.Call, project op.UUID) (*op.UUID, error) {
	var owner *op.UUID
	err := c.DB.QueryRow(ctx, projectOwnerSQL, postgres.Args{"tenant": c.Tenant, "project": project}).Scan(&owner)
	return owner, err
}

const insertDecisionSQL = `
INSERT INTO projects.decision_requests (tenant_id, id, project_id, task_id, question, options, raised_by, session_id, created_at)
VALUES (@tenant, @id, @project, @task, @question, @options, @raised_by, @session, @now)`

func insertDecisionRow(ctx context.Context, c *executor.Call, task *taskRow, r *decisionRow) error {
	_, err := c.DB.Exec(ctx, insertDecisionSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "project": task.ProjectID, "task": task.ID, "question": r.Question, "options": r.Options,
		"raised_by": r.RaisedBy, "session": r.SessionID, "now": r.CreatedAt,
	})
	return err
}

const resolveDecisionSQL = `
UPDATE projects.decision_requests d
SET status = @status, answer = @answer, chosen_option = @chosen, resolved_at = @now, resolved_by = @by
WHERE d.tenant_id = @tenant AND d.id = @id AND d.status = 'open'`

// resolveDecisionRow updates an open request, which the caller has locked.
func resolveDecisionRow(ctx context.Context, c *executor.Call, r *decisionRow) error {
	_, err := c.DB.Exec(ctx, resolveDecisionSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "status": r.Status, "answer": r.Answer, "chosen": r.ChosenOption,
		"now": r.ResolvedAt, "by": r.ResolvedBy,
	})
	return err
}

// loadTaskResource implements Handler.Load for operations on a task's decision
// requests: they are authorized with the task as resource.
func loadTaskResource(ctx context.Context, c *executor.Call, project op.UUID, task string, lock bool) (taskRow, authz.Resource, error) {
	row, err := loadTask(ctx, c, project, task, lock)
	return row, row.resource(c.Tenant), err
}
