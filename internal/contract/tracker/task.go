package tracker

import (
	"time"

	"parapet/internal/op"
)

// The values of a task's issueType.
const (
	TypeTask    = "TASK"
	TypeEpic    = "EPIC"
	TypeBug     = "BUG"
	TypeFeature = "FEATURE"
	TypeChore   = "CHORE"
)

// The values of a task's priority, most pressing first.
const (
	PriorityUrgent = "URGENT"
	PriorityHigh   = "HIGH"
	PriorityMedium = "MEDIUM"
	PriorityLow    = "LOW"
)

// Redacted stands in the place of what the caller may not read.
const Redacted = "REDACTED"

// TaskSummary is a task as a list shows it: all but its text.
type TaskSummary struct {
	ID                op.UUID    `json:"id" doc:"The task's id."`
	Key               string     `json:"key" doc:"The task's key in its project, such as APOLLO-17."`
	ProjectID         op.UUID    `json:"projectId" doc:"The project that the task belongs to."`
	Title             string     `json:"title" doc:"The task's title. Untrusted text."`
	Status            string     `json:"status" doc:"One of the project's statuses."`
	StatusCategory    string     `json:"statusCategory" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"The category of the status."`
	IssueType         string     `json:"issueType" enum:"TASK|EPIC|BUG|FEATURE|CHORE" doc:"What kind of work it is."`
	Priority          string     `json:"priority" enum:"URGENT|HIGH|MEDIUM|LOW" doc:"How pressing it is."`
	Progress          int        `json:"progress" doc:"How far it is, 0 to 100."`
	Assignee          op.UUID    `json:"assignee,omitempty" doc:"The user who works on it; absent when nobody does."`
	DueDate           op.Date    `json:"dueDate,omitempty" doc:"The day by which it is due."`
	EpicID            op.UUID    `json:"epicId,omitempty" doc:"The epic that the task belongs to. An opaque id where the epic is in a project that the caller can't read."`
	ParentTaskID      op.UUID    `json:"parentTaskId,omitempty" doc:"The task that this is a sub-task of."`
	InitiativeID      op.UUID    `json:"initiativeId,omitempty" doc:"The initiative that an epic is tagged with."`
	EstimatePoints    *float64   `json:"estimatePoints,omitempty" doc:"The estimate, one of the project's story-point scale."`
	Labels            []string   `json:"labels" doc:"Free labels, sorted. Untrusted text."`
	CreatedBy         op.UUID    `json:"createdBy" doc:"The user who created the task."`
	CreatedAt         time.Time  `json:"createdAt" doc:"When the work was first written down; for an imported item the moment that its source names."`
	UpdatedAt         time.Time  `json:"updatedAt" doc:"When the task last changed."`
	CompletedAt       *time.Time `json:"completedAt,omitempty" doc:"When the task became done or cancelled."`
	DecisionRequestID op.UUID    `json:"decisionRequestId,omitempty" doc:"In a list of tasks that await a decision: the open decision request."`
}

// Task is a task in full.
type Task struct {
	TaskSummary
	Description string    `json:"description" doc:"The task's text, Markdown. Untrusted text."`
	Epic        *EpicRef  `json:"epic,omitempty" doc:"The epic that epicId names."`
	BlockedBy   int       `json:"blockedBy" doc:"How many tasks it still waits for: those that are neither done nor cancelled. list-dependencies names them."`
	Blocks      int       `json:"blocks" doc:"How many tasks wait for it."`
	Claim       *Claim    `json:"claim,omitempty" doc:"Who took it for a limited time, where somebody did."`
	Issue       *IssueRef `json:"issue,omitempty" doc:"The issue that was promoted to this task."`
	// DecisionRequest is filled in by get-task alone.
	DecisionRequest *DecisionRequest `json:"decisionRequest,omitempty" doc:"In get-task: the decision request that decisionRequestId names, else the task's latest one, if there is any."`
	// CustomFields are in the answers of get-task and set-custom-field-values.
	CustomFields []CustomFieldValue `json:"customFields,omitempty" doc:"The custom fields of the project that have a value on this task, by name."`
}

// EpicRef is an epic as one of its children shows it.
type EpicRef struct {
	ID             op.UUID `json:"id" doc:"The epic's id; opaque where it is redacted."`
	Key            string  `json:"key" doc:"The epic's key, or REDACTED."`
	Title          string  `json:"title" doc:"The epic's title, or REDACTED. Untrusted text."`
	IsCrossProject bool    `json:"isCrossProject" doc:"Whether the epic is in another project than its child."`
}

