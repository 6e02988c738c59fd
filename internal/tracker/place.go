package tracker

import (
	"context"

	"parapet/internal/authz"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// placeRow is where a comment or a time entry belongs: the project, through the
// task or issue that a request named, or by itself.
type placeRow struct {
	ProjectID      op.UUID
	OrganisationID *op.UUID
	Classification string
	// Noun is what the request named; it is what a refusal that hides names.
	Noun string
}

const (
	placeOfTaskSQL = `
SELECT p.id AS project_id, p.organisation_id, p.classification, 'task' AS noun
FROM projects.tasks t JOIN projects.projects p ON p.tenant_id = @tenant AND p.id = t.project_id
WHERE t.tenant_id = @tenant AND t.id = @id`

	placeOfIssueSQL = `
SELECT p.id AS project_id, p.organisation_id, p.classification, 'issue' AS noun
FROM projects.issues i JOIN projects.projects p ON p.tenant_id = @tenant AND p.id = i.project_id
WHERE i.tenant_id = @tenant AND i.id = @id`

	placeOfProjectSQL = `
SELECT p.id AS project_id, p.organisation_id, p.classification, 'project' AS noun
FROM projects.projects p
WHERE p.tenant_id = @tenant AND p.id = @id`

	// The project is held before what is in it: see keepProjectSQL.
	lockPlaceClause = ` FOR KEY SHARE OF p`

	keyShareTaskProjectSQL  = placeOfTaskSQL + lockPlaceClause
	keyShareIssueProjectSQL = placeOfIssueSQL + lockPlaceClause
	keyShareProjectSQL      = placeOfProjectSQL + lockPlaceClause
)

// loadPlace reads the place of a task, an issue or else a project, for a change in
// it when hold is set.
func loadPlace(ctx context.Context, c *executor.Call, project, task, issue op.UUID, hold bool) (placeRow, error) {
	sql, held, id, noun := placeOfProjectSQL, keyShareProjectSQL, project, "project"
	switch {
	case task != "":
		sql, held, id, noun = placeOfTaskSQL, keyShareTaskProjectSQL, task, "task"
	case issue != "":
		sql, held, id, noun = placeOfIssueSQL, keyShareIssueProjectSQL, issue, "issue"
	}
	if hold {
		sql = held
	}
	place, err := postgres.One[placeRow](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant, "id": id})
	if postgres.IsNoRows(err) {
		return place, fault.NotFound(noun)
	}
	return place, err
}

// resource is what is in the place, or is to be in it.
func (r *placeRow) resource(tenant op.UUID) authz.Resource {
	return authz.Resource{
		Type: r.Noun, Tenant: string(tenant), Project: string(r.ProjectID), Organisation: text(r.OrganisationID),
		Classification: r.Classification,
	}
}
