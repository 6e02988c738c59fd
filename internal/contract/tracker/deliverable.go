package tracker

import (
	"time"

	"parapet/internal/op"
)

// The values of a deliverable's status.
const (
	DeliverableDraft       = "DRAFT"
	DeliverableSubmitted   = "SUBMITTED"
	DeliverableUnderReview = "UNDER_REVIEW"
	DeliverableAccepted    = "ACCEPTED"
	DeliverableRejected    = "REJECTED"
	DeliverableRevised     = "REVISED"
)

// The events of deliverables. The payload is the Deliverable.
var (
	EventDeliverableCreated       = op.DeclareEvent[Deliverable](Contract, "projects.deliverable.created", "A deliverable was created.")
	EventDeliverableUpdated       = op.DeclareEvent[Deliverable](Contract, "projects.deliverable.updated", "A deliverable changed.")
	EventDeliverableDeleted       = op.DeclareEvent[Deliverable](Contract, "projects.deliverable.deleted", "A deliverable was deleted.")
	EventDeliverableStatusChanged = op.DeclareEvent[Deliverable](Contract, "projects.deliverable.status_changed", "The status of a deliverable changed.")
)

// DeliverableSummary is a deliverable without description, review reason and
// criteria, as in lists.
type DeliverableSummary struct {
	ID              op.UUID       `json:"id" doc:"The deliverable's id."`
	ProjectID       op.UUID       `json:"projectId" doc:"The project that the deliverable belongs to."`
	Project         *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	TaskID          op.UUID       `json:"taskId,omitempty" doc:"The task of the project that produces the deliverable; absent if it belongs to the project as a whole."`
	Task            *op.Reference `json:"task,omitempty" doc:"The name of the record that taskId identifies."`
	Title           string        `json:"title" doc:"The deliverable's title. Untrusted text."`
	Status          string        `json:"status" enum:"DRAFT|SUBMITTED|UNDER_REVIEW|ACCEPTED|REJECTED|REVISED" doc:"The review status. REVISED means returned for revision: the deliverable can be submitted again. ACCEPTED and REJECTED are final."`
	Owner           op.UUID       `json:"owner,omitempty" doc:"The user responsible for the deliverable; absent if there is none."`
	OwnerUser       *op.Reference `json:"ownerUser,omitempty" doc:"The name of the record that owner identifies."`
	DueDate         op.Date       `json:"dueDate,omitempty" doc:"The due date."`
	CreatedBy       op.UUID       `json:"createdBy" doc:"The user who created the deliverable."`
	CreatedByUser   *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt       time.Time     `json:"createdAt" doc:"When the deliverable was created."`
	UpdatedAt       time.Time     `json:"updatedAt" doc:"When the deliverable last changed."`
	SubmittedBy     op.UUID       `json:"submittedBy,omitempty" doc:"The user who last submitted the deliverable."`
	SubmittedByUser *op.Reference `json:"submittedByUser,omitempty" doc:"The name of the record that submittedBy identifies."`
	SubmittedAt     *time.Time    `json:"submittedAt,omitempty" doc:"When the deliverable was last submitted."`
	ReviewedBy      op.UUID       `json:"reviewedBy,omitempty" doc:"The user who last accepted, rejected or returned the deliverable."`
	ReviewedByUser  *op.Reference `json:"reviewedByUser,omitempty" doc:"The name of the record that reviewedBy identifies."`
	ReviewedAt      *time.Time    `json:"reviewedAt,omitempty" doc:"When the deliverable was last accepted, rejected or returned."`
}

// Deliverable is a deliverable with all its fields and criteria.
type Deliverable struct {
	DeliverableSummary
	Description  string      `json:"description" doc:"The deliverable's description, Markdown. Untrusted text."`
	ReviewReason string      `json:"reviewReason,omitempty" doc:"The reason that the last reviewer gave. Untrusted text."`
	Criteria     []Criterion `json:"criteria" doc:"The acceptance criteria, oldest first."`
}

