package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

func newGateCmds(inv *invocation) []*cobra.Command {
	var created, changed, met, unmet []string
	return []*cobra.Command{
		showRecord(inv, tracker.CreateGate, commandForm[tracker.CreateGateIn]{
			example: `  pt create-gate APOLLO --stage Design --name "Design review" --criterion "Reviewed by two" --criterion "Costs known"`,
			flags:   []string{"stageId:stage", "name"},
			setup: func(cmd *cobra.Command, _ *tracker.CreateGateIn) {
				bindCriteria(cmd, &created)
			},
			fill: func(in *tracker.CreateGateIn) error {
				in.Criteria = created
				return nil
			},
		}, showGate),
		showRecord(inv, tracker.UpdateGate, commandForm[tracker.UpdateGateIn]{
			long: `Changes what the flags name and leaves the rest. --criterion, given once for each,
is the whole new list; one that is empty clears the list. Votes keep what they found.

A gate is named by its id or its name.`,
			example: `  pt update-gate APOLLO "Design review" --criterion "Reviewed by three"`,
			flags:   []string{"name"},
			setup: func(cmd *cobra.Command, _ *tracker.UpdateGateIn) {
				bindCriteria(cmd, &changed)
			},
			fill: func(in *tracker.UpdateGateIn) error {
				switch {
				case len(changed) == 1 && changed[0] == "":
					in.Criteria = op.Clear[[]string]()
				case len(changed) > 0:
					in.Criteria = op.Some(changed)
				}
				return nil
			},
		}, showGate),
		showRecord(inv, tracker.ReviewGate, commandForm[tracker.ReviewGateIn]{
			long: `Votes at a gate. PASS passes it and starts the next stage; WAIVE does so too, but
needs gates.waive and a reason; FAIL marks it FAILED, HOLD marks it HELD. A later
vote of the same reviewer replaces the former one.

A gate is named by its id or its name.`,
			example: `  pt review-gate APOLLO "Design review" --vote PASS --met "Reviewed by two"
  pt review-gate APOLLO "Design review" --vote FAIL --reason "Costs are open" --not-met "Costs known"`,
			flags: []string{"vote", "reason"},
			setup: func(cmd *cobra.Command, _ *tracker.ReviewGateIn) {
				cmd.Flags().StringArrayVar(&met, "met", nil, "A criterion of the gate that is met, by its `text`; once for each")
				cmd.Flags().StringArrayVar(&unmet, "not-met", nil, "A criterion of the gate that is not met, by its `text`; once for each")
			},
			fill: func(in *tracker.ReviewGateIn) error {
				for _, text := range met {
					in.Criteria = append(in.Criteria, tracker.GateFinding{Criterion: text, Met: true})
				}
				for _, text := range unmet {
					in.Criteria = append(in.Criteria, tracker.GateFinding{Criterion: text})
				}
				return nil
			},
		}, func(d *markdown.Doc, out *tracker.GateReviewOutcome) {
			showGate(d, &out.Gate)
			if out.Progressed != nil {
				d.Line("The stage " + out.Progressed.Name + " is " + out.Progressed.Status + " now.")
			}
		}),
		removesRecord(inv, tracker.DeleteGate, "gate", commandForm[tracker.DeleteGateIn]{
			example: `  pt delete-gate APOLLO "Design review" --yes`,
		}),
	}
}

func bindCriteria(cmd *cobra.Command, criteria *[]string) {
	cmd.Flags().StringArrayVar(criteria, "criterion", nil, "What reviewers hold the stage against, as a `text`; once for each")
}

func showGate(d *markdown.Doc, g *tracker.Gate) { writeGate(d, 1, g) }

// writeGate shows a gate with its votes.
func writeGate(d *markdown.Doc, level int, g *tracker.Gate) {
	d.Heading(level, "Gate: "+g.Name)
	d.Field("ID", string(g.ID))
	d.Field("After stage", string(g.StageID))
	d.Field("Status", g.Status)
	d.Field("Decided", optionalTime(g.DecidedAt))
	for _, c := range g.Criteria {
		d.Field("Criterion", c)
	}
	if len(g.Reviews) > 0 {
		reviewTable.write(d, g.Reviews)
	}
}

var reviewTable = table[tracker.GateReview]{
	flex: 2,
	columns: []column[tracker.GateReview]{
		{name: "Reviewer", value: func(r *tracker.GateReview) string { return string(r.Reviewer) }},
		{name: "Vote", value: func(r *tracker.GateReview) string { return r.Vote }},
		{name: "Reason", value: func(r *tracker.GateReview) string { return r.Reason }},
		{name: "Met", value: func(r *tracker.GateReview) string { return findings(r, true) }, wide: true},
		{name: "Not met", value: func(r *tracker.GateReview) string { return findings(r, false) }, wide: true},
		{name: "When", value: func(r *tracker.GateReview) string { return formatTime(r.ReviewedAt) }},
	},
}

func findings(r *tracker.GateReview, met bool) string {
	var texts []string
	for _, f := range r.Criteria {
		if f.Met == met {
			texts = append(texts, f.Criterion)
		}
	}
	return strings.Join(texts, "; ")
}
