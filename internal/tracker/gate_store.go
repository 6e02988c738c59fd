package tracker

import (
	"context"
	"encoding/json"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

type gateRow struct {
	ID        op.UUID
	ProjectID op.UUID
	StageID   op.UUID
	Name      string
	Criteria  []string
	Status    string
	DecidedAt *time.Time
	CreatedBy op.UUID
	CreatedAt time.Time
	UpdatedAt time.Time
}

type reviewRow struct {
	GateID     op.UUID
	ReviewerID op.UUID
	ID         op.UUID
	Vote       string
	Reason     string
	Criteria   json.RawMessage
	ReviewedAt time.Time
}

const gatesSQL = `
SELECT g.id, g.project_id, g.stage_id, g.name, g.criteria, g.status, g.decided_at, g.created_by, g.created_at, g.updated_at
FROM projects.gates g
WHERE g.tenant_id = @tenant AND g.project_id = @project`

const reviewsSQL = `
SELECT r.gate_id, r.reviewer_id, r.id, r.vote, r.reason, r.criteria, r.reviewed_at
FROM projects.gates g
JOIN projects.gate_reviews r ON r.tenant_id = @tenant AND r.gate_id = g.id
WHERE g.tenant_id = @tenant AND g.project_id = @project
ORDER BY r.reviewed_at, r.id`

// toGate converts the row to the API type with its reviews.
func (p *pipeline) toGate(r *gateRow) *contract.Gate {
	g := &contract.Gate{
		ID: r.ID, ProjectID: r.ProjectID, StageID: r.StageID, Name: r.Name, Criteria: r.Criteria, Status: r.Status,
		DecidedAt: r.DecidedAt, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Reviews: []contract.GateReview{},
	}
	if g.Criteria == nil {
		g.Criteria = []string{}
	}
	for i := range p.reviews {
		if v := &p.reviews[i]; v.GateID == r.ID {
			g.Reviews = append(g.Reviews, v.toGateReview())
		}
	}
	return g
}

func (r *reviewRow) toGateReview() contract.GateReview {
	review := contract.GateReview{
		ID: r.ID, Reviewer: r.ReviewerID, Vote: r.Vote, Reason: r.Reason, Criteria: []contract.GateFinding{}, ReviewedAt: r.ReviewedAt,
	}
	// encodeFindings wrote the column, so it is valid JSON.
	_ = json.Unmarshal(r.Criteria, &review.Criteria)
	return review
}

const insertGateSQL = `
INSERT INTO projects.gates (tenant_id, id, project_id, stage_id, name, criteria, status, created_by, created_at, updated_at)
VALUES (@tenant, @id, @project, @stage, @name, @criteria, @status, @creator, @now, @now)`

func insertGateRow(ctx context.Context, c *executor.Call, r *gateRow) error {
	_, err := c.DB.Exec(ctx, insertGateSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "project": r.ProjectID, "stage": r.StageID, "name": r.Name, "criteria": r.Criteria,
		"status": r.Status, "creator": r.CreatedBy, "now": c.Now,
	})
	return postgres.MapError(err, stageConstraints())
}

const updateGateSQL = `
UPDATE projects.gates g
SET name = @name, criteria = @criteria, status = @status, decided_at = @decided, updated_at = @now
WHERE g.tenant_id = @tenant AND g.id = @id`

func updateGateRow(ctx context.Context, c *executor.Call, r *gateRow) error {
	_, err := c.DB.Exec(ctx, updateGateSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "name": r.Name, "criteria": r.Criteria, "status": r.Status, "decided": r.DecidedAt, "now": c.Now,
	})
	return err
}

const deleteGateSQL = `DELETE FROM projects.gates g WHERE g.tenant_id = @tenant AND g.id = @id`

func deleteGateRow(ctx context.Context, c *executor.Call, id op.UUID) error {
	_, err := c.DB.Exec(ctx, deleteGateSQL, postgres.Args{"tenant": c.Tenant, "id": id})
	return err
}

// Replaces an existing review of the same reviewer.
const putReviewSQL = `
INSERT INTO projects.gate_reviews (tenant_id, gate_id, reviewer_id, id, vote, reason, criteria, reviewed_at)
VALUES (@tenant, @gate, @reviewer, @id, @vote, @reason, @criteria, @now)
ON CONFLICT (tenant_id, gate_id, reviewer_id) DO UPDATE
SET vote = excluded.vote, reason = excluded.reason, criteria = excluded.criteria, reviewed_at = excluded.reviewed_at`

func putReview(ctx context.Context, c *executor.Call, r *reviewRow) error {
	_, err := c.DB.Exec(ctx, putReviewSQL, postgres.Args{
		"tenant": c.Tenant, "gate": r.GateID, "reviewer": r.ReviewerID, "id": r.ID, "vote": r.Vote, "reason": r.Reason,
		"criteria": r.Criteria, "now": c.Now,
	})
	return err
}
