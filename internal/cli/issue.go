package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
)

func newIssueCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		newListCmd(inv, tracker.ListIssues, commandForm[tracker.ListIssuesIn]{
			example: `  pt list-issues --project APOLLO --severity CRITICAL
  pt list-issues --status OPEN --search hatch --json --jq '.data[].key'`,
			flags: []string{"severity", "status", "search", "assignee"},
		}, issueTable),
		newRecordCmd(inv, tracker.GetIssue, commandForm[tracker.GetIssueIn]{
			example: `  pt get-issue ISS-4
  pt get-issue ISS-4 --json --jq .data.resolutionDueAt`,
		}, showIssue),
		newRecordCmd(inv, tracker.CreateIssue, commandForm[tracker.CreateIssueIn]{
			example: `  pt create-issue --project APOLLO --title "The hatch does not close" --severity HIGH
  pt create-issue --project APOLLO --title "Leak" --description - < leak.md`,
			flags: []string{"title", "description", "severity", "dueDate:due"},
		}, showIssue),
		newRecordCmd(inv, tracker.UpdateIssue, commandForm[tracker.UpdateIssueIn]{
			long: `Update the fields that have a flag; other fields do not change. An empty value clears
an optional field. To change severity, assignee or status, use escalate-issue,
assign-issue, transition-issue or resolve-issue.`,
			example: `  pt update-issue ISS-4 --title "The hatch sticks" --due 2027-03-31
  pt update-issue ISS-4 --due ""`,
			flags: []string{"title", "description", "dueDate:due"},
		}, showIssue),
		newRecordCmd(inv, tracker.AssignIssue, commandForm[tracker.AssignIssueIn]{
			example: `  pt assign-issue ISS-4 --assignee 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f
  pt assign-issue ISS-4 --assignee ""`,
			flags: []string{"assignee"},
			setup: func(cmd *cobra.Command, _ *tracker.AssignIssueIn) { must(cmd.MarkFlagRequired("assignee")) },
		}, showIssue),
		newRecordCmd(inv, tracker.EscalateIssue, commandForm[tracker.EscalateIssueIn]{
			example: `  pt escalate-issue ISS-4 --severity CRITICAL`,
			flags:   []string{"severity"},
		}, showIssue),
		newRecordCmd(inv, tracker.TransitionIssue, commandForm[tracker.TransitionIssueIn]{
			example: `  pt transition-issue ISS-4 --to IN_PROGRESS`,
			flags:   []string{"to"},
		}, showIssue),
		newRecordCmd(inv, tracker.ResolveIssue, commandForm[tracker.ResolveIssueIn]{
			example: `  pt resolve-issue ISS-4 --resolution FIXED`,
			flags:   []string{"resolution"},
		}, showIssue),
		newRecordCmd(inv, tracker.PromoteIssue, commandForm[tracker.PromoteIssueIn]{
			example: `  pt promote-issue ISS-4
  pt promote-issue ISS-4 --json --jq .data.key`,
		}, showTask),
		newDeleteCmd(inv, tracker.DeleteIssue, "issue", commandForm[tracker.DeleteIssueIn]{
			example: `  pt delete-issue ISS-4 --yes`,
			recordName: func(ctx context.Context, c *client.Client, in *tracker.DeleteIssueIn) (string, error) {
				i, err := callOperation(ctx, c, tracker.GetIssue, &tracker.GetIssueIn{Issue: in.Issue})
				if err != nil {
					return "", err
				}
				return i.Key + " " + i.Title, nil
			},
		}),
	}
}

var issueTable = table[tracker.IssueSummary]{
	emptyText: "No issues.", flex: 1,
	columns: []column[tracker.IssueSummary]{
		{name: "Key", value: func(i *tracker.IssueSummary) string { return i.Key }},
		{name: "Title", value: func(i *tracker.IssueSummary) string { return i.Title }},
		{name: "Severity", value: func(i *tracker.IssueSummary) string { return i.Severity }},
		{name: "Status", value: func(i *tracker.IssueSummary) string { return i.Status }},
		{name: "Resolution", value: func(i *tracker.IssueSummary) string { return i.Resolution }, optional: true},
		{name: "Assignee", value: func(i *tracker.IssueSummary) string { return personName(i.AssigneeUser, i.Assignee) }},
		{name: "Resolve by", value: func(i *tracker.IssueSummary) string { return formatDeadline(i.ResolutionDueAt, i.ResolutionOverdue) }},
	},
}

func showIssue(d *markdown.Doc, i *tracker.Issue) {
	d.Heading(1, i.Key+" "+i.Title)
	d.Field("ID", string(i.ID))
	d.Field("Project", recordName(i.Project, i.ProjectID))
	d.Field("Severity", i.Severity)
	d.Field("Status", i.Status)
	d.Field("Resolution", i.Resolution)
	d.Field("Assignee", personName(i.AssigneeUser, i.Assignee))
	d.Field("Due", string(i.DueDate))
	d.Field("First response by", formatDeadline(i.FirstResponseDueAt, i.FirstResponseOverdue))
	d.Field("First response", optionalTime(i.FirstRespondedAt))
	d.Field("Resolve by", formatDeadline(i.ResolutionDueAt, i.ResolutionOverdue))
	d.Field("Resolved", optionalTime(i.ResolvedAt))
	d.Field("Promoted to", recordName(i.PromotedTask, i.PromotedTaskID))
	d.Field("Created", formatTime(i.CreatedAt)+" by "+personName(i.CreatedByUser, i.CreatedBy))
	d.Field("Updated", formatTime(i.UpdatedAt))
	d.Quote(i.Description)
}

// formatDeadline formats a deadline of the SLA and marks a missed one.
func formatDeadline(at time.Time, overdue bool) string {
	if overdue {
		return formatTime(at) + " (missed)"
	}
	return formatTime(at)
}
