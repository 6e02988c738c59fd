package agentrun

import (
	"context"
	"encoding/json"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Type maps policy attributes to the columns of the aliases r (agent run) and p
// (its project).
var Type = authz.NewRecordType("agent run", authz.Attributes[Row]{
	Tenant:         authz.TenantColumn[Row]("r.tenant_id"),
	ID:             authz.NewAttribute("r.id", func(r *Row) string { return string(r.ID) }),
	Project:        authz.NewAttribute("r.project_id", func(r *Row) string { return string(r.ProjectID) }),
	Organisation:   authz.NewAttribute("p.organisation_id", func(r *Row) string { return string(postgres.ValueOrZero(r.OrganisationID)) }),
	Creator:        authz.NewAttribute("r.created_by", func(r *Row) string { return string(r.CreatedBy) }),
	Owner:          authz.NewAttribute("r.agent_id", func(r *Row) string { return string(r.AgentID) }),
	Classification: authz.NewAttribute("p.classification", func(r *Row) string { return r.Classification }),
})

// Row is an agent run with the needed columns of its task and project.
type Row struct {
	ID              op.UUID
	ProjectID       op.UUID
	TaskID          op.UUID
	AgentID         op.UUID
	Status          string
	Attempts        int
	HeldUntil       *time.Time
	CreatedBy       op.UUID
	CreatedAt       time.Time
	StartedAt       *time.Time
	FinishedAt      *time.Time
	Error           *string
	Summary         *string
	Outcome         json.RawMessage
	Score           *float64
	ScoreComponents map[string]float64
	ScoredAt        *time.Time

	TaskKey        string
	StatusCategory string
	OrganisationID *op.UUID
	Classification string
}

// Select selects the runs of the tenant @tenant as rows of Row.
const Select = `
SELECT r.id, r.project_id, r.task_id, r.agent_id, r.status, r.attempts, r.held_until, r.created_by, r.created_at, r.started_at,
       r.finished_at, r.error, r.summary, r.outcome, r.score, r.score_components, r.scored_at,
       p.prefix || '-' || t.number AS task_key, t.status_category, p.organisation_id, p.classification
FROM projects.agent_runs r
JOIN projects.tasks t ON t.tenant_id = @tenant AND t.id = r.task_id
JOIN projects.projects p ON p.tenant_id = @tenant AND p.id = r.project_id
WHERE r.tenant_id = @tenant`

const (
	runByIDSQL   = Select + ` AND r.id = @id`
	lockRunSQL   = runByIDSQL + ` FOR UPDATE OF r`
	runsByIDsSQL = Select + ` AND r.id = ANY(@ids::uuid[])`
)

// loadRun reads a run with runByIDSQL or lockRunSQL.
func loadRun(ctx context.Context, c *executor.Call, sql string, id op.UUID) (Row, error) {
	row, err := postgres.One[Row](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant, "id": id})
	if postgres.IsNoRows(err) {
		return row, fault.NotFound("agent run")
	}
	return row, err
}

// resource converts the run to policy input.
func (r *Row) resource(tenant op.UUID) authz.Resource { return Type.Resource(string(tenant), r) }

func (r *Row) toSummary() contract.AgentRunSummary {
	return contract.AgentRunSummary{
		ID: r.ID, ProjectID: r.ProjectID, TaskID: r.TaskID, TaskKey: r.TaskKey, Agent: r.AgentID, Status: r.Status,
		Attempts: r.Attempts, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
		Error: postgres.ValueOrZero(r.Error), Summary: postgres.ValueOrZero(r.Summary), Score: r.Score, ScoreComponents: r.ScoreComponents, ScoredAt: r.ScoredAt,
	}
}

// Inserts nothing if the agent already has a queued or running run for the task.
const insertRunSQL = `
INSERT INTO projects.agent_runs (tenant_id, id, project_id, task_id, agent_id, created_by, created_at)
VALUES (@tenant, @id, @project, @task, @agent, @by, @now)
ON CONFLICT (tenant_id, task_id, agent_id) WHERE status IN ('QUEUED', 'RUNNING') DO NOTHING`

const updateRunSQL = `
UPDATE projects.agent_runs r
SET status = @status, attempts = @attempts, held_until = @held, started_at = @started, finished_at = @finished,
    error = @error, summary = @summary, outcome = @outcome::text::jsonb
WHERE r.tenant_id = @tenant AND r.id = @id`

func updateRunRow(ctx context.Context, c *executor.Call, r *Row) error {
	var outcome *string
	if len(r.Outcome) > 0 {
		text := string(r.Outcome)
		outcome = &text
	}
	_, err := c.DB.Exec(ctx, updateRunSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "status": r.Status, "attempts": r.Attempts, "held": r.HeldUntil, "started": r.StartedAt,
		"finished": r.FinishedAt, "error": r.Error, "summary": r.Summary, "outcome": outcome,
	})
	return err
}

// recordRun adds the audit entry and the event of a change, without the agent's
// summary and outcome.
func recordRun(c *executor.Call, r *Row, verb string, event *op.EventType) {
	changes := map[string]any{"taskId": r.TaskID, "projectId": r.ProjectID, "agent": r.AgentID, "status": r.Status, "attempts": r.Attempts}
	if r.Error != nil {
		changes["error"] = *r.Error
	}
	payload := r.toSummary()
	payload.Summary = ""
	c.Record(executor.Change{
		Action: "agent_run." + verb, Type: "agent_run", ID: r.ID, Classification: r.Classification,
		Details: changes, Event: event, Payload: payload,
	})
}
