package tracker

import (
	"context"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// commentType maps the policy attributes of a comment to columns of the aliases m
// (comment) and p (its project).
var commentType = authz.NewRecordType("comment", authz.Attributes[commentRow]{
	Tenant:         authz.TenantColumn[commentRow]("m.tenant_id"),
	ID:             authz.NewAttribute("m.id", func(r *commentRow) string { return string(r.ID) }),
	Project:        authz.NewAttribute("m.project_id", func(r *commentRow) string { return string(r.ProjectID) }),
	Organisation:   authz.NewAttribute("p.organisation_id", func(r *commentRow) string { return idText(r.OrganisationID) }),
	Creator:        authz.NewAttribute("m.author_id", func(r *commentRow) string { return string(r.AuthorID) }),
	Classification: authz.NewAttribute("p.classification", func(r *commentRow) string { return r.Classification }),
})

var commentColumns = commentType.Columns()

func commentConstraints() postgres.Constraints {
	return postgres.Constraints{
		"comments_on_task":  fault.NotFound("task"),
		"comments_on_issue": fault.NotFound("issue"),
	}
}

// commentRow is a comment with its project's organisation and classification.
type commentRow struct {
	ID             op.UUID
	ProjectID      op.UUID
	TaskID         *op.UUID
	IssueID        *op.UUID
	Body           string
	AuthorID       op.UUID
	CreatedAt      time.Time
	UpdatedAt      time.Time
	OrganisationID *op.UUID
	Classification string
}

const commentSelect = `
SELECT m.id, m.project_id, m.task_id, m.issue_id, m.body, m.author_id, m.created_at, m.updated_at,
       p.organisation_id, p.classification`

// The project is locked before the comment; see loadProjectKeyShareSQL. A comment never
// moves to another project.
const (
	lockProjectOfCommentSQL = `
SELECT 1 FROM projects.projects p
WHERE p.tenant_id = @tenant AND p.id = (SELECT m.project_id FROM projects.comments m WHERE m.tenant_id = @tenant AND m.id = @id)
FOR KEY SHARE`
	lockCommentSQL = commentSelect + `
FROM projects.comments m
JOIN projects.projects p ON p.tenant_id = @tenant AND p.id = m.project_id
WHERE m.tenant_id = @tenant AND m.id = @id
FOR UPDATE OF m`
)

// loadComment reads and locks a comment.
func loadComment(ctx context.Context, c *executor.Call, id op.UUID) (commentRow, error) {
	args := postgres.Args{"tenant": c.Tenant, "id": id}
	row, err := lockAndRead[commentRow](ctx, c, query{lockProjectOfCommentSQL, args}, query{lockCommentSQL, args})
	if postgres.IsNoRows(err) {
		return row, fault.NotFound("comment")
	}
	return row, err
}

// resource converts the comment to policy input.
func (r *commentRow) resource(tenant op.UUID) authz.Resource {
	return commentType.Resource(string(tenant), r)
}

// toComment converts the row to the API type.
func (r *commentRow) toComment() *contract.Comment {
	return &contract.Comment{
		ID: r.ID, ProjectID: r.ProjectID, TaskID: postgres.ValueOrZero(r.TaskID), IssueID: postgres.ValueOrZero(r.IssueID), Body: r.Body, AuthorID: r.AuthorID,
		Edited: r.UpdatedAt.After(r.CreatedAt), CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

const insertCommentSQL = `
INSERT INTO projects.comments (tenant_id, id, project_id, task_id, issue_id, body, author_id, created_at, updated_at)
VALUES (@tenant, @id, @project, @task, @issue, @body, @author, @now, @now)`

func insertCommentRow(ctx context.Context, c *executor.Call, r *commentRow) error {
	_, err := c.DB.Exec(ctx, insertCommentSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "project": r.ProjectID, "task": r.TaskID, "issue": r.IssueID,
		"body": r.Body, "author": r.AuthorID, "now": c.Now,
	})
	return postgres.MapError(err, commentConstraints())
}

const updateCommentSQL = `
UPDATE projects.comments m SET body = @body, updated_at = @now
WHERE m.tenant_id = @tenant AND m.id = @id`

const deleteCommentSQL = `DELETE FROM projects.comments m WHERE m.tenant_id = @tenant AND m.id = @id`

const recordFirstResponseSQL = `
UPDATE projects.issues i SET first_responded_at = @now, updated_at = @now
WHERE i.tenant_id = @tenant AND i.id = @id AND i.first_responded_at IS NULL AND i.created_by <> @actor`

// recordFirstResponse records the current request as the issue's first response,
// unless the issue already has one or the caller created it. It reports whether it
// did.
func recordFirstResponse(ctx context.Context, c *executor.Call, issue op.UUID) (bool, error) {
	tag, err := c.DB.Exec(ctx, recordFirstResponseSQL, postgres.Args{"tenant": c.Tenant, "id": issue, "actor": c.Actor.UserID, "now": c.Now})
	if err != nil || tag.RowsAffected() == 0 {
		return false, err
	}
	row, err := loadIssue(ctx, c, string(issue), false)
	if err != nil {
		return false, err
	}
	recordIssue(c, &row, "issue.updated", contract.EventIssueUpdated, []string{"firstRespondedAt"}, nil)
	return true, nil
}

// recordComment adds the audit entry and the event of a change. Only the event
// contains the comment's text.
func recordComment(c *executor.Call, r *commentRow, action string, event *op.EventType, changed []string, details map[string]any) {
	changes := map[string]any{"projectId": r.ProjectID}
	if r.TaskID != nil {
		changes["taskId"] = r.TaskID
	} else {
		changes["issueId"] = r.IssueID
	}
	if changed != nil {
		changes["fields"] = changed
	}
	for name, v := range details {
		changes[name] = v
	}
	c.Record(executor.Change{
		Action: action, Type: "comment", ID: r.ID, Classification: r.Classification,
		Fields: changed, Details: changes,
		Event: event, Payload: r.toComment(),
	})
}
