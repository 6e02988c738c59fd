package tracker

import (
	"time"

	"parapet/internal/op"
)

// The values of a stage's status, in order of progress.
const (
	StagePlanned    = "planned"
	StageInProgress = "in-progress"
	StageCompleted  = "completed"
)

// MaxStages is the maximum number of stages per project. The limit lets ListStages
// return all stages without pagination.
const MaxStages = 100

// Stage is a phase of a project.
type Stage struct {
	ID            op.UUID       `json:"id" doc:"The stage's id."`
	ProjectID     op.UUID       `json:"projectId" doc:"The project that the stage belongs to."`
	Project       *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	Position      int           `json:"position" doc:"The stage's position in the project, from 1."`
	Name          string        `json:"name" doc:"The stage's name. Untrusted text."`
	Description   string        `json:"description" doc:"The stage's description. Untrusted text."`
	Status        string        `json:"status" enum:"planned|in-progress|completed" doc:"The stage's status."`
	StartDate     op.Date       `json:"startDate,omitempty" doc:"The planned start date."`
	EndDate       op.Date       `json:"endDate,omitempty" doc:"The planned end date."`
	StartedAt     *time.Time    `json:"startedAt,omitempty" doc:"When the stage was started."`
	CompletedAt   *time.Time    `json:"completedAt,omitempty" doc:"When the stage was completed."`
	CreatedBy     op.UUID       `json:"createdBy" doc:"The user who created the stage."`
	CreatedByUser *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt     time.Time     `json:"createdAt" doc:"When the stage was created."`
	UpdatedAt     time.Time     `json:"updatedAt" doc:"When the stage last changed."`
	Gate          *Gate         `json:"gate,omitempty" doc:"The gate after the stage; absent if there is none."`
}

// Pipeline holds the stages of a project with their gates.
type Pipeline struct {
	ProjectID op.UUID       `json:"projectId" doc:"The project's id."`
	Project   *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	Stages    []Stage       `json:"stages" doc:"The stages in order, each with its gate and the gate's votes."`
}

// ListStagesIn is the input of ListStages.
type ListStagesIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
}

// ListStages returns the stages of a project with their gates.
var ListStages = op.Declare[ListStagesIn, Pipeline](Contract, op.Spec{
	Name: "list-stages", Method: "GET", Path: "/api/projects/{projectId}/stages", Permission: PermStagesRead, Effect: op.Read,
	Summary:     "List a project's stages and gates.",
	Description: "Returns all stages in order, each with its gate and the gate's votes. Not paginated: a project has at most 100 stages.",
})

// CreateStageIn is the input of CreateStage.
type CreateStageIn struct {
	ProjectID   op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Name        string  `json:"name" required:"true" maxLength:"200" doc:"The stage's name."`
	Description string  `json:"description" maxLength:"20000" doc:"The stage's description."`
	Position    int     `json:"position" minimum:"0" maximum:"100" doc:"The position in the project, from 1; this and later stages move up by one. Absent or 0: the end."`
	StartDate   op.Date `json:"startDate" format:"date" doc:"The planned start date."`
	EndDate     op.Date `json:"endDate" format:"date" doc:"The planned end date."`
}

// CreateStage adds a stage to a project.
var CreateStage = op.Declare[CreateStageIn, Stage](Contract, op.Spec{
	Name: "create-stage", Method: "POST", Path: "/api/projects/{projectId}/stages", Permission: PermStageCreate, Effect: op.Write, Status: 201,
	Summary:     "Add a stage to a project.",
	Description: "A new stage has the status planned.",
})

// UpdateStageIn is the input of UpdateStage.
type UpdateStageIn struct {
	ProjectID   op.UUID         `path:"projectId" format:"uuid" doc:"The project."`
	StageID     op.UUID         `path:"stageId" format:"uuid" doc:"The stage's id."`
	Name        op.Opt[string]  `json:"name" minLength:"1" maxLength:"200" doc:"A new name."`
	Description op.Opt[string]  `json:"description" maxLength:"20000" doc:"A new description; null clears it."`
	Position    op.Opt[int]     `json:"position" minimum:"1" maximum:"100" doc:"A new position in the project, from 1. The stage's gate moves with it."`
	StartDate   op.Opt[op.Date] `json:"startDate" format:"date" doc:"A new planned start date; null clears it."`
	EndDate     op.Opt[op.Date] `json:"endDate" format:"date" doc:"A new planned end date; null clears it."`
}

// UpdateStage changes a stage.
var UpdateStage = op.Declare[UpdateStageIn, Stage](Contract, op.Spec{
	Name: "update-stage", Method: "PATCH", Path: "/api/projects/{projectId}/stages/{stageId}", Permission: PermStageUpdate, Effect: op.Write,
	Summary:     "Change a stage.",
	Description: "Changes only the fields that are given. start-stage and complete-stage change the status.",
})

// StageIn identifies a stage of a project.
type StageIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	StageID   op.UUID `path:"stageId" format:"uuid" doc:"The stage's id."`
}

// StartStage changes a stage's status from planned to in-progress.
var StartStage = op.Declare[StageIn, Stage](Contract, op.Spec{
	Name: "start-stage", Method: "POST", Path: "/api/projects/{projectId}/stages/{stageId}/start", Permission: PermStageUpdate, Effect: op.Write,
	Summary:     "Start a planned stage.",
	Description: "Changes the status from planned to in-progress. Fails with CONFLICT if the stage has another status or if the gate before it has not passed.",
})

// CompleteStage changes a stage's status from in-progress to completed.
var CompleteStage = op.Declare[StageIn, Stage](Contract, op.Spec{
	Name: "complete-stage", Method: "POST", Path: "/api/projects/{projectId}/stages/{stageId}/complete", Permission: PermStageUpdate, Effect: op.Write,
	Summary:     "Complete a stage that is in progress.",
	Description: "Changes the status from in-progress to completed. Fails with CONFLICT if the stage has another status. The next stage starts when the gate between them passes, or with start-stage.",
})

// DeleteStage deletes a stage.
var DeleteStage = op.Declare[StageIn, op.None](Contract, op.Spec{
	Name: "delete-stage", Method: "DELETE", Path: "/api/projects/{projectId}/stages/{stageId}", Permission: PermStageDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete a stage permanently.",
	Description: "Also deletes the gate after it. Later stages move down by one position. " + CascadeRule,
})
