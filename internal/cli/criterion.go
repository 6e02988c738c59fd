package cli

import (
	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
)

func newCriterionCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		newListCmd(inv, tracker.ListCriteria, commandForm[tracker.ListCriteriaIn]{
			example: `  pt list-criteria APOLLO --deliverable "Flight plan"
  pt list-criteria APOLLO --task APOLLO-17`,
			flags: []string{"deliverableId:deliverable", "taskId:task"},
			setup: func(cmd *cobra.Command, _ *tracker.ListCriteriaIn) { allowOneOf(cmd, "deliverable", "task") },
		}, criterionTable),
		newRecordCmd(inv, tracker.CreateCriterion, commandForm[tracker.CreateCriterionIn]{
			example: `  pt create-criterion APOLLO --deliverable "Flight plan" --text "Two have read it"
  pt create-criterion APOLLO --task APOLLO-17 --text "The tests pass"`,
			flags: []string{"deliverableId:deliverable", "taskId:task", "text"},
			setup: func(cmd *cobra.Command, _ *tracker.CreateCriterionIn) { requireOneOf(cmd, "deliverable", "task") },
		}, showCriterion),
		newRecordCmd(inv, tracker.UpdateCriterion, commandForm[tracker.UpdateCriterionIn]{
			example: `  pt update-criterion APOLLO 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --met
  pt update-criterion APOLLO 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --met=false`,
			flags: []string{"met", "text"},
		}, showCriterion),
		newDeleteCmd(inv, tracker.DeleteCriterion, "criterion", commandForm[tracker.DeleteCriterionIn]{
			example: `  pt delete-criterion APOLLO 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`,
		}),
	}
}

var criterionTable = table[tracker.Criterion]{
	emptyText: "No criteria.", flex: 1,
	columns: []column[tracker.Criterion]{
		{name: "Met", value: func(c *tracker.Criterion) string { return yesOrEmpty(c.Met) }},
		{name: "Criterion", value: func(c *tracker.Criterion) string { return c.Text }},
		{name: "Failed", value: func(c *tracker.Criterion) string { return yesOrEmpty(c.Failed) }, optional: true},
		{name: "ID", value: func(c *tracker.Criterion) string { return string(c.ID) }},
	},
}

func showCriterion(d *markdown.Doc, c *tracker.Criterion) {
	d.Heading(1, "Criterion")
	d.Field("ID", string(c.ID))
	d.Field("Deliverable", recordName(c.Deliverable, c.DeliverableID))
	d.Field("Task", recordName(c.Task, c.TaskID))
	d.Field("Met", firstNonEmpty(yesOrEmpty(c.Met), "no"))
	if c.MetAt != nil {
		d.Field("Recorded", formatTime(*c.MetAt)+" by "+personName(c.MetByUser, c.MetBy))
	}
	d.Field("Failed", yesOrEmpty(c.Failed))
	d.Quote(c.Text)
}
