package tracker

import (
	"context"
	"strconv"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) commentOperations() []op.Bound {
	return []op.Bound{
		list(s, contract.ListComments, commentColumns, s.listComments),
		handle(s, contract.CreateComment, loadParentOfNewComment, createComment),
		handle(s, contract.UpdateComment, loadCommentToUpdate, updateComment),
		handle(s, contract.DeleteComment, loadCommentToDelete, deleteComment),
	}
}

// listComments returns a page of comments on a task or an issue, oldest or newest first.
// The cursor contains the creation time and id of the last comment, and belongs to one
// order. If the page is empty, it checks whether the task or issue exists and the caller
// may read its comments.
func (s *Service) listComments(ctx context.Context, c *executor.Call, in *contract.ListCommentsIn, f authz.Filter) (*op.Page[contract.Comment], error) {
	if err := requireTaskOrIssue(in.TaskID, in.IssueID); err != nil {
		return nil, err
	}
	list := contract.ListComments.Name
	if in.Sort == contract.CommentsNewest {
		list += " " + in.Sort
	}
	after, err := op.ReadTimeCursor(in.Cursor, list, c.Tenant)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.Comment]{Items: []contract.Comment{}}
	if !f.None() {
		st := commentListStatement(c, in, f, after)
		rows, err := postgres.Collect[commentRow](ctx, c.DB, st.SQL(), st.Args()...)
		if err != nil {
			return nil, err
		}
		rowPage := op.NewPage(rows, in.Limit, func(last *commentRow) string {
			return op.NewCursor(list, c.Tenant, op.CursorTime(last.CreatedAt), string(last.ID))
		})
		page = op.MapPage(rowPage, func(r *commentRow) contract.Comment { return *r.toComment() })
	}
	if len(page.Items) > 0 {
		return page, nil
	}
	parent, err := loadParentRecord(ctx, c, "", in.TaskID, in.IssueID, false)
	if err != nil {
		return nil, err
	}
	return page, c.Decide(ctx, contract.PermCommentsRead, parent.resource(c.Tenant))
}

func commentListStatement(c *executor.Call, in *contract.ListCommentsIn, f authz.Filter, after *op.TimeCursor) *postgres.Statement {
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	st.Add(commentSelect, `
FROM projects.comments m
JOIN projects.projects p ON p.tenant_id = `, tenant, ` AND p.id = m.project_id
WHERE m.tenant_id = `, tenant, ` AND `).Filter(f)
	if in.TaskID != "" {
		st.Add(` AND m.task_id = `, st.Arg(in.TaskID))
	} else {
		st.Add(` AND m.issue_id = `, st.Arg(in.IssueID))
	}
	comparison, direction := `>`, ``
	if in.Sort == contract.CommentsNewest {
		comparison, direction = `<`, ` DESC`
	}
	if after != nil {
		st.Add(` AND (m.created_at, m.id) `, comparison, ` (`, st.Arg(after.At), `::timestamptz, `, st.Arg(after.ID), `::uuid)`)
	}
	return st.Add(` ORDER BY m.created_at`, direction, `, m.id`, direction, ` LIMIT `, strconv.Itoa(in.Limit+1))
}

// requireTaskOrIssue returns an error unless exactly one of the ids is set.
func requireTaskOrIssue(task, issue op.UUID) error {
	switch {
	case task != "" && issue != "":
		return fault.Validation("issueId", "Give either taskId or issueId, not both.")
	case task == "" && issue == "":
		return fault.Validation("taskId", "Give either taskId or issueId.")
	default:
		return nil
	}
}

func loadParentOfNewComment(ctx context.Context, c *executor.Call, in *contract.CreateCommentIn) (parentRecordRow, authz.Resource, error) {
	if err := requireTaskOrIssue(in.TaskID, in.IssueID); err != nil {
		return parentRecordRow{}, authz.Resource{}, err
	}
	parent, err := loadParentRecord(ctx, c, "", in.TaskID, in.IssueID, true)
	resource := parent.resource(c.Tenant)
	resource.Creator = string(c.Actor.UserID)
	return parent, resource, err
}

func createComment(ctx context.Context, c *executor.Call, in *contract.CreateCommentIn, parent parentRecordRow) (*contract.Comment, error) {
	isFirstResponse := false
	if in.IssueID != "" {
		var err error
		if isFirstResponse, err = recordFirstResponse(ctx, c, in.IssueID); err != nil {
			return nil, err
		}
	}
	row := commentRow{
		ID: uid.New(), ProjectID: parent.ProjectID, TaskID: postgres.NullIfZero(in.TaskID), IssueID: postgres.NullIfZero(in.IssueID),
		Body: strings.TrimSpace(in.Body), AuthorID: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
		OrganisationID: parent.OrganisationID, Classification: parent.Classification,
	}
	if err := insertCommentRow(ctx, c, &row); err != nil {
		return nil, err
	}
	var details map[string]any
	if isFirstResponse {
		details = map[string]any{"firstResponse": true}
	}
	recordComment(c, &row, "comment.created", contract.EventCommentCreated, nil, details)
	return row.toComment(), nil
}

func loadCommentToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateCommentIn) (commentRow, authz.Resource, error) {
	row, err := loadComment(ctx, c, in.CommentID)
	return row, row.resource(c.Tenant), err
}

func updateComment(ctx context.Context, c *executor.Call, in *contract.UpdateCommentIn, row commentRow) (*contract.Comment, error) {
	body := strings.TrimSpace(in.Body)
	if body == row.Body {
		if err := authorizeUnchanged(ctx, c, contract.PermCommentsRead, row.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return row.toComment(), nil
	}
	row.Body, row.UpdatedAt = body, c.Now
	if _, err := c.DB.Exec(ctx, updateCommentSQL, postgres.Args{"tenant": c.Tenant, "id": row.ID, "body": row.Body, "now": c.Now}); err != nil {
		return nil, err
	}
	recordComment(c, &row, "comment.updated", contract.EventCommentUpdated, []string{"body"}, nil)
	return row.toComment(), nil
}

func loadCommentToDelete(ctx context.Context, c *executor.Call, in *contract.DeleteCommentIn) (commentRow, authz.Resource, error) {
	row, err := loadComment(ctx, c, in.CommentID)
	return row, row.resource(c.Tenant), err
}

func deleteComment(ctx context.Context, c *executor.Call, _ *contract.DeleteCommentIn, row commentRow) (*op.None, error) {
	if _, err := c.DB.Exec(ctx, deleteCommentSQL, postgres.Args{"tenant": c.Tenant, "id": row.ID}); err != nil {
		return nil, err
	}
	recordComment(c, &row, "comment.deleted", contract.EventCommentDeleted, nil, nil)
	return &op.None{}, nil
}
