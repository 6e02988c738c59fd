package tracker

import "parapet/internal/op"

// InboxIn is the input of GetInbox.
type InboxIn struct {
	Limit int `query:"limit" default:"10" minimum:"1" maximum:"50" doc:"The maximum number of items in each section."`
}

// Inbox is the work that waits for the caller. A section is nil if the caller lacks a
// permission that it needs.
type Inbox struct {
	Decisions *InboxDecisions `json:"decisions,omitempty" doc:"Open decision requests that the caller may answer, oldest first; absent without tasks.read or decision.answer."`
	Reviews   *InboxTasks     `json:"reviews,omitempty" doc:"Tasks in review that the caller may update and that are not assigned to the caller, most urgent first; absent without tasks.read or task.update."`
	Assigned  *InboxTasks     `json:"assigned,omitempty" doc:"Open tasks that are assigned to the caller, most urgent first; absent without tasks.read."`
	Ready     *InboxTasks     `json:"ready,omitempty" doc:"Unassigned tasks of the ready set that the caller may claim, most urgent first; absent without tasks.read or task.claim."`
}

// InboxTasks are the first tasks of a section.
type InboxTasks struct {
	Items   []TaskSummary `json:"items" doc:"The first tasks of the section."`
	HasMore bool          `json:"hasMore" doc:"Whether the section has more tasks than items."`
}

// InboxDecisions are the first decision requests of a section.
type InboxDecisions struct {
	Items   []DecisionRequest `json:"items" doc:"The first decision requests of the section."`
	HasMore bool              `json:"hasMore" doc:"Whether the section has more decision requests than items."`
}

// GetInbox returns what waits for the caller.
var GetInbox = op.Declare[InboxIn, Inbox](Contract, op.Spec{
	Name: "inbox", Method: "GET", Path: "/api/inbox", Access: op.Authenticated, Effect: op.Read,
	Summary:     "Show the decisions, reviews and tasks that wait for you.",
	Description: "Covers all projects that the caller may read. search-tasks lists the rest of a section. A section for which the caller lacks a permission is absent.",
})
