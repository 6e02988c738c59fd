package tracker

import (
	"context"
	"fmt"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) repoOperations() []op.Bound {
	return []op.Bound{
		handle(s, contract.BindRepo, loadProjectToBindRepo, bindRepo),
		handle(s, contract.UnbindRepo, loadProjectToUnbindRepo, unbindRepo),
	}
}

func loadProjectToBindRepo(ctx context.Context, c *executor.Call, in *contract.BindRepoIn) (projectRow, authz.Resource, error) {
	row, err := loadProject(ctx, c, lockProjectSQL, in.ProjectID)
	return row, row.resource(c.Tenant), err
}

const insertRepoSQL = `
INSERT INTO projects.repo_paths (tenant_id, id, project_id, path, created_by, created_at)
VALUES (@tenant, @id, @project, @path, @creator, @now)
ON CONFLICT ON CONSTRAINT repo_paths_once DO NOTHING`

// bindRepo binds a repository path to the project. If the project already has the
// path, nothing changes. If another project has it, the error does not name that
// project, because the caller may not be allowed to see it.
func bindRepo(ctx context.Context, c *executor.Call, in *contract.BindRepoIn, row projectRow) (*contract.RepoPath, error) {
	path, err := requireRepoPath(in.Path)
	if err != nil {
		return nil, err
	}
	for i, bound := range row.RepoPaths {
		if bound == path {
			if err := authorizeUnchanged(ctx, c, contract.PermProjectsRead, row.resource(c.Tenant)); err != nil {
				return nil, err
			}
			return &contract.RepoPath{ID: row.RepoIDs[i], Path: path}, nil
		}
	}
	if len(row.RepoPaths) >= contract.MaxRepoPaths {
		return nil, fault.Conflict(fmt.Sprintf("A project has at most %d repository paths. Unbind one first.", contract.MaxRepoPaths))
	}
	repo := contract.RepoPath{ID: uid.New(), Path: path}
	tag, err := c.DB.Exec(ctx, insertRepoSQL, postgres.Args{
		"tenant": c.Tenant, "id": repo.ID, "project": row.ID, "path": path, "creator": c.Actor.UserID, "now": c.Now,
	})
	if err != nil {
		return nil, err
	}
	if tag.RowsAffected() == 0 {
		return nil, fault.Conflict("The path is bound to another project of the tenant. Unbind it from that project first.")
	}
	return &repo, recordRepoChange(ctx, c, row.ID, map[string]any{"bound": repo.ID})
}

func loadProjectToUnbindRepo(ctx context.Context, c *executor.Call, in *contract.UnbindRepoIn) (projectRow, authz.Resource, error) {
	row, err := loadProject(ctx, c, lockProjectSQL, in.ProjectID)
	return row, row.resource(c.Tenant), err
}

const deleteRepoSQL = `
DELETE FROM projects.repo_paths b
WHERE b.tenant_id = @tenant AND b.project_id = @project AND b.id = @id`

func unbindRepo(ctx context.Context, c *executor.Call, in *contract.UnbindRepoIn, row projectRow) (*op.None, error) {
	tag, err := c.DB.Exec(ctx, deleteRepoSQL, postgres.Args{"tenant": c.Tenant, "project": row.ID, "id": in.BindingID})
	if err != nil {
		return nil, err
	}
	if tag.RowsAffected() == 0 {
		return nil, fault.NotFound("repository path")
	}
	return &op.None{}, recordRepoChange(ctx, c, row.ID, map[string]any{"unbound": in.BindingID})
}

// recordRepoChange records that the project's repository paths changed.
func recordRepoChange(ctx context.Context, c *executor.Call, project op.UUID, changes map[string]any) error {
	row, err := loadProject(ctx, c, loadProjectSQL, project)
	if err != nil {
		return err
	}
	recordProject(c, &row, []string{"repoPaths"}, changes)
	return nil
}

// findProjectByRepo returns the project whose bound path is the longest prefix of the
// path, among the projects that match the filter. It returns nil if there is none.
func findProjectByRepo(ctx context.Context, c *executor.Call, path string, f authz.Filter) (*contract.Project, error) {
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	st.Add(projectSelect, `
FROM projects.repo_paths rp
JOIN projects.projects p ON p.tenant_id = `, tenant, ` AND p.id = rp.project_id
WHERE rp.tenant_id = `, tenant, ` AND rp.path = ANY(`, st.Arg(repoPrefixes(path)), `::text[]) AND `).Filter(f)
	st.Add(` ORDER BY length(rp.path) DESC LIMIT 1`)
	rows, err := postgres.Collect[projectRow](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0].toProjectForCaller(ctx, c)
}
