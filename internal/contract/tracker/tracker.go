// Package tracker is the contract of the tracker module: its operations, the
// public form of its resources and the names of its events. It holds no logic
// and imports nothing of a third party, so that clients link no server code.
package tracker

import "parapet/internal/op"

// Module is the module's name, in operations, policies, audit and decision log.
const Module = "tracker"

// The permissions that the module asks for.
const (
	PermProjectsRead   = "projects.read"
	PermProjectCreate  = "project.create"
	PermProjectUpdate  = "project.update"
	PermProjectDelete  = "project.delete"
	PermTasksRead      = "tasks.read"
	PermTaskCreate     = "task.create"
	PermTaskUpdate     = "task.update"
	PermTaskDelete     = "task.delete"
	PermTasksUpdateAny = "tasks.update.any"
)

// The events that the module emits. The payload is the resource's public form:
// Project or Task.
const (
	EventProjectCreated = "projects.project.created"
	EventProjectUpdated = "projects.project.updated"
	EventProjectDeleted = "projects.project.deleted"
	EventTaskCreated    = "projects.task.created"
	EventTaskUpdated    = "projects.task.updated"
	EventTaskDeleted    = "projects.task.deleted"
)

// Operations lists every operation of the module, in the order of its paths.
func Operations() []*op.Operation {
	return []*op.Operation{
		ListProjects.Operation,
		CreateProject.Operation,
		FindProject.Operation,
		GetProject.Operation,
		UpdateProject.Operation,
		DeleteProject.Operation,
		ImportItems.Operation,
		ListTasks.Operation,
		CreateTask.Operation,
		GetTask.Operation,
		UpdateTask.Operation,
		DeleteTask.Operation,
	}
}
