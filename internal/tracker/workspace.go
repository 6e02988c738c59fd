package tracker

import (
	"context"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

func (s *Service) workspaceOperations() []op.Bound {
	return []op.Bound{
		executor.Authenticated(s.executor, contract.GetWorkspace, s.workspace),
	}
}

// workspace returns the caller's start page: initiatives, projects and tasks in
// progress. It requires no permission. Each part is filtered like its own list; a part
// for which the caller has no permission anywhere is empty and its name is in
// Withheld.
func (s *Service) workspace(ctx context.Context, c *executor.Call, _ *contract.WorkspaceIn) (*contract.Workspace, error) {
	out := &contract.Workspace{
		User: contract.WorkspaceUser{
			ID: c.Actor.UserID, DisplayName: c.Actor.DisplayName, Email: c.Actor.Email, PrincipalKind: c.Actor.Kind,
			TenantID: c.Tenant, OrganisationID: c.Actor.Organisation,
		},
		Initiatives: []contract.Initiative{}, Projects: []contract.WorkspaceProject{}, Withheld: []string{}, Cut: []string{},
	}
	for _, part := range []struct {
		name, permission string
		fill             func(context.Context, *executor.Call, *contract.Workspace) (more bool, err error)
	}{
		{contract.PartInitiatives, contract.PermInitiativesRead, s.fillInitiatives},
		{contract.PartProjects, contract.PermProjectsRead, s.fillProjects},
		{contract.PartTasks, contract.PermTasksRead, s.fillTasks},
	} {
		if !c.Actor.Subject.Holds(part.permission) {
			out.Withheld = append(out.Withheld, part.name)
			continue
		}
		more, err := part.fill(ctx, c, out)
		if err != nil {
			return nil, err
		}
		if more {
			out.Cut = append(out.Cut, part.name)
		}
	}
	return out, nil
}

func (s *Service) fillInitiatives(ctx context.Context, c *executor.Call, out *contract.Workspace) (bool, error) {
	f, err := c.Filter(ctx, contract.PermInitiativesRead, initiativeColumns)
	if err != nil {
		return false, err
	}
	page, err := s.listInitiatives(ctx, c, &contract.ListInitiativesIn{Limit: contract.WorkspaceItems}, f)
	if err != nil {
		return false, err
	}
	out.Initiatives = page.Items
	return page.NextCursor != "", nil
}

func (s *Service) fillProjects(ctx context.Context, c *executor.Call, out *contract.Workspace) (bool, error) {
	f, err := c.Filter(ctx, contract.PermProjectsRead, projectColumns)
	if err != nil {
		return false, err
	}
	page, err := s.listProjects(ctx, c, &contract.ListProjectsIn{Limit: contract.WorkspaceItems}, f)
	if err != nil {
		return false, err
	}
	for _, p := range page.Items {
		out.Projects = append(out.Projects, contract.WorkspaceProject{ProjectSummary: p})
	}
	return page.NextCursor != "", nil
}

// fillTasks adds the most urgent tasks in progress to the first projects. One
// statement reads the first rows of each project from the index.
func (s *Service) fillTasks(ctx context.Context, c *executor.Call, out *contract.Workspace) (bool, error) {
	shown := out.Projects[:min(len(out.Projects), contract.WorkspaceProjects)]
	f, err := c.Filter(ctx, contract.PermTasksRead, taskColumns)
	if err != nil || f.None() || len(shown) == 0 {
		return false, err
	}
	epics, err := c.Filter(ctx, contract.PermTasksRead, epicProjectColumns)
	if err != nil {
		return false, err
	}
	ids, byPrefix := make([]op.UUID, len(shown)), map[string]*contract.WorkspaceProject{}
	for i := range shown {
		ids[i], byPrefix[shown[i].Prefix] = shown[i].ID, &shown[i]
	}
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	addEpicIsVisible(st.Add(taskListSelect), tenant, epics).Add(`, t.priority_rank, t.due_order
FROM projects.tasks t
WHERE t.tenant_id = `, tenant, ` AND t.project_id = p.id AND t.status_category = 'IN_PROGRESS' AND `).Filter(f)
	st.Add(` ORDER BY t.priority_rank, t.due_order, t.number LIMIT `, st.Arg(contract.WorkspaceTasks), `) page
WHERE p.tenant_id = `, tenant, ` AND p.id = ANY(`, st.Arg(ids), `::uuid[])
ORDER BY p.id, page.priority_rank, page.due_order, page.number`)
	rows, err := c.DB.Query(ctx, st.SQL(), st.Args()...)
	if err != nil {
		return false, err
	}
	var r taskRow
	var isEpicVisible bool
	_, err = pgx.ForEachRow(rows, append(r.listScanTargets(), &isEpicVisible, nil, nil), func() error {
		item, p := r.toSummary(), byPrefix[r.Prefix]
		if !isEpicVisible {
			item.EpicID = opaqueID(c.Tenant, item.EpicID)
		}
		p.InProgress = append(p.InProgress, item)
		return nil
	})
	if err != nil {
		return false, err
	}
	var initiatives []*op.UUID
	for _, p := range byPrefix {
		initiatives = append(initiatives, initiativeRefs(p.InProgress)...)
	}
	return false, redactInitiatives(ctx, c, initiatives...)
}
