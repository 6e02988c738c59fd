package cli

import (
	"strings"
	"time"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// updateHelp is the first sentence of the help of commands that change some fields.
const updateHelp = `Update the fields that have a flag; other fields do not change. An empty value clears
an optional field.`

func taskForms() map[string]form {
	return map[string]form{
		"list-tasks": {atMostOne: "ready review awaiting-decision", example: `  pt list-tasks APOLLO
  pt list-tasks APOLLO --status IN_PROGRESS --limit 10
  pt list-tasks APOLLO --ready
  pt list-tasks APOLLO --mine --due-before +2w --sort due
  pt list-tasks APOLLO --search "flight plan" --json --jq '.data[].key'`},
		"inbox": inboxForm(),
		"search-tasks": {ignoreDefaultProject: true, example: `  pt search-tasks --search granite --open
  pt search-tasks --assignee me --sort due --json --jq '.data[].key'`},
		"get-task": {with: fetchTaskComments, example: `  pt get-task APOLLO APOLLO-17
  pt get-task APOLLO-17 --json --jq .data.description
  pt get-task APOLLO-17 --decision-request-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --json --jq .data.decisionRequest.answer`},
		"create-task": {pathFlags: "projectId", example: `  pt create-task "Write the flight plan" --project APOLLO --due friday
  pt create-task "Fix the hatch" --project APOLLO --type BUG --priority HIGH --description - < hatch.md`},
		"update-task": {
			long: updateHelp + ` For example, --assignee "" unassigns the task. You can change the
status to any status of the project.`,
			example: `  pt update-task APOLLO APOLLO-17 --status DONE
  pt update-task APOLLO-17 --progress 60 --due 2027-04-15
  pt update-task APOLLO-17 --editor
  pt update-task APOLLO-17 --assignee ""`,
		},
		"list-epic-children": {example: `  pt list-epic-children APOLLO-3
  pt list-epic-children APOLLO-3 --all --json --jq '.data | length'`},
		"delete-task": {
			long: `Delete a task and its sub-tasks permanently. The children of an epic remain, without an
epic. The command asks for confirmation on a terminal; without a terminal it requires
--yes.`,
			example: `  pt delete-task APOLLO-17 --yes`,
		},
		"claim-next-ready": {
			long: `Claim the first task of the ready set: assign it to you, or to the agent in --agent,
and start it, in one transaction. Two concurrent claims never return the same task. If
no task is ready, nothing is claimed and the exit code is 0.

With --lease, the task returns to the ready set when the lease expires, unless
keep-claim extends the lease or the status of the task has changed.`,
			example: `  pt claim-next-ready APOLLO
  pt claim-next-ready APOLLO --lease 30m --json --jq '.data.task.key, .data.lease.id'
  pt claim-next-ready APOLLO --agent agent+builder@acme.example`,
			custom: []customFlag{textFlag("leaseSeconds", "lease", leaseHelp("no lease, the task stays yours"), func(in *tracker.ClaimNextReadyIn, text string) (err error) {
				in.LeaseSeconds, err = leaseSeconds(text)
				return err
			})},
			page: showing(func(d *markdown.Doc, out *tracker.ClaimNextReadyOut) {
				if !out.Claimed || out.Task == nil {
					d.Line("No task is ready.")
					return
				}
				writeOne(d, 1, out.Task)
				if out.Lease != nil {
					writeOne(d, 2, out.Lease)
				}
			}),
		},
		"keep-claim": {
			example: `  pt keep-claim APOLLO-17 --lease-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --lease 30m`,
			custom: []customFlag{textFlag("leaseSeconds", "lease", leaseHelp("its previous duration"), func(in *tracker.KeepClaimIn, text string) (err error) {
				in.LeaseSeconds, err = leaseSeconds(text)
				return err
			})},
		},
		"release-claim": {example: `  pt release-claim APOLLO-17 --lease-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`},
		"list-dependencies": {example: `  pt list-dependencies APOLLO-17
  pt list-dependencies APOLLO-17 --direction BLOCKED_BY --json --jq '.data[].task.key'`},
		"add-dependency": {
			args: "dependsOn=depends-on", example: `  pt add-dependency APOLLO APOLLO-17 APOLLO-3`,
			page: showing(func(d *markdown.Doc, dep *tracker.Dependency) { writeItems(d, []tracker.Dependency{*dep}, "") }),
		},
		"remove-dependency": {
			example: `  pt remove-dependency APOLLO APOLLO-17 APOLLO-3`,
			done: func(k *call) (any, string) {
				var out removeDependencyOut
				if in, ok := k.input().(*tracker.RemoveDependencyIn); ok {
					out = removeDependencyOut{in.Task, in.DependsOnID, true}
				}
				return out, out.Task + " no longer waits for " + out.DependsOn + "."
			},
		},
		"list-custom-fields": {example: `  pt list-custom-fields APOLLO`},
		"create-custom-field": {example: `  pt create-custom-field APOLLO --name Crew --type CHOICE --options "Red,Blue"
  pt create-custom-field APOLLO --name "Launch window" --type DATE`},
		"update-custom-field": {example: `  pt update-custom-field APOLLO Crew --options "Red,Blue,Green"`},
		"delete-custom-field": {example: `  pt delete-custom-field APOLLO Crew --yes`},
		"set-custom-field-values": {
			long: `Set custom fields of a task, each by its name or ID. Other fields do not change. An
empty value clears a field. A value is a decimal number, a date as YYYY-MM-DD, true or
false, one of the options, or free text, depending on the type of the field.`,
			example: `  pt set-custom-field-values APOLLO-17 --value Crew=Blue --value "Launch window=2027-03-31"
  pt set-custom-field-values APOLLO-17 --value Crew=`,
			custom: []customFlag{required(listFlag("values", "value", "A field and its value as `NAME=VALUE`; can be repeated", parseFieldValues))},
		},
	}
}

// removeDependencyOut is the output of pt remove-dependency.
type removeDependencyOut struct {
	Task      string `json:"task"`
	DependsOn string `json:"dependsOn"`
	Removed   bool   `json:"removed"`
}

func parseFieldValues(in *tracker.SetCustomFieldValuesIn, texts []string) error {
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return usagef("--value %q must have the form NAME=VALUE", text)
		}
		in.Values = append(in.Values, tracker.FieldValueIn{Field: strings.TrimSpace(name), Value: value})
	}
	return nil
}

