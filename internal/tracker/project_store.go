package tracker

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// projectType maps policy attributes to the columns of alias p.
var projectType = authz.NewRecordType("project", authz.Attributes[projectRow]{
	Tenant:         authz.TenantColumn[projectRow]("p.tenant_id"),
	ID:             authz.NewAttribute("p.id", func(r *projectRow) string { return string(r.ID) }),
	Project:        authz.NewAttribute("p.id", func(r *projectRow) string { return string(r.ID) }),
	Organisation:   authz.NewAttribute("p.organisation_id", func(r *projectRow) string { return idText(r.OrganisationID) }),
	Creator:        authz.NewAttribute("p.created_by", func(r *projectRow) string { return string(r.CreatedBy) }),
	Owner:          authz.NewAttribute("p.owner_id", func(r *projectRow) string { return idText(r.OwnerID) }),
	Classification: authz.NewAttribute("p.classification", func(r *projectRow) string { return r.Classification }),
})

var projectColumns = projectType.Columns()

// projectConstraints maps violated database constraints to errors for the caller.
func projectConstraints() postgres.Constraints {
	return postgres.Constraints{
		"projects_prefix_once":       fault.Conflict("Another project of the tenant has this prefix."),
		"projects_issue_prefix_once": fault.Conflict("Another project of the tenant has this issue prefix."),
		"projects_dates_in_order":    fault.Validation("endDate", "endDate cannot be before startDate."),
		"tasks_status_of_project":    fault.Conflict("Tasks still use a status that would be deleted. Move them to another status first."),
		"tasks_epic":                 fault.Conflict("A task of another project was added to an epic of this project concurrently. Try again."),
	}
}

// projectSummaryRow holds the columns of a project that a list returns.
type projectSummaryRow struct {
	ID             op.UUID
	Name           string
	Prefix         string
	Status         string
	Classification string
	StartDate      op.Date
	EndDate        *op.Date
	OrganisationID *op.UUID
	InitiativeID   *op.UUID
	OwnerID        *op.UUID
	CreatedBy      op.UUID
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// projectRow is a project with all of its columns, its statuses and its repository
// paths.
type projectRow struct {
	projectSummaryRow
	Description      string
	IssuePrefix      *string
	StoryPoints      []float64
	StatusNames      []string
	StatusCategories []string
	RepoIDs          []op.UUID
	RepoPaths        []string
}

const projectSummarySelect = `
SELECT p.id, p.name, p.prefix, p.status, p.classification, p.start_date::text AS start_date, p.end_date::text AS end_date,
       p.organisation_id, p.initiative_id, p.owner_id, p.created_by, p.created_at, p.updated_at`

const projectSelect = projectSummarySelect + `,
       p.description, p.issue_prefix, p.story_points,
       ARRAY(SELECT s.name FROM projects.statuses s
             WHERE s.tenant_id = p.tenant_id AND s.project_id = p.id ORDER BY s.position, s.name) AS status_names,
       ARRAY(SELECT s.category FROM projects.statuses s
             WHERE s.tenant_id = p.tenant_id AND s.project_id = p.id ORDER BY s.position, s.name) AS status_categories,
       ARRAY(SELECT b.id FROM projects.repo_paths b
             WHERE b.tenant_id = p.tenant_id AND b.project_id = p.id ORDER BY b.path) AS repo_ids,
       ARRAY(SELECT b.path FROM projects.repo_paths b
             WHERE b.tenant_id = p.tenant_id AND b.project_id = p.id ORDER BY b.path) AS repo_paths`

const loadProjectSQL = projectSelect + `
FROM projects.projects p
WHERE p.tenant_id = @tenant AND p.id = @project`

// A change of a project locks its row FOR UPDATE. A change of a record in the project locks
// it FOR KEY SHARE, before any other row: a fixed lock order prevents deadlocks.
const (
	lockProjectSQL         = loadProjectSQL + ` FOR UPDATE OF p`
	loadProjectKeyShareSQL = loadProjectSQL + ` FOR KEY SHARE OF p`
)

// loadProject reads a project with one of the three statements above.
func loadProject(ctx context.Context, c *executor.Call, sql string, project op.UUID) (projectRow, error) {
	row, err := postgres.One[projectRow](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant, "project": project})
	if postgres.IsNoRows(err) {
		return row, fault.NotFound("project")
	}
	return row, err
}

// lockProjectResource locks a project against deletion and returns its policy input.
func lockProjectResource(ctx context.Context, c *executor.Call, id op.UUID) (authz.Resource, error) {
	row, err := loadProject(ctx, c, loadProjectKeyShareSQL, id)
	return row.resource(c.Tenant), err
}

// resource converts the project to policy input.
func (r *projectRow) resource(tenant op.UUID) authz.Resource {
	return projectType.Resource(string(tenant), r)
}

func (r *projectRow) statuses() []contract.Status {
	statuses := make([]contract.Status, len(r.StatusNames))
	for i, name := range r.StatusNames {
		statuses[i] = contract.Status{Name: name, Category: r.StatusCategories[i]}
	}
	return statuses
}

