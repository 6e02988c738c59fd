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

// Whoever changes a pipeline holds the project against others who do, and not
// against those who work in it.
const lockPipelineSQL = loadProjectSQL + ` FOR NO KEY UPDATE OF p`

func stageConstraints() postgres.Constraints {
	return postgres.Constraints{
		"stages_dates_in_order": fault.Validation("endDate", "The stage can't end before it starts."),
		"gates_stage_once":      fault.Conflict("The stage has a gate already. Change that one, or delete it first."),
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

// A pipeline is read whole: it is bounded, and a change of one stage may move
// others.
const stagesSQL = `
SELECT s.id, s.project_id, s.position, s.name, s.description, s.status, s.start_date::text AS start_date, s.end_date::text AS end_date,
       s.started_at, s.completed_at, s.created_by, s.created_at, s.updated_at
FROM projects.stages s
WHERE s.tenant_id = @tenant AND s.project_id = @project
ORDER BY s.position, s.id`

// pipeline is the stages of a project in their order, with their gates.
type pipeline struct {
	project projectRow
	stages  []stageRow
	gates   []gateRow
	reviews []reviewRow
}

func loadPipeline(ctx context.Context, c *executor.Call, project projectRow) (*pipeline, error) {
	of := postgres.Args{"tenant": c.Tenant, "project": project.ID}
	p := &pipeline{project: project}
	var err error
	if p.stages, err = postgres.Collect[stageRow](ctx, c.DB, stagesSQL, of); err != nil || len(p.stages) == 0 {
		return p, err
	}
	if p.gates, err = postgres.Collect[gateRow](ctx, c.DB, gatesSQL, of); err != nil || len(p.gates) == 0 {
		return p, err
	}
	p.reviews, err = postgres.Collect[reviewRow](ctx, c.DB, reviewsSQL, of)
	return p, err
}

// at gives the place of a stage in the slice, or that there is none.
func (p *pipeline) at(stage op.UUID) (int, error) {
	for i := range p.stages {
		if p.stages[i].ID == stage {
			return i, nil
		}
	}
	return 0, fault.NotFound("stage")
}

// gateAfter gives the gate after a stage; nil where there is none.
func (p *pipeline) gateAfter(stage op.UUID) *gateRow {
	for i := range p.gates {
		if p.gates[i].StageID == stage {
			return &p.gates[i]
		}
	}
	return nil
}

// gateOf gives a gate by its id.
func (p *pipeline) gateOf(id op.UUID) (*gateRow, error) {
	for i := range p.gates {
		if p.gates[i].ID == id {
			return &p.gates[i], nil
		}
	}
	return nil, fault.NotFound("gate")
}

// public is the pipeline's public form; never nil.
func (p *pipeline) public() []contract.Stage {
	stages := make([]contract.Stage, len(p.stages))
	for i := range p.stages {
		stages[i] = *p.stage(&p.stages[i])
	}
	return stages
}

// stage is a stage's public form, with its gate.
func (p *pipeline) stage(r *stageRow) *contract.Stage {
	s := &contract.Stage{
		ID: r.ID, ProjectID: r.ProjectID, Position: r.Position, Name: r.Name, Description: r.Description, Status: r.Status,
		StartDate: value(r.StartDate), EndDate: value(r.EndDate), StartedAt: utc(r.StartedAt), CompletedAt: utc(r.CompletedAt),
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
	if g := p.gateAfter(r.ID); g != nil {
		s.Gate = p.toGate(g)
	}
	return s
}

// utc gives an optional moment in UTC.
func utc(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	u := at.UTC()
	return &u
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

// The stages from a place to a place move by so many.
const shiftStagesSQL = `
UPDATE projects.stages s SET position = s.position + @by, updated_at = @now
WHERE s.tenant_id = @tenant AND s.project_id = @project AND s.position BETWEEN @from AND @to`

const deleteStageSQL = `DELETE FROM projects.stages s WHERE s.tenant_id = @tenant AND s.id = @id`

// insertStageRow makes room for the stage and writes it.
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

// deleteStageRow deletes a stage with its gate and closes the place it leaves.
func deleteStageRow(ctx context.Context, c *executor.Call, r *stageRow) error {
	if _, err := c.DB.Exec(ctx, deleteStageSQL, postgres.Args{"tenant": c.Tenant, "id": r.ID}); err != nil {
		return err
	}
	return shiftStages(ctx, c, r.ProjectID, r.Position+1, contract.MaxStages, -1)
}
