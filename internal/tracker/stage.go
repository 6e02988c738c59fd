package tracker

import (
	"context"
	"fmt"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) stageOperations() []op.Bound {
	return []op.Bound{
		handle(s, contract.ListStages, loadProjectToReadStages, listStages),
		changePipeline(s, contract.CreateStage, func(in *contract.CreateStageIn) op.UUID { return in.ProjectID }, createStage),
		changePipeline(s, contract.UpdateStage, func(in *contract.UpdateStageIn) op.UUID { return in.ProjectID }, updateStage),
		changeStage(s, contract.StartStage, startStage),
		changeStage(s, contract.CompleteStage, completeStage),
		changeStage(s, contract.DeleteStage, deleteStage),
	}
}

// Operations on stages and gates are authorized on their project. A stage or gate is looked
// up after the decision, so that an error does not reveal whether it exists.

func loadProjectToReadStages(ctx context.Context, c *executor.Call, in *contract.ListStagesIn) (projectRow, authz.Resource, error) {
	row, err := loadProject(ctx, c, loadProjectSQL, in.ProjectID)
	return row, row.resource(c.Tenant), err
}

func listStages(ctx context.Context, c *executor.Call, _ *contract.ListStagesIn, row projectRow) (*contract.Pipeline, error) {
	p, err := loadPipeline(ctx, c, row)
	if err != nil {
		return nil, err
	}
	return &contract.Pipeline{ProjectID: row.ID, Stages: p.toStages()}, nil
}

// changePipeline binds an operation that changes a project's pipeline (its stages and
// gates). It locks the project and reads the whole pipeline before do runs.
func changePipeline[In, Out any](
	s *Service, o op.Op[In, Out], project func(*In) op.UUID, do func(ctx context.Context, c *executor.Call, in *In, p *pipeline) (*Out, error),
) op.Bound {
	load := func(ctx context.Context, c *executor.Call, in *In) (projectRow, authz.Resource, error) {
		row, err := loadProject(ctx, c, lockPipelineSQL, project(in))
		return row, row.resource(c.Tenant), err
	}
	return handle(s, o, load, func(ctx context.Context, c *executor.Call, in *In, row projectRow) (*Out, error) {
		p, err := loadPipeline(ctx, c, row)
		if err != nil {
			return nil, err
		}
		return do(ctx, c, in, p)
	})
}

// changeStage is changePipeline for operations on one existing stage. i is the stage's
// index in p.stages.
func changeStage[Out any](
	s *Service, o op.Op[contract.StageIn, Out], do func(ctx context.Context, c *executor.Call, p *pipeline, i int) (*Out, error),
) op.Bound {
	return changePipeline(s, o, func(in *contract.StageIn) op.UUID { return in.ProjectID },
		func(ctx context.Context, c *executor.Call, in *contract.StageIn, p *pipeline) (*Out, error) {
			i, err := p.indexOfStage(in.StageID)
			if err != nil {
				return nil, err
			}
			return do(ctx, c, p, i)
		})
}

func createStage(ctx context.Context, c *executor.Call, in *contract.CreateStageIn, p *pipeline) (*contract.Stage, error) {
	if len(p.stages) >= contract.MaxStages {
		return nil, fault.Conflict(fmt.Sprintf("A project has at most %d stages. Delete one first.", contract.MaxStages))
	}
	row := stageRow{
		ID: uid.New(), ProjectID: p.project.ID, Position: in.Position, Name: strings.TrimSpace(in.Name), Description: in.Description,
		Status: contract.StagePlanned, StartDate: postgres.NullIfZero(in.StartDate), EndDate: postgres.NullIfZero(in.EndDate),
		CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	if row.Position == 0 {
		row.Position = len(p.stages) + 1
	}
	if err := row.validate(len(p.stages) + 1); err != nil {
		return nil, err
	}
	if err := insertStageRow(ctx, c, &row); err != nil {
		return nil, err
	}
	p.recordStage(c, &row, "stage.created", contract.EventStageCreated, nil, map[string]any{"position": row.Position})
	return p.toStage(&row), nil
}

func updateStage(ctx context.Context, c *executor.Call, in *contract.UpdateStageIn, p *pipeline) (*contract.Stage, error) {
	i, err := p.indexOfStage(in.StageID)
	if err != nil {
		return nil, err
	}
	old := p.stages[i]
	row := old
	changed, err := row.apply(in)
	if err != nil {
		return nil, err
	}
	if err := row.validate(len(p.stages)); err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermStagesRead, p.project.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return p.toStage(&old), nil
	}
	switch {
	case row.Position < old.Position:
		err = shiftStages(ctx, c, row.ProjectID, row.Position, old.Position-1, 1)
	case row.Position > old.Position:
		err = shiftStages(ctx, c, row.ProjectID, old.Position+1, row.Position, -1)
	}
	if err != nil {
		return nil, err
	}
	row.UpdatedAt = c.Now
	if err := updateStageRow(ctx, c, &row); err != nil {
		return nil, err
	}
	more := map[string]any{}
	if row.Position != old.Position {
		more["position"] = map[string]int{"from": old.Position, "to": row.Position}
	}
	p.recordStage(c, &row, "stage.updated", contract.EventStageUpdated, changed, more)
	return p.toStage(&row), nil
}

