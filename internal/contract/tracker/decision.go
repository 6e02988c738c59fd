package tracker

import (
	"time"

	"parapet/internal/op"
)

// The values of a decision request's status.
const (
	DecisionOpen      = "open"
	DecisionAnswered  = "answered"
	DecisionCancelled = "cancelled"
)

// The events about decision requests. The payload is DecisionRequest.
var (
	EventDecisionRaised    = op.DeclareEvent[DecisionRequest](Contract, "projects.decision_request.raised", "A decision request was raised for a task.")
	EventDecisionAnswered  = op.DeclareEvent[DecisionRequest](Contract, "projects.decision_request.answered", "A decision request was answered.")
	EventDecisionCancelled = op.DeclareEvent[DecisionRequest](Contract, "projects.decision_request.cancelled", "A decision request was cancelled.")
)

// DecisionRequest is a question about a task that needs an answer from a person.
// While it is open, the task is not in the ready set.
type DecisionRequest struct {
	ID                op.UUID       `json:"id" doc:"The request's id."`
	ProjectID         op.UUID       `json:"projectId" doc:"The project of the task."`
	Project           *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	TaskID            op.UUID       `json:"taskId" doc:"The task that the request is about."`
	Task              *op.Reference `json:"task,omitempty" doc:"The name of the record that taskId identifies."`
	TaskKey           string        `json:"taskKey" doc:"The task's key."`
	Question          string        `json:"question" doc:"The question to decide. Untrusted text."`
	Options           []string      `json:"options" doc:"The answers to choose from; empty if the answer is free text. Untrusted text."`
	Status            string        `json:"status" enum:"open|answered|cancelled" doc:"open while the request awaits an answer."`
	Answer            string        `json:"answer,omitempty" doc:"The answer: free text or the text of the chosen option; absent unless the status is answered. Untrusted text."`
	ChosenOptionIndex *int          `json:"chosenOptionIndex,omitempty" doc:"The index of the chosen option in options, from 0; absent if the answer is free text."`
	RaisedBy          op.UUID       `json:"raisedBy" doc:"The user or agent that raised the request: the task's assignee at that time."`
	RaisedByUser      *op.Reference `json:"raisedByUser,omitempty" doc:"The name of the record that raisedBy identifies."`
	SessionID         string        `json:"sessionId,omitempty" doc:"The session id that was given when the request was raised. Informational. Grants no access. Untrusted text."`
	CreatedAt         time.Time     `json:"createdAt" doc:"When the request was raised."`
	ResolvedAt        *time.Time    `json:"resolvedAt,omitempty" doc:"When the request was answered or cancelled."`
	ResolvedBy        op.UUID       `json:"resolvedBy,omitempty" doc:"The user who answered or cancelled the request."`
	ResolvedByUser    *op.Reference `json:"resolvedByUser,omitempty" doc:"The name of the record that resolvedBy identifies."`
}

// MarkAwaitingDecisionIn is the input of MarkAwaitingDecision.
type MarkAwaitingDecisionIn struct {
	ProjectID op.UUID  `path:"projectId" format:"uuid" doc:"The project."`
	Task      string   `path:"task" maxLength:"64" doc:"The task's key or id."`
	Question  string   `json:"question" required:"true" maxLength:"4000" doc:"The question to decide."`
	Options   []string `json:"options" maxLength:"10" doc:"The answers to choose from, each of 1 to 500 characters. If absent or empty, the answer is free text."`
	Agent     string   `json:"agent" maxLength:"320" doc:"The email or id of the active synthetic agent to raise the request as, one assignable in this project. Requires tasks.update.any. Default: the caller."`
	SessionID string   `json:"sessionId" maxLength:"200" doc:"The session id to record with the request. Informational. Grants no access."`
}

