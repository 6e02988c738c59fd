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
		newRecordCmd(inv, tracker.CreateGate, commandForm[tracker.CreateGateIn]{
			example: `  pt create-gate APOLLO --stage Design --name "Design review" --criterion "Reviewed by two" --criterion "Costs known"`,
			flags:   []string{"stageId:stage", "name"},
			setup: func(cmd *cobra.Command, _ *tracker.CreateGateIn) {
				bindCriteria(cmd, &created)
			},
			prepareInput: func(in *tracker.CreateGateIn) error {
				in.Criteria = created
				return nil
			},
		}, showGate),
		newRecordCmd(inv, tracker.UpdateGate, commandForm[tracker.UpdateGateIn]{
			long: `Update the fields that have a flag; other fields do not change. The --criterion flags
replace the list of criteria; one empty --criterion clears it. Existing votes keep their
findings.

To name a gate, use its ID or its name.`,
			example: `  pt update-gate APOLLO "Design review" --criterion "Reviewed by three"`,
			flags:   []string{"name"},
			setup: func(cmd *cobra.Command, _ *tracker.UpdateGateIn) {
				bindCriteria(cmd, &changed)
			},
			prepareInput: func(in *tracker.UpdateGateIn) error {
				switch {
				case len(changed) == 1 && changed[0] == "":
					in.Criteria = op.Clear[[]string]()
				case len(changed) > 0:
					in.Criteria = op.Some(changed)
				}
				return nil
			},
		}, showGate),
		newRecordCmd(inv, tracker.ReviewGate, commandForm[tracker.ReviewGateIn]{
			long: `Vote on a gate. PASS passes the gate and starts the next stage. WAIVE does the same,
but requires the permission gates.waive and a reason. FAIL sets the gate to FAILED, HOLD
to HELD. A new vote of the same reviewer replaces the previous one.

To name a gate, use its ID or its name.`,
			example: `  pt review-gate APOLLO "Design review" --vote PASS --met "Reviewed by two"
  pt review-gate APOLLO "Design review" --vote FAIL --reason "Costs are open" --not-met "Costs known"`,
			flags: []string{"vote", "reason"},
			setup: func(cmd *cobra.Command, _ *tracker.ReviewGateIn) {
				cmd.Flags().StringArrayVar(&met, "met", nil, "`text` of a criterion that is met; can be repeated")
				cmd.Flags().StringArrayVar(&unmet, "not-met", nil, "`text` of a criterion that is not met; can be repeated")
			},
			prepareInput: func(in *tracker.ReviewGateIn) error {
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
				d.Line("The stage " + out.Progressed.Name + " is now " + out.Progressed.Status + ".")
			}
		}),
		newDeleteCmd(inv, tracker.DeleteGate, "gate", commandForm[tracker.DeleteGateIn]{
			example: `  pt delete-gate APOLLO "Design review" --yes`,
		}),
	}
}

func bindCriteria(cmd *cobra.Command, criteria *[]string) {
	cmd.Flags().StringArrayVar(criteria, "criterion", nil, "A criterion for the reviewers, as `text`; can be repeated")
}

func showGate(d *markdown.Doc, g *tracker.Gate) { writeGate(d, 1, g) }

// writeGate writes a gate and its votes below a heading of the given level.
func writeGate(d *markdown.Doc, level int, g *tracker.Gate) {
	d.Heading(level, "Gate: "+g.Name)
	d.Field("ID", string(g.ID))
	d.Field("After stage", recordName(g.Stage, g.StageID))
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
		{name: "Reviewer", value: func(r *tracker.GateReview) string { return personName(r.ReviewerUser, r.Reviewer) }},
		{name: "Vote", value: func(r *tracker.GateReview) string { return r.Vote }},
		{name: "Reason", value: func(r *tracker.GateReview) string { return r.Reason }},
		{name: "Met", value: func(r *tracker.GateReview) string { return criteriaByResult(r, true) }, optional: true},
		{name: "Not met", value: func(r *tracker.GateReview) string { return criteriaByResult(r, false) }, optional: true},
		{name: "When", value: func(r *tracker.GateReview) string { return formatTime(r.ReviewedAt) }},
	},
}

func criteriaByResult(r *tracker.GateReview, met bool) string {
	var texts []string
	for _, f := range r.Criteria {
		if f.Met == met {
			texts = append(texts, f.Criterion)
		}
	}
	return strings.Join(texts, "; ")
}
