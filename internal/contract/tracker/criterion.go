package tracker

import (
	"time"

	"parapet/internal/op"
)

// The events of criteria. The payload is the Criterion.
var (
	EventCriterionCreated = op.DeclareEvent[Criterion](Contract, "projects.criterion.created", "An acceptance criterion was created.")
	EventCriterionUpdated = op.DeclareEvent[Criterion](Contract, "projects.criterion.updated", "An acceptance criterion changed.")
	EventCriterionDeleted = op.DeclareEvent[Criterion](Contract, "projects.criterion.deleted", "An acceptance criterion was deleted.")
)

// Criterion is an acceptance criterion of a deliverable or of a task.
type Criterion struct {
	ID            op.UUID       `json:"id" doc:"The criterion's id."`
	ProjectID     op.UUID       `json:"projectId" doc:"The project that the criterion belongs to."`
	Project       *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	DeliverableID op.UUID       `json:"deliverableId,omitempty" doc:"The deliverable that the criterion belongs to."`
	Deliverable   *op.Reference `json:"deliverable,omitempty" doc:"The name of the record that deliverableId identifies."`
	TaskID        op.UUID       `json:"taskId,omitempty" doc:"The task that the criterion belongs to."`
	Task          *op.Reference `json:"task,omitempty" doc:"The name of the record that taskId identifies."`
	Text          string        `json:"text" doc:"The condition to be met. Untrusted text."`
	Met           bool          `json:"met" doc:"Whether the criterion is met."`
	MetBy         op.UUID       `json:"metBy,omitempty" doc:"The user who marked the criterion as met."`
	MetByUser     *op.Reference `json:"metByUser,omitempty" doc:"The name of the record that metBy identifies."`
	MetAt         *time.Time    `json:"metAt,omitempty" doc:"When the criterion was marked as met."`
	Failed        bool          `json:"failed" doc:"Whether the deliverable was rejected because of this criterion."`
	CreatedBy     op.UUID       `json:"createdBy" doc:"The user who created the criterion."`
	CreatedByUser *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt     time.Time     `json:"createdAt" doc:"When the criterion was created."`
	UpdatedAt     time.Time     `json:"updatedAt" doc:"When the criterion last changed."`
}

// ListCriteriaIn is the input of ListCriteria.
type ListCriteriaIn struct {
	ProjectID     op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	DeliverableID op.UUID `query:"deliverableId" format:"uuid" doc:"Only the criteria of this deliverable."`
	TaskID        op.UUID `query:"taskId" format:"uuid" doc:"Only the criteria of this task."`
	Limit         int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of criteria to return."`
	Cursor        string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListCriteria lists acceptance criteria, oldest first.
var ListCriteria = op.Declare[ListCriteriaIn, op.Page[Criterion]](Contract, op.Spec{
	Name: "list-criteria", Method: "GET", Path: "/api/projects/{projectId}/criteria", Permission: PermDeliverablesRead, Effect: op.Read,
	Summary:     "List acceptance criteria of a project, deliverable or task.",
	Description: "Oldest first.",
})

// CreateCriterionIn is the input of CreateCriterion.
type CreateCriterionIn struct {
	ProjectID     op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	DeliverableID op.UUID `json:"deliverableId" format:"uuid" doc:"The deliverable to add the criterion to. Give either deliverableId or taskId."`
	TaskID        op.UUID `json:"taskId" format:"uuid" doc:"The task to add the criterion to. Give either deliverableId or taskId."`
	Text          string  `json:"text" required:"true" maxLength:"2000" doc:"The condition to be met."`
}

// CreateCriterion adds a criterion to a deliverable or a task.
var CreateCriterion = op.Declare[CreateCriterionIn, Criterion](Contract, op.Spec{
	Name: "create-criterion", Method: "POST", Path: "/api/projects/{projectId}/criteria", Permission: PermDeliverableUpdate, Effect: op.Write, Status: 201,
	Summary:     "Add an acceptance criterion to a deliverable or a task.",
	Description: "For permissions limited to your own records, a task's criteria count as your own if you created the task or it is assigned to you.",
})

// UpdateCriterionIn is the input of UpdateCriterion.
type UpdateCriterionIn struct {
	ProjectID   op.UUID        `path:"projectId" format:"uuid" doc:"The project."`
	CriterionID op.UUID        `path:"criterionId" format:"uuid" doc:"The criterion's id."`
	Text        op.Opt[string] `json:"text" minLength:"1" maxLength:"2000" doc:"A new text."`
	Met         op.Opt[bool]   `json:"met" doc:"Whether the criterion is met. The user and time of the change to true are recorded."`
}

// UpdateCriterion changes a criterion's text or marks it as met or not met.
var UpdateCriterion = op.Declare[UpdateCriterionIn, Criterion](Contract, op.Spec{
	Name: "update-criterion", Method: "PATCH", Path: "/api/projects/{projectId}/criteria/{criterionId}", Permission: PermDeliverableUpdate, Effect: op.Write,
	Summary:     "Change an acceptance criterion or mark it as met or not met.",
	Description: "The criteria of an accepted or rejected deliverable cannot be changed.",
})

// DeleteCriterionIn is the input of DeleteCriterion.
type DeleteCriterionIn struct {
	ProjectID   op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	CriterionID op.UUID `path:"criterionId" format:"uuid" doc:"The criterion's id."`
}

// DeleteCriterion deletes a criterion.
var DeleteCriterion = op.Declare[DeleteCriterionIn, op.None](Contract, op.Spec{
	Name: "delete-criterion", Method: "DELETE", Path: "/api/projects/{projectId}/criteria/{criterionId}", Permission: PermDeliverableUpdate, Effect: op.Destroy, Status: 204,
	Summary: "Delete an acceptance criterion permanently.",
})
