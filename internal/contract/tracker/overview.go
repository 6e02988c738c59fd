package tracker

import "parapet/internal/op"

// ProjectOverview is a project with its stages, statuses and counts.
type ProjectOverview struct {
	ID              op.UUID         `json:"id" doc:"The project's id."`
	Name            string          `json:"name" doc:"The project's name. Untrusted text."`
	StoryPointScale []float64       `json:"storyPointScale,omitempty" doc:"The values allowed for a task's estimatePoints; absent if the project has no scale. There is no default scale."`
	Stages          []Stage         `json:"stages" doc:"The project's stages with their gates, in order; empty if stagesOmitted is true."`
	StagesOmitted   bool            `json:"stagesOmitted,omitempty" doc:"True if the caller may not read the project's stages (stages.read)."`
	Reduced         bool            `json:"reduced,omitempty" doc:"True if the caller lacks projects.read: the result then has only id, name, scale and stages."`
	Project         *ProjectSummary `json:"project,omitempty" doc:"The project; absent if reduced is true."`
	Description     string          `json:"description,omitempty" doc:"The project's description. Untrusted text."`
	CustomStatuses  []Status        `json:"customStatuses,omitempty" doc:"The statuses of the project's tasks, in order; absent if reduced is true."`
	Stats           *ProjectStats   `json:"stats,omitempty" doc:"Counts; absent if reduced is true."`
}

// ProjectStats holds the counts of a project. A count is nil if the caller may not
// read the counted records.
type ProjectStats struct {
	Tasks  *TaskStats  `json:"tasks,omitempty" doc:"Counts of tasks; absent without tasks.read."`
	Issues *IssueStats `json:"issues,omitempty" doc:"Counts of issues; absent without issues.read."`
}

// TaskStats holds counts of a project's tasks.
type TaskStats struct {
	Total      int             `json:"total" doc:"All tasks, including epics and sub-tasks."`
	Overdue    int             `json:"overdue" doc:"Tasks past their due date that are neither done nor cancelled."`
	ByCategory []CategoryCount `json:"byCategory" doc:"The number of tasks per status category, for all five categories."`
	ByStatus   []StatusCount   `json:"byStatus" doc:"The number of tasks per status, in the order of the project's statuses."`
}

// IssueStats holds counts of a project's issues.
type IssueStats struct {
	Open int `json:"open" doc:"Issues that are neither closed nor resolved."`
}

// CategoryCount counts the tasks of a category.
type CategoryCount struct {
	Category string `json:"category" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"The category."`
	Count    int    `json:"count" doc:"The number of tasks."`
}

// StatusCount counts the tasks of a status.
type StatusCount struct {
	Status   string `json:"status" doc:"The status's name."`
	Category string `json:"category" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"The status's category."`
	Count    int    `json:"count" doc:"The number of tasks."`
}

// GetProjectOverview returns a project with its stages, statuses and counts.
var GetProjectOverview = op.Declare[GetProjectIn, ProjectOverview](Contract, op.Spec{
	Name: "get-project-overview", Method: "GET", Path: "/api/projects/{projectId}/overview", Permission: PermStagesRead, Effect: op.Read,
	Summary:     "Show a project's stages, statuses, estimate scale and counts.",
	Description: "Without projects.read, returns only id, name, scale and stages, with reduced: true. Without stages.read, returns no stages, with stagesOmitted: true.",
})
