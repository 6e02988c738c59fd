package tracker

import (
	"context"
	"strconv"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// listIssues returns a page of the issues that match the policy filter, newest first.
// It scans an index backwards and stops when the page is full. The cursor holds the
// creation time and id of the page's last issue. If the result for a project is empty,
// a second query checks whether the caller may read issues in the project.
func (s *Service) listIssues(ctx context.Context, c *executor.Call, in *contract.ListIssuesIn, f authz.Filter) (*op.Page[contract.IssueSummary], error) {
	cursor, err := parseTimeCursor(in.Cursor, contract.ListIssues.Name, c.Tenant)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.IssueSummary]{Items: []contract.IssueSummary{}}
	if !f.None() {
		st := issueListStatement(c, in, f, cursor)
		rows, err := postgres.Collect[issueSummaryRow](ctx, c.DB, st.sql(), st.args...)
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

func issueListStatement(c *executor.Call, in *contract.ListIssuesIn, f authz.Filter, cursor *timeCursor) *statement {
	st := &statement{}
	tenant := st.arg(c.Tenant)
	st.add(issueSummarySelect, `
FROM projects.issues i`).joinProject("i", tenant).add(`
WHERE i.tenant_id = `, tenant, ` AND `).filter(f)
	if cursor != nil {
		st.add(` AND (i.created_at, i.id) < (`, st.arg(cursor.at), `::timestamptz, `, st.arg(cursor.id), `::uuid)`)
	}
	for _, e := range []struct{ column, value string }{
		{"i.project_id", string(in.ProjectID)}, {"i.severity", in.Severity}, {"i.status", in.Status}, {"i.assignee_id", string(in.Assignee)},
	} {
		if e.value != "" {
			st.add(` AND `, e.column, ` = `, st.arg(e.value))
		}
	}
	if in.Search != "" {
		st.searchIssues(c.Tenant, tenant, in.ProjectID, in.Search)
	}
	return st.add(` ORDER BY i.created_at DESC, i.id DESC LIMIT `, strconv.Itoa(in.Limit+1))
}

// searchIssues adds the condition that the issue i matches the search text, or has it
// as its key. It searches one project, or the whole tenant if project is empty.
// searchTasks does the same for tasks.
func (s *statement) searchIssues(tenantID op.UUID, tenant string, project op.UUID, search string) {
	query := newTerms(tenantID).query(search)
	if query == "" {
		s.add(` AND i.title ILIKE `, s.arg(containsPattern(search)))
		return
	}
	s.add(` AND i.id IN (SELECT hit FROM projects.search_issues(`, tenant, `, `, s.arg(optional(project)), `, `, s.arg(query), `::text::tsquery) hit`)
	if ref, ok := parseTaskKey(search); ok {
		s.add(` UNION ALL
SELECT k.id FROM projects.issues k
WHERE k.tenant_id = `, tenant, ` AND k.prefix = `, s.arg(ref.prefix), ` AND k.number = `, s.arg(ref.number))
	}
	s.add(`)`)
}

// joinProject joins the project p of each row with a lateral subquery. OFFSET 0 keeps
// the planner from changing the join order: it would otherwise start from the
// projects, read all of their rows and sort them, because it does not know the size of
// a tenant.
func (s *statement) joinProject(alias, tenant string) *statement {
	return s.add(`
CROSS JOIN LATERAL (SELECT p.prefix, p.organisation_id, p.classification FROM projects.projects p
                    WHERE p.tenant_id = `, tenant, ` AND p.id = `, alias, `.project_id OFFSET 0) p`)
}

// timeCursor is the position of the last record of the previous page: its creation
// time and id.
type timeCursor struct {
	at time.Time
	id op.UUID
}

// parseTimeCursor reads a cursor of a time and an id. It returns nil for an empty
// cursor.
func parseTimeCursor(cursor, operation string, tenant op.UUID) (*timeCursor, error) {
	keys, err := op.ReadCursor(cursor, operation, tenant, 2)
	if err != nil || keys == nil {
		return nil, err
	}
	at, err := op.ParseCursorTime(keys[0])
	if err != nil {
		return nil, err
	}
	id, err := op.ParseUUID(keys[1])
	if err != nil {
		return nil, op.WrongCursor().WithCause(err)
	}
	return &timeCursor{at, id}, nil
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
