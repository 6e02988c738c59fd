package tracker

import "parapet/internal/op"

// RepoPath is a repository path that is bound to a project.
type RepoPath struct {
	ID   op.UUID `json:"id" doc:"The binding's id."`
	Path string  `json:"path" doc:"The path in its normal form: an absolute path, or a git remote as host/owner/name. Untrusted text."`
}

// MaxRepoPaths is how many paths a project has at most.
const MaxRepoPaths = 50

// BindRepoIn describes a binding to be.
type BindRepoIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Path      string  `json:"path" required:"true" maxLength:"1000" doc:"An absolute path of a folder, or the address of a git remote in any of its forms (ssh, scp-like, https), with or without .git."`
}

// BindRepo binds a repository path to a project.
var BindRepo = op.New[BindRepoIn, RepoPath](op.Spec{
	Name: "bind-repo", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/repo-paths", Permission: PermProjectUpdate, Effect: op.Write, Status: 201,
	Summary:     "Bind a repository path to a project.",
	Description: "find-project then finds the project by the path, and by any folder below it unless a longer binding fits. A path belongs to one project of the tenant (409); binding it to the same project again answers the binding there is.",
})

// UnbindRepoIn names a binding.
type UnbindRepoIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	BindingID op.UUID `path:"bindingId" format:"uuid" doc:"The binding's id, from the project's repoPaths."`
}

// UnbindRepo takes a repository path from a project.
var UnbindRepo = op.New[UnbindRepoIn, op.None](op.Spec{
	Name: "unbind-repo", Module: Module, Method: "DELETE", Path: "/api/projects/{projectId}/repo-paths/{bindingId}", Permission: PermProjectUpdate, Effect: op.Destroy, Status: 204,
	Summary: "Take a repository path from a project.",
})
