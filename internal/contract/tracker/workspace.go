package tracker

import "parapet/internal/op"

// The parts of a workspace, as listed in Withheld and Cut.
const (
	PartInitiatives = "initiatives"
	PartProjects    = "projects"
	PartTasks       = "tasks"
)

// The limits of a workspace.
const (
	// WorkspaceItems is the maximum number of initiatives, and of projects.
	WorkspaceItems = 100
	// WorkspaceProjects is the number of projects whose tasks are included.
	WorkspaceProjects = 10
	// WorkspaceTasks is the maximum number of tasks per project.
	WorkspaceTasks = 3
)

// WorkspaceIn is the input of GetWorkspace. It is empty: the workspace is always
// the caller's.
type WorkspaceIn struct{}

// Workspace is the caller's start page: user, initiatives, projects and tasks in
// progress.
type Workspace struct {
	User        WorkspaceUser      `json:"user" doc:"The calling user."`
	Initiatives []Initiative       `json:"initiatives" doc:"The initiatives that the caller may read, by name."`
	Projects    []WorkspaceProject `json:"projects" doc:"The projects that the caller may read, by name."`
	Withheld    []string           `json:"withheld" doc:"The parts that are empty because the caller lacks the permission to read them: initiatives, projects or tasks."`
	Cut         []string           `json:"cut" doc:"The parts that were truncated to the first 100; list-initiatives and list-projects return all."`
}

// WorkspaceUser is the calling user.
type WorkspaceUser struct {
	ID             op.UUID       `json:"id" doc:"The user's id."`
	DisplayName    string        `json:"displayName" doc:"The user's display name. Untrusted text."`
	Email          string        `json:"email,omitempty" doc:"The user's email address."`
	PrincipalKind  string        `json:"principalKind" enum:"HUMAN|SERVICE|AGENT" doc:"The kind of user."`
	TenantID       op.UUID       `json:"tenantId" doc:"The tenant of the request."`
	OrganisationID op.UUID       `json:"organisationId,omitempty" doc:"The organisation that the user belongs to in that tenant."`
	Organisation   *op.Reference `json:"organisation,omitempty" doc:"The name of the record that organisationId identifies."`
}

// WorkspaceProject is a project with some of its tasks in progress.
type WorkspaceProject struct {
	ProjectSummary
	InProgress []TaskSummary `json:"inProgress,omitempty" doc:"Up to 3 tasks in the category IN_PROGRESS, ordered by priority, then due date. Only for the first 10 projects."`
}

// GetWorkspace returns the caller's workspace.
var GetWorkspace = op.Declare[WorkspaceIn, Workspace](Contract, op.Spec{
	Name: "workspace", Method: "GET", Path: "/api/workspace", Access: op.Authenticated, Effect: op.Read,
	Summary:     "Show the initiatives, projects and tasks in progress.",
	Description: "The first 10 projects include up to 3 of their tasks in progress. A part that the caller may not read (initiatives.read, projects.read, tasks.read) is empty and listed in withheld.",
})
