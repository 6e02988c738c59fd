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

// listIssues gives a page of the issues that the filter lets through, the newest
// first: it walks an index backwards and stops when the page is full. The page's
// cursor is the last one's moment of creation and id. Only the empty page of a
// project asks a second question: whether there is nothing, or nothing for the
// caller.
func (s *Service) listIssues(ctx context.Context, c *executor.Call, in *contract.ListIssuesIn, f authz.Filter) (*op.Page[contract.IssueSummary], error) {
	before, err := parseInstant(in.Cursor, contract.ListIssues.Name, c.Tenant)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.IssueSummary]{Items: []contract.IssueSummary{}}
	if !f.None() {
		st := issueListStatement(c, in, f, before)
		rows, err := postgres.Collect[issueSummaryRow](ctx, c.DB, st.sql(), st.args...)
		if err != nil {
			return nil, err
		}
		if len(rows) > in.Limit {
			rows = rows[:in.Limit]
			last := rows[len(rows)-1]
			page.NextCursor = op.NewCursor(contract.ListIssues.Name, c.Tenant, op.CursorTime(last.CreatedAt), string(last.ID))
		}
		for i := range rows {
			page.Items = append(page.Items, rows[i].summary(c.Now))
		}
	}
	if len(page.Items) > 0 || in.ProjectID == "" {
		return page, nil
	}
	return page, decideInProject(ctx, c, contract.PermIssuesRead, in.ProjectID)
}

func issueListStatement(c *executor.Call, in *contract.ListIssuesIn, f authz.Filter, before *instant) *statement {
	st := &statement{}
	tenant := st.arg(c.Tenant)
	st.add(issueSummarySelect, `
FROM projects.issues i`).projectOf("i", tenant).add(`
WHERE i.tenant_id = `, tenant, ` AND `).filter(f)
	if before != nil {
		st.add(` AND (i.created_at, i.id) < (`, st.arg(before.at), `::timestamptz, `, st.arg(before.id), `::uuid)`)
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

// searchIssues adds the condition that the issue i answers to what was typed, or
// has it as its key: as searchTasks, in one project or, without one, in the whole
// tenant.
func (s *statement) searchIssues(of op.UUID, tenant string, project op.UUID, typed string) {
	query := termsOf(of).query(typed)
	if query == "" {
		s.add(` AND i.title ILIKE `, s.arg(containsPattern(typed)))
		return
	}
	s.add(` AND i.id IN (SELECT hit FROM projects.search_issues(`, tenant, `, `, s.arg(optional(project)), `, `, s.arg(query), `::text::tsquery) hit`)
	if ref, ok := parseTaskKey(typed); ok {
		s.add(` UNION ALL
SELECT k.id FROM projects.issues k
WHERE k.tenant_id = `, tenant, ` AND k.prefix = `, s.arg(ref.prefix), ` AND k.number = `, s.arg(ref.number))
	}
	s.add(`)`)
}

// projectOf joins the project p that a row belongs to, behind a fence: the rows
// are walked in the list's order and each looks up its project. In a plain join
// the planner, who does not know how large a tenant is, goes from the projects to
// all of their rows and sorts them.
func (s *statement) projectOf(alias, tenant string) *statement {
	return s.add(`
CROSS JOIN LATERAL (SELECT p.organisation_id, p.classification FROM projects.projects p
                    WHERE p.tenant_id = `, tenant, ` AND p.id = `, alias, `.project_id OFFSET 0) p`)
}

// instant is where a page by time begins: behind the record that was made then and
// has this id.
type instant struct {
	at time.Time
	id op.UUID
}

// parseInstant reads a cursor of a moment and an id; nil is the start.
func parseInstant(cursor, operation string, tenant op.UUID) (*instant, error) {
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
	return &instant{at, id}, nil
}

// decideInProject asks whether the caller has the permission in a project at all.
func decideInProject(ctx context.Context, c *executor.Call, permission string, id op.UUID) error {
	project, err := loadProject(ctx, c, loadProjectSQL, id)
	if err != nil {
		return err
	}
	return c.Decide(ctx, permission, project.newTaskResource(c))
}
