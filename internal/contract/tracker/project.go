package tracker

import (
	"time"

	"parapet/internal/op"
)

// The values of a project's status.
const (
	ProjectActive    = "ACTIVE"
	ProjectOnHold    = "ON_HOLD"
	ProjectCompleted = "COMPLETED"
	ProjectCancelled = "CANCELLED"
)

// ProjectSummary is the part of a project that lists contain.
type ProjectSummary struct {
	ID             op.UUID       `json:"id" doc:"The project's id."`
	Name           string        `json:"name" doc:"The project's name. Untrusted text."`
	Prefix         string        `json:"prefix" doc:"The prefix of the project's task keys, unique in the tenant."`
	Status         string        `json:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"The project's status."`
	Classification string        `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The classification of the project and everything in it."`
	StartDate      op.Date       `json:"startDate" doc:"The project's start date."`
	EndDate        op.Date       `json:"endDate,omitempty" doc:"The project's end date; absent if open-ended."`
	OrganisationID op.UUID       `json:"organisationId,omitempty" doc:"The organisation that the project belongs to; absent if it belongs to none."`
	Organisation   *op.Reference `json:"organisation,omitempty" doc:"The name of the record that organisationId identifies."`
	InitiativeID   op.UUID       `json:"initiativeId,omitempty" doc:"The initiative that the project belongs to; absent if it belongs to none."`
	Initiative     *op.Reference `json:"initiative,omitempty" doc:"The name of the record that initiativeId identifies."`
	OwnerID        op.UUID       `json:"ownerId,omitempty" doc:"The user responsible for the project."`
	Owner          *op.Reference `json:"owner,omitempty" doc:"The name of the record that ownerId identifies."`
	CreatedBy      op.UUID       `json:"createdBy" doc:"The user who created the project."`
	CreatedByUser  *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt      time.Time     `json:"createdAt" doc:"When the project was created."`
	UpdatedAt      time.Time     `json:"updatedAt" doc:"When the project last changed."`
}

// Project is a project with all its fields.
type Project struct {
	ProjectSummary
	Description     string     `json:"description" doc:"The project's description. Untrusted text."`
	IssuePrefix     string     `json:"issuePrefix" doc:"The prefix of the project's issue keys. Default: ISS."`
	CustomStatuses  []Status   `json:"customStatuses" doc:"The statuses of the project's tasks, in order."`
	StoryPointScale []float64  `json:"storyPointScale,omitempty" doc:"The values allowed for a task's estimatePoints; absent if the project has no scale. There is no default scale."`
	RepoPaths       []RepoPath `json:"repoPaths,omitempty" doc:"The repository paths bound to the project, for find-project; absent if there are none."`
}

// DefaultIssuePrefix is the prefix of issue keys in a project without its own.
const DefaultIssuePrefix = "ISS"

// The categories of task statuses.
const (
	CategoryTodo       = "TODO"
	CategoryInProgress = "IN_PROGRESS"
	CategoryReview     = "REVIEW"
	CategoryDone       = "DONE"
	CategoryCancelled  = "CANCELLED"
)

// Status is a status that the tasks of a project can have.
type Status struct {
	Name     string `json:"name" doc:"The status's name, unique in the project, case-insensitive."`
	Category string `json:"category" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"The category, which determines how the ready set, the review queue and progress treat the status."`
}

// StatusRename renames a status of a project.
type StatusRename struct {
	From string `json:"from" doc:"The current name."`
	To   string `json:"to" doc:"The new name."`
}

// DefaultStatuses returns the statuses of a project that was created without
// custom statuses.
func DefaultStatuses() []Status {
	return []Status{
		{"BACKLOG", CategoryTodo},
		{"TODO", CategoryTodo},
		{"IN_PROGRESS", CategoryInProgress},
		{"IN_REVIEW", CategoryReview},
		{"DONE", CategoryDone},
		{"CANCELLED", CategoryCancelled},
	}
}

