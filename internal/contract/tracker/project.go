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

// ProjectSummary is a project as a list shows it.
type ProjectSummary struct {
	ID             op.UUID   `json:"id" doc:"The project's id."`
	Name           string    `json:"name" doc:"The project's name. Untrusted text."`
	Prefix         string    `json:"prefix" doc:"The prefix of the project's task keys, unique in the tenant."`
	Status         string    `json:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"Where the project stands."`
	Classification string    `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The tier of the project and of all that is in it."`
	StartDate      op.Date   `json:"startDate" doc:"The day on which the project starts."`
	EndDate        op.Date   `json:"endDate,omitempty" doc:"The day on which the project ends; absent when open."`
	OrganisationID op.UUID   `json:"organisationId,omitempty" doc:"The organisation that the project belongs to, where there is one."`
	InitiativeID   op.UUID   `json:"initiativeId,omitempty" doc:"The initiative that the project belongs to, where there is one."`
	OwnerID        op.UUID   `json:"ownerId,omitempty" doc:"The user who answers for the project."`
	CreatedBy      op.UUID   `json:"createdBy" doc:"The user who created the project."`
	CreatedAt      time.Time `json:"createdAt" doc:"When the project was created."`
	UpdatedAt      time.Time `json:"updatedAt" doc:"When the project last changed."`
}

// Project is a project in full.
type Project struct {
	ProjectSummary
	Description     string     `json:"description" doc:"What the project is about. Untrusted text."`
	IssuePrefix     string     `json:"issuePrefix" doc:"The prefix of the project's issue keys; ISS unless the project has its own."`
	CustomStatuses  []Status   `json:"customStatuses" doc:"The statuses that the project's tasks can have, in their order."`
	StoryPointScale []float64  `json:"storyPointScale,omitempty" doc:"The values that a task's estimatePoints can take; absent when the scale is unknown. No default is ever assumed."`
	RepoPaths       []RepoPath `json:"repoPaths,omitempty" doc:"The repository paths that find the project; absent when there are none."`
}

// DefaultIssuePrefix is the prefix of issue keys where the project has none.
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
	Name     string `json:"name" doc:"The status's name, unique in the project whatever its case."`
	Category string `json:"category" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"What the status means to the ready set, the review queue and progress."`
}

// StatusRename gives a status of a project another name.
type StatusRename struct {
	From string `json:"from" doc:"The name that the status has."`
	To   string `json:"to" doc:"The name that it is to have."`
}

// DefaultStatuses are those of a project that was created without its own.
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

// DefaultStatus is the status of a new task in a project with the default set;
// elsewhere it is the first one of the category TODO.
const DefaultStatus = "TODO"

// ListProjectsIn asks for projects.
type ListProjectsIn struct {
	Search       string  `query:"search" maxLength:"200" empty:"true" doc:"A part of the name, the prefix or the description."`
	Status       string  `query:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"Only projects with this status."`
	InitiativeID op.UUID `query:"initiativeId" format:"uuid" doc:"Only projects of this initiative."`
	Limit        int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many projects to return at most."`
	Cursor       string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListProjects lists the projects that the caller may read, by name.
var ListProjects = op.New[ListProjectsIn, op.Page[ProjectSummary]](op.Spec{
	Name: "list-projects", Module: Module, Method: "GET", Path: "/api/projects", Permission: PermProjectsRead, Effect: op.Read,
	Summary:     "List the projects of the organisation.",
	Description: "Projects that the caller may not read are left out. The list is ordered by name.",
})

// CreateProjectIn describes a project to be.
type CreateProjectIn struct {
	Name            string    `json:"name" required:"true" maxLength:"200" doc:"The project's name."`
	StartDate       op.Date   `json:"startDate" required:"true" format:"date" doc:"The day on which the project starts."`
	EndDate         op.Date   `json:"endDate" format:"date" doc:"The day on which the project ends."`
	Description     string    `json:"description" maxLength:"20000" doc:"What the project is about."`
	Prefix          string    `json:"prefix" pattern:"^[A-Za-z][A-Za-z0-9]{1,9}$" form:"a letter and one to nine letters or digits, such as HW" doc:"The prefix of the task keys: a letter and one to nine letters or digits. Derived from the name when absent; 409 when another project of the tenant has it."`
	IssuePrefix     string    `json:"issuePrefix" pattern:"^[A-Za-z][A-Za-z0-9]{1,9}$" form:"a letter and one to nine letters or digits, such as HW" doc:"The prefix of the issue keys, unique in the tenant; ISS when absent."`
	Classification  string    `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" default:"UNCLASSIFIED" doc:"The tier of the project and of all that is in it."`
	OrganisationID  op.UUID   `json:"organisationId" format:"uuid" doc:"The organisation that the project belongs to; the caller's own when absent."`
	OwnerID         op.UUID   `json:"ownerId" format:"uuid" doc:"The user who answers for the project; the caller when absent."`
	InitiativeID    op.UUID   `json:"initiativeId" format:"uuid" doc:"The initiative that the project is to belong to; it takes initiative.update as well."`
	CustomStatuses  []Status  `json:"customStatuses" maxLength:"30" doc:"The statuses of the project's tasks, in their order; the default set when absent."`
	StoryPointScale []float64 `json:"storyPointScale" maxLength:"50" doc:"The values that estimatePoints can take. Without it no task can have an estimate."`
}

// CreateProject creates a project.
var CreateProject = op.New[CreateProjectIn, Project](op.Spec{
	Name: "create-project", Module: Module, Method: "POST", Path: "/api/projects", Permission: PermProjectCreate, Effect: op.Write, Status: 201,
	Summary: "Create a project.",
})

// FindProjectIn holds a hint.
type FindProjectIn struct {
	Hint string `query:"hint" required:"true" maxLength:"1000" doc:"A project's id, task-key prefix, name, a part of its name, or a repository path or git remote that is bound to it."`
}

// FindProject resolves a hint to exactly one project.
var FindProject = op.New[FindProjectIn, Project](op.Spec{
	Name: "find-project", Module: Module, Method: "GET", Path: "/api/projects/find", Permission: PermProjectsRead, Effect: op.Read,
	Summary:     "Find the one project that a hint means.",
	Description: "A hint that fits more than one project is a CONFLICT whose details.candidates list them (id, name, prefix); it is never a guess. Of the bound repository paths that hold a path, the longest one counts.",
})

// ProjectCandidate is one of the projects that an ambiguous hint fits.
type ProjectCandidate struct {
	ID     op.UUID `json:"id"`
	Name   string  `json:"name"`
	Prefix string  `json:"prefix"`
}

// GetProjectIn names a project.
type GetProjectIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
}

