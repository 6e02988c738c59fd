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

// getProjectOverview shows of a project what the caller may see: its stages by
// stages.read, the rest by projects.read. One of the two is enough; the answer says
// what was left out. Only a denial leaves a part out: any other failure is returned
// as it is.
func (s *Service) getProjectOverview(ctx context.Context, c *executor.Call, in *contract.GetProjectIn) (*contract.ProjectOverview, error) {
	if !c.Actor.Subject.Holds(contract.PermStagesRead) && !c.Actor.Subject.Holds(contract.PermProjectsRead) {
		// Decided before the project is looked for, so the answer does not tell
		// whether it exists.
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
	noStages := c.Decide(ctx, contract.PermStagesRead, row.resource(c.Tenant))
	if noStages != nil && !refused(noStages) {
		return nil, noStages
	}
	noProject := c.Decide(ctx, contract.PermProjectsRead, row.resource(c.Tenant))
	if noProject != nil && !refused(noProject) {
		return nil, noProject
	}
	if noStages != nil && noProject != nil {
		return nil, noStages
	}
	out := &contract.ProjectOverview{
		ID: row.ID, Name: row.Name, StoryPointScale: row.StoryPoints, Stages: []contract.Stage{},
		StagesOmitted: noStages != nil, Reduced: noProject != nil,
	}
	if noStages == nil {
		p, err := loadPipeline(ctx, c, row)
		if err != nil {
			return nil, err
		}
		out.Stages = p.public()
	}
	if noProject == nil {
		summary := row.summary()
		out.Project, out.Description, out.CustomStatuses = &summary, row.Description, row.statuses()
		if err := redactInitiatives(ctx, c, &summary.InitiativeID); err != nil {
			return nil, err
		}
		out.Stats, err = projectStats(ctx, c, &row)
	}
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
func projectStats(ctx context.Context, c *executor.Call, row *projectRow) (*contract.ProjectStats, error) {
	stats := &contract.ProjectStats{}
	of := func() postgres.Args { return postgres.Args{"tenant": c.Tenant, "project": row.ID} }
	count := func(permission string) error {
		return evaluateCustomDecision(ctx, c, "project", authz.CountRecords{Actor: c.Actor.Subject, Permission: permission, Resource: row.resource(c.Tenant)})
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
