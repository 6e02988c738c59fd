package tracker

import (
	"time"

	"parapet/internal/op"
)

// MaxDependencies is how many tasks one task can wait for.
const MaxDependencies = 200

// The directions of a dependency, as seen from one of its two tasks.
const (
	DirectionBlockedBy = "BLOCKED_BY"
	DirectionBlocks    = "BLOCKS"
)

// Dependency is a dependency of a task, with the task at its other end.
type Dependency struct {
	Direction string    `json:"direction" enum:"BLOCKED_BY|BLOCKS" doc:"BLOCKED_BY: the task waits for the other one; BLOCKS: the other one waits for it."`
	Task      TaskRef   `json:"task" doc:"The task at the other end."`
	CreatedAt time.Time `json:"createdAt" doc:"When the dependency was made."`
}

// TaskRef is a task as another one shows it.
type TaskRef struct {
	ID             op.UUID `json:"id" doc:"The task's id; opaque where it is redacted."`
	Key            string  `json:"key" doc:"The task's key, or REDACTED where the caller can't read the task."`
	Title          string  `json:"title" doc:"The task's title, or REDACTED. Untrusted text."`
	ProjectID      op.UUID `json:"projectId,omitempty" doc:"The task's project; absent where it is redacted."`
	Status         string  `json:"status,omitempty" doc:"One of its project's statuses; absent where it is redacted."`
	StatusCategory string  `json:"statusCategory,omitempty" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"The category of the status; absent where it is redacted. DONE and CANCELLED hold nobody up."`
	IsCrossProject bool    `json:"isCrossProject" doc:"Whether it is in another project."`
}

// ListDependenciesIn names a task.
type ListDependenciesIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Task      string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	Direction string  `query:"direction" enum:"BLOCKED_BY|BLOCKS" doc:"Only dependencies in this direction; both when absent."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many dependencies to return at most."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListDependencies lists what a task waits for and what waits for it.
var ListDependencies = op.New[ListDependenciesIn, op.Page[Dependency]](op.Spec{
	Name: "list-dependencies", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/tasks/{task}/dependencies", Permission: PermTasksRead, Effect: op.Read,
	Summary: "List what a task waits for and what waits for it.",
	Description: "What the task waits for comes first. A task that the caller can't read is there too, with an opaque id, so that the counts are true: " +
		"its key and title are REDACTED and isCrossProject is true.",
})

// AddDependencyIn names a task and the one that it waits for.
type AddDependencyIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Task      string  `path:"task" maxLength:"64" doc:"The key or id of the task that waits."`
	DependsOn string  `json:"dependsOn" required:"true" maxLength:"64" doc:"The key or id of the task that it waits for: any task of the organisation that the caller can read."`
}

// AddDependency makes a task wait for another.
var AddDependency = op.New[AddDependencyIn, Dependency](op.Spec{
	Name: "add-dependency", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/dependencies", Permission: PermTaskUpdate, Effect: op.Write, Status: 201,
	Summary: "Make a task wait for another one.",
	Description: "The task is in the ready set once all that it waits for is done or cancelled. A dependency that would create a cycle is a CONFLICT whose details.cycle names the keys along it. " +
		"One that is there already is answered as it is.",
})

// RemoveDependencyIn names a dependency by its two tasks.
type RemoveDependencyIn struct {
	ProjectID   op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Task        string  `path:"task" maxLength:"64" doc:"The key or id of the task that waits."`
	DependsOnID string  `path:"dependsOnId" maxLength:"64" doc:"The key or id of the task that it waits for; the opaque id where list-dependencies redacts it."`
}

// RemoveDependency ends the waiting of a task for another.
var RemoveDependency = op.New[RemoveDependencyIn, op.None](op.Spec{
	Name: "remove-dependency", Module: Module, Method: "DELETE", Path: "/api/projects/{projectId}/tasks/{task}/dependencies/{dependsOnId}", Permission: PermTaskUpdate, Effect: op.Write, Status: 204,
	Summary: "Let a task no longer wait for another one.",
})
