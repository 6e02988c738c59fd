package tracker

import (
	"time"

	"parapet/internal/op"
)

// The events of comments. The payload is the Comment.
const (
	EventCommentCreated = "projects.comment.created"
	EventCommentUpdated = "projects.comment.updated"
	EventCommentDeleted = "projects.comment.deleted"
)

// Comment is a remark on a task or an issue.
type Comment struct {
	ID        op.UUID   `json:"id" doc:"The comment's id."`
	ProjectID op.UUID   `json:"projectId" doc:"The project of the task or issue."`
	TaskID    op.UUID   `json:"taskId,omitempty" doc:"The task that it is on; absent on an issue's comment."`
	IssueID   op.UUID   `json:"issueId,omitempty" doc:"The issue that it is on; absent on a task's comment."`
	Body      string    `json:"body" doc:"What it says, Markdown. Untrusted text."`
	AuthorID  op.UUID   `json:"authorId" doc:"The user who wrote it."`
	Edited    bool      `json:"edited" doc:"Whether it was changed since it was written."`
	CreatedAt time.Time `json:"createdAt" doc:"When it was written."`
	UpdatedAt time.Time `json:"updatedAt" doc:"When it last changed."`
}

// ListCommentsIn asks for the comments on a task or on an issue.
type ListCommentsIn struct {
	TaskID  op.UUID `query:"taskId" format:"uuid" doc:"The task whose comments are asked for. Either this or issueId."`
	IssueID op.UUID `query:"issueId" format:"uuid" doc:"The issue whose comments are asked for. Either this or taskId."`
	Limit   int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many comments to return at most."`
	Cursor  string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListComments lists the comments on a task or an issue, the oldest first.
var ListComments = op.New[ListCommentsIn, op.Page[Comment]](op.Spec{
	Name: "list-comments", Module: Module, Method: "GET", Path: "/api/comments", Permission: PermCommentsRead, Effect: op.Read,
	Summary:     "List the comments on a task or an issue.",
	Description: "Exactly one of taskId and issueId is given. The oldest comes first.",
})

// CreateCommentIn describes a comment to be.
type CreateCommentIn struct {
	TaskID  op.UUID `json:"taskId" format:"uuid" doc:"The task that it is on. Either this or issueId."`
	IssueID op.UUID `json:"issueId" format:"uuid" doc:"The issue that it is on. Either this or taskId."`
	Body    string  `json:"body" required:"true" maxLength:"20000" doc:"What it says, Markdown."`
}

// CreateComment writes a comment.
var CreateComment = op.New[CreateCommentIn, Comment](op.Spec{
	Name: "create-comment", Module: Module, Method: "POST", Path: "/api/comments", Permission: PermCommentCreate, Effect: op.Write, Status: 201,
	Summary:     "Write a comment on a task or an issue.",
	Description: "Exactly one of taskId and issueId is given. The first comment on an issue by another than its creator is its first response.",
})

// UpdateCommentIn holds what a comment is to say.
type UpdateCommentIn struct {
	CommentID op.UUID `path:"commentId" format:"uuid" doc:"The comment's id."`
	Body      string  `json:"body" required:"true" maxLength:"20000" doc:"What it says from now on, Markdown."`
}

// UpdateComment changes what a comment says.
var UpdateComment = op.New[UpdateCommentIn, Comment](op.Spec{
	Name: "update-comment", Module: Module, Method: "PATCH", Path: "/api/comments/{commentId}", Permission: PermCommentUpdate, Effect: op.Write,
	Summary:     "Change a comment that one wrote.",
	Description: "Nobody changes the words of another.",
})

// DeleteCommentIn names a comment to delete.
type DeleteCommentIn struct {
	CommentID op.UUID `path:"commentId" format:"uuid" doc:"The comment's id."`
}

// DeleteComment deletes a comment.
var DeleteComment = op.New[DeleteCommentIn, op.None](op.Spec{
	Name: "delete-comment", Module: Module, Method: "DELETE", Path: "/api/comments/{commentId}", Permission: PermCommentDelete, Effect: op.Destroy, Status: 204,
	Summary: "Delete a comment for good.",
})
