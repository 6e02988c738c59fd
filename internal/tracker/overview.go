package tracker

import (
	"context"
	"errors"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/gate"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

func (s *Service) getProjectOverview() gate.Handler[contract.GetProjectIn, contract.ProjectOverview, projectRow] {
	return gate.Handler[contract.GetProjectIn, contract.ProjectOverview, projectRow]{
		Load: func(ctx context.Context, c *gate.Call, in *contract.GetProjectIn) (projectRow, authz.Resource, error) {
			row, err := loadProject(ctx, c, loadProjectSQL, in.ProjectID)
			return row, row.resource(c.Tenant), err
		},
		Do: overview,
	}
}

// overview shows the project in full to whoever may read it, and else the little
// that whoever sees its stages may know. Only a refusal reduces it: what fails
// otherwise is told as it is.
func overview(ctx context.Context, c *gate.Call, _ *contract.GetProjectIn, row projectRow) (*contract.ProjectOverview, error) {
	p, err := loadPipeline(ctx, c, row)
	if err != nil {
		return nil, err
	}
	out := &contract.ProjectOverview{ID: row.ID, Name: row.Name, StoryPointScale: row.StoryPoints, Stages: p.public()}
	err = c.Decide(ctx, contract.PermProjectsRead, row.resource(c.Tenant))
	if refused(err) {
		out.Reduced = true
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	summary := row.summary()
	out.Project, out.Description, out.CustomStatuses = &summary, row.Description, row.statuses()
	out.Stats, err = projectStats(ctx, c, &row)
	return out, err
}

// refused tells a plain refusal from a decision that could not be made, which
// hides its cause.
func refused(err error) bool {
	return fault.HasCode(err, fault.CodeForbidden) && errors.Unwrap(fault.From(err)) == nil
}

// Both counts walk an index: by status all of them, the overdue ones by the day.
const countByStatusSQL = `
SELECT t.status AS name, count(*) AS count FROM projects.tasks t
WHERE t.tenant_id = @tenant AND t.project_id = @project
GROUP BY t.status`

const countOverdueSQL = `
SELECT count(*) FROM projects.tasks t
WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.due_date < @today::date
  AND t.status_category <> 'DONE' AND t.status_category <> 'CANCELLED'`

const countOpenIssuesSQL = `
SELECT count(*) FROM projects.issues i
WHERE i.tenant_id = @tenant AND i.project_id = @project AND i.status = ANY(@open::text[])`

// projectStats counts what the caller may read. A day ends in UTC.
func projectStats(ctx context.Context, c *gate.Call, row *projectRow) (*contract.ProjectStats, error) {
	stats := &contract.ProjectStats{}
	of := func() postgres.Args { return postgres.Args{"tenant": c.Tenant, "project": row.ID} }
	count := func(permission string) error {
		return ask(ctx, c, "project", authz.CountRecords{Actor: c.Actor.Subject, Permission: permission, Resource: row.resource(c.Tenant)})
	}
	err := count(contract.PermTasksRead)
	switch {
	case refused(err):
	case err != nil:
		return nil, err
	default:
		counts, err := postgres.Collect[statusCount](ctx, c.DB, countByStatusSQL, of())
		if err != nil {
			return nil, err
		}
		stats.Tasks = row.taskStats(counts)
		args := of()
		args["today"] = op.Date(c.Now.UTC().Format("2006-01-02"))
		if err := c.DB.QueryRow(ctx, countOverdueSQL, args).Scan(&stats.Tasks.Overdue); err != nil {
			return nil, err
		}
	}
	err = count(contract.PermIssuesRead)
	switch {
	case refused(err):
	case err != nil:
		return nil, err
	default:
		stats.Issues = &contract.IssueStats{}
		args := of()
		args["open"] = []string{"OPEN", "IN_PROGRESS", "REOPENED"}
		if err := c.DB.QueryRow(ctx, countOpenIssuesSQL, args).Scan(&stats.Issues.Open); err != nil {
			return nil, err
		}
	}
	return stats, nil
}

type statusCount struct {
	Name  string
	Count int
}

// taskStats puts the counts into the order of the project's statuses and sums
// them up by category.
func (r *projectRow) taskStats(counts []statusCount) *contract.TaskStats {
	byName := map[string]int{}
	for _, n := range counts {
		byName[n.Name] = n.Count
	}
	stats, byCategory := &contract.TaskStats{ByStatus: []contract.StatusCount{}}, map[string]int{}
	for _, s := range r.statuses() {
		n := byName[s.Name]
		stats.ByStatus = append(stats.ByStatus, contract.StatusCount{Status: s.Name, Category: s.Category, Count: n})
		byCategory[s.Category] += n
		stats.Total += n
	}
	for _, category := range statusCategories() {
		stats.ByCategory = append(stats.ByCategory, contract.CategoryCount{Category: category, Count: byCategory[category]})
	}
	return stats
}