// GetProject gives a project in full.
var GetProject = op.New[GetProjectIn, Project](op.Spec{
	Name: "get-project", Module: Module, Method: "GET", Path: "/api/projects/{projectId}", Permission: PermProjectsRead, Effect: op.Read,
	Summary: "Get a project in full.",
})

// UpdateProjectIn holds what is to change of a project.
type UpdateProjectIn struct {
	ProjectID       op.UUID           `path:"projectId" format:"uuid" doc:"The project's id."`
	Name            op.Opt[string]    `json:"name" minLength:"1" maxLength:"200" doc:"A new name."`
	Status          op.Opt[string]    `json:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"A new status."`
	Description     op.Opt[string]    `json:"description" maxLength:"20000" doc:"A new description; null clears it."`
	StartDate       op.Opt[op.Date]   `json:"startDate" format:"date" doc:"A new first day."`
	EndDate         op.Opt[op.Date]   `json:"endDate" format:"date" doc:"A new last day; null clears it."`
	Prefix          op.Opt[string]    `json:"prefix" minLength:"1" pattern:"^[A-Za-z][A-Za-z0-9]{1,9}$" form:"a letter and one to nine letters or digits, such as HW" doc:"A new prefix; the keys of all tasks of the project follow it."`
	IssuePrefix     op.Opt[string]    `json:"issuePrefix" minLength:"1" pattern:"^[A-Za-z][A-Za-z0-9]{1,9}$" form:"a letter and one to nine letters or digits, such as HW" doc:"A new issue prefix; null goes back to ISS."`
	Classification  op.Opt[string]    `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"A new tier."`
	OrganisationID  op.Opt[op.UUID]   `json:"organisationId" format:"uuid" doc:"Another organisation; null for none."`
	OwnerID         op.Opt[op.UUID]   `json:"ownerId" format:"uuid" doc:"Another user who answers for the project; null for none."`
	InitiativeID    op.Opt[op.UUID]   `json:"initiativeId" format:"uuid" doc:"Another initiative, which takes initiative.update on it as well; null for none."`
	RenameStatuses  []StatusRename    `json:"renameStatuses" maxLength:"30" doc:"New names for statuses of the project. Tasks follow. All happen at once, so that two can swap their names; customStatuses, where it is given too, uses the new names."`
	CustomStatuses  op.Opt[[]Status]  `json:"customStatuses" minLength:"1" maxLength:"30" doc:"The whole new set of statuses, in their order. One that a task still has can't be left out: 409."`
	StoryPointScale op.Opt[[]float64] `json:"storyPointScale" maxLength:"50" doc:"The new scale; null makes it unknown. Estimates that tasks have are kept."`
}

// UpdateProject changes a project.
var UpdateProject = op.New[UpdateProjectIn, Project](op.Spec{
	Name: "update-project", Module: Module, Method: "PATCH", Path: "/api/projects/{projectId}", Permission: PermProjectUpdate, Effect: op.Write,
	Summary:     "Change a project.",
	Description: "Only the fields that are given change. Raising or lowering the classification needs a clearance for both tiers.",
})

// DeleteProjectIn names a project to delete.
type DeleteProjectIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
}

// DeleteProject deletes a project with all that is in it.
var DeleteProject = op.New[DeleteProjectIn, op.None](op.Spec{
	Name: "delete-project", Module: Module, Method: "DELETE", Path: "/api/projects/{projectId}", Permission: PermProjectDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete a project for good.",
	Description: "Its tasks, issues, stages, comments and time entries are deleted with it. Tasks of other projects under one of its epics stay and lose that epic. " + CascadeRule,
})