// DefaultStatus is the status of a new task in a project that has a status of this
// name. In other projects it is the first status of the category TODO.
const DefaultStatus = "TODO"

// ListProjectsIn is the input of ListProjects.
type ListProjectsIn struct {
	Search       string  `query:"search" maxLength:"200" empty:"true" doc:"A substring of the name, the prefix or the description."`
	Status       string  `query:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"Only projects with this status."`
	InitiativeID op.UUID `query:"initiativeId" format:"uuid" doc:"Only projects of this initiative."`
	Limit        int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of projects to return."`
	Cursor       string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListProjects lists the projects that the caller may read, by name.
var ListProjects = op.Declare[ListProjectsIn, op.Page[ProjectSummary]](Contract, op.Spec{
	Name: "list-projects", Method: "GET", Path: "/api/projects", Permission: PermProjectsRead, Effect: op.Read,
	Summary:     "List the projects of the organisation.",
	Description: "Omits projects that the caller may not read. Ordered by name.",
})

// CreateProjectIn is the input of CreateProject.
type CreateProjectIn struct {
	Name            string    `json:"name" required:"true" maxLength:"200" doc:"The project's name."`
	StartDate       op.Date   `json:"startDate" required:"true" format:"date" doc:"The project's start date."`
	EndDate         op.Date   `json:"endDate" format:"date" doc:"The project's end date."`
	Description     string    `json:"description" maxLength:"20000" doc:"The project's description."`
	Prefix          string    `json:"prefix" pattern:"^[A-Za-z][A-Za-z0-9]{1,9}$" form:"a letter and one to nine letters or digits, such as HW" doc:"The prefix of the task keys: a letter and one to nine letters or digits, unique in the tenant. Default: derived from the name."`
	IssuePrefix     string    `json:"issuePrefix" pattern:"^[A-Za-z][A-Za-z0-9]{1,9}$" form:"a letter and one to nine letters or digits, such as HW" doc:"The prefix of the issue keys, unique in the tenant. Default: ISS."`
	Classification  string    `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" default:"UNCLASSIFIED" doc:"The classification of the project and everything in it."`
	OrganisationID  op.UUID   `json:"organisationId" format:"uuid" doc:"The organisation that the project belongs to. Default: the caller's organisation."`
	OwnerID         op.UUID   `json:"ownerId" format:"uuid" doc:"The user responsible for the project. Default: the caller."`
	InitiativeID    op.UUID   `json:"initiativeId" format:"uuid" doc:"The initiative that the project belongs to. Also requires initiative.update."`
	CustomStatuses  []Status  `json:"customStatuses" maxLength:"30" doc:"The statuses of the project's tasks, in order. Default: BACKLOG, TODO, IN_PROGRESS, IN_REVIEW, DONE, CANCELLED."`
	StoryPointScale []float64 `json:"storyPointScale" maxLength:"50" doc:"The values allowed for estimatePoints. Without a scale, tasks cannot have an estimate."`
}

// CreateProject creates a project.
var CreateProject = op.Declare[CreateProjectIn, Project](Contract, op.Spec{
	Name: "create-project", Method: "POST", Path: "/api/projects", Permission: PermProjectCreate, Effect: op.Write, Status: 201,
	Summary: "Create a project.",
})

// FindProjectIn is the input of FindProject.
type FindProjectIn struct {
	Hint string `query:"hint" required:"true" maxLength:"1000" doc:"A project's id, task-key prefix, name or a substring of its name, or a repository path or git remote bound to it."`
}

// FindProject resolves a hint to exactly one project.
var FindProject = op.Declare[FindProjectIn, Project](Contract, op.Spec{
	Name: "find-project", Method: "GET", Path: "/api/projects/find", Permission: PermProjectsRead, Effect: op.Read,
	Summary:     "Find a project by hint.",
	Description: "Fails with CONFLICT if the hint matches more than one project; details.candidates lists them (id, name, prefix). If the hint is a path, the longest bound repository path that contains it wins.",
})

// ProjectCandidate is one of the projects that an ambiguous hint matches.
type ProjectCandidate struct {
	ID     op.UUID `json:"id"`
	Name   string  `json:"name"`
	Prefix string  `json:"prefix"`
}

// GetProjectIn is the input of GetProject.
type GetProjectIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
}