// apply copies the fields that are set in the request and returns the names of those that
// changed.
func (r *stageRow) apply(in *contract.UpdateStageIn) ([]string, error) {
	var p op.Patch
	op.SetTrimmed(&p, "name", &r.Name, in.Name)
	op.SetOrClear(&p, "description", &r.Description, in.Description)
	op.Set(&p, "position", &r.Position, in.Position)
	op.SetOptional(&p, "startDate", &r.StartDate, in.StartDate)
	op.SetOptional(&p, "endDate", &r.EndDate, in.EndDate)
	return p.Changed()
}

// validate checks the rules that the request's field tags cannot express. last is the
// highest allowed position.
func (r *stageRow) validate(last int) error {
	switch {
	case r.Name == "":
		return fault.Validation("name", "The field name is required and cannot be blank.")
	case r.Position > last:
		return fault.Validation("position", fmt.Sprintf("The position must be from 1 to %d.", last))
	case r.StartDate != nil && r.EndDate != nil && *r.EndDate < *r.StartDate:
		return stageConstraints()["stages_dates_in_order"]
	}
	return nil
}

func startStage(ctx context.Context, c *executor.Call, p *pipeline, i int) (*contract.Stage, error) {
	stage := &p.stages[i]
	if stage.Status != contract.StagePlanned {
		return nil, stageStatusError(stage, contract.StagePlanned, "started")
	}
	if i > 0 {
		if g := p.gateAfter(p.stages[i-1].ID); g != nil && g.Status != contract.GatePassed {
			return nil, fault.Conflict("The gate before this stage has not passed. Review or delete the gate first.").
				WithDetails(map[string]any{"gateId": g.ID, "gateStatus": g.Status})
		}
	}
	return p.advanceStage(ctx, c, stage, nil)
}

func completeStage(ctx context.Context, c *executor.Call, p *pipeline, i int) (*contract.Stage, error) {
	stage := &p.stages[i]
	if stage.Status != contract.StageInProgress {
		return nil, stageStatusError(stage, contract.StageInProgress, "completed")
	}
	return p.advanceStage(ctx, c, stage, nil)
}

// stageStatusError returns the conflict for a stage that is not in the required
// status, with the next possible step.
func stageStatusError(stage *stageRow, required, action string) error {
	remedy := "A completed stage cannot change its status."
	switch stage.Status {
	case contract.StagePlanned:
		remedy = "Start it first."
	case contract.StageInProgress:
		remedy = "Complete it."
	}
	return fault.Conflict(fmt.Sprintf("Only a stage that is %s can be %s; this one is %s. %s", required, action, stage.Status, remedy)).
		WithDetails(map[string]any{"status": stage.Status})
}

// advanceStage moves a stage to its next status and records the change. by is the gate
// whose vote caused it, or nil.
func (p *pipeline) advanceStage(ctx context.Context, c *executor.Call, stage *stageRow, by *gateRow) (*contract.Stage, error) {
	from := stage.Status
	if from == contract.StagePlanned {
		stage.Status, stage.StartedAt = contract.StageInProgress, &c.Now
	} else {
		stage.Status, stage.CompletedAt = contract.StageCompleted, &c.Now
	}
	stage.UpdatedAt = c.Now
	if err := updateStageRow(ctx, c, stage); err != nil {
		return nil, err
	}
	more := map[string]any{"status": map[string]string{"from": from, "to": stage.Status}}
	if by != nil {
		more["gateId"] = by.ID
	}
	p.recordStage(c, stage, "stage.progressed", contract.EventStageProgressed, []string{"status"}, more)
	return p.toStage(stage), nil
}

func deleteStage(ctx context.Context, c *executor.Call, p *pipeline, i int) (*op.None, error) {
	stage := &p.stages[i]
	if err := authorizeCascade(ctx, c, "stages", stage.ID); err != nil {
		return nil, err
	}
	if err := deleteStageRow(ctx, c, stage); err != nil {
		return nil, err
	}
	if g := p.gateAfter(stage.ID); g != nil {
		p.recordGate(c, g, "gate.deleted", contract.EventGateDeleted, nil, map[string]any{"stageId": stage.ID})
	}
	p.recordStage(c, stage, "stage.deleted", contract.EventStageDeleted, nil, map[string]any{"position": stage.Position})
	return &op.None{}, nil
}

func (p *pipeline) recordStage(c *executor.Call, r *stageRow, action string, event *op.EventType, changed []string, changes map[string]any) {
	changes["projectId"] = p.project.ID
	if changed != nil {
		changes["fields"] = changed
	}
	c.Record(executor.Change{
		Action: action, Type: "stage", ID: r.ID, Classification: p.project.Classification,
		Fields: changed, Details: changes,
		Event: event, Payload: p.toStage(r),
	})
}