func leaseHelp(defaultText string) string {
	return "Lease `duration` such as 30m (default: " + defaultText + ")"
}

// leaseSeconds parses the value of --lease. It returns 0 for an empty text.
func leaseSeconds(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	d, err := parseTimeout(text)
	if err != nil || d < time.Second {
		return 0, usagef("--lease %q must be a duration from 1s to 24h, such as 30m", text)
	}
	return int(d / time.Second), nil
}

func decisionForms() map[string]form {
	return map[string]form{
		"mark-awaiting-decision": {
			long: `Raise a decision request on a task: a question that somebody must answer before the
work can continue. If the task already has an open request, the command returns that
request. You, or the agent in --agent, must be the assignee of the task, and the task
must be in progress. Its status and assignee do not change.

Separate options with commas, or repeat --options.`,
			example: `  pt mark-awaiting-decision APOLLO APOLLO-17 --question "Which engine?" --options "F-1,J-2"
  pt mark-awaiting-decision APOLLO-17 --question - < question.md
  pt mark-awaiting-decision APOLLO-17 --question "Ship it?" --agent agent+builder@acme.example --session-id run-42`,
		},
		"answer-decision": {
			pathFlags: "requestId", oneOf: "chosen-option-index answer",
			example: `  pt answer-decision APOLLO-17 --request-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --chosen-option-index 0
  pt answer-decision APOLLO-17 --request-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --answer "Neither: wait"`,
		},
		"cancel-decision": {pathFlags: "requestId", example: `  pt cancel-decision APOLLO-17 --request-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`},
		"list-decision-requests": {example: `  pt list-decision-requests APOLLO-17
  pt list-decision-requests APOLLO APOLLO-17 --status open --json --jq '.data[].id'`},
		"wait-decision": {via: "wait-decision"},
	}
}

