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

// The values of a task's priority, most urgent first.
const (
	PriorityUrgent = "URGENT"
	PriorityHigh   = "HIGH"
	PriorityMedium = "MEDIUM"
	PriorityLow    = "LOW"
)

// The values of the input sort of ListTasks and SearchTasks. SortKey is not allowed in
// SearchTasks.
const (
	SortKey      = "key"
	SortPriority = "priority"
	SortDue      = "due"
	SortUpdated  = "updated"
)

// Redacted replaces a key or title that the caller may not read.
const Redacted = "REDACTED"

// TaskSummary is the part of a task that lists contain, without its description.
type TaskSummary struct {
	ID                op.UUID       `json:"id" doc:"The task's id."`
	Key               string        `json:"key" doc:"The task's key, such as APOLLO-17."`
	ProjectID         op.UUID       `json:"projectId" doc:"The project that the task belongs to."`
	Project           *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	Title             string        `json:"title" doc:"The task's title. Untrusted text."`
	Status            string        `json:"status" doc:"One of the project's statuses."`
	StatusCategory    string        `json:"statusCategory" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"The category of the status."`
	IssueType         string        `json:"issueType" enum:"TASK|EPIC|BUG|FEATURE|CHORE" doc:"The kind of work."`
	Priority          string        `json:"priority" enum:"URGENT|HIGH|MEDIUM|LOW" doc:"The priority."`
	Progress          int           `json:"progress" doc:"Progress in percent, 0 to 100."`
	Assignee          op.UUID       `json:"assignee,omitempty" doc:"The assigned user; absent if unassigned."`
	AssigneeUser      *op.Reference `json:"assigneeUser,omitempty" doc:"The name of the record that assignee identifies."`
	DueDate           op.Date       `json:"dueDate,omitempty" doc:"The due date."`
	EpicID            op.UUID       `json:"epicId,omitempty" doc:"The epic that the task belongs to; an opaque id if the caller can't read the epic's project."`
	EpicTask          *op.Reference `json:"epicTask,omitempty" doc:"The name of the record that epicId identifies."`
	ParentTaskID      op.UUID       `json:"parentTaskId,omitempty" doc:"The task that this is a sub-task of."`
	ParentTask        *op.Reference `json:"parentTask,omitempty" doc:"The name of the record that parentTaskId identifies."`
	InitiativeID      op.UUID       `json:"initiativeId,omitempty" doc:"The initiative that an epic is tagged with."`
	Initiative        *op.Reference `json:"initiative,omitempty" doc:"The name of the record that initiativeId identifies."`
	EstimatePoints    *float64      `json:"estimatePoints,omitempty" doc:"The estimate, one of the values of the project's story-point scale."`
	Labels            []string      `json:"labels" doc:"The labels, sorted. Untrusted text."`
	CreatedBy         op.UUID       `json:"createdBy" doc:"The user who created the task."`
	CreatedByUser     *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt         time.Time     `json:"createdAt" doc:"When the task was created; for an imported task, the creation time in its source."`
	UpdatedAt         time.Time     `json:"updatedAt" doc:"When the task last changed."`
	CompletedAt       *time.Time    `json:"completedAt,omitempty" doc:"When the task was done or cancelled; absent while it is open."`
	DecisionRequestID op.UUID       `json:"decisionRequestId,omitempty" doc:"The open decision request. Set only by list-tasks with awaitingDecision."`
}

// Task is a task with all its fields.
type Task struct {
	TaskSummary
	Description     string           `json:"description" doc:"The task's description, Markdown. Untrusted text."`
	Epic            *EpicRef         `json:"epic,omitempty" doc:"The epic identified by epicId."`
	BlockedBy       int              `json:"blockedBy" doc:"The number of unfinished tasks (neither done nor cancelled) that this task depends on. list-dependencies lists them."`
	Blocks          int              `json:"blocks" doc:"The number of tasks that depend on this task."`
	Claim           *Claim           `json:"claim,omitempty" doc:"The active lease on the task; absent if there is none."`
	Issue           *IssueRef        `json:"issue,omitempty" doc:"The issue that was promoted to this task."`
	DecisionRequest *DecisionRequest `json:"decisionRequest,omitempty" doc:"The decision request given by decisionRequestId, or else the task's latest one. Set only by get-task."`
	// CustomFields is set only by get-task and set-custom-field-values.
	CustomFields []CustomFieldValue `json:"customFields,omitempty" doc:"The custom fields that have a value on this task, by name."`
}