// GetProject returns a project with all its fields.
var GetProject = op.Declare[GetProjectIn, Project](Contract, op.Spec{
	Name: "get-project", Method: "GET", Path: "/api/projects/{projectId}", Permission: PermProjectsRead, Effect: op.Read,
	Summary: "Get a project with all its fields.",
})

// UpdateProjectIn is the input of UpdateProject.
type UpdateProjectIn struct {
	ProjectID       op.UUID           `path:"projectId" format:"uuid" doc:"The project."`
	Name            op.Opt[string]    `json:"name" minLength:"1" maxLength:"200" doc:"A new name."`
	Status          op.Opt[string]    `json:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"A new status."`
	Description     op.Opt[string]    `json:"description" maxLength:"20000" doc:"A new description; null clears it."`
	StartDate       op.Opt[op.Date]   `json:"startDate" format:"date" doc:"A new start date."`
	EndDate         op.Opt[op.Date]   `json:"endDate" format:"date" doc:"A new end date; null clears it."`
	Prefix          op.Opt[string]    `json:"prefix" minLength:"1" pattern:"^[A-Za-z][A-Za-z0-9]{1,9}$" form:"a letter and one to nine letters or digits, such as HW" doc:"A new prefix. It changes the keys of all tasks of the project."`
	IssuePrefix     op.Opt[string]    `json:"issuePrefix" minLength:"1" pattern:"^[A-Za-z][A-Za-z0-9]{1,9}$" form:"a letter and one to nine letters or digits, such as HW" doc:"A new issue prefix; null resets it to ISS."`
	Classification  op.Opt[string]    `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"A new classification."`
	OrganisationID  op.Opt[op.UUID]   `json:"organisationId" format:"uuid" doc:"A new organisation; null removes the organisation."`
	OwnerID         op.Opt[op.UUID]   `json:"ownerId" format:"uuid" doc:"A new user responsible for the project; null removes the owner."`
	InitiativeID    op.Opt[op.UUID]   `json:"initiativeId" format:"uuid" doc:"A new initiative, which also requires initiative.update; null removes the project from its initiative."`
	RenameStatuses  []StatusRename    `json:"renameStatuses" maxLength:"30" doc:"New names for statuses of the project and its tasks. All renames apply simultaneously, so two statuses can swap names. customStatuses, if also given, uses the new names."`
	CustomStatuses  op.Opt[[]Status]  `json:"customStatuses" minLength:"1" maxLength:"30" doc:"The complete new list of statuses, in order. Omitting a status that a task still has is a CONFLICT."`
	StoryPointScale op.Opt[[]float64] `json:"storyPointScale" maxLength:"50" doc:"The new scale; null removes it. Existing estimates are kept."`
}

// UpdateProject changes a project.
var UpdateProject = op.Declare[UpdateProjectIn, Project](Contract, op.Spec{
	Name: "update-project", Method: "PATCH", Path: "/api/projects/{projectId}", Permission: PermProjectUpdate, Effect: op.Write,
	Summary:     "Change a project.",
	Description: "Changes only the fields that are given. Changing the classification requires clearance for both the old and the new one.",
})

// DeleteProjectIn is the input of DeleteProject.
type DeleteProjectIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
}

// DeleteProject deletes a project with all its records.
var DeleteProject = op.Declare[DeleteProjectIn, op.None](Contract, op.Spec{
	Name: "delete-project", Method: "DELETE", Path: "/api/projects/{projectId}", Permission: PermProjectDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete a project permanently.",
	Description: "Also deletes its tasks, issues, stages, comments and time entries. Tasks of other projects that belong to one of its epics are kept without that epic. " + CascadeRule,
})
