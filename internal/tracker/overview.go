package tracker

import (
	"context"
	"errors"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

func (s *Service) overviewOperations() []op.Bound {
	return []op.Bound{
		executor.CustomDecision(s.executor, contract.GetProjectOverview, s.getProjectOverview),
	}
}

// getProjectOverview returns the parts of a project that the caller may see: the
// stages require stages.read, the rest requires projects.read. One of the two is
// enough; the response says which part was omitted. Only a denial omits a part; any
// other error is returned.
func (s *Service) getProjectOverview(ctx context.Context, c *executor.Call, in *contract.GetProjectIn) (*contract.ProjectOverview, error) {
	if !c.Actor.Subject.Holds(contract.PermStagesRead) && !c.Actor.Subject.Holds(contract.PermProjectsRead) {
		// Deny before reading the project, so that the error does not reveal whether it exists.
		err := c.Decide(ctx, contract.PermStagesRead, authz.Resource{Type: "any", Tenant: string(c.Tenant), Classification: "UNCLASSIFIED"})
		if err == nil {
			err = fault.Forbidden(contract.PermStagesRead)
		}
		return nil, err
	}
	row, err := loadProject(ctx, c, loadProjectSQL, in.ProjectID)
	if err != nil {
		return nil, err
	}
	stagesErr := c.Decide(ctx, contract.PermStagesRead, row.resource(c.Tenant))
	if stagesErr != nil && !isDenial(stagesErr) {
		return nil, stagesErr
	}
	projectErr := c.Decide(ctx, contract.PermProjectsRead, row.resource(c.Tenant))
	if projectErr != nil && !isDenial(projectErr) {
		return nil, projectErr
	}
	if stagesErr != nil && projectErr != nil {
		return nil, stagesErr
	}
	out := &contract.ProjectOverview{
		ID: row.ID, Name: row.Name, StoryPointScale: row.StoryPoints, Stages: []contract.Stage{},
		StagesOmitted: stagesErr != nil, Reduced: projectErr != nil,
	}
	if stagesErr == nil {
		p, err := loadPipeline(ctx, c, row)
		if err != nil {
			return nil, err
		}
		out.Stages = p.toStages()
	}
	if projectErr == nil {
		summary := row.toSummary()
		out.Project, out.Description, out.CustomStatuses = &summary, row.Description, row.statuses()
		if err := redactInitiatives(ctx, c, &summary.InitiativeID); err != nil {
			return nil, err
		}
		out.Stats, err = loadProjectStats(ctx, c, &row)
	}
	return out, err
}

// isDenial reports whether the policies denied the request. If the decision failed,
// the error is also FORBIDDEN but wraps the cause, and isDenial returns false.
func isDenial(err error) bool {
	return fault.HasCode(err, fault.CodeForbidden) && errors.Unwrap(fault.From(err)) == nil
}

// The counts are index-only scans: by status, and by due date for overdue tasks.
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

// loadProjectStats returns the task and issue counts that the caller may see. A task
// is overdue from the day after its due date, in UTC.
func loadProjectStats(ctx context.Context, c *executor.Call, row *projectRow) (*contract.ProjectStats, error) {
	stats := &contract.ProjectStats{}
	projectArgs := func() postgres.Args { return postgres.Args{"tenant": c.Tenant, "project": row.ID} }
	authorizeCount := func(permission string) error {
		return evaluateCustomDecision(ctx, c, "project", authz.CountRecords{Actor: c.Actor.Subject, Permission: permission, Resource: row.resource(c.Tenant)})
	}
	err := authorizeCount(contract.PermTasksRead)
	switch {
	case isDenial(err):
	case err != nil:
		return nil, err
	default:
		counts, err := postgres.Collect[statusCount](ctx, c.DB, countByStatusSQL, projectArgs())
		if err != nil {
			return nil, err
		}
		stats.Tasks = row.taskStats(counts)
		args := projectArgs()
		args["today"] = op.Date(c.Now.UTC().Format("2006-01-02"))
		if err := c.DB.QueryRow(ctx, countOverdueSQL, args).Scan(&stats.Tasks.Overdue); err != nil {
			return nil, err
		}
	}
	err = authorizeCount(contract.PermIssuesRead)
	switch {
	case isDenial(err):
	case err != nil:
		return nil, err
	default:
		stats.Issues = &contract.IssueStats{}
		args := projectArgs()
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

// taskStats orders the counts by the project's statuses and sums them by category.
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
