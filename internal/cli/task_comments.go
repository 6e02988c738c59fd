package cli

import (
	"context"
	"slices"
	"strconv"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// pageComments is the maximum number of comments on the page of a task.
const pageComments = 20

// fetchTaskComments fetches the latest comments on the task that get-task shows.
func fetchTaskComments(ctx context.Context, k *call, c *client.Client) (func(*markdown.Doc), error) {
	task, ok := k.input().(*tracker.GetTaskIn)
	if !ok {
		return func(*markdown.Doc) {}, nil
	}
	page, err := callOperation(ctx, c, tracker.ListComments, &tracker.ListCommentsIn{TaskID: op.UUID(task.Task), Sort: tracker.CommentsNewest, Limit: pageComments})
	if err != nil {
		return nil, err
	}
	slices.Reverse(page.Items)
	return func(d *markdown.Doc) { writeComments(d, page.Items, page.NextCursor != "", task.Task) }, nil
}

// writeComments writes the latest comments on a task, the oldest of them first.
func writeComments(d *markdown.Doc, comments []tracker.Comment, hasMore bool, task string) {
	if len(comments) == 0 {
		return
	}
	d.Heading(2, "Comments")
	if hasMore {
		d.Line("The latest " + strconv.Itoa(len(comments)) + "; older ones are not shown. All: pt list-comments --task " + task + " --all")
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
