package cli

import (
	"strings"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// The last paragraphs of the help of commands that take such a record.
const (
	deliverableHelp = `To name a deliverable, use its ID, its title or a unique part of its title.`
	initiativeHelp  = `To name an initiative, use its ID or its name; to read, also a unique part of its name.`
	gateHelp        = `To name a gate, use its ID or its name.`
)

func projectForms() map[string]form {
	return map[string]form{
		"list-projects": {example: `  pt list-projects
  pt list-projects --status ACTIVE --search apollo
  pt list-projects --all --json --fields id,prefix`},
		"find-project": {via: "find-project"},
		"get-project":  {via: "find-project"},
		"create-project": {
			example: `  pt create-project --name "Lunar lander" --start 2027-01-04 --prefix LUNA
  pt create-project --name Billing --start 2027-01-04 --story-point-scale 1,2,3,5,8 --description - < billing.md`,
			custom: []customFlag{statusFlag(func(in *tracker.CreateProjectIn, statuses []tracker.Status) { in.CustomStatuses = statuses })},
		},
		"update-project": {
			long: updateHelp,
			example: `  pt update-project LUNA --status COMPLETED
  pt update-project LUNA --end "" --name "Lunar lander 2"
  pt update-project LUNA --initiative "Moon 2030"
  pt update-project LUNA --rename-status "TODO=PLANNED"`,
			custom: []customFlag{
				statusFlag(func(in *tracker.UpdateProjectIn, statuses []tracker.Status) { in.CustomStatuses = op.Some(statuses) }),
				listFlag("renameStatuses", "rename-status", "Rename a status, as `OLD=NEW`, also in the tasks that have it", parseRenames),
			},
		},
		"delete-project": {
			long: `Delete a project permanently, with its tasks, issues, stages, comments and time
entries. The command asks for confirmation on a terminal; without a terminal it requires
--yes. You must name the project: PT_PROJECT and the current directory are not used.`,
			example: `  pt delete-project LUNA
  pt delete-project LUNA --yes`,
			question: "Delete the project %s and all its records permanently?",
		},
		"workspace": {example: `  pt workspace
  pt workspace --json --jq '.data.projects[].inProgress[]?.key'`},
		"get-project-overview": {
			short: "Show a project's stages, statuses, scale and counts",
			long: `Show the stages, statuses, story-point scale and counts of a project. If you may not
read the whole project, you get its name, scale and stages.

Only users who may list projects can use the name or prefix of a project; others need
its ID.`,
			example: `  pt get-project-overview APOLLO
  pt get-project-overview APOLLO --json --jq .data.stats.tasks.byStatus`,
		},
		"bind-repo":    {via: "bind-repo"},
		"unbind-repo":  {via: "unbind-repo"},
		"import-items": {via: "import"},
		"export-items": {via: "export"},
	}
}

// statusFlag returns the flag --custom-statuses.
func statusFlag[In any](set func(in *In, statuses []tracker.Status)) customFlag {
	f := listFlag("customStatuses", "custom-statuses", "Statuses of the tasks in order, each as `NAME=CATEGORY`; categories: TODO, IN_PROGRESS, REVIEW, DONE, CANCELLED",
		func(in *In, texts []string) error {
			statuses, err := parseStatuses(texts)
			set(in, statuses)
			return err
		})
	f.commas = true
	return f
}

func parseRenames(in *tracker.UpdateProjectIn, texts []string) error {
	for _, text := range texts {
		from, to, ok := strings.Cut(text, "=")
		if !ok {
			return usagef("--rename-status %q must have the form OLD=NEW", text)
		}
		in.RenameStatuses = append(in.RenameStatuses, tracker.StatusRename{From: strings.TrimSpace(from), To: strings.TrimSpace(to)})
	}
	return nil
}

func planningForms() map[string]form {
	return map[string]form{
		"initiative": {
			long: "Show an initiative and those of its projects that you can read.\n\n" + initiativeHelp,
			example: `  pt initiative "Moon 2030"
  pt initiative moon --json --jq '.data.projects[].prefix'`,
			args: "hint=initiative",
			page: showing(func(d *markdown.Doc, i *tracker.InitiativeDetail) {
				writeOne(d, 1, i)
				d.Heading(2, "Projects")
				writeItems(d, i.Projects, "projects")
				if i.MoreProjects {
					d.Line("For more projects: pt list-projects --initiative " + string(i.ID))
				}
			}),
		},
		"get-initiative": {via: "initiative"},
		"list-initiatives": {example: `  pt list-initiatives
  pt list-initiatives --status ON_HOLD --search moon`},
		"create-initiative": {example: `  pt create-initiative --name "Moon 2030" --start 2027-01-04
  pt create-initiative --name "Moon 2030" --start 2027-01-04 --end 2030-12-31 --description - < moon.md`},
		"update-initiative": {long: updateHelp + "\n\n" + initiativeHelp, example: `  pt update-initiative "Moon 2030" --status ON_HOLD
  pt update-initiative moon --end ""`},
		"delete-initiative": {
			long: `Delete an initiative permanently. Its projects and epics remain, without an initiative.
The delegations for it end. The command asks for confirmation on a terminal; without a
terminal it requires --yes.

` + initiativeHelp,
			example: `  pt delete-initiative "Moon 2030" --yes`,
		},
		"list-stages": {example: `  pt list-stages APOLLO
  pt list-stages APOLLO --json --jq '.data.stages[] | {name, status, gate: .gate.status}'`},
		"create-stage": {example: `  pt create-stage APOLLO --name Design
  pt create-stage APOLLO --name "Dry run" --position 2 --start 2027-02-01 --end 2027-02-28`},
		"update-stage": {
			long: updateHelp + ` To change the status, use start-stage or complete-stage.

To name a stage, use its ID, its name or its position in the pipeline.`,
			example: `  pt update-stage APOLLO Design --end 2027-03-31
  pt update-stage APOLLO 3 --position 2`,
		},
		"start-stage":    {example: `  pt start-stage APOLLO Design`},
		"complete-stage": {example: `  pt complete-stage APOLLO Design`},
		"delete-stage":   {example: `  pt delete-stage APOLLO Design --yes`},
		"create-gate": {
			example: `  pt create-gate APOLLO --stage Design --name "Design review" --criterion "Reviewed by two" --criterion "Costs known"`,
			custom: []customFlag{listFlag("criteria", "criterion", criterionHelp, func(in *tracker.CreateGateIn, texts []string) error {
				in.Criteria = texts
				return nil
			})},
		},
		"update-gate": {
			long: `Update the fields that have a flag; other fields do not change. The --criterion flags
replace the list of criteria; one empty --criterion clears it. Existing votes keep their
findings.

` + gateHelp,
			example: `  pt update-gate APOLLO "Design review" --criterion "Reviewed by three"`,
			custom: []customFlag{listFlag("criteria", "criterion", criterionHelp, func(in *tracker.UpdateGateIn, texts []string) error {
				in.Criteria = op.Some(texts)
				if len(texts) == 1 && texts[0] == "" {
					in.Criteria = op.Clear[[]string]()
				}
				return nil
			})},
		},
		"review-gate": {
			long: `Vote on a gate. PASS passes the gate and starts the next stage. WAIVE does the same,
but requires the permission gates.waive and a reason. FAIL sets the gate to FAILED, HOLD
to HELD. A new vote of the same reviewer replaces the previous one.

` + gateHelp,
			example: `  pt review-gate APOLLO "Design review" --vote PASS --met "Reviewed by two"
  pt review-gate APOLLO "Design review" --vote FAIL --reason "Costs are open" --not-met "Costs known"`,
			custom: []customFlag{
				findingFlag("met", "`text` of a criterion that is met; can be repeated", true),
				findingFlag("not-met", "`text` of a criterion that is not met; can be repeated", false),
			},
			page: showing(func(d *markdown.Doc, out *tracker.GateReviewOutcome) {
				writeOne(d, 1, &out.Gate)
				if out.Progressed != nil {
					d.Line("The stage " + out.Progressed.Name + " is now " + out.Progressed.Status + ".")
				}
			}),
		},
		"delete-gate": {example: `  pt delete-gate APOLLO "Design review" --yes`},
		"list-deliverables": {example: `  pt list-deliverables APOLLO --status UNDER_REVIEW
  pt list-deliverables APOLLO --task APOLLO-17`},
		"get-deliverable": {example: `  pt get-deliverable APOLLO "Flight plan"
  pt get-deliverable APOLLO "Flight plan" --json --jq '.data.criteria[] | select(.met | not) | .text'`},
		"create-deliverable": {
			example: `  pt create-deliverable APOLLO --title "Flight plan" --task APOLLO-17 --criterion "Two have read it"`,
			custom: []customFlag{listFlag("criteria", "criterion", "An acceptance criterion as `text`; can be repeated", func(in *tracker.CreateDeliverableIn, texts []string) error {
				in.Criteria = texts
				return nil
			})},
		},
		"update-deliverable": {
			long: updateHelp + ` To change the status, use submit-deliverable,
start-deliverable-review, accept-deliverable, reject-deliverable or revise-deliverable.

` + deliverableHelp,
			example: `  pt update-deliverable APOLLO "Flight plan" --due 2027-03-31`,
		},
		"submit-deliverable":       {example: `  pt submit-deliverable APOLLO "Flight plan"`},
		"start-deliverable-review": {example: `  pt start-deliverable-review APOLLO "Flight plan"`},
		"accept-deliverable":       {example: `  pt accept-deliverable APOLLO "Flight plan" --reason "Complete"`},
		"reject-deliverable": {
			short:   "Reject a deliverable for good with its failed criteria",
			example: `  pt reject-deliverable APOLLO "Flight plan" --failed-criteria 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --reason "Costs are missing"`,
		},
		"revise-deliverable": {example: `  pt revise-deliverable APOLLO "Flight plan" --reason "Costs are missing"`},
		"delete-deliverable": {example: `  pt delete-deliverable APOLLO "Flight plan" --yes`},
		"list-criteria": {short: "List the criteria of a project, deliverable or task", atMostOne: "deliverable task", example: `  pt list-criteria APOLLO --deliverable "Flight plan"
  pt list-criteria APOLLO --task APOLLO-17`},
		"create-criterion": {oneOf: "deliverable task", example: `  pt create-criterion APOLLO --deliverable "Flight plan" --text "Two have read it"
  pt create-criterion APOLLO --task APOLLO-17 --text "The tests pass"`},
		"update-criterion": {short: "Change a criterion, or mark it as met or not met", example: `  pt update-criterion APOLLO 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --met
  pt update-criterion APOLLO 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --met=false`},
		"delete-criterion": {example: `  pt delete-criterion APOLLO 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`},
	}
}

const criterionHelp = "A criterion for the reviewers, as `text`; can be repeated"

// findingFlag returns --met or --not-met of review-gate.
func findingFlag(name, help string, met bool) customFlag {
	return listFlag("criteria", name, help, func(in *tracker.ReviewGateIn, texts []string) error {
		for _, text := range texts {
			in.Criteria = append(in.Criteria, tracker.GateFinding{Criterion: text, Met: met})
		}
		return nil
	})
}