// DuplicateCandidate is an open task whose title is like that of a task to be. The
// refusal DUPLICATE_TASK lists them in details.candidates.
type DuplicateCandidate struct {
	ID         op.UUID `json:"id" doc:"The task's id."`
	Key        string  `json:"key" doc:"The task's key."`
	Title      string  `json:"title" doc:"The task's title. Untrusted text."`
	Similarity float64 `json:"similarity" doc:"The share of trigrams that the titles have in common: 0.6 to 1."`
}

// ListTasksIn asks for tasks of a project.
type ListTasksIn struct {
	ProjectID        op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Status           string  `query:"status" maxLength:"50" doc:"Only tasks with this status of the project."`
	Search           string  `query:"search" maxLength:"200" empty:"true" doc:"A task's key, or words: each begins a word of title or description, or (from 3 characters on) is anywhere in the title. OR, -word and quoted whole words as in a web search."`
	Assignee         op.UUID `query:"assignee" format:"uuid" doc:"Only tasks of this user."`
	EpicID           op.UUID `query:"epicId" format:"uuid" doc:"Only children of this epic within the project."`
	IssueType        string  `query:"issueType" enum:"TASK|EPIC|BUG|FEATURE|CHORE" doc:"Only tasks of this kind."`
	Priority         string  `query:"priority" enum:"URGENT|HIGH|MEDIUM|LOW" doc:"Only tasks of this priority."`
	Ready            bool    `query:"ready" doc:"Only the ready set: tasks to do that wait for nothing, have no open decision request, are no epic, and are unassigned or the caller's. The most pressing comes first: by priority, due date, age."`
	Review           bool    `query:"review" doc:"Only the review queue: tasks whose status is of the category REVIEW, the most pressing first. Not together with ready."`
	AwaitingDecision bool    `query:"awaitingDecision" doc:"Only tasks with an open decision request, the oldest request first. Not together with ready or review."`
	Limit            int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many tasks to return at most."`
	Cursor           string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListTasks lists the tasks of a project, the highest number first.
var ListTasks = op.New[ListTasksIn, op.Page[TaskSummary]](op.Spec{
	Name: "list-tasks", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/tasks", Permission: PermTasksRead, Effect: op.Read,
	Summary:     "List the tasks of a project.",
	Description: "The newest key comes first, but in the ready set and the review queue the most pressing one. Tasks that the caller may not read are left out; the text of a task is in get-task.",
})

// CreateTaskIn describes a task to be.
type CreateTaskIn struct {
	ProjectID      op.UUID  `path:"projectId" format:"uuid" doc:"The project's id."`
	Title          string   `json:"title" required:"true" maxLength:"500" doc:"The task's title."`
	Description    string   `json:"description" maxLength:"100000" doc:"The task's text, Markdown."`
	Status         string   `json:"status" maxLength:"50" doc:"One of the project's statuses; TODO, or else the first one of the category TODO, when absent."`
	IssueType      string   `json:"issueType" enum:"TASK|EPIC|BUG|FEATURE|CHORE" default:"TASK" doc:"What kind of work it is."`
	Priority       string   `json:"priority" enum:"URGENT|HIGH|MEDIUM|LOW" default:"MEDIUM" doc:"How pressing it is."`
	Progress       int      `json:"progress" minimum:"0" maximum:"100" doc:"How far it is. A done task has 100."`
	Assignee       op.UUID  `json:"assignee" format:"uuid" doc:"The user who is to work on it: an active member of the tenant with clearance for the project."`
	DueDate        op.Date  `json:"dueDate" format:"date" doc:"The day by which it is due."`
	EpicID         op.UUID  `json:"epicId" format:"uuid" doc:"The epic that it belongs to, in any project of the tenant that the caller can read."`
	ParentTaskID   op.UUID  `json:"parentTaskId" format:"uuid" doc:"The task of the same project that it is a sub-task of. A sub-task has no sub-tasks."`
	InitiativeID   op.UUID  `json:"initiativeId" format:"uuid" doc:"The initiative that an epic is tagged with, whatever its project belongs to."`
	EstimatePoints *float64 `json:"estimatePoints" doc:"The estimate, one of the project's story-point scale."`
	Labels         []string `json:"labels" maxLength:"50" doc:"Free labels of 1 to 50 characters."`
	AllowDuplicate bool     `json:"allowDuplicate" doc:"Create the task even though a similar one is open."`
}

// CreateTask creates a task.
var CreateTask = op.New[CreateTaskIn, Task](op.Spec{
	Name: "create-task", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/tasks", Permission: PermTaskCreate, Effect: op.Write, Status: 201,
	Summary:     "Create a task: planned work.",
	Description: "A title like that of an open task of the project (trigram similarity 0.6 or more) is rejected: 409 DUPLICATE_TASK with the candidates that the caller can read. Sub-tasks and imports are exempt.",
})

// GetTaskIn names a task.
type GetTaskIn struct {
	ProjectID         op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Task              string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	DecisionRequestID op.UUID `query:"decisionRequestId" format:"uuid" doc:"The decision request to give with the task; its latest one when absent."`
}

// GetTask gives a task in full.
var GetTask = op.New[GetTaskIn, Task](op.Spec{
	Name: "get-task", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/tasks/{task}", Permission: PermTasksRead, Effect: op.Read,
	Summary: "Get a task in full.",
})

// UpdateTaskIn holds what is to change of a task.
type UpdateTaskIn struct {
	ProjectID      op.UUID          `path:"projectId" format:"uuid" doc:"The project's id."`
	Task           string           `path:"task" maxLength:"64" doc:"The task's key or id."`
	Title          op.Opt[string]   `json:"title" minLength:"1" maxLength:"500" doc:"A new title."`
	Description    op.Opt[string]   `json:"description" maxLength:"100000" doc:"A new text; null clears it."`
	Status         op.Opt[string]   `json:"status" minLength:"1" maxLength:"50" doc:"Another status of the project. A status of the category DONE sets progress to 100."`
	IssueType      op.Opt[string]   `json:"issueType" enum:"TASK|EPIC|BUG|FEATURE|CHORE" doc:"Another kind of work."`
	Priority       op.Opt[string]   `json:"priority" enum:"URGENT|HIGH|MEDIUM|LOW" doc:"Another priority."`
	Progress       op.Opt[int]      `json:"progress" minimum:"0" maximum:"100" doc:"How far it is, 0 to 100. A done task has 100."`
	Assignee       op.Opt[op.UUID]  `json:"assignee" format:"uuid" doc:"The user who is to work on it; null unassigns."`
	DueDate        op.Opt[op.Date]  `json:"dueDate" format:"date" doc:"The day by which it is due; null clears it."`
	EpicID         op.Opt[op.UUID]  `json:"epicId" format:"uuid" doc:"The epic that it belongs to; null takes it out."`
	ParentTaskID   op.Opt[op.UUID]  `json:"parentTaskId" format:"uuid" doc:"The task that it is a sub-task of; null makes it a task of its own."`
	InitiativeID   op.Opt[op.UUID]  `json:"initiativeId" format:"uuid" doc:"The initiative that an epic is tagged with; null takes the tag off."`
	EstimatePoints op.Opt[float64]  `json:"estimatePoints" doc:"The estimate, one of the project's story-point scale; null clears it."`
	Labels         op.Opt[[]string] `json:"labels" maxLength:"50" doc:"The whole new set of labels; null clears it."`
}

// UpdateTask changes a task.
var UpdateTask = op.New[UpdateTaskIn, Task](op.Spec{
	Name: "update-task", Module: Module, Method: "PATCH", Path: "/api/projects/{projectId}/tasks/{task}", Permission: PermTaskUpdate, Effect: op.Write,
	Summary:     "Change a task.",
	Description: "Only the fields that are given change. Any move between the project's own statuses is allowed.",
})

// DeleteTaskIn names a task to delete.
type DeleteTaskIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Task      string  `path:"task" maxLength:"64" doc:"The task's key or id."`
}

// DeleteTask deletes a task.
var DeleteTask = op.New[DeleteTaskIn, op.None](op.Spec{
	Name: "delete-task", Module: Module, Method: "DELETE", Path: "/api/projects/{projectId}/tasks/{task}", Permission: PermTaskDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete a task for good.",
	Description: "Its sub-tasks are deleted with it, and the comments of all of them. The children of an epic stay and lose the epic; time that was recorded for it stays with the project. " + CascadeRule,
})
