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
	"parapet/internal/uid"
)

// A stage and a gate are their project's to the policies: whoever holds the
// permission where the project lies may do it. What is not a stage of the project
// is looked for after the decision only, so that nobody learns of one by asking.

func (s *Service) listStagesHandler() executor.Handler[contract.ListStagesIn, contract.Pipeline, projectRow] {
	return executor.Handler[contract.ListStagesIn, contract.Pipeline, projectRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.ListStagesIn) (projectRow, authz.Resource, error) {
			row, err := loadProject(ctx, c, loadProjectSQL, in.ProjectID)
			return row, row.resource(c.Tenant), err
		},
		Do: func(ctx context.Context, c *executor.Call, _ *contract.ListStagesIn, row projectRow) (*contract.Pipeline, error) {
			p, err := loadPipeline(ctx, c, row)
			if err != nil {
				return nil, err
			}
			return &contract.Pipeline{ProjectID: row.ID, Stages: p.public()}, nil
		},
	}
}

// pipelineHandler is a change of a project's pipeline: the project is held and the
// whole pipeline read, so that the change sees nothing but what is there.
func pipelineHandler[In, Out any](project func(*In) op.UUID, do func(ctx context.Context, c *executor.Call, in *In, p *pipeline) (*Out, error)) executor.Handler[In, Out, projectRow] {
	return executor.Handler[In, Out, projectRow]{
		Load: func(ctx context.Context, c *executor.Call, in *In) (projectRow, authz.Resource, error) {
			row, err := loadProject(ctx, c, lockPipelineSQL, project(in))
			return row, row.resource(c.Tenant), err
		},
		Do: func(ctx context.Context, c *executor.Call, in *In, row projectRow) (*Out, error) {
			p, err := loadPipeline(ctx, c, row)
			if err != nil {
				return nil, err
			}
			return do(ctx, c, in, p)
		},
	}
}

// stageHandler is pipelineHandler for what names a stage of it.
func stageHandler[Out any](do func(ctx context.Context, c *executor.Call, p *pipeline, i int) (*Out, error)) executor.Handler[contract.StageIn, Out, projectRow] {
	return pipelineHandler(func(in *contract.StageIn) op.UUID { return in.ProjectID },
		func(ctx context.Context, c *executor.Call, in *contract.StageIn, p *pipeline) (*Out, error) {
			i, err := p.at(in.StageID)
			if err != nil {
				return nil, err
			}
			return do(ctx, c, p, i)
		})
}

func (s *Service) createStageHandler() executor.Handler[contract.CreateStageIn, contract.Stage, projectRow] {
	return pipelineHandler(func(in *contract.CreateStageIn) op.UUID { return in.ProjectID }, addStage)
}

func addStage(ctx context.Context, c *executor.Call, in *contract.CreateStageIn, p *pipeline) (*contract.Stage, error) {
	if len(p.stages) >= contract.MaxStages {
		return nil, fault.Conflict(fmt.Sprintf("A project has at most %d stages. Delete one first.", contract.MaxStages))
	}
	row := stageRow{
		ID: uid.New(), ProjectID: p.project.ID, Position: in.Position, Name: strings.TrimSpace(in.Name), Description: in.Description,
		Status: contract.StagePlanned, StartDate: optional(in.StartDate), EndDate: optional(in.EndDate),
		CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	if row.Position == 0 {
		row.Position = len(p.stages) + 1
	}
	if err := row.check(len(p.stages) + 1); err != nil {
		return nil, err
	}
	if err := insertStageRow(ctx, c, &row); err != nil {
		return nil, err
	}
	p.recordStage(c, &row, "stage.created", contract.EventStageCreated, nil, map[string]any{"position": row.Position})
	return p.stage(&row), nil
}

func (s *Service) updateStageHandler() executor.Handler[contract.UpdateStageIn, contract.Stage, projectRow] {
	return pipelineHandler(func(in *contract.UpdateStageIn) op.UUID { return in.ProjectID }, changeStage)
}

func changeStage(ctx context.Context, c *executor.Call, in *contract.UpdateStageIn, p *pipeline) (*contract.Stage, error) {
	i, err := p.at(in.StageID)
	if err != nil {
		return nil, err
	}
	old := p.stages[i]
	row := old
	switch {
	case in.Name.Null:
		return nil, cannotClear("name")
	case in.Position.Null:
		return nil, cannotClear("position")
	}
	row.Name = strings.TrimSpace(in.Name.Or(row.Name))
	row.Description = in.Description.Or(row.Description)
	row.Position = in.Position.Or(row.Position)
	row.StartDate = change(in.StartDate, row.StartDate)
	row.EndDate = change(in.EndDate, row.EndDate)
	if err := row.check(len(p.stages)); err != nil {
		return nil, err
	}
	changed := row.differences(&old)
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermStagesRead, p.project.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return p.stage(&old), nil
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
	return p.stage(&row), nil
}

// differences names the fields in which r is not what old was.
func (r *stageRow) differences(old *stageRow) []string {
	var names []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"name", r.Name == old.Name},
		{"description", r.Description == old.Description},
		{"position", r.Position == old.Position},
		{"startDate", value(r.StartDate) == value(old.StartDate)},
		{"endDate", value(r.EndDate) == value(old.EndDate)},
	} {
		if !f.same {
			names = append(names, f.name)
		}
	}
	return names
}