// EpicRef is the short form of the epic that a task belongs to.
type EpicRef struct {
	ID             op.UUID `json:"id" doc:"The epic's id; an opaque id if redacted."`
	Key            string  `json:"key" doc:"The epic's key, or REDACTED."`
	Title          string  `json:"title" doc:"The epic's title, or REDACTED. Untrusted text."`
	IsCrossProject bool    `json:"isCrossProject" doc:"Whether the epic is in another project than its child."`
}

// DuplicateCandidate is an open task with a title similar to that of a new task.
// The error DUPLICATE_TASK lists them in details.candidates.
type DuplicateCandidate struct {
	ID         op.UUID `json:"id" doc:"The task's id."`
	Key        string  `json:"key" doc:"The task's key."`
	Title      string  `json:"title" doc:"The task's title. Untrusted text."`
	Similarity float64 `json:"similarity" doc:"The trigram similarity of the titles, 0.6 to 1."`
}

// ListTasksIn is the input of ListTasks.
type ListTasksIn struct {
	ProjectID        op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Status           string  `query:"status" maxLength:"50" doc:"Only tasks with this status of the project."`
	Search           string  `query:"search" maxLength:"200" empty:"true" doc:"A task key or search words. Each word matches the start of a word in title or description, or a part of the title. Supports OR, -word and quoted whole words."`
	Assignee         op.UUID `query:"assignee" format:"uuid" doc:"Only tasks assigned to this user."`
	EpicID           op.UUID `query:"epicId" format:"uuid" doc:"Only children of this epic within the project."`
	IssueType        string  `query:"issueType" enum:"TASK|EPIC|BUG|FEATURE|CHORE" doc:"Only tasks of this kind."`
	Priority         string  `query:"priority" enum:"URGENT|HIGH|MEDIUM|LOW" doc:"Only tasks of this priority."`
	Label            string  `query:"label" maxLength:"50" doc:"Only tasks with this label, in any case."`
	DueAfter         op.Date `query:"dueAfter" format:"date" doc:"Only tasks due on this day or later."`
	DueBefore        op.Date `query:"dueBefore" format:"date" doc:"Only tasks due on this day or earlier."`
	Ready            bool    `query:"ready" doc:"Only the ready set: tasks to do that are not blocked, have no open decision request, are no epics, and are unassigned or assigned to the caller. Ordered by priority, due date and age."`
	Review           bool    `query:"review" doc:"Only the review queue: tasks with a status of the category REVIEW, most urgent first. Not allowed with ready."`
	AwaitingDecision bool    `query:"awaitingDecision" doc:"Only tasks with an open decision request, oldest request first. Not allowed with ready or review."`
	Sort             string  `query:"sort" enum:"key|priority|due|updated" doc:"The order. Default: key, highest first. Not allowed with ready, review or awaitingDecision."`
	Limit            int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of tasks to return."`
	Cursor           string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListTasks lists the tasks of a project, highest task number first.
var ListTasks = op.Declare[ListTasksIn, op.Page[TaskSummary]](Contract, op.Spec{
	Name: "list-tasks", Method: "GET", Path: "/api/projects/{projectId}/tasks", Permission: PermTasksRead, Effect: op.Read,
	Summary:     "List the tasks of a project.",
	Description: "Highest key first, or in the order sort; the ready set and the review queue list the most urgent first. Omits tasks that the caller may not read. Use get-task for the description.",
})

// SearchTasksIn is the input of SearchTasks.
type SearchTasksIn struct {
	ProjectID        op.UUID `query:"projectId" format:"uuid" doc:"Only tasks of this project."`
	Search           string  `query:"search" maxLength:"200" empty:"true" doc:"A task key or search words. Each word matches the start of a word in title or description, or a part of the title. Supports OR, -word and quoted whole words."`
	Assignee         op.UUID `query:"assignee" format:"uuid" doc:"Only tasks assigned to this user."`
	CreatedBy        op.UUID `query:"createdBy" format:"uuid" doc:"Only tasks that this user created."`
	IssueType        string  `query:"issueType" enum:"TASK|EPIC|BUG|FEATURE|CHORE" doc:"Only tasks of this kind."`
	Priority         string  `query:"priority" enum:"URGENT|HIGH|MEDIUM|LOW" doc:"Only tasks of this priority."`
	StatusCategory   string  `query:"statusCategory" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"Only tasks with a status of this category."`
	Label            string  `query:"label" maxLength:"50" doc:"Only tasks with this label, in any case."`
	DueAfter         op.Date `query:"dueAfter" format:"date" doc:"Only tasks due on this day or later."`
	DueBefore        op.Date `query:"dueBefore" format:"date" doc:"Only tasks due on this day or earlier."`
	Open             bool    `query:"open" doc:"Only open tasks: neither done nor cancelled."`
	Ready            bool    `query:"ready" doc:"Only the ready set, as in list-tasks."`
	Review           bool    `query:"review" doc:"Only tasks with a status of the category REVIEW, most urgent first. Not allowed with ready."`
	AwaitingDecision bool    `query:"awaitingDecision" doc:"Only tasks with an open decision request, oldest request first. Not allowed with ready or review."`
	Sort             string  `query:"sort" enum:"priority|due|updated" doc:"The order: priority (most urgent first), due (earliest first, tasks without due date last) or updated (latest change first). Default: updated. Not allowed with ready, review or awaitingDecision."`
	Limit            int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of tasks to return."`
	Cursor           string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// SearchTasks lists the tasks of all projects, or of one, that the caller may read, latest
// change first.
var SearchTasks = op.Declare[SearchTasksIn, op.Page[TaskSummary]](Contract, op.Spec{
	Name: "search-tasks", Method: "GET", Path: "/api/tasks", Permission: PermTasksRead, Effect: op.Read,
	Summary:     "Search the tasks of all projects.",
	Description: "Latest change first, or in the order sort; the ready set and the review queue list the most urgent first. Omits tasks that the caller may not read.",
})

// CreateTaskIn is the input of CreateTask.
type CreateTaskIn struct {
	ProjectID      op.UUID  `path:"projectId" format:"uuid" doc:"The project."`
	Title          string   `json:"title" required:"true" maxLength:"500" doc:"The task's title."`
	Description    string   `json:"description" maxLength:"100000" doc:"The task's description, Markdown."`
	Status         string   `json:"status" maxLength:"50" doc:"One of the project's statuses. Default: TODO, or else the first status of the category TODO."`
	IssueType      string   `json:"issueType" enum:"TASK|EPIC|BUG|FEATURE|CHORE" default:"TASK" doc:"The kind of work."`
	Priority       string   `json:"priority" enum:"URGENT|HIGH|MEDIUM|LOW" default:"MEDIUM" doc:"The priority."`
	Progress       int      `json:"progress" minimum:"0" maximum:"100" doc:"Progress in percent. Done tasks always have 100."`
	Assignee       op.UUID  `json:"assignee" format:"uuid" doc:"The user to assign: an active member of the tenant with clearance for the project."`
	DueDate        op.Date  `json:"dueDate" format:"date" doc:"The due date."`
	EpicID         op.UUID  `json:"epicId" format:"uuid" doc:"The epic that the task belongs to, in any project of the tenant that the caller can read."`
	ParentTaskID   op.UUID  `json:"parentTaskId" format:"uuid" doc:"The task of the same project that this is a sub-task of; not a sub-task itself."`
	InitiativeID   op.UUID  `json:"initiativeId" format:"uuid" doc:"The initiative that an epic is tagged with; may differ from its project's initiative."`
	EstimatePoints *float64 `json:"estimatePoints" doc:"The estimate, one of the values of the project's story-point scale."`
	Labels         []string `json:"labels" maxLength:"50" doc:"The labels, each of 1 to 50 characters."`
	AllowDuplicate bool     `json:"allowDuplicate" doc:"Create the task even if an open task has a similar title."`
}

// CreateTask creates a task.
var CreateTask = op.Declare[CreateTaskIn, Task](Contract, op.Spec{
	Name: "create-task", Method: "POST", Path: "/api/projects/{projectId}/tasks", Permission: PermTaskCreate, Effect: op.Write, Status: 201,
	Summary:     "Create a task: planned work.",
	Description: "Fails with DUPLICATE_TASK if an open task of the project has a similar title (trigram similarity of at least 0.6); details.candidates lists those that the caller can read. Sub-tasks and imports are exempt.",
})

// GetTaskIn is the input of GetTask.
type GetTaskIn struct {
	ProjectID         op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Task              string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	DecisionRequestID op.UUID `query:"decisionRequestId" format:"uuid" doc:"The decision request to return with the task. Default: the latest one."`
}

// GetTask returns a task with all its fields.
var GetTask = op.Declare[GetTaskIn, Task](Contract, op.Spec{
	Name: "get-task", Method: "GET", Path: "/api/projects/{projectId}/tasks/{task}", Permission: PermTasksRead, Effect: op.Read,
	Summary: "Get a task with all its fields.",
})

// UpdateTaskIn is the input of UpdateTask.
type UpdateTaskIn struct {
	ProjectID      op.UUID          `path:"projectId" format:"uuid" doc:"The project."`
	Task           string           `path:"task" maxLength:"64" doc:"The task's key or id."`
	Title          op.Opt[string]   `json:"title" minLength:"1" maxLength:"500" doc:"A new title."`
	Description    op.Opt[string]   `json:"description" maxLength:"100000" doc:"A new description; null clears it."`
	Status         op.Opt[string]   `json:"status" minLength:"1" maxLength:"50" doc:"A new status, one of the project's statuses. A status of the category DONE sets progress to 100."`
	IssueType      op.Opt[string]   `json:"issueType" enum:"TASK|EPIC|BUG|FEATURE|CHORE" doc:"A new kind of work."`
	Priority       op.Opt[string]   `json:"priority" enum:"URGENT|HIGH|MEDIUM|LOW" doc:"A new priority."`
	Progress       op.Opt[int]      `json:"progress" minimum:"0" maximum:"100" doc:"Progress in percent, 0 to 100. Done tasks always have 100."`
	Assignee       op.Opt[op.UUID]  `json:"assignee" format:"uuid" doc:"The user to assign; null unassigns."`
	DueDate        op.Opt[op.Date]  `json:"dueDate" format:"date" doc:"The due date; null clears it."`
	EpicID         op.Opt[op.UUID]  `json:"epicId" format:"uuid" doc:"The epic that the task belongs to; null removes it from its epic."`
	ParentTaskID   op.Opt[op.UUID]  `json:"parentTaskId" format:"uuid" doc:"The task that this is a sub-task of; null makes it a top-level task."`
	InitiativeID   op.Opt[op.UUID]  `json:"initiativeId" format:"uuid" doc:"The initiative that an epic is tagged with; null removes the tag."`
	EstimatePoints op.Opt[float64]  `json:"estimatePoints" doc:"The estimate, one of the values of the project's story-point scale; null clears it."`
	Labels         op.Opt[[]string] `json:"labels" maxLength:"50" doc:"The complete new list of labels; null clears it."`
}

// UpdateTask changes a task.
var UpdateTask = op.Declare[UpdateTaskIn, Task](Contract, op.Spec{
	Name: "update-task", Method: "PATCH", Path: "/api/projects/{projectId}/tasks/{task}", Permission: PermTaskUpdate, Effect: op.Write,
	Summary:     "Change a task.",
	Description: "Changes only the fields that are given. Any transition between the project's statuses is allowed.",
})

// DeleteTaskIn is the input of DeleteTask.
type DeleteTaskIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Task      string  `path:"task" maxLength:"64" doc:"The task's key or id."`
}

// DeleteTask deletes a task.
var DeleteTask = op.Declare[DeleteTaskIn, op.None](Contract, op.Spec{
	Name: "delete-task", Method: "DELETE", Path: "/api/projects/{projectId}/tasks/{task}", Permission: PermTaskDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete a task permanently.",
	Description: "Also deletes its sub-tasks and all their comments. Keeps the tasks of a deleted epic, without the epic, and its time entries, in the project. " + CascadeRule,
})
