package tracker

import (
	"context"

	"parapet/internal/authz"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// parentRecordRow is the parent record of a comment or a time entry: a task, an issue
// or a project. It holds the policy attributes of the parent's project.
type parentRecordRow struct {
	ProjectID      op.UUID
	OrganisationID *op.UUID
	Classification string
	// Noun is the type of the record in the request: task, issue or project. NOT_FOUND
	// errors use it.
	Noun string
}

const (
	taskParentRecordSQL = `
SELECT p.id AS project_id, p.organisation_id, p.classification, 'task' AS noun
FROM projects.tasks t JOIN projects.projects p ON p.tenant_id = @tenant AND p.id = t.project_id
WHERE t.tenant_id = @tenant AND t.id = @id`

	issueParentRecordSQL = `
SELECT p.id AS project_id, p.organisation_id, p.classification, 'issue' AS noun
FROM projects.issues i JOIN projects.projects p ON p.tenant_id = @tenant AND p.id = i.project_id
WHERE i.tenant_id = @tenant AND i.id = @id`

	projectParentRecordSQL = `
SELECT p.id AS project_id, p.organisation_id, p.classification, 'project' AS noun
FROM projects.projects p
WHERE p.tenant_id = @tenant AND p.id = @id`

	// The project is locked before its tasks and issues; see loadProjectKeyShareSQL.
	keyShareClause = ` FOR KEY SHARE OF p`

	keyShareTaskParentSQL    = taskParentRecordSQL + keyShareClause
	keyShareIssueParentSQL   = issueParentRecordSQL + keyShareClause
	keyShareProjectParentSQL = projectParentRecordSQL + keyShareClause
)

// loadParentRecord reads the task, the issue or else the project, whichever id is set.
// If lock is set, it locks the project against deletion.
func loadParentRecord(ctx context.Context, c *executor.Call, project, task, issue op.UUID, lock bool) (parentRecordRow, error) {
	sql, lockSQL, id, noun := projectParentRecordSQL, keyShareProjectParentSQL, project, "project"
	switch {
	case task != "":
		sql, lockSQL, id, noun = taskParentRecordSQL, keyShareTaskParentSQL, task, "task"
	case issue != "":
		sql, lockSQL, id, noun = issueParentRecordSQL, keyShareIssueParentSQL, issue, "issue"
	}
	if lock {
		sql = lockSQL
	}
	parent, err := postgres.One[parentRecordRow](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant, "id": id})
	if postgres.IsNoRows(err) {
		return parent, fault.NotFound(noun)
	}
	return parent, err
}

// resource returns the policy input for a comment or a time entry of this parent
// record.
func (r *parentRecordRow) resource(tenant op.UUID) authz.Resource {
	return authz.Resource{
		Type: r.Noun, Tenant: string(tenant), Project: string(r.ProjectID), Organisation: idText(r.OrganisationID),
		Classification: r.Classification,
	}
}
