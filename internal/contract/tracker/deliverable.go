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
const (
	EventDeliverableCreated       = "projects.deliverable.created"
	EventDeliverableUpdated       = "projects.deliverable.updated"
	EventDeliverableDeleted       = "projects.deliverable.deleted"
	EventDeliverableStatusChanged = "projects.deliverable.status_changed"
)

// DeliverableSummary is a deliverable as a list shows it: all but its text.
type DeliverableSummary struct {
	ID          op.UUID    `json:"id" doc:"The deliverable's id."`
	ProjectID   op.UUID    `json:"projectId" doc:"The project that it belongs to."`
	TaskID      op.UUID    `json:"taskId,omitempty" doc:"The task of the project that produces it; absent when it is the whole project's."`
	Title       string     `json:"title" doc:"The deliverable's title. Untrusted text."`
	Status      string     `json:"status" enum:"DRAFT|SUBMITTED|UNDER_REVIEW|ACCEPTED|REJECTED|REVISED" doc:"Where it stands in its review. REVISED means returned for revision: it can be submitted again. ACCEPTED and REJECTED are final."`
	Owner       op.UUID    `json:"owner,omitempty" doc:"The user who answers for it; absent when nobody does."`
	DueDate     op.Date    `json:"dueDate,omitempty" doc:"The day by which it is due."`
	CreatedBy   op.UUID    `json:"createdBy" doc:"The user who created it."`
	CreatedAt   time.Time  `json:"createdAt" doc:"When it was created."`
	UpdatedAt   time.Time  `json:"updatedAt" doc:"When it last changed."`
	SubmittedBy op.UUID    `json:"submittedBy,omitempty" doc:"The user who submitted it last."`
	SubmittedAt *time.Time `json:"submittedAt,omitempty" doc:"When it was submitted last."`
	ReviewedBy  op.UUID    `json:"reviewedBy,omitempty" doc:"The user who accepted, rejected or returned it last."`
	ReviewedAt  *time.Time `json:"reviewedAt,omitempty" doc:"When that was."`
}

// Deliverable is a deliverable in full.
type Deliverable struct {
	DeliverableSummary
	Description  string      `json:"description" doc:"The deliverable's text, Markdown. Untrusted text."`
	ReviewReason string      `json:"reviewReason,omitempty" doc:"What the reviewer said last. Untrusted text."`
	Criteria     []Criterion `json:"criteria" doc:"Its acceptance criteria, in their order."`
}

