package tracker

import "parapet/internal/op"

// ProjectOverview is a project at a glance.
type ProjectOverview struct {
	ID              op.UUID         `json:"id" doc:"The project's id."`
	Name            string          `json:"name" doc:"The project's name. Untrusted text."`
	StoryPointScale []float64       `json:"storyPointScale,omitempty" doc:"The values that a task's estimatePoints can take; absent when the scale is unknown. No default is ever assumed."`
	Stages          []Stage         `json:"stages" doc:"The stage-gate pipeline, in its order; empty where stagesOmitted is true."`
	StagesOmitted   bool            `json:"stagesOmitted,omitempty" doc:"True where the caller may not see the project's stages (stages.read)."`
	Reduced         bool            `json:"reduced,omitempty" doc:"True where the caller may not read the project in full: then this is its name, scale and stages alone."`
	Project         *ProjectSummary `json:"project,omitempty" doc:"The project; absent from a reduced result."`
	Description     string          `json:"description,omitempty" doc:"What the project is about. Untrusted text."`
	CustomStatuses  []Status        `json:"customStatuses,omitempty" doc:"The statuses that the project's tasks can have, in their order; absent from a reduced result."`
	Stats           *ProjectStats   `json:"stats,omitempty" doc:"Counts; absent from a reduced result."`
}

// ProjectStats are counts over a project. Each part is there for a caller who
// may read what it counts.
type ProjectStats struct {
	Tasks  *TaskStats  `json:"tasks,omitempty" doc:"Counts of tasks; absent without tasks.read."`
	Issues *IssueStats `json:"issues,omitempty" doc:"Counts of issues; absent without issues.read."`
}

// TaskStats are counts over the tasks of a project.
type TaskStats struct {
	Total      int             `json:"total" doc:"All tasks, epics and sub-tasks among them."`
	Overdue    int             `json:"overdue" doc:"Tasks whose due date is past and that are neither done nor cancelled."`
	ByCategory []CategoryCount `json:"byCategory" doc:"Tasks by the category of their status, all five, in the order of work."`
	ByStatus   []StatusCount   `json:"byStatus" doc:"Tasks by status, in the order of the project's statuses."`
}

// IssueStats are counts over the issues of a project.
type IssueStats struct {
	Open int `json:"open" doc:"Issues that are neither closed nor resolved."`
}

// CategoryCount counts the tasks of a category.
type CategoryCount struct {
	Category string `json:"category" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"The category."`
	Count    int    `json:"count" doc:"How many tasks."`
}

// StatusCount counts the tasks of a status.
type StatusCount struct {
	Status   string `json:"status" doc:"The status's name."`
	Category string `json:"category" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"Its category."`
	Count    int    `json:"count" doc:"How many tasks."`
}

// GetProjectOverview gives a project at a glance.
var GetProjectOverview = op.New[GetProjectIn, ProjectOverview](op.Spec{
	Name: "get-project-overview", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/overview", Permission: PermStagesRead, Effect: op.Read,
	Summary:     "Show a project at a glance: stages, statuses, story-point scale and counts.",
	Description: "A caller who may see the project's stages but lacks projects.read gets name, scale and stages, and reduced: true. A caller with projects.read but no stages.read gets the rest, and stagesOmitted: true.",
})
