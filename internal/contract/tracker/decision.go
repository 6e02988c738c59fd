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
const (
	EventDecisionRaised    = "projects.decision_request.raised"
	EventDecisionAnswered  = "projects.decision_request.answered"
	EventDecisionCancelled = "projects.decision_request.cancelled"
)

// DecisionRequest is a question that blocks a task until somebody answers it.
type DecisionRequest struct {
	ID                op.UUID    `json:"id" doc:"The request's id."`
	ProjectID         op.UUID    `json:"projectId" doc:"The project of the task."`
	TaskID            op.UUID    `json:"taskId" doc:"The task that waits for the decision."`
	TaskKey           string     `json:"taskKey" doc:"The task's key."`
	Question          string     `json:"question" doc:"What is to be decided. Untrusted text."`
	Options           []string   `json:"options" doc:"The answers to choose from; empty where the answer is free. Untrusted text."`
	Status            string     `json:"status" enum:"open|answered|cancelled" doc:"Whether the request waits for an answer."`
	Answer            string     `json:"answer,omitempty" doc:"The answer, once the status is answered; where an option was chosen, its text. Untrusted text."`
	ChosenOptionIndex *int       `json:"chosenOptionIndex,omitempty" doc:"The place of the chosen option in options, from 0; absent where the answer is free text."`
	RaisedBy          op.UUID    `json:"raisedBy" doc:"The identity that the request was raised as: the task's assignee of then."`
	SessionID         string     `json:"sessionId,omitempty" doc:"The session that whoever raised it named, for attribution alone. Untrusted text."`
	CreatedAt         time.Time  `json:"createdAt" doc:"When the request was raised."`
	ResolvedAt        *time.Time `json:"resolvedAt,omitempty" doc:"When it was answered or cancelled."`
	ResolvedBy        op.UUID    `json:"resolvedBy,omitempty" doc:"Who answered or cancelled it."`
}

// MarkAwaitingDecisionIn is a question about a task.
type MarkAwaitingDecisionIn struct {
	ProjectID op.UUID  `path:"projectId" format:"uuid" doc:"The project's id."`
	Task      string   `path:"task" maxLength:"64" doc:"The task's key or id."`
	Question  string   `json:"question" required:"true" maxLength:"4000" doc:"What is to be decided."`
	Options   []string `json:"options" maxLength:"10" doc:"The answers to choose from, at most 10, each of 1 to 500 characters after trimming. Absent or empty: the answer is free text."`
	Agent     string   `json:"agent" maxLength:"320" doc:"The synthetic agent, by id or email address, to raise the request as; the caller when absent. Needs tasks.update.any and an ACTIVE agent of the tenant that can be assigned here."`
	SessionID string   `json:"sessionId" maxLength:"200" doc:"A session to attribute the request to. Informational. Grants no access."`
}

// MarkAwaitingDecision raises a decision request.
var MarkAwaitingDecision = op.New[MarkAwaitingDecisionIn, DecisionRequest](op.Spec{
	// Whoever may see the task is told that it is the assignee who asks.
	Name: "mark-awaiting-decision", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/decision-requests", Permission: PermTasksRead, Grant: PermTaskUpdate, Effect: op.Write,
	Summary: "Raise a decision request on a task.",
	Description: "The caller, or the agent that it names, must be the task's current assignee, and the task in a status of the category IN_PROGRESS. " +
		"A caller needs task.update, for an agent tasks.update.any. Status and assignee stay. While a request is open, a second call gives that same request.",
})

// ListDecisionRequestsIn asks for the decision requests of a task.
type ListDecisionRequestsIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Task      string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	Status    string  `query:"status" enum:"open|answered|cancelled" doc:"Only requests with this status."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many requests to return at most."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListDecisionRequests lists the decision requests of a task, the latest first.
var ListDecisionRequests = op.New[ListDecisionRequestsIn, op.Page[DecisionRequest]](op.Spec{
	Name: "list-decision-requests", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/tasks/{task}/decision-requests", Permission: PermTasksRead, Effect: op.Read,
	Summary:     "List the decision requests of a task.",
	Description: "The latest comes first. Whoever may read the task may read them.",
})

// AnswerDecisionIn is the answer to a decision request.
type AnswerDecisionIn struct {
	ProjectID         op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Task              string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	RequestID         op.UUID `path:"requestId" format:"uuid" doc:"The decision request's id."`
	ChosenOptionIndex *int    `json:"chosenOptionIndex" minimum:"0" doc:"The place of the chosen option, from 0. Exactly one of this and answer."`
	Answer            *string `json:"answer" minLength:"1" maxLength:"10000" doc:"The answer in words. Exactly one of this and chosenOptionIndex."`
}

// AnswerDecision answers a decision request.
var AnswerDecision = op.New[AnswerDecisionIn, DecisionRequest](op.Spec{
	Name: "answer-decision", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/decision-requests/{requestId}/answer", Permission: PermDecisionAnswer, Effect: op.Write,
	Summary:     "Answer a decision request.",
	Description: "The first answer counts. A request that is answered or cancelled already is given back unchanged. The task's status and assignee stay.",
})

// CancelDecisionIn names a decision request to cancel.
type CancelDecisionIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Task      string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	RequestID op.UUID `path:"requestId" format:"uuid" doc:"The decision request's id."`
}

// CancelDecision cancels a decision request.
var CancelDecision = op.New[CancelDecisionIn, DecisionRequest](op.Spec{
	// Whoever may see the task gets as far as the question; what the answer lacks is named.
	Name: "cancel-decision", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/decision-requests/{requestId}/cancel", Permission: PermTasksRead, Grant: PermTasksUpdateAny, Effect: op.Write,
	Summary:     "Cancel a decision request.",
	Description: "For whoever holds tasks.update.any, and for the agent that raised it. A request that is answered or cancelled already is given back unchanged. The task's status and assignee stay.",
})

// WaitDecisionIn names a decision request to wait for.
type WaitDecisionIn struct {
	ProjectID      op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Task           string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	RequestID      op.UUID `path:"requestId" format:"uuid" doc:"The decision request's id."`
	TimeoutSeconds int     `query:"timeoutSeconds" default:"30" minimum:"1" maximum:"55" doc:"How long to wait at most before answering with the request as it is."`
}

// WaitDecision waits until a decision request is answered or cancelled.
var WaitDecision = op.New[WaitDecisionIn, DecisionRequest](op.Spec{
	Name: "wait-decision", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/tasks/{task}/decision-requests/{requestId}/wait", Permission: PermTasksRead, Effect: op.Read,
	Summary:     "Wait until a decision request is answered or cancelled.",
	Description: "Answers as soon as the request is answered or cancelled, at once when it is already, and with the open request when the time is over or the server is about to stop: ask again then.",
})