// ListDeliverablesIn asks for deliverables of a project.
type ListDeliverablesIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Status    string  `query:"status" enum:"DRAFT|SUBMITTED|UNDER_REVIEW|ACCEPTED|REJECTED|REVISED" doc:"Only deliverables with this status."`
	TaskID    op.UUID `query:"taskId" format:"uuid" doc:"Only deliverables of this task."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many deliverables to return at most."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListDeliverables lists the deliverables of a project, the newest first.
var ListDeliverables = op.New[ListDeliverablesIn, op.Page[DeliverableSummary]](op.Spec{
	Name: "list-deliverables", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/deliverables", Permission: PermDeliverablesRead, Effect: op.Read,
	Summary:     "List the deliverables of a project.",
	Description: "The newest comes first. Text and criteria are in get-deliverable.",
})

// CreateDeliverableIn describes a deliverable to be.
type CreateDeliverableIn struct {
	ProjectID   op.UUID  `path:"projectId" format:"uuid" doc:"The project's id."`
	Title       string   `json:"title" required:"true" maxLength:"500" doc:"The deliverable's title."`
	Description string   `json:"description" maxLength:"100000" doc:"The deliverable's text, Markdown."`
	TaskID      op.UUID  `json:"taskId" format:"uuid" doc:"The task of the same project that produces it."`
	Owner       op.UUID  `json:"owner" format:"uuid" doc:"The user who answers for it: an active member of the tenant with clearance for the project. The caller when absent."`
	DueDate     op.Date  `json:"dueDate" format:"date" doc:"The day by which it is due."`
	Criteria    []string `json:"criteria" maxLength:"100" doc:"The texts of its acceptance criteria, each of 1 to 2000 characters; more can be added later."`
}

// CreateDeliverable creates a deliverable, as a DRAFT.
var CreateDeliverable = op.New[CreateDeliverableIn, Deliverable](op.Spec{
	Name: "create-deliverable", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/deliverables", Permission: PermDeliverableCreate, Effect: op.Write, Status: 201,
	Summary: "Create a deliverable: an artefact that is reviewed. It begins as a DRAFT.",
})

// DeliverableIn names a deliverable.
type DeliverableIn struct {
	ProjectID     op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	DeliverableID op.UUID `path:"deliverableId" format:"uuid" doc:"The deliverable's id."`
}

// GetDeliverable gives a deliverable in full, with its criteria.
var GetDeliverable = op.New[DeliverableIn, Deliverable](op.Spec{
	Name: "get-deliverable", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/deliverables/{deliverableId}", Permission: PermDeliverablesRead, Effect: op.Read,
	Summary: "Get a deliverable in full, with its criteria.",
})

// UpdateDeliverableIn holds what is to change of a deliverable.
type UpdateDeliverableIn struct {
	ProjectID     op.UUID         `path:"projectId" format:"uuid" doc:"The project's id."`
	DeliverableID op.UUID         `path:"deliverableId" format:"uuid" doc:"The deliverable's id."`
	Title         op.Opt[string]  `json:"title" minLength:"1" maxLength:"500" doc:"A new title."`
	Description   op.Opt[string]  `json:"description" maxLength:"100000" doc:"A new text; null clears it."`
	TaskID        op.Opt[op.UUID] `json:"taskId" format:"uuid" doc:"The task of the same project that produces it; null makes it the whole project's."`
	Owner         op.Opt[op.UUID] `json:"owner" format:"uuid" doc:"The user who answers for it; null takes the owner away."`
	DueDate       op.Opt[op.Date] `json:"dueDate" format:"date" doc:"The day by which it is due; null clears it."`
}

// UpdateDeliverable changes a deliverable, but for its status.
var UpdateDeliverable = op.New[UpdateDeliverableIn, Deliverable](op.Spec{
	Name: "update-deliverable", Module: Module, Method: "PATCH", Path: "/api/projects/{projectId}/deliverables/{deliverableId}", Permission: PermDeliverableUpdate, Effect: op.Write,
	Summary:     "Change a deliverable.",
	Description: "Only the fields that are given change. The status has operations of its own. One that was accepted or rejected stays as it was decided.",
})

// SubmitDeliverable hands a deliverable in.
var SubmitDeliverable = op.New[DeliverableIn, Deliverable](op.Spec{
	Name: "submit-deliverable", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/deliverables/{deliverableId}/submit", Permission: PermDeliverableUpdate, Effect: op.Write,
	Summary: "Submit a deliverable for review: from DRAFT or REVISED to SUBMITTED.",
})

// StartDeliverableReview takes a deliverable into review.
var StartDeliverableReview = op.New[DeliverableIn, Deliverable](op.Spec{
	Name: "start-deliverable-review", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/deliverables/{deliverableId}/start-review", Permission: PermDeliverableReview, Effect: op.Write,
	Summary: "Take a deliverable into review: from SUBMITTED to UNDER_REVIEW.",
})

// ReviewDeliverableIn is the end of a review that needs no criteria cited.
type ReviewDeliverableIn struct {
	ProjectID     op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	DeliverableID op.UUID `path:"deliverableId" format:"uuid" doc:"The deliverable's id."`
	Reason        string  `json:"reason" maxLength:"5000" doc:"What the reviewer has to say about it."`
}

// AcceptDeliverable accepts a deliverable.
var AcceptDeliverable = op.New[ReviewDeliverableIn, Deliverable](op.Spec{
	Name: "accept-deliverable", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/deliverables/{deliverableId}/accept", Permission: PermDeliverableReview, Effect: op.Write,
	Summary:     "Accept a deliverable: from UNDER_REVIEW to ACCEPTED, for good.",
	Description: "The reviewer's word decides: a criterion that is not marked as met does not stop it.",
})

// RejectDeliverableIn cites what a deliverable failed.
type RejectDeliverableIn struct {
	ProjectID      op.UUID   `path:"projectId" format:"uuid" doc:"The project's id."`
	DeliverableID  op.UUID   `path:"deliverableId" format:"uuid" doc:"The deliverable's id."`
	FailedCriteria []op.UUID `json:"failedCriteria" required:"true" minLength:"1" maxLength:"100" doc:"The ids of the criteria that it failed: at least one, each one of this deliverable."`
	Reason         string    `json:"reason" maxLength:"5000" doc:"What the reviewer has to say about it."`
}

// RejectDeliverable rejects a deliverable.
var RejectDeliverable = op.New[RejectDeliverableIn, Deliverable](op.Spec{
	Name: "reject-deliverable", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/deliverables/{deliverableId}/reject", Permission: PermDeliverableReview, Effect: op.Write,
	Summary:     "Reject a deliverable, citing the criteria that it failed: from UNDER_REVIEW to REJECTED, for good.",
	Description: "The cited criteria are marked as failed and not met. To have it worked over and submitted again, use revise-deliverable.",
})

// ReviseDeliverable returns a deliverable for revision.
var ReviseDeliverable = op.New[ReviewDeliverableIn, Deliverable](op.Spec{
	Name: "revise-deliverable", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/deliverables/{deliverableId}/revise", Permission: PermDeliverableReview, Effect: op.Write,
	Summary: "Return a deliverable for revision: from UNDER_REVIEW to REVISED, from where it can be submitted again.",
})

// DeleteDeliverable deletes a deliverable.
var DeleteDeliverable = op.New[DeliverableIn, op.None](op.Spec{
	Name: "delete-deliverable", Module: Module, Method: "DELETE", Path: "/api/projects/{projectId}/deliverables/{deliverableId}", Permission: PermDeliverableDelete, Effect: op.Destroy, Status: 204,
	Summary: "Delete a deliverable with its criteria for good.",
})