// MarkAwaitingDecision raises a decision request.
var MarkAwaitingDecision = op.Declare[MarkAwaitingDecisionIn, DecisionRequest](Contract, op.Spec{
	// Permission is only tasks.read, so that a caller who can read the task gets
	// an error that names the actual requirement: being the assignee.
	Name: "mark-awaiting-decision", Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/decision-requests", Permission: PermTasksRead, Grant: PermTaskUpdate, Effect: op.Write,
	Summary: "Raise a decision request on a task.",
	Description: "The caller, or the named agent, must be the task's assignee, and the task's status must be of the category IN_PROGRESS. " +
		"Requires task.update, or tasks.update.any to act for an agent. Does not change the task's status or assignee. If the task already has an open request, returns it.",
})

// ListDecisionRequestsIn is the input of ListDecisionRequests.
type ListDecisionRequestsIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Task      string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	Status    string  `query:"status" enum:"open|answered|cancelled" doc:"Only requests with this status."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of requests to return."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListDecisionRequests lists the decision requests of a task, latest first.
var ListDecisionRequests = op.Declare[ListDecisionRequestsIn, op.Page[DecisionRequest]](Contract, op.Spec{
	Name: "list-decision-requests", Method: "GET", Path: "/api/projects/{projectId}/tasks/{task}/decision-requests", Permission: PermTasksRead, Effect: op.Read,
	Summary:     "List the decision requests of a task.",
	Description: "Latest first. Everyone who can read the task can read its decision requests.",
})

// AnswerDecisionIn is the input of AnswerDecision.
type AnswerDecisionIn struct {
	ProjectID         op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Task              string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	RequestID         op.UUID `path:"requestId" format:"uuid" doc:"The decision request's id."`
	ChosenOptionIndex *int    `json:"chosenOptionIndex" minimum:"0" doc:"The index of the chosen option, from 0. Give either chosenOptionIndex or answer."`
	Answer            *string `json:"answer" minLength:"1" maxLength:"10000" doc:"The answer as free text. Give either answer or chosenOptionIndex."`
}

// AnswerDecision answers a decision request.
var AnswerDecision = op.Declare[AnswerDecisionIn, DecisionRequest](Contract, op.Spec{
	Name: "answer-decision", Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/decision-requests/{requestId}/answer", Permission: PermDecisionAnswer, Effect: op.Write, Idempotent: true,
	Summary:     "Answer a decision request.",
	Description: "The first answer counts: a request that is already answered or cancelled is returned unchanged. Does not change the task's status or assignee.",
})

// CancelDecisionIn is the input of CancelDecision.
type CancelDecisionIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Task      string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	RequestID op.UUID `path:"requestId" format:"uuid" doc:"The decision request's id."`
}

// CancelDecision cancels a decision request.
var CancelDecision = op.Declare[CancelDecisionIn, DecisionRequest](Contract, op.Spec{
	// Permission is only tasks.read, so that a caller who can read the task gets
	// an error that names the permission required to cancel.
	Name: "cancel-decision", Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/decision-requests/{requestId}/cancel", Permission: PermTasksRead, Grant: PermTasksUpdateAny, Effect: op.Write, Idempotent: true,
	Summary:     "Cancel a decision request.",
	Description: "Allowed for callers with tasks.update.any and for the agent that raised the request. A request that is already answered or cancelled is returned unchanged. Does not change the task's status or assignee.",
})

// WaitDecisionIn is the input of WaitDecision.
type WaitDecisionIn struct {
	ProjectID      op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Task           string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	RequestID      op.UUID `path:"requestId" format:"uuid" doc:"The decision request's id."`
	TimeoutSeconds int     `query:"timeoutSeconds" default:"30" minimum:"1" maximum:"55" doc:"The maximum time to wait before the request is returned as it is."`
}

// WaitDecision waits until a decision request is answered or cancelled.
var WaitDecision = op.Declare[WaitDecisionIn, DecisionRequest](Contract, op.Spec{
	Name: "wait-decision", Method: "GET", Path: "/api/projects/{projectId}/tasks/{task}/decision-requests/{requestId}/wait", Permission: PermTasksRead, Effect: op.Read,
	Summary:     "Wait until a decision request is answered or cancelled.",
	Description: "Returns as soon as the request is answered or cancelled, immediately if it already is. Returns the open request after the timeout or when the server shuts down; call again then.",
})
