package cli

import (
	"context"
	"strconv"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// pageComments is the maximum number of comments on the page of a task.
const pageComments = 20

// maxCommentRequests is the maximum number of requests for the comments on a task.
const maxCommentRequests = 5

// fetchTaskComments fetches the latest comments on the task that get-task shows. The service
// lists the oldest first, 200 in a page. If the requests do not reach the last comment, the
// page says so.
func fetchTaskComments(ctx context.Context, k *call, c *client.Client) (func(*markdown.Doc), error) {
	task, ok := k.input().(*tracker.GetTaskIn)
	if !ok {
		return func(*markdown.Doc) {}, nil
	}
	in := &tracker.ListCommentsIn{TaskID: op.UUID(task.Task), Limit: maxPage}
	var comments []tracker.Comment
	total := 0
	for range maxCommentRequests {
		page, err := callOperation(ctx, c, tracker.ListComments, in)
		if err != nil {
			return nil, err
		}
		total += len(page.Items)
		comments = append(comments, page.Items...)
		comments = comments[max(0, len(comments)-pageComments):]
		in.Cursor = page.NextCursor
		if in.Cursor == "" {
			break
		}
	}
	return func(d *markdown.Doc) { writeComments(d, comments, total, in.Cursor != "", task.Task) }, nil
}

// writeComments writes the last of the comments on a task that were fetched; total is the
// number of all that were fetched.
func writeComments(d *markdown.Doc, comments []tracker.Comment, total int, hasMore bool, task string) {
	if total == 0 {
		return
	}
	d.Heading(2, "Comments")
	shown := ""
	switch {
	case hasMore:
		shown = "Comments " + strconv.Itoa(total-len(comments)+1) + " to " + strconv.Itoa(total) + "; newer and older ones are not shown."
	case total > len(comments):
		shown = "The latest " + strconv.Itoa(len(comments)) + " of " + strconv.Itoa(total) + "; older ones are not shown."
	}
	if shown != "" {
		d.Line(shown + " All: pt list-comments --task " + task + " --all")
	}
	for i := range comments {
		c := &comments[i]
		title := personName(c.Author, c.AuthorID) + ", " + d.Time(c.CreatedAt)
		if c.Edited {
			title += ", edited"
		}
		d.Heading(3, title)
		d.Prose(c.Body)
	}
}
