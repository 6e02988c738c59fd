package tracker

import (
	"context"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// listProjects returns a page of the projects that match the policy filter, ordered by
// name. The cursor holds the sort name and the id of the page's last project.
func (s *Service) listProjects(ctx context.Context, c *executor.Call, in *contract.ListProjectsIn, f authz.Filter) (*op.Page[contract.ProjectSummary], error) {
	after, err := op.ReadCursor(in.Cursor, contract.ListProjects.Name, c.Tenant, 2)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.ProjectSummary]{Items: []contract.ProjectSummary{}}
	if f.None() {
		return page, nil
	}
	st := &postgres.Statement{}
	st.Add(projectSummarySelect, `, p.sort_name
FROM projects.projects p
WHERE p.tenant_id = `, st.Arg(c.Tenant), ` AND `).Filter(f)
	if in.Status != "" {
		st.Add(` AND p.status = `, st.Arg(in.Status))
	}
	if in.InitiativeID != "" {
		// An initiative that the caller may not read lists no projects, like one that does
		// not exist.
		visible, err := initiativeTarget.readableIDs(ctx, c, []op.UUID{in.InitiativeID})
		if err != nil || len(visible) == 0 {
			return page, err
		}
		st.Add(` AND p.initiative_id = `, st.Arg(in.InitiativeID), `::uuid`)
	}
	if in.Search != "" {
		part := st.Arg(containsPattern(in.Search))
		st.Add(` AND (p.name ILIKE `, part, ` OR p.prefix ILIKE `, part, ` OR p.description ILIKE `, part, `)`)
	}
	if after != nil {
		id, err := op.ParseUUID(after[1])
		if err != nil {
			return nil, op.WrongCursor()
		}
		st.Add(` AND (p.sort_name, p.id) > (`, st.Arg(after[0]), `::text COLLATE "C", `, st.Arg(id), `::uuid)`)
	}
	st.Add(` ORDER BY p.sort_name, p.id LIMIT `, st.Arg(in.Limit+1))

	type row struct {
		projectSummaryRow
		SortName string
	}
	rows, err := postgres.Collect[row](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil {
		return nil, err
	}
	rowPage := op.NewPage(rows, in.Limit, func(last *row) string {
		return op.NewCursor(contract.ListProjects.Name, c.Tenant, last.SortName, string(last.ID))
	})
	page = op.MapPage(rowPage, (*row).toSummary)
	refs := make([]*op.UUID, len(page.Items))
	for i := range page.Items {
		refs[i] = &page.Items[i].InitiativeID
	}
	return page, redactInitiatives(ctx, c, refs...)
}

// findProject returns the project that matches a hint: by bound repository path, or else as
// findByHint says.
func (s *Service) findProject(ctx context.Context, c *executor.Call, in *contract.FindProjectIn, f authz.Filter) (*contract.Project, error) {
	if f.None() {
		return nil, fault.NotFound("project")
	}
	if path, ok := normalizeRepo(in.Hint); ok {
		if found, err := findProjectByRepo(ctx, c, path, f); found != nil || err != nil {
			return found, err
		}
	}
	id, err := findByHint(ctx, c, projectNames(), in.Hint, func(r op.Reference) contract.ProjectCandidate {
		return contract.ProjectCandidate{ID: r.ID, Name: r.Name, Prefix: r.Key}
	})
	if err != nil {
		return nil, err
	}
	st := &postgres.Statement{}
	st.Add(projectSelect, `
FROM projects.projects p
WHERE p.tenant_id = `, st.Arg(c.Tenant), ` AND p.id = `, st.Arg(id), `::uuid AND `).Filter(f)
	row, err := postgres.One[projectRow](ctx, c.DB, st.SQL(), st.Args()...)
	if postgres.IsNoRows(err) {
		err = fault.NotFound("project")
	}
	if err != nil {
		return nil, err
	}
	return row.toProjectForCaller(ctx, c)
}

func loadProjectToDelete(ctx context.Context, c *executor.Call, in *contract.DeleteProjectIn) (projectRow, authz.Resource, error) {
	row, err := loadProject(ctx, c, lockProjectSQL, in.ProjectID)
	return row, row.resource(c.Tenant), err
}

// deleteProject deletes the project with all of its records. Tasks of other projects
// that belong to its epics stay: each loses its epic and gets an audit entry and an
// event.
func (s *Service) deleteProject(ctx context.Context, c *executor.Call, _ *contract.DeleteProjectIn, row projectRow) (*op.None, error) {
	args := postgres.Args{"tenant": c.Tenant, "project": row.ID}
	children, err := postgres.CollectScalars[op.UUID](ctx, c.DB, childrenInOtherProjectsSQL, args)
	if err != nil {
		return nil, err
	}
	// Lock the graph, so that no dependency on a task of this project is added after
	// authorizeCascade has counted them.
	if err := lockGraph(ctx, c, row.ID); err != nil {
		return nil, err
	}
	if err := authorizeCascade(ctx, c, "projects", row.ID); err != nil {
		return nil, err
	}
	if err := detachChildren(ctx, c, children); err != nil {
		return nil, err
	}
	var tasks int64
	batch := &pgx.Batch{}
	batch.Queue(countTasksSQL, args).QueryRow(func(r pgx.Row) error { return r.Scan(&tasks) })
	batch.Queue(deleteProjectSQL, args)
	if err := c.Tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, postgres.MapError(err, projectConstraints())
	}
	c.Record(executor.Change{
		Action: "project.deleted", Type: "project", ID: row.ID, Classification: row.Classification, Critical: true,
		Details: map[string]any{"prefix": row.Prefix, "tasks": tasks},
		Event:   contract.EventProjectDeleted, Payload: row.toProjectForEvent(c.Tenant),
	})
	return &op.None{}, recordInitiativeProjects(ctx, c, row.ID, row.InitiativeID)
}