func issueForms() map[string]form {
	return map[string]form{
		"list-issues": {example: `  pt list-issues --project APOLLO --severity CRITICAL
  pt list-issues --status OPEN --search hatch --json --jq '.data[].key'`},
		"get-issue": {example: `  pt get-issue ISS-4
  pt get-issue ISS-4 --json --jq .data.resolutionDueAt`},
		"create-issue": {example: `  pt create-issue --project APOLLO --title "The hatch does not close" --severity HIGH
  pt create-issue --project APOLLO --title "Leak" --description - < leak.md`},
		"update-issue": {
			long: updateHelp + ` To change severity, assignee or status, use escalate-issue,
assign-issue, transition-issue or resolve-issue.`,
			example: `  pt update-issue ISS-4 --title "The hatch sticks" --due 2027-03-31
  pt update-issue ISS-4 --due ""`,
		},
		"assign-issue": {required: "assignee", example: `  pt assign-issue ISS-4 --assignee lin@acme.example
  pt assign-issue ISS-4 --assignee ""`},
		"escalate-issue":   {example: `  pt escalate-issue ISS-4 --severity CRITICAL`},
		"transition-issue": {example: `  pt transition-issue ISS-4 --to IN_PROGRESS`},
		"resolve-issue":    {example: `  pt resolve-issue ISS-4 --resolution FIXED`},
		"promote-issue": {example: `  pt promote-issue ISS-4
  pt promote-issue ISS-4 --json --jq .data.key`},
		"delete-issue": {example: `  pt delete-issue ISS-4 --yes`},
	}
}

func recordForms() map[string]form {
	return map[string]form{
		"list-comments": {subject: "taskId", oneOf: "task issue", example: `  pt list-comments APOLLO-17
  pt list-comments --issue ISS-4 --json --jq '.data[].body'`},
		"create-comment": {subject: "taskId", oneOf: "task issue", example: `  pt create-comment --task APOLLO-17 --body "The draft is in the repository."
  pt create-comment --issue ISS-4 --body - < answer.md`},
		"update-comment": {example: `  pt update-comment 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --body "The draft is ready."`},
		"delete-comment": {example: `  pt delete-comment 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`},
		"list-time-entries": {subject: "taskId", example: `  pt list-time-entries --project APOLLO --from 2027-03-01 --to 2027-03-31
  pt list-time-entries APOLLO-17 --json --jq .data.totalMinutes`},
		"create-time-entry": {
			long:    `Record time spent on a project, a task or an issue. The default of --date is today.`,
			subject: "taskId",
			example: `  pt create-time-entry APOLLO-17 --minutes 1h30m --note "First draft"
  pt create-time-entry --project APOLLO --minutes 30 --date 2027-03-31 --billable`,
			optional: "date", atMostOne: "task issue",
			prepare: preparing(func(inv *invocation, in *tracker.CreateTimeEntryIn) error {
				if in.Date == "" {
					in.Date = op.Date(inv.localTime().Format(time.DateOnly))
				}
				return nil
			}),
		},
		"update-time-entry": {example: `  pt update-time-entry 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --minutes 120
  pt update-time-entry 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --billable=false`},
		"delete-time-entry": {example: `  pt delete-time-entry 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`},
		"list-runs": {subject: "taskId", example: `  pt list-runs --project APOLLO --status FAILED
  pt list-runs APOLLO-17 --json --jq '.data[].summary'`},
		"get-run": {example: `  pt get-run 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`},
	}
}
