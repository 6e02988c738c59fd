package tracker

import (
	"time"

	"parapet/internal/op"
)

// The events of comments. The payload is the Comment.
var (
	EventCommentCreated = op.DeclareEvent[Comment](Contract, "projects.comment.created", "A user commented on a task or an issue.")
	EventCommentUpdated = op.DeclareEvent[Comment](Contract, "projects.comment.updated", "The text of a comment changed.")
	EventCommentDeleted = op.DeclareEvent[Comment](Contract, "projects.comment.deleted", "A comment was deleted.")
)

// Comment is a comment on a task or an issue.
type Comment struct {
	ID        op.UUID       `json:"id" doc:"The comment's id."`
	ProjectID op.UUID       `json:"projectId" doc:"The project of the task or issue."`
	Project   *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	TaskID    op.UUID       `json:"taskId,omitempty" doc:"The task that was commented on; absent for a comment on an issue."`
	Task      *op.Reference `json:"task,omitempty" doc:"The name of the record that taskId identifies."`
	IssueID   op.UUID       `json:"issueId,omitempty" doc:"The issue that was commented on; absent for a comment on a task."`
	Issue     *op.Reference `json:"issue,omitempty" doc:"The name of the record that issueId identifies."`
	Body      string        `json:"body" doc:"The comment's text, Markdown. Untrusted text."`
	AuthorID  op.UUID       `json:"authorId" doc:"The comment's author."`
	Author    *op.Reference `json:"author,omitempty" doc:"The name of the record that authorId identifies."`
	Edited    bool          `json:"edited" doc:"Whether the text was changed after the comment was created."`
	CreatedAt time.Time     `json:"createdAt" doc:"When the comment was created."`
	UpdatedAt time.Time     `json:"updatedAt" doc:"When the comment last changed."`
}

// The orders of comments.
const (
	CommentsOldest = "oldest"
	CommentsNewest = "newest"
)

// ListCommentsIn is the input of ListComments.
type ListCommentsIn struct {
	TaskID  op.UUID `query:"taskId" format:"uuid" doc:"The task whose comments to list. Give either taskId or issueId."`
	IssueID op.UUID `query:"issueId" format:"uuid" doc:"The issue whose comments to list. Give either taskId or issueId."`
	Sort    string  `query:"sort" enum:"oldest|newest" doc:"The order: oldest or newest first. Default: oldest."`
	Limit   int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of comments to return."`
	Cursor  string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListComments lists the comments on a task or an issue, oldest first by default.
var ListComments = op.Declare[ListCommentsIn, op.Page[Comment]](Contract, op.Spec{
	Name: "list-comments", Method: "GET", Path: "/api/comments", Permission: PermCommentsRead, Effect: op.Read,
	Summary:     "List the comments on a task or an issue.",
	Description: "Requires exactly one of taskId and issueId. Oldest first, or in the order sort.",
})

// CreateCommentIn is the input of CreateComment.
type CreateCommentIn struct {
	TaskID  op.UUID `json:"taskId" format:"uuid" doc:"The task to comment on. Give either taskId or issueId."`
	IssueID op.UUID `json:"issueId" format:"uuid" doc:"The issue to comment on. Give either taskId or issueId."`
	Body    string  `json:"body" required:"true" maxLength:"20000" doc:"The comment's text, Markdown."`
}

// CreateComment adds a comment to a task or an issue.
var CreateComment = op.Declare[CreateCommentIn, Comment](Contract, op.Spec{
	Name: "create-comment", Method: "POST", Path: "/api/comments", Permission: PermCommentCreate, Effect: op.Write, Status: 201,
	Summary:     "Comment on a task or an issue.",
	Description: "Requires exactly one of taskId and issueId. The first comment on an issue by a user other than its creator counts as its first response.",
})

// UpdateCommentIn is the input of UpdateComment.
type UpdateCommentIn struct {
	CommentID op.UUID `path:"commentId" format:"uuid" doc:"The comment's id."`
	Body      string  `json:"body" required:"true" maxLength:"20000" doc:"The new text, Markdown."`
}

// UpdateComment changes a comment's text.
var UpdateComment = op.Declare[UpdateCommentIn, Comment](Contract, op.Spec{
	Name: "update-comment", Method: "PATCH", Path: "/api/comments/{commentId}", Permission: PermCommentUpdate, Effect: op.Write,
	Summary:     "Change a comment of your own.",
	Description: "Only the author can change a comment.",
})

// DeleteCommentIn is the input of DeleteComment.
type DeleteCommentIn struct {
	CommentID op.UUID `path:"commentId" format:"uuid" doc:"The comment's id."`
}

// DeleteComment deletes a comment.
var DeleteComment = op.Declare[DeleteCommentIn, op.None](Contract, op.Spec{
	Name: "delete-comment", Method: "DELETE", Path: "/api/comments/{commentId}", Permission: PermCommentDelete, Effect: op.Destroy, Status: 204,
	Summary: "Delete a comment permanently.",
})
