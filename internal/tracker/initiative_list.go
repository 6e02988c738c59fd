package tracker

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// listInitiatives returns a page of the initiatives that match the policy filter,
// ordered by name. The cursor holds the sort name and the id of the page's last
// initiative.
func (s *Service) listInitiatives(ctx context.Context, c *executor.Call, in *contract.ListInitiativesIn, f authz.Filter) (*op.Page[contract.Initiative], error) {
	after, err := op.ReadCursor(in.Cursor, contract.ListInitiatives.Name, c.Tenant, 2)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.Initiative]{Items: []contract.Initiative{}}
	if f.None() {
		return page, nil
	}
	st := &postgres.Statement{}
	st.Add(initiativeSelect, `, i.sort_name
FROM projects.initiatives i
WHERE i.tenant_id = `, st.Arg(c.Tenant), ` AND `).Filter(f)
	if in.Status != "" {
		st.Add(` AND i.status = `, st.Arg(in.Status))
	}
	if in.Search != "" {
		part := st.Arg(containsPattern(in.Search))
		st.Add(` AND (i.name ILIKE `, part, ` OR i.description ILIKE `, part, `)`)
	}
	if after != nil {
		id, err := op.ParseUUID(after[1])
		if err != nil {
			return nil, op.WrongCursor()
		}
		st.Add(` AND (i.sort_name, i.id) > (`, st.Arg(after[0]), `::text COLLATE "C", `, st.Arg(id), `::uuid)`)
	}
	st.Add(` ORDER BY i.sort_name, i.id LIMIT `, st.Arg(in.Limit+1))

	type row struct {
		initiativeRow
		SortName string
	}
	rows, err := postgres.Collect[row](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil {
		return nil, err
	}
	rowPage := op.NewPage(rows, in.Limit, func(last *row) string {
		return op.NewCursor(contract.ListInitiatives.Name, c.Tenant, last.SortName, string(last.ID))
	})
	page = op.MapPage(rowPage, func(r *row) contract.Initiative { return *r.toInitiative() })
	return page, nil
}

// findInitiative returns the initiative that matches a hint, as findByHint says.
func (s *Service) findInitiative(ctx context.Context, c *executor.Call, in *contract.FindInitiativeIn, f authz.Filter) (*contract.InitiativeDetail, error) {
	if f.None() {
		return nil, fault.NotFound("initiative")
	}
	id, err := findByHint(ctx, c, initiativeNames(), in.Hint, func(r op.Reference) contract.InitiativeCandidate {
		return contract.InitiativeCandidate{ID: r.ID, Name: r.Name}
	})
	if err != nil {
		return nil, err
	}
	st := &postgres.Statement{}
	st.Add(initiativeSelect, `
FROM projects.initiatives i
WHERE i.tenant_id = `, st.Arg(c.Tenant), ` AND i.id = `, st.Arg(id), `::uuid AND `).Filter(f)
	row, err := postgres.One[initiativeRow](ctx, c.DB, st.SQL(), st.Args()...)
	if postgres.IsNoRows(err) {
		err = fault.NotFound("initiative")
	}
	if err != nil {
		return nil, err
	}
	return row.loadDetail(ctx, c)
}

// maxDetailProjects is the maximum number of projects that get-initiative returns.
const maxDetailProjects = 200

// loadDetail returns the initiative with the projects that the caller may read.
func (r *initiativeRow) loadDetail(ctx context.Context, c *executor.Call) (*contract.InitiativeDetail, error) {
	detail := &contract.InitiativeDetail{Initiative: *r.toInitiative(), Projects: []contract.ProjectSummary{}}
	f, err := c.Filter(ctx, contract.PermProjectsRead, projectColumns)
	if err != nil || f.None() {
		return detail, err
	}
	st := &postgres.Statement{}
	st.Add(projectSummarySelect, `
FROM projects.projects p
WHERE p.tenant_id = `, st.Arg(c.Tenant), ` AND p.initiative_id = `, st.Arg(r.ID), `::uuid AND `).Filter(f)
	st.Add(` ORDER BY p.sort_name, p.id LIMIT `, st.Arg(maxDetailProjects+1))
	rows, err := postgres.Collect[projectSummaryRow](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil {
		return nil, err
	}
	if len(rows) > maxDetailProjects {
		rows, detail.MoreProjects = rows[:maxDetailProjects], true
	}
	for i := range rows {
		detail.Projects = append(detail.Projects, rows[i].toSummary())
	}
	return detail, nil
}
