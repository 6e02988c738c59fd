package cli

import (
	"context"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// deliverableHelp is the last paragraph of the help of commands that take a deliverable.
const deliverableHelp = `To name a deliverable, use its ID, its title or a unique part of its title.`

func newDeliverableCmds(inv *invocation) []*cobra.Command {
	var criteria []string
	return []*cobra.Command{
		newListCmd(inv, tracker.ListDeliverables, commandForm[tracker.ListDeliverablesIn]{
			example: `  pt list-deliverables APOLLO --status UNDER_REVIEW
  pt list-deliverables APOLLO --task APOLLO-17`,
			flags: []string{"status", "taskId:task"},
		}, deliverableTable),
		newRecordCmd(inv, tracker.GetDeliverable, commandForm[tracker.DeliverableIn]{
			example: `  pt get-deliverable APOLLO "Flight plan"
  pt get-deliverable APOLLO "Flight plan" --json --jq '.data.criteria[] | select(.met | not) | .text'`,
		}, showDeliverable),
		newRecordCmd(inv, tracker.CreateDeliverable, commandForm[tracker.CreateDeliverableIn]{
			example: `  pt create-deliverable APOLLO --title "Flight plan" --task APOLLO-17 --criterion "Two have read it"`,
			flags:   []string{"title", "description", "taskId:task", "owner", "dueDate:due"},
			setup: func(cmd *cobra.Command, _ *tracker.CreateDeliverableIn) {
				cmd.Flags().StringArrayVar(&criteria, "criterion", nil, "An acceptance criterion as `text`; can be repeated")
			},
			prepareInput: func(in *tracker.CreateDeliverableIn) error {
				in.Criteria = criteria
				return nil
			},
		}, showDeliverable),
		newRecordCmd(inv, tracker.UpdateDeliverable, commandForm[tracker.UpdateDeliverableIn]{
			long: `Update the fields that have a flag; other fields do not change. An empty value clears
an optional field. To change the status, use submit-deliverable,
start-deliverable-review, accept-deliverable, reject-deliverable or revise-deliverable.

` + deliverableHelp,
			example: `  pt update-deliverable APOLLO "Flight plan" --due 2027-03-31`,
			flags:   []string{"title", "description", "taskId:task", "owner", "dueDate:due"},
		}, showDeliverable),
		newRecordCmd(inv, tracker.SubmitDeliverable, commandForm[tracker.DeliverableIn]{
			example: `  pt submit-deliverable APOLLO "Flight plan"`,
		}, showDeliverable),
		newRecordCmd(inv, tracker.StartDeliverableReview, commandForm[tracker.DeliverableIn]{
			example: `  pt start-deliverable-review APOLLO "Flight plan"`,
		}, showDeliverable),
		newRecordCmd(inv, tracker.AcceptDeliverable, commandForm[tracker.ReviewDeliverableIn]{
			example: `  pt accept-deliverable APOLLO "Flight plan" --reason "Complete"`,
			flags:   []string{"reason"},
		}, showDeliverable),
		newRecordCmd(inv, tracker.RejectDeliverable, commandForm[tracker.RejectDeliverableIn]{
			example: `  pt reject-deliverable APOLLO "Flight plan" --failed-criteria 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --reason "Costs are missing"`,
			flags:   []string{"failedCriteria", "reason"},
		}, showDeliverable),
		newRecordCmd(inv, tracker.ReviseDeliverable, commandForm[tracker.ReviewDeliverableIn]{
			example: `  pt revise-deliverable APOLLO "Flight plan" --reason "Costs are missing"`,
			flags:   []string{"reason"},
		}, showDeliverable),
		newDeleteCmd(inv, tracker.DeleteDeliverable, "deliverable", commandForm[tracker.DeliverableIn]{
			example: `  pt delete-deliverable APOLLO "Flight plan" --yes`,
		}),
	}
}

var deliverableTable = table[tracker.DeliverableSummary]{
	emptyText: "No deliverables.", flex: 0,
	columns: []column[tracker.DeliverableSummary]{
		{name: "Title", value: func(d *tracker.DeliverableSummary) string { return d.Title }},
		{name: "Status", value: func(d *tracker.DeliverableSummary) string { return d.Status }},
		{name: "Due", value: func(d *tracker.DeliverableSummary) string { return string(d.DueDate) }},
		{name: "Owner", value: func(d *tracker.DeliverableSummary) string { return personName(d.OwnerUser, d.Owner) }},
		{name: "Task", value: func(d *tracker.DeliverableSummary) string { return recordName(d.Task, d.TaskID) }, optional: true},
		{name: "ID", value: func(d *tracker.DeliverableSummary) string { return string(d.ID) }},
	},
}

func showDeliverable(d *markdown.Doc, v *tracker.Deliverable) {
	d.Heading(1, v.Title)
	d.Field("ID", string(v.ID))
	d.Field("Project", recordName(v.Project, v.ProjectID))
	d.Field("Task", recordName(v.Task, v.TaskID))
	d.Field("Status", v.Status)
	d.Field("Owner", personName(v.OwnerUser, v.Owner))
	d.Field("Due", string(v.DueDate))
	d.Field("Created", formatTime(v.CreatedAt)+" by "+personName(v.CreatedByUser, v.CreatedBy))
	d.Field("Updated", formatTime(v.UpdatedAt))
	if v.SubmittedAt != nil {
		d.Field("Submitted", formatTime(*v.SubmittedAt)+" by "+personName(v.SubmittedByUser, v.SubmittedBy))
	}
	if v.ReviewedAt != nil {
		d.Field("Reviewed", formatTime(*v.ReviewedAt)+" by "+personName(v.ReviewedByUser, v.ReviewedBy))
	}
	d.Quote(v.Description)
	if v.ReviewReason != "" {
		d.Heading(2, "Review")
		d.Quote(v.ReviewReason)
	}
	if len(v.Criteria) > 0 {
		d.Heading(2, "Criteria")
		criterionTable.write(d, v.Criteria)
	}
}

// deliverables returns all deliverables of a project.
func deliverables(ctx context.Context, c *client.Client, project op.UUID) ([]candidate, error) {
	in := &tracker.ListDeliverablesIn{ProjectID: project}
	var all []candidate
	_, err := fetchPages(true, &in.Limit, &in.Cursor, func() (string, error) {
		page, err := callOperation(ctx, c, tracker.ListDeliverables, in)
		if err != nil {
			return "", err
		}
		for _, d := range page.Items {
			all = append(all, candidate{id: d.ID, name: d.Title})
		}
		return page.NextCursor, nil
	})
	return all, err
}
