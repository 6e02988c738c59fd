package tracker

import (
	"context"
	"strconv"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/searchterms"
)

// listIssues returns a page of the issues that match the policy filter, newest first.
// It scans an index backwards and stops when the page is full. The cursor holds the
// creation time and id of the page's last issue. If the result for a project is empty,
// a second query checks whether the caller may read issues in the project.
func (s *Service) listIssues(ctx context.Context, c *executor.Call, in *contract.ListIssuesIn, f authz.Filter) (*op.Page[contract.IssueSummary], error) {
	cursor, err := op.ReadTimeCursor(in.Cursor, contract.ListIssues.Name, c.Tenant)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.IssueSummary]{Items: []contract.IssueSummary{}}
	if !f.None() {
		st := issueListStatement(c, in, f, cursor)
		rows, err := postgres.Collect[issueSummaryRow](ctx, c.DB, st.SQL(), st.Args()...)
		if err != nil {
			return nil, err
		}
		rowPage := op.NewPage(rows, in.Limit, func(last *issueSummaryRow) string {
			return op.NewCursor(contract.ListIssues.Name, c.Tenant, op.CursorTime(last.CreatedAt), string(last.ID))
		})
		page = op.MapPage(rowPage, func(r *issueSummaryRow) contract.IssueSummary { return r.toSummary(c.Now) })
	}
	if len(page.Items) > 0 || in.ProjectID == "" {
		return page, nil
	}
	return page, requireProjectPermission(ctx, c, contract.PermIssuesRead, in.ProjectID)
}

func issueListStatement(c *executor.Call, in *contract.ListIssuesIn, f authz.Filter, cursor *op.TimeCursor) *postgres.Statement {
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	st.Add(issueSummarySelect, `
FROM projects.issues i`, projectJoin("i", tenant), `
WHERE i.tenant_id = `, tenant, ` AND `).Filter(f)
	if cursor != nil {
		st.Add(` AND (i.created_at, i.id) < (`, st.Arg(cursor.At), `::timestamptz, `, st.Arg(cursor.ID), `::uuid)`)
	}
	for _, e := range []struct{ column, value string }{
		{"i.project_id", string(in.ProjectID)}, {"i.severity", in.Severity}, {"i.status", in.Status}, {"i.assignee_id", string(in.Assignee)},
	} {
		if e.value != "" {
			st.Add(` AND `, e.column, ` = `, st.Arg(e.value))
		}
	}
	if in.Search != "" {
		addIssueSearch(st, c.Tenant, tenant, in.ProjectID, in.Search)
	}
	return st.Add(` ORDER BY i.created_at DESC, i.id DESC LIMIT `, strconv.Itoa(in.Limit+1))
}

// addIssueSearch adds the condition that the issue i matches the search text, or has it
// as its key. It searches one project, or the whole tenant if project is empty.
// addTaskSearch does the same for tasks.
func addIssueSearch(st *postgres.Statement, tenantID op.UUID, tenant string, project op.UUID, search string) {
	query := searchterms.New(tenantID).Query(search)
	if query == "" {
		st.Add(` AND i.title ILIKE `, st.Arg(containsPattern(search)))
		return
	}
	st.Add(` AND i.id IN (SELECT hit FROM projects.search_issues(`, tenant, `, `, st.Arg(postgres.NullIfZero(project)), `, `, st.Arg(query), `::text::tsquery) hit`)
	if ref, ok := parseTaskKey(search); ok {
		st.Add(` UNION ALL
SELECT k.id FROM projects.issues k
WHERE k.tenant_id = `, tenant, ` AND k.prefix = `, st.Arg(ref.prefix), ` AND k.number = `, st.Arg(ref.number))
	}
	st.Add(`)`)
}

// projectJoin returns the SQL that joins the project p of each row with a lateral subquery. OFFSET 0 keeps
// the planner from changing the join order: it would otherwise start from the
// projects, read all of their rows and sort them, because it does not know the size of
// a tenant.
func projectJoin(alias, tenant string) string {
	return `
CROSS JOIN LATERAL (SELECT p.prefix, p.organisation_id, p.classification FROM projects.projects p
                    WHERE p.tenant_id = ` + tenant + ` AND p.id = ` + alias + `.project_id OFFSET 0) p`
}

// requireProjectPermission returns an error unless the project exists and the caller has the
// permission in it. Lists call it if they are empty.
func requireProjectPermission(ctx context.Context, c *executor.Call, permission string, id op.UUID) error {
	project, err := loadProject(ctx, c, loadProjectSQL, id)
	if err != nil {
		return err
	}
	return c.Decide(ctx, permission, project.newTaskResource(c))
}
