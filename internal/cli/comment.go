package cli

import (
	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
)

func newCommentCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		newListCmd(inv, tracker.ListComments, commandForm[tracker.ListCommentsIn]{
			example: `  pt list-comments --task APOLLO-17
  pt list-comments --issue ISS-4 --json --jq '.data[].body'`,
			flags: []string{"taskId:task", "issueId:issue"},
			setup: func(cmd *cobra.Command, _ *tracker.ListCommentsIn) { requireOneOf(cmd, "task", "issue") },
		}, commentTable),
		newRecordCmd(inv, tracker.CreateComment, commandForm[tracker.CreateCommentIn]{
			example: `  pt create-comment --task APOLLO-17 --body "The draft is in the repository."
  pt create-comment --issue ISS-4 --body - < answer.md`,
			flags: []string{"taskId:task", "issueId:issue", "body"},
			setup: func(cmd *cobra.Command, _ *tracker.CreateCommentIn) { requireOneOf(cmd, "task", "issue") },
		}, showComment),
		newRecordCmd(inv, tracker.UpdateComment, commandForm[tracker.UpdateCommentIn]{
			example: `  pt update-comment 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --body "The draft is ready."`,
			flags:   []string{"body"},
		}, showComment),
		newDeleteCmd(inv, tracker.DeleteComment, "comment", commandForm[tracker.DeleteCommentIn]{
			example: `  pt delete-comment 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`,
		}),
	}
}

var commentTable = table[tracker.Comment]{
	emptyText: "No comments.", flex: 2,
	columns: []column[tracker.Comment]{
		{name: "Written", value: func(c *tracker.Comment) string { return formatTime(c.CreatedAt) }},
		{name: "By", value: func(c *tracker.Comment) string { return personName(c.Author, c.AuthorID) }},
		{name: "Comment", value: func(c *tracker.Comment) string { return c.Body }},
		{name: "Edited", value: func(c *tracker.Comment) string { return yesOrEmpty(c.Edited) }, optional: true},
		{name: "ID", value: func(c *tracker.Comment) string { return string(c.ID) }},
	},
}

func showComment(d *markdown.Doc, c *tracker.Comment) {
	d.Heading(1, "Comment")
	d.Field("ID", string(c.ID))
	d.Field("Task", recordName(c.Task, c.TaskID))
	d.Field("Issue", recordName(c.Issue, c.IssueID))
	d.Field("By", personName(c.Author, c.AuthorID))
	d.Field("Written", formatTime(c.CreatedAt))
	if c.Edited {
		d.Field("Edited", formatTime(c.UpdatedAt))
	}
	d.Quote(c.Body)
}

// yesOrEmpty returns "yes" for true and "" for false.
func yesOrEmpty(value bool) string {
	if value {
		return "yes"
	}
	return ""
}