// check holds the row against the rules that no tag says; last is the last place
// that it could have.
func (r *stageRow) check(last int) error {
	switch {
	case r.Name == "":
		return fault.Validation("name", "The field name is required and can't be blank.")
	case r.Position > last:
		return fault.Validation("position", fmt.Sprintf("The position must be from 1 to %d here.", last))
	case r.StartDate != nil && r.EndDate != nil && *r.EndDate < *r.StartDate:
		return stageConstraints()["stages_dates_in_order"]
	}
	return nil
}

func (s *Service) startStageHandler() executor.Handler[contract.StageIn, contract.Stage, projectRow] {
	return stageHandler(func(ctx context.Context, c *executor.Call, p *pipeline, i int) (*contract.Stage, error) {
		stage := &p.stages[i]
		if stage.Status != contract.StagePlanned {
			return nil, wrongStageError(stage, contract.StagePlanned, "started")
		}
		if i > 0 {
			if g := p.gateAfter(p.stages[i-1].ID); g != nil && g.Status != contract.GatePassed {
				return nil, fault.Conflict("The gate before this stage is not passed. Review the gate first, or delete it.").
					WithDetails(map[string]any{"gateId": g.ID, "gateStatus": g.Status})
			}
		}
		return p.progress(ctx, c, stage, nil)
	})
}

func (s *Service) completeStageHandler() executor.Handler[contract.StageIn, contract.Stage, projectRow] {
	return stageHandler(func(ctx context.Context, c *executor.Call, p *pipeline, i int) (*contract.Stage, error) {
		stage := &p.stages[i]
		if stage.Status != contract.StageInProgress {
			return nil, wrongStageError(stage, contract.StageInProgress, "completed")
		}
		return p.progress(ctx, c, stage, nil)
	})
}

// wrongStageError says why a stage can't make a move, and what it can do.
func wrongStageError(stage *stageRow, wanted, move string) error {
	remedy := "A completed stage makes no further move."
	switch stage.Status {
	case contract.StagePlanned:
		remedy = "Start it first."
	case contract.StageInProgress:
		remedy = "Complete it."
	}
	return fault.Conflict(fmt.Sprintf("Only a stage that is %s can be %s; this one is %s. %s", wanted, move, stage.Status, remedy)).
		WithDetails(map[string]any{"status": stage.Status})
}

// progress moves a stage to its next status and records the change. by is the gate
// whose vote moves it, or nil.
func (p *pipeline) progress(ctx context.Context, c *executor.Call, stage *stageRow, by *gateRow) (*contract.Stage, error) {
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
	return p.stage(stage), nil
}

func (s *Service) deleteStageHandler() executor.Handler[contract.StageIn, op.None, projectRow] {
	return stageHandler(func(ctx context.Context, c *executor.Call, p *pipeline, i int) (*op.None, error) {
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
	})
}

// recordStage adds the audit entry and the event of a change.
func (p *pipeline) recordStage(c *executor.Call, r *stageRow, action, event string, changed []string, changes map[string]any) {
	changes["projectId"] = p.project.ID
	if changed != nil {
		changes["fields"] = changed
	}
	c.Record(executor.AuditEntry{
		Action: action, ResourceType: "stage", ResourceID: string(r.ID), Changes: changes, Classification: p.project.Classification,
	})
	c.Emit(executor.Event{Type: event, AggregateType: "stage", AggregateID: r.ID, Payload: p.stage(r), Changed: changed})
}
