package tracker

import (
	"context"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// A change of a pipeline locks the project against other pipeline changes. Changes of tasks
// and issues in the project are not blocked.
const lockPipelineSQL = loadProjectSQL + ` FOR NO KEY UPDATE OF p`

func stageConstraints() postgres.Constraints {
	return postgres.Constraints{
		"stages_dates_in_order": fault.Validation("endDate", "endDate cannot be before startDate."),
		"gates_stage_once":      fault.Conflict("The stage already has a gate. Update that gate, or delete it first."),
	}
}

type stageRow struct {
	ID          op.UUID
	ProjectID   op.UUID
	Position    int
	Name        string
	Description string
	Status      string
	StartDate   *op.Date
	EndDate     *op.Date
	StartedAt   *time.Time
	CompletedAt *time.Time
	CreatedBy   op.UUID
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Reads all stages of a project: their number is limited, and a change of one can move others.
const stagesSQL = `
SELECT s.id, s.project_id, s.position, s.name, s.description, s.status, s.start_date::text AS start_date, s.end_date::text AS end_date,
       s.started_at, s.completed_at, s.created_by, s.created_at, s.updated_at
FROM projects.stages s
WHERE s.tenant_id = @tenant AND s.project_id = @project
ORDER BY s.position, s.id`

// pipeline holds the stages of a project in order, with their gates and reviews.
type pipeline struct {
	project projectRow
	stages  []stageRow
	gates   []gateRow
	reviews []reviewRow
}

func loadPipeline(ctx context.Context, c *executor.Call, project projectRow) (*pipeline, error) {
	args := postgres.Args{"tenant": c.Tenant, "project": project.ID}
	p := &pipeline{project: project}
	var err error
	if p.stages, err = postgres.Collect[stageRow](ctx, c.DB, stagesSQL, args); err != nil || len(p.stages) == 0 {
		return p, err
	}
	if p.gates, err = postgres.Collect[gateRow](ctx, c.DB, gatesSQL, args); err != nil || len(p.gates) == 0 {
		return p, err
	}
	p.reviews, err = postgres.Collect[reviewRow](ctx, c.DB, reviewsSQL, args)
	return p, err
}

// indexOfStage returns the index of the stage in p.stages.
func (p *pipeline) indexOfStage(stage op.UUID) (int, error) {
	for i := range p.stages {
		if p.stages[i].ID == stage {
			return i, nil
		}
	}
	return 0, fault.NotFound("stage")
}

// gateAfter returns the gate after the stage, or nil.
func (p *pipeline) gateAfter(stage op.UUID) *gateRow {
	for i := range p.gates {
		if p.gates[i].StageID == stage {
			return &p.gates[i]
		}
	}
	return nil
}

func (p *pipeline) findGate(id op.UUID) (*gateRow, error) {
	for i := range p.gates {
		if p.gates[i].ID == id {
			return &p.gates[i], nil
		}
	}
	return nil, fault.NotFound("gate")
}

// toStages returns the API objects of all stages; never nil.
func (p *pipeline) toStages() []contract.Stage {
	stages := make([]contract.Stage, len(p.stages))
	for i := range p.stages {
		stages[i] = *p.toStage(&p.stages[i])
	}
	return stages
}

// toStage returns the API object of a stage with its gate.
func (p *pipeline) toStage(r *stageRow) *contract.Stage {
	s := &contract.Stage{
		ID: r.ID, ProjectID: r.ProjectID, Position: r.Position, Name: r.Name, Description: r.Description, Status: r.Status,
		StartDate: postgres.ValueOrZero(r.StartDate), EndDate: postgres.ValueOrZero(r.EndDate), StartedAt: r.StartedAt, CompletedAt: r.CompletedAt,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	if g := p.gateAfter(r.ID); g != nil {
		s.Gate = p.toGate(g)
	}
	return s
}

const insertStageSQL = `
INSERT INTO projects.stages (tenant_id, id, project_id, position, name, description, status, start_date, end_date,
                             created_by, created_at, updated_at)
VALUES (@tenant, @id, @project, @position, @name, @description, @status, @start, @end, @creator, @now, @now)`

const updateStageSQL = `
UPDATE projects.stages s
SET position = @position, name = @name, description = @description, status = @status, start_date = @start, end_date = @end,
    started_at = @started, completed_at = @completed, updated_at = @now
WHERE s.tenant_id = @tenant AND s.id = @id`

// Adds @by to the positions from @from to @to.
const shiftStagesSQL = `
UPDATE projects.stages s SET position = s.position + @by, updated_at = @now
WHERE s.tenant_id = @tenant AND s.project_id = @project AND s.position BETWEEN @from AND @to`

const deleteStageSQL = `DELETE FROM projects.stages s WHERE s.tenant_id = @tenant AND s.id = @id`

// insertStageRow shifts the following stages and inserts the stage at its position.
func insertStageRow(ctx context.Context, c *executor.Call, r *stageRow) error {
	if err := shiftStages(ctx, c, r.ProjectID, r.Position, contract.MaxStages, 1); err != nil {
		return err
	}
	_, err := c.DB.Exec(ctx, insertStageSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "project": r.ProjectID, "position": r.Position, "name": r.Name, "description": r.Description,
		"status": r.Status, "start": r.StartDate, "end": r.EndDate, "creator": r.CreatedBy, "now": c.Now,
	})
	return postgres.MapError(err, stageConstraints())
}

func updateStageRow(ctx context.Context, c *executor.Call, r *stageRow) error {
	_, err := c.DB.Exec(ctx, updateStageSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "position": r.Position, "name": r.Name, "description": r.Description, "status": r.Status,
		"start": r.StartDate, "end": r.EndDate, "started": r.StartedAt, "completed": r.CompletedAt, "now": c.Now,
	})
	return postgres.MapError(err, stageConstraints())
}

func shiftStages(ctx context.Context, c *executor.Call, project op.UUID, from, to, by int) error {
	_, err := c.DB.Exec(ctx, shiftStagesSQL, postgres.Args{
		"tenant": c.Tenant, "project": project, "from": from, "to": to, "by": by, "now": c.Now,
	})
	return err
}

// deleteStageRow deletes a stage with its gate and shifts the following stages.
func deleteStageRow(ctx context.Context, c *executor.Call, r *stageRow) error {
	if _, err := c.DB.Exec(ctx, deleteStageSQL, postgres.Args{"tenant": c.Tenant, "id": r.ID}); err != nil {
		return err
	}
	return shiftStages(ctx, c, r.ProjectID, r.Position+1, contract.MaxStages, -1)
}