func (r *projectSummaryRow) toSummary() contract.ProjectSummary {
	return contract.ProjectSummary{
		ID: r.ID, Name: r.Name, Prefix: r.Prefix, Status: r.Status, Classification: r.Classification,
		StartDate: r.StartDate, EndDate: postgres.ValueOrZero(r.EndDate), OrganisationID: postgres.ValueOrZero(r.OrganisationID),
		InitiativeID: postgres.ValueOrZero(r.InitiativeID), OwnerID: postgres.ValueOrZero(r.OwnerID), CreatedBy: r.CreatedBy,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// toProject returns the API object with nothing redacted.
func (r *projectRow) toProject() *contract.Project {
	p := &contract.Project{
		ProjectSummary: r.toSummary(), Description: r.Description, IssuePrefix: contract.DefaultIssuePrefix,
		CustomStatuses: r.statuses(), StoryPointScale: r.StoryPoints,
	}
	if r.IssuePrefix != nil {
		p.IssuePrefix = *r.IssuePrefix
	}
	for i, path := range r.RepoPaths {
		p.RepoPaths = append(p.RepoPaths, contract.RepoPath{ID: r.RepoIDs[i], Path: path})
	}
	return p
}

const insertProjectSQL = `
INSERT INTO projects.projects (tenant_id, id, name, description, status, start_date, end_date, prefix, issue_prefix,
                               story_points, organisation_id, classification, owner_id, initiative_id, created_by, created_at, updated_at)
VALUES (@tenant, @id, @name, @description, @status, @start, @end, @prefix, @issue_prefix,
        @story_points, @organisation, @classification, @owner, @initiative, @creator, @now, @now)
ON CONFLICT ON CONSTRAINT projects_prefix_once DO NOTHING`

// insertProjectRow inserts the project and reports whether its prefix was free.
func insertProjectRow(ctx context.Context, c *executor.Call, r *projectRow) (bool, error) {
	tag, err := c.DB.Exec(ctx, insertProjectSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "name": r.Name, "description": r.Description, "status": r.Status,
		"start": r.StartDate, "end": r.EndDate, "prefix": r.Prefix, "issue_prefix": r.IssuePrefix,
		"story_points": r.StoryPoints, "organisation": r.OrganisationID, "classification": r.Classification,
		"owner": r.OwnerID, "initiative": r.InitiativeID, "creator": r.CreatedBy, "now": c.Now,
	})
	if err != nil {
		return false, postgres.MapError(err, projectConstraints())
	}
	return tag.RowsAffected() == 1, nil
}

const insertStatusesSQL = `
INSERT INTO projects.statuses (tenant_id, project_id, name, category, position)
SELECT @tenant, @project, n.name, n.category, n.position
FROM unnest(@names::text[], @categories::text[]) WITH ORDINALITY AS n (name, category, position)
ON CONFLICT (tenant_id, project_id, name) DO UPDATE SET category = excluded.category, position = excluded.position`

const insertCounterSQL = `INSERT INTO projects.counters (tenant_id, project_id) VALUES (@tenant, @project)`

// insertStatusesAndCounter inserts the statuses and the task counter of a new project.
func insertStatusesAndCounter(ctx context.Context, c *executor.Call, r *projectRow) error {
	batch := &pgx.Batch{}
	batch.Queue(insertStatusesSQL, postgres.Args{
		"tenant": c.Tenant, "project": r.ID, "names": r.StatusNames, "categories": r.StatusCategories,
	})
	batch.Queue(insertCounterSQL, postgres.Args{"tenant": c.Tenant, "project": r.ID})
	return c.Tx.SendBatch(ctx, batch).Close()
}

const updateProjectSQL = `
UPDATE projects.projects p
SET name = @name, description = @description, status = @status, start_date = @start, end_date = @end, prefix = @prefix,
    issue_prefix = @issue_prefix, story_points = @story_points, organisation_id = @organisation,
    classification = @classification, owner_id = @owner, initiative_id = @initiative, updated_at = @now
WHERE p.tenant_id = @tenant AND p.id = @id`

func updateProjectRow(ctx context.Context, c *executor.Call, r *projectRow) error {
	_, err := c.DB.Exec(ctx, updateProjectSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "name": r.Name, "description": r.Description, "status": r.Status,
		"start": r.StartDate, "end": r.EndDate, "prefix": r.Prefix, "issue_prefix": r.IssuePrefix,
		"story_points": r.StoryPoints, "organisation": r.OrganisationID, "classification": r.Classification,
		"owner": r.OwnerID, "initiative": r.InitiativeID, "now": c.Now,
	})
	return postgres.MapError(err, projectConstraints())
}

const countTasksSQL = `SELECT count(*) FROM projects.tasks t WHERE t.tenant_id = @tenant AND t.project_id = @project`

const childrenInOtherProjectsSQL = `
SELECT t.id FROM projects.tasks t
WHERE t.tenant_id = @tenant AND t.epic_project_id = @project
ORDER BY t.id FOR UPDATE`

const deleteProjectSQL = `DELETE FROM projects.projects p WHERE p.tenant_id = @tenant AND p.id = @project`

// idText returns an optional id as a string; "" for nil.
func idText(id *op.UUID) string { return string(postgres.ValueOrZero(id)) }
