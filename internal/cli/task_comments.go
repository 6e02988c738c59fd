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

// fetchTaskComments fetches the latest comments on the task that get-task shows. The service
// lists the oldest first, 200 in a page.
func fetchTaskComments(ctx context.Context, k *call, c *client.Client) (func(*markdown.Doc), error) {
	task, ok := k.input().(*tracker.GetTaskIn)
	if !ok {
		return func(*markdown.Doc) {}, nil
	}
	in := &tracker.ListCommentsIn{TaskID: op.UUID(task.Task)}
	var comments []tracker.Comment
	total := 0
	_, err := fetchPages(true, &in.Limit, &in.Cursor, func() (string, error) {
		page, err := callOperation(ctx, c, tracker.ListComments, in)
		if err != nil {
			return "", err
		}
		total += len(page.Items)
		comments = append(comments, page.Items...)
		comments = comments[max(0, len(comments)-pageComments):]
		return page.NextCursor, nil
	})
	if err != nil {
		return nil, err
	}
	return func(d *markdown.Doc) { writeComments(d, comments, total, task.Task) }, nil
}

// writeComments writes the latest comments on a task; total is the number of all.
func writeComments(d *markdown.Doc, comments []tracker.Comment, total int, task string) {
	if total == 0 {
		return
	}
	d.Heading(2, "Comments")
	if total > len(comments) {
		d.Line("The latest " + strconv.Itoa(len(comments)) + " of " + strconv.Itoa(total) + ". All: pt list-comments --task " + task + " --all")
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
