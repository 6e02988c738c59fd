package tracker

import (
	"time"

	"parapet/internal/op"
)

// The events of criteria. The payload is the Criterion.
const (
	EventCriterionCreated = "projects.criterion.created"
	EventCriterionUpdated = "projects.criterion.updated"
	EventCriterionDeleted = "projects.criterion.deleted"
)

// Criterion is an acceptance criterion of a deliverable or of a task.
type Criterion struct {
	ID            op.UUID    `json:"id" doc:"The criterion's id."`
	ProjectID     op.UUID    `json:"projectId" doc:"The project that it belongs to."`
	DeliverableID op.UUID    `json:"deliverableId,omitempty" doc:"The deliverable that it is a criterion of."`
	TaskID        op.UUID    `json:"taskId,omitempty" doc:"The task that it is a criterion of."`
	Text          string     `json:"text" doc:"What has to hold. Untrusted text."`
	Met           bool       `json:"met" doc:"Whether it holds."`
	MetBy         op.UUID    `json:"metBy,omitempty" doc:"The user who said so."`
	MetAt         *time.Time `json:"metAt,omitempty" doc:"When it was said."`
	Failed        bool       `json:"failed" doc:"Whether the rejection of the deliverable cites it."`
	CreatedBy     op.UUID    `json:"createdBy" doc:"The user who created it."`
	CreatedAt     time.Time  `json:"createdAt" doc:"When it was created."`
	UpdatedAt     time.Time  `json:"updatedAt" doc:"When it last changed."`
}

// ListCriteriaIn names a deliverable or a task.
type ListCriteriaIn struct {
	ProjectID     op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	DeliverableID op.UUID `query:"deliverableId" format:"uuid" doc:"Only the criteria of this deliverable."`
	TaskID        op.UUID `query:"taskId" format:"uuid" doc:"Only the criteria of this task."`
	Limit         int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many criteria to return at most."`
	Cursor        string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListCriteria lists criteria in the order of their making.
var ListCriteria = op.New[ListCriteriaIn, op.Page[Criterion]](op.Spec{
	Name: "list-criteria", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/criteria", Permission: PermDeliverablesRead, Effect: op.Read,
	Summary:     "List the acceptance criteria of a project, of one of its deliverables or of one of its tasks.",
	Description: "The oldest comes first.",
})

// CreateCriterionIn describes a criterion to be.
type CreateCriterionIn struct {
	ProjectID     op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	DeliverableID op.UUID `json:"deliverableId" format:"uuid" doc:"The deliverable that it is a criterion of. Give this or taskId."`
	TaskID        op.UUID `json:"taskId" format:"uuid" doc:"The task that it is a criterion of. Give this or deliverableId."`
	Text          string  `json:"text" required:"true" maxLength:"2000" doc:"What has to hold."`
}

// CreateCriterion adds a criterion to a deliverable or a task.
var CreateCriterion = op.New[CreateCriterionIn, Criterion](op.Spec{
	Name: "create-criterion", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/criteria", Permission: PermDeliverableUpdate, Effect: op.Write, Status: 201,
	Summary:     "Add an acceptance criterion to a deliverable or a task.",
	Description: "A criterion of a task is the task's creator's and assignee's own.",
})

// UpdateCriterionIn holds what is to change of a criterion.
type UpdateCriterionIn struct {
	ProjectID   op.UUID        `path:"projectId" format:"uuid" doc:"The project's id."`
	CriterionID op.UUID        `path:"criterionId" format:"uuid" doc:"The criterion's id."`
	Text        op.Opt[string] `json:"text" minLength:"1" maxLength:"2000" doc:"Another text."`
	Met         op.Opt[bool]   `json:"met" doc:"Whether it holds; who said so and when is remembered."`
}

// UpdateCriterion changes a criterion or marks it as met.
var UpdateCriterion = op.New[UpdateCriterionIn, Criterion](op.Spec{
	Name: "update-criterion", Module: Module, Method: "PATCH", Path: "/api/projects/{projectId}/criteria/{criterionId}", Permission: PermDeliverableUpdate, Effect: op.Write,
	Summary:     "Change an acceptance criterion, or mark it as met or not met.",
	Description: "The criteria of a deliverable that was accepted or rejected stay as they were decided.",
})

// DeleteCriterionIn names a criterion.
type DeleteCriterionIn struct {
	ProjectID   op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	CriterionID op.UUID `path:"criterionId" format:"uuid" doc:"The criterion's id."`
}

// DeleteCriterion deletes a criterion.
var DeleteCriterion = op.New[DeleteCriterionIn, op.None](op.Spec{
	Name: "delete-criterion", Module: Module, Method: "DELETE", Path: "/api/projects/{projectId}/criteria/{criterionId}", Permission: PermDeliverableUpdate, Effect: op.Destroy, Status: 204,
	Summary: "Delete an acceptance criterion for good.",
})