// ListDeliverablesIn is the input of ListDeliverables.
type ListDeliverablesIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Status    string  `query:"status" enum:"DRAFT|SUBMITTED|UNDER_REVIEW|ACCEPTED|REJECTED|REVISED" doc:"Only deliverables with this status."`
	TaskID    op.UUID `query:"taskId" format:"uuid" doc:"Only deliverables of this task."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of deliverables to return."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListDeliverables lists the deliverables of a project, newest first.
var ListDeliverables = op.Declare[ListDeliverablesIn, op.Page[DeliverableSummary]](Contract, op.Spec{
	Name: "list-deliverables", Method: "GET", Path: "/api/projects/{projectId}/deliverables", Permission: PermDeliverablesRead, Effect: op.Read,
	Summary:     "List the deliverables of a project.",
	Description: "Newest first. Use get-deliverable for description and criteria.",
})

// CreateDeliverableIn is the input of CreateDeliverable.
type CreateDeliverableIn struct {
	ProjectID   op.UUID  `path:"projectId" format:"uuid" doc:"The project."`
	Title       string   `json:"title" required:"true" maxLength:"500" doc:"The deliverable's title."`
	Description string   `json:"description" maxLength:"100000" doc:"The deliverable's description, Markdown."`
	TaskID      op.UUID  `json:"taskId" format:"uuid" doc:"The task of the same project that produces the deliverable."`
	Owner       op.UUID  `json:"owner" format:"uuid" doc:"The user responsible for the deliverable: an active member of the tenant with clearance for the project. Default: the caller."`
	DueDate     op.Date  `json:"dueDate" format:"date" doc:"The due date."`
	Criteria    []string `json:"criteria" maxLength:"100" doc:"The texts of the acceptance criteria, each of 1 to 2000 characters. create-criterion adds more later."`
}

// CreateDeliverable creates a deliverable with the status DRAFT.
var CreateDeliverable = op.Declare[CreateDeliverableIn, Deliverable](Contract, op.Spec{
	Name: "create-deliverable", Method: "POST", Path: "/api/projects/{projectId}/deliverables", Permission: PermDeliverableCreate, Effect: op.Write, Status: 201,
	Summary:     "Create a deliverable with the status DRAFT.",
	Description: "A deliverable is a result of the project that is submitted and reviewed.",
})

// DeliverableIn identifies a deliverable.
type DeliverableIn struct {
	ProjectID     op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	DeliverableID op.UUID `path:"deliverableId" format:"uuid" doc:"The deliverable's id."`
}

// GetDeliverable returns a deliverable with all its fields and criteria.
var GetDeliverable = op.Declare[DeliverableIn, Deliverable](Contract, op.Spec{
	Name: "get-deliverable", Method: "GET", Path: "/api/projects/{projectId}/deliverables/{deliverableId}", Permission: PermDeliverablesRead, Effect: op.Read,
	Summary: "Get a deliverable with its description and criteria.",
})

// UpdateDeliverableIn is the input of UpdateDeliverable.
type UpdateDeliverableIn struct {
	ProjectID     op.UUID         `path:"projectId" format:"uuid" doc:"The project."`
	DeliverableID op.UUID         `path:"deliverableId" format:"uuid" doc:"The deliverable's id."`
	Title         op.Opt[string]  `json:"title" minLength:"1" maxLength:"500" doc:"A new title."`
	Description   op.Opt[string]  `json:"description" maxLength:"100000" doc:"A new description; null clears it."`
	TaskID        op.Opt[op.UUID] `json:"taskId" format:"uuid" doc:"The task of the same project that produces the deliverable; null assigns it to the project as a whole."`
	Owner         op.Opt[op.UUID] `json:"owner" format:"uuid" doc:"The user responsible for the deliverable; null removes the owner."`
	DueDate       op.Opt[op.Date] `json:"dueDate" format:"date" doc:"The due date; null clears it."`
}

// UpdateDeliverable changes the fields of a deliverable except its status.
var UpdateDeliverable = op.Declare[UpdateDeliverableIn, Deliverable](Contract, op.Spec{
	Name: "update-deliverable", Method: "PATCH", Path: "/api/projects/{projectId}/deliverables/{deliverableId}", Permission: PermDeliverableUpdate, Effect: op.Write,
	Summary:     "Change a deliverable.",
	Description: "Changes only the fields that are given. Separate operations change the status. An accepted or rejected deliverable cannot be changed.",
})

// SubmitDeliverable submits a deliverable for review.
var SubmitDeliverable = op.Declare[DeliverableIn, Deliverable](Contract, op.Spec{
	Name: "submit-deliverable", Method: "POST", Path: "/api/projects/{projectId}/deliverables/{deliverableId}/submit", Permission: PermDeliverableUpdate, Effect: op.Write,
	Summary:     "Submit a deliverable for review.",
	Description: "Changes the status from DRAFT or REVISED to SUBMITTED.",
})

// StartDeliverableReview starts the review of a deliverable.
var StartDeliverableReview = op.Declare[DeliverableIn, Deliverable](Contract, op.Spec{
	Name: "start-deliverable-review", Method: "POST", Path: "/api/projects/{projectId}/deliverables/{deliverableId}/start-review", Permission: PermDeliverableReview, Effect: op.Write,
	Summary:     "Start the review of a deliverable.",
	Description: "Changes the status from SUBMITTED to UNDER_REVIEW.",
})

// ReviewDeliverableIn is the input of AcceptDeliverable and ReviseDeliverable.
type ReviewDeliverableIn struct {
	ProjectID     op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	DeliverableID op.UUID `path:"deliverableId" format:"uuid" doc:"The deliverable's id."`
	Reason        string  `json:"reason" maxLength:"5000" doc:"The reason for the reviewer's decision."`
}

// AcceptDeliverable accepts a deliverable.
var AcceptDeliverable = op.Declare[ReviewDeliverableIn, Deliverable](Contract, op.Spec{
	Name: "accept-deliverable", Method: "POST", Path: "/api/projects/{projectId}/deliverables/{deliverableId}/accept", Permission: PermDeliverableReview, Effect: op.Write,
	Summary:     "Accept a deliverable. This is final.",
	Description: "Changes the status from UNDER_REVIEW to ACCEPTED, even if some criteria are not marked as met.",
})

// RejectDeliverableIn is the input of RejectDeliverable.
type RejectDeliverableIn struct {
	ProjectID      op.UUID   `path:"projectId" format:"uuid" doc:"The project."`
	DeliverableID  op.UUID   `path:"deliverableId" format:"uuid" doc:"The deliverable's id."`
	FailedCriteria []op.UUID `json:"failedCriteria" required:"true" minLength:"1" maxLength:"100" doc:"The ids of the failed criteria: at least one, each a criterion of this deliverable."`
	Reason         string    `json:"reason" maxLength:"5000" doc:"The reason for the reviewer's decision."`
}

// RejectDeliverable rejects a deliverable.
var RejectDeliverable = op.Declare[RejectDeliverableIn, Deliverable](Contract, op.Spec{
	Name: "reject-deliverable", Method: "POST", Path: "/api/projects/{projectId}/deliverables/{deliverableId}/reject", Permission: PermDeliverableReview, Effect: op.Write,
	Summary:     "Reject a deliverable with its failed criteria. This is final.",
	Description: "Changes the status from UNDER_REVIEW to REJECTED and marks the given criteria as failed and not met. To request changes and a new submission, use revise-deliverable.",
})

// ReviseDeliverable returns a deliverable for revision.
var ReviseDeliverable = op.Declare[ReviewDeliverableIn, Deliverable](Contract, op.Spec{
	Name: "revise-deliverable", Method: "POST", Path: "/api/projects/{projectId}/deliverables/{deliverableId}/revise", Permission: PermDeliverableReview, Effect: op.Write,
	Summary:     "Return a deliverable for revision.",
	Description: "Changes the status from UNDER_REVIEW to REVISED. The deliverable can then be submitted again.",
})

// DeleteDeliverable deletes a deliverable.
var DeleteDeliverable = op.Declare[DeliverableIn, op.None](Contract, op.Spec{
	Name: "delete-deliverable", Method: "DELETE", Path: "/api/projects/{projectId}/deliverables/{deliverableId}", Permission: PermDeliverableDelete, Effect: op.Destroy, Status: 204,
	Summary: "Delete a deliverable and its criteria permanently.",
})
