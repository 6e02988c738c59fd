package tracker

import "parapet/internal/op"

// RepoPath is a repository path that is bound to a project.
type RepoPath struct {
	ID   op.UUID `json:"id" doc:"The binding's id."`
	Path string  `json:"path" doc:"The normalized path: an absolute path, or a git remote as host/owner/name. Untrusted text."`
}

// MaxRepoPaths is the maximum number of repository paths per project.
const MaxRepoPaths = 50

// BindRepoIn is the input of BindRepo.
type BindRepoIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Path      string  `json:"path" required:"true" maxLength:"1000" doc:"The absolute path of a folder, or the URL of a git remote (ssh, scp-like or https), with or without .git."`
}

// BindRepo binds a repository path to a project.
var BindRepo = op.Declare[BindRepoIn, RepoPath](Contract, op.Spec{
	Name: "bind-repo", Method: "POST", Path: "/api/projects/{projectId}/repo-paths", Permission: PermProjectUpdate, Effect: op.Write, Status: 201, Idempotent: true,
	Summary:     "Bind a repository path to a project.",
	Description: "find-project then finds the project by the path and by any folder below it, unless a longer bound path matches. A path can be bound to only one project of the tenant. If it is already bound to this project, the existing binding is returned.",
})

// UnbindRepoIn is the input of UnbindRepo.
type UnbindRepoIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	BindingID op.UUID `path:"bindingId" format:"uuid" doc:"The binding's id, from the project's repoPaths."`
}

// UnbindRepo removes a repository path from a project.
var UnbindRepo = op.Declare[UnbindRepoIn, op.None](Contract, op.Spec{
	Name: "unbind-repo", Method: "DELETE", Path: "/api/projects/{projectId}/repo-paths/{bindingId}", Permission: PermProjectUpdate, Effect: op.Destroy, Status: 204,
	Summary: "Remove a repository path from a project.",
})
