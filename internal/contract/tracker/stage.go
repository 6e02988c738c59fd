package tracker

import (
	"time"

	"parapet/internal/op"
)

// The values of a stage's status, in the order of its life.
const (
	StagePlanned    = "planned"
	StageInProgress = "in-progress"
	StageCompleted  = "completed"
)

// MaxStages is how many stages a project has at most, so that its pipeline is
// one answer.
const MaxStages = 100

// Stage is a phase of a project.
type Stage struct {
	ID          op.UUID    `json:"id" doc:"The stage's id."`
	ProjectID   op.UUID    `json:"projectId" doc:"The project that the stage belongs to."`
	Position    int        `json:"position" doc:"The stage's place in the pipeline, from 1."`
	Name        string     `json:"name" doc:"The stage's name. Untrusted text."`
	Description string     `json:"description" doc:"What the stage is about. Untrusted text."`
	Status      string     `json:"status" enum:"planned|in-progress|completed" doc:"Where the stage stands."`
	StartDate   op.Date    `json:"startDate,omitempty" doc:"The day on which the stage is to start."`
	EndDate     op.Date    `json:"endDate,omitempty" doc:"The day on which the stage is to end."`
	StartedAt   *time.Time `json:"startedAt,omitempty" doc:"When the stage went in progress."`
	CompletedAt *time.Time `json:"completedAt,omitempty" doc:"When the stage was completed."`
	CreatedBy   op.UUID    `json:"createdBy" doc:"The user who created the stage."`
	CreatedAt   time.Time  `json:"createdAt" doc:"When the stage was created."`
	UpdatedAt   time.Time  `json:"updatedAt" doc:"When the stage last changed."`
	Gate        *Gate      `json:"gate,omitempty" doc:"The gate after the stage, where there is one."`
}

// Pipeline is the stages of a project with their gates.
type Pipeline struct {
	ProjectID op.UUID `json:"projectId" doc:"The project's id."`
	Stages    []Stage `json:"stages" doc:"The stages in their order, each with the gate after it and that gate's votes."`
}

// ListStagesIn names a project.
type ListStagesIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
}

// ListStages gives a project's stage-gate pipeline.
var ListStages = op.New[ListStagesIn, Pipeline](op.Spec{
	Name: "list-stages", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/stages", Permission: PermStagesRead, Effect: op.Read,
	Summary:     "List a project's stage-gate pipeline.",
	Description: "All stages in their order, each with the gate after it and the votes of its reviewers. A project has at most 100 stages, so that there are no pages.",
})

// CreateStageIn describes a stage to be.
type CreateStageIn struct {
	ProjectID   op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Name        string  `json:"name" required:"true" maxLength:"200" doc:"The stage's name."`
	Description string  `json:"description" maxLength:"20000" doc:"What the stage is about."`
	Position    int     `json:"position" minimum:"0" maximum:"100" doc:"The place in the pipeline, from 1; stages from there on move up. The end when absent or 0."`
	StartDate   op.Date `json:"startDate" format:"date" doc:"The day on which the stage is to start."`
	EndDate     op.Date `json:"endDate" format:"date" doc:"The day on which the stage is to end."`
}

// CreateStage adds a stage to a project.
var CreateStage = op.New[CreateStageIn, Stage](op.Spec{
	Name: "create-stage", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/stages", Permission: PermStageCreate, Effect: op.Write, Status: 201,
	Summary:     "Add a stage to a project.",
	Description: "It begins as planned.",
})

// UpdateStageIn holds what is to change of a stage.
type UpdateStageIn struct {
	ProjectID   op.UUID         `path:"projectId" format:"uuid" doc:"The project's id."`
	StageID     op.UUID         `path:"stageId" format:"uuid" doc:"The stage's id."`
	Name        op.Opt[string]  `json:"name" minLength:"1" maxLength:"200" doc:"A new name."`
	Description op.Opt[string]  `json:"description" maxLength:"20000" doc:"A new description; null clears it."`
	Position    op.Opt[int]     `json:"position" minimum:"1" maximum:"100" doc:"A new place in the pipeline, from 1; the gate after the stage goes along."`
	StartDate   op.Opt[op.Date] `json:"startDate" format:"date" doc:"A new first day; null clears it."`
	EndDate     op.Opt[op.Date] `json:"endDate" format:"date" doc:"A new last day; null clears it."`
}

// UpdateStage changes a stage.
var UpdateStage = op.New[UpdateStageIn, Stage](op.Spec{
	Name: "update-stage", Module: Module, Method: "PATCH", Path: "/api/projects/{projectId}/stages/{stageId}", Permission: PermStageUpdate, Effect: op.Write,
	Summary:     "Change a stage.",
	Description: "Only the fields that are given change. start-stage and complete-stage move its status.",
})

// StageIn names a stage of a project.
type StageIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	StageID   op.UUID `path:"stageId" format:"uuid" doc:"The stage's id."`
}

// StartStage moves a stage from planned to in-progress.
var StartStage = op.New[StageIn, Stage](op.Spec{
	Name: "start-stage", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/stages/{stageId}/start", Permission: PermStageUpdate, Effect: op.Write,
	Summary:     "Start a planned stage.",
	Description: "The stage goes from planned to in-progress; any other is a CONFLICT, and so is one behind a gate that is not passed.",
})

// CompleteStage moves a stage from in-progress to completed.
var CompleteStage = op.New[StageIn, Stage](op.Spec{
	Name: "complete-stage", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/stages/{stageId}/complete", Permission: PermStageUpdate, Effect: op.Write,
	Summary:     "Complete a stage that is in progress.",
	Description: "The stage goes from in-progress to completed; any other is a CONFLICT. The next stage starts when the gate in between is passed, or by start-stage.",
})

// DeleteStage deletes a stage.
var DeleteStage = op.New[StageIn, op.None](op.Spec{
	Name: "delete-stage", Module: Module, Method: "DELETE", Path: "/api/projects/{projectId}/stages/{stageId}", Permission: PermStageDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete a stage for good.",
	Description: "The gate after it is deleted with it, and later stages move down. " + CascadeRule,
})
