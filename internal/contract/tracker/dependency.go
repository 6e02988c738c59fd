package tracker

import (
	"time"

	"parapet/internal/op"
)

// MaxDependencies is the maximum number of tasks that one task can depend on.
const MaxDependencies = 200

// The directions of a dependency, relative to the listed task.
const (
	DirectionBlockedBy = "BLOCKED_BY"
	DirectionBlocks    = "BLOCKS"
)

// Dependency is a dependency of a task, with its direction and the other task.
type Dependency struct {
	Direction string    `json:"direction" enum:"BLOCKED_BY|BLOCKS" doc:"BLOCKED_BY: this task depends on the other task. BLOCKS: the other task depends on this task."`
	Task      TaskRef   `json:"task" doc:"The other task."`
	CreatedAt time.Time `json:"createdAt" doc:"When the dependency was created."`
	Existed   bool      `json:"existed,omitzero" doc:"True if the dependency existed before the call. Set only by add-dependency."`
}

// TaskRef is the short form of a task in the dependencies of another task. If the
// caller can't read the task, only ID, Key, Title and IsCrossProject are set.
type TaskRef struct {
	ID             op.UUID       `json:"id" doc:"The task's id; an opaque id if the caller can't read the task."`
	Key            string        `json:"key" doc:"The task's key, or REDACTED if the caller can't read the task."`
	Title          string        `json:"title" doc:"The task's title, or REDACTED. Untrusted text."`
	ProjectID      op.UUID       `json:"projectId,omitempty" doc:"The task's project; absent if redacted."`
	Project        *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	Status         string        `json:"status,omitempty" doc:"One of its project's statuses; absent if redacted."`
	StatusCategory string        `json:"statusCategory,omitempty" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"The category of the status; absent if redacted. A task that is DONE or CANCELLED no longer blocks others."`
	IsCrossProject bool          `json:"isCrossProject" doc:"Whether the task is in another project."`
}

// ListDependenciesIn is the input of ListDependencies.
type ListDependenciesIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Task      string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	Direction string  `query:"direction" enum:"BLOCKED_BY|BLOCKS" doc:"Only dependencies in this direction; both when absent."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of dependencies to return."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListDependencies lists the tasks that a task depends on and the tasks that
// depend on it.
var ListDependencies = op.Declare[ListDependenciesIn, op.Page[Dependency]](Contract, op.Spec{
	Name: "list-dependencies", Method: "GET", Path: "/api/projects/{projectId}/tasks/{task}/dependencies", Permission: PermTasksRead, Effect: op.Read,
	Summary: "List the dependencies of a task in both directions.",
	Description: "Tasks that this task depends on come first. A task that the caller can't read is included, so that counts are complete, but redacted: " +
		"its id is opaque, its key and title are REDACTED, and isCrossProject is true.",
})

// AddDependencyIn is the input of AddDependency.
type AddDependencyIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Task      string  `path:"task" maxLength:"64" doc:"The key or id of the dependent task."`
	DependsOn string  `json:"dependsOn" required:"true" maxLength:"64" doc:"The key or id of the task that it depends on: any task of the tenant that the caller can read."`
}

// AddDependency makes a task depend on another task.
var AddDependency = op.Declare[AddDependencyIn, Dependency](Contract, op.Spec{
	Name: "add-dependency", Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/dependencies", Permission: PermTaskUpdate, Effect: op.Write, Status: 201, Idempotent: true,
	Summary: "Make a task depend on another task.",
	Description: "The task enters the ready set when every task that it depends on is done or cancelled. Fails with CONFLICT if the dependency would create a cycle; details.cycle lists the keys of the cycle. " +
		"If the dependency already exists, returns it unchanged with existed: true.",
})

// RemoveDependencyIn is the input of RemoveDependency.
type RemoveDependencyIn struct {
	ProjectID   op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Task        string  `path:"task" maxLength:"64" doc:"The key or id of the dependent task."`
	DependsOnID string  `path:"dependsOnId" maxLength:"64" doc:"The key or id of the task that it depends on, or the opaque id if list-dependencies redacts it."`
}

// RemoveDependency removes a dependency between two tasks.
var RemoveDependency = op.Declare[RemoveDependencyIn, op.None](Contract, op.Spec{
	Name: "remove-dependency", Method: "DELETE", Path: "/api/projects/{projectId}/tasks/{task}/dependencies/{dependsOnId}", Permission: PermTaskUpdate, Effect: op.Write, Status: 204,
	Summary: "Remove a dependency of a task.",
})
