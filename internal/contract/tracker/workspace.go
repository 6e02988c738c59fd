package tracker

import "parapet/internal/op"

// The parts of a workspace, as withheld and cut name them.
const (
	PartInitiatives = "initiatives"
	PartProjects    = "projects"
	PartTasks       = "tasks"
)

// How much a workspace holds.
const (
	// WorkspaceItems bounds the initiatives and the projects.
	WorkspaceItems = 100
	// WorkspaceProjects is of how many projects it shows tasks.
	WorkspaceProjects = 10
	// WorkspaceTasks is how many tasks of each.
	WorkspaceTasks = 3
)

// WorkspaceIn is empty: the workspace is the caller's.
type WorkspaceIn struct{}

// Workspace is what the caller begins a day with.
type Workspace struct {
	User        WorkspaceUser      `json:"user" doc:"Who is calling."`
	Initiatives []Initiative       `json:"initiatives" doc:"The initiatives that the caller may read, by name."`
	Projects    []WorkspaceProject `json:"projects" doc:"The projects that the caller may read, by name."`
	Withheld    []string           `json:"withheld" doc:"The parts that are empty because the caller lacks the permission: initiatives, projects, tasks."`
	Cut         []string           `json:"cut" doc:"The parts that hold the first 100 only; their list operations give all."`
}

// WorkspaceUser is who is calling.
type WorkspaceUser struct {
	ID             op.UUID `json:"id" doc:"The user's id."`
	DisplayName    string  `json:"displayName" doc:"The name that is shown. Untrusted text."`
	Email          string  `json:"email,omitempty" doc:"The address."`
	PrincipalKind  string  `json:"principalKind" enum:"HUMAN|SERVICE|AGENT" doc:"What kind of user it is."`
	TenantID       op.UUID `json:"tenantId" doc:"The tenant that the request acts in."`
	OrganisationID op.UUID `json:"organisationId,omitempty" doc:"The organisation that the user belongs to there."`
}

// WorkspaceProject is a project with what is under way in it.
type WorkspaceProject struct {
	ProjectSummary
	InProgress []TaskSummary `json:"inProgress,omitempty" doc:"Of the first 10 projects: up to 3 tasks in the category IN_PROGRESS, the most pressing first, then the earliest due."`
}

// GetWorkspace shows what the caller begins a day with.
var GetWorkspace = op.New[WorkspaceIn, Workspace](op.Spec{
	Name: "workspace", Module: Module, Method: "GET", Path: "/api/workspace", Access: op.Authenticated, Effect: op.Read,
	Summary:     "Show the current user, the organisation's initiatives and projects, and what is in progress.",
	Description: "The first 10 projects come with up to 3 of their tasks in progress. Each part needs its own permission (initiatives.read, projects.read, tasks.read); a part whose permission is missing is empty and named in withheld.",
})
