package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
)

func newTaskCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		newListCmd(inv, tracker.ListTasks, commandForm[tracker.ListTasksIn]{
			example: `  pt list-tasks APOLLO
  pt list-tasks APOLLO --status IN_PROGRESS --limit 10
  pt list-tasks APOLLO --ready
  pt list-tasks APOLLO --search "flight plan" --json --jq '.data[].key'`,
			flags: []string{"status!", "search", "assignee", "epicId:epic", "issueType:type", "priority", "ready", "review", "awaitingDecision"},
			setup: func(cmd *cobra.Command, _ *tracker.ListTasksIn) {
				allowOneOf(cmd, "ready", "review", "awaiting-decision")
			},
		}, taskTable),
		newRecordCmd(inv, tracker.GetTask, commandForm[tracker.GetTaskIn]{
			example: `  pt get-task APOLLO APOLLO-17
  pt get-task APOLLO-17 --json --jq .data.description
  pt get-task APOLLO-17 --decision-request-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --json --jq .data.decisionRequest.answer`,
			flags: []string{"decisionRequestId"},
		}, showTask),
		newRecordCmd(inv, tracker.CreateTask, commandForm[tracker.CreateTaskIn]{
			example: `  pt create-task --project APOLLO --title "Write the flight plan" --due 2027-03-31
  pt create-task --project APOLLO --title "Fix the hatch" --type BUG --priority HIGH --description - < hatch.md`,
			flags: []string{
				"projectId:project", "title", "description", "assignee", "dueDate:due", "status!", "issueType:type", "priority",
				"progress", "epicId:epic", "parentTaskId:parent", "initiativeId:initiative", "estimatePoints", "labels", "allowDuplicate",
			},
		}, showTask),
		newRecordCmd(inv, tracker.UpdateTask, commandForm[tracker.UpdateTaskIn]{
			long: `Update the fields that have a flag; other fields do not change. An empty value clears
an optional field: --assignee "" unassigns the task. You can change the status to any
status of the project.`,
			example: `  pt update-task APOLLO APOLLO-17 --status DONE
  pt update-task APOLLO-17 --progress 60 --due 2027-04-15
  pt update-task APOLLO-17 --assignee ""`,
			flags: []string{
				"title", "status!", "progress", "assignee", "dueDate:due", "description",
				"issueType:type", "priority", "epicId:epic", "parentTaskId:parent", "initiativeId:initiative", "estimatePoints", "labels",
			},
		}, showTask),
		newListCmd(inv, tracker.ListEpicChildren, commandForm[tracker.ListEpicChildrenIn]{
			example: `  pt list-epic-children APOLLO-3
  pt list-epic-children APOLLO-3 --all --json --jq '.data | length'`,
		}, childTable),
		newDeleteCmd(inv, tracker.DeleteTask, "task", commandForm[tracker.DeleteTaskIn]{
			long: `Delete a task and its sub-tasks permanently. The children of an epic remain, without an
epic. The command asks for confirmation on a terminal; without a terminal it requires
--yes.`,
			example: `  pt delete-task APOLLO APOLLO-17 --yes`,
			recordName: func(ctx context.Context, c *client.Client, in *tracker.DeleteTaskIn) (string, error) {
				t, err := callOperation(ctx, c, tracker.GetTask, &tracker.GetTaskIn{ProjectID: in.ProjectID, Task: in.Task})
				if err != nil {
					return "", err
				}
				return t.Key + " " + t.Title, nil
			},
		}),
	}
}

var taskTable = table[tracker.TaskSummary]{
	emptyText: "No tasks.", flex: 1,
	columns: []column[tracker.TaskSummary]{
		{name: "Key", value: func(t *tracker.TaskSummary) string { return t.Key }},
		{name: "Title", value: func(t *tracker.TaskSummary) string { return t.Title }},
		{name: "Status", value: func(t *tracker.TaskSummary) string { return t.Status }},
		{name: "Type", value: func(t *tracker.TaskSummary) string { return t.IssueType }},
		{name: "Priority", value: func(t *tracker.TaskSummary) string { return t.Priority }},
		{name: "Due", value: func(t *tracker.TaskSummary) string { return string(t.DueDate) }},
		{name: "Assignee", value: func(t *tracker.TaskSummary) string { return personName(t.AssigneeUser, t.Assignee) }},
		{name: "Decision request", value: func(t *tracker.TaskSummary) string { return string(t.DecisionRequestID) }, optional: true},
	},
}

var childTable = table[tracker.EpicChild]{
	emptyText: "No children.", flex: 1,
	columns: []column[tracker.EpicChild]{
		{name: "Key", value: func(t *tracker.EpicChild) string { return t.Key }},
		{name: "Title", value: func(t *tracker.EpicChild) string { return t.Title }},
		{name: "Status", value: func(t *tracker.EpicChild) string { return t.Status }},
		{name: "Type", value: func(t *tracker.EpicChild) string { return t.IssueType }},
		{name: "Priority", value: func(t *tracker.EpicChild) string { return t.Priority }},
		{name: "Due", value: func(t *tracker.EpicChild) string { return string(t.DueDate) }},
		{name: "Assignee", value: func(t *tracker.EpicChild) string { return personName(t.AssigneeUser, t.Assignee) }},
		{name: "Other project", value: func(t *tracker.EpicChild) string { return yesOrEmpty(t.IsCrossProject) }, optional: true},
		{name: "ID", value: func(t *tracker.EpicChild) string { return string(t.ID) }},
	},
}

func showTask(d *markdown.Doc, t *tracker.Task) {
	d.Heading(1, t.Key+" "+t.Title)
	d.Field("ID", string(t.ID))
	d.Field("Project", recordName(t.Project, t.ProjectID))
	d.Field("Status", t.Status)
	d.Field("Type", t.IssueType)
	d.Field("Priority", t.Priority)
	d.Field("Progress", strconv.Itoa(t.Progress)+" %")
	d.Field("Assignee", personName(t.AssigneeUser, t.Assignee))
	d.Field("Due", string(t.DueDate))
	d.Field("Epic", epicText(t))
	d.Field("Parent", recordName(t.ParentTask, t.ParentTaskID))
	d.Field("Initiative", recordName(t.Initiative, t.InitiativeID))
	if t.EstimatePoints != nil {
		d.Field("Estimate", formatNumber(*t.EstimatePoints))
	}
	d.Field("Labels", strings.Join(t.Labels, ", "))
	d.Field("Created", formatTime(t.CreatedAt)+" by "+personName(t.CreatedByUser, t.CreatedBy))
	d.Field("Updated", formatTime(t.UpdatedAt))
	d.Field("Completed", optionalTime(t.CompletedAt))
	if t.BlockedBy > 0 {
		d.Field("Waits for", countNoun(t.BlockedBy, "task"))
	}
	if t.Blocks > 0 {
		d.Field("Blocks", countNoun(t.Blocks, "task"))
	}
	if t.Claim != nil {
		d.Field("Claimed", "by "+personName(t.Claim.HolderUser, t.Claim.Holder)+" until "+formatTime(t.Claim.ExpiresAt))
	}
	for _, f := range t.CustomFields {
		d.Field(f.Name, f.Value)
	}
	d.Quote(t.Description)
	if t.DecisionRequest != nil {
		writeDecision(d, 2, t.DecisionRequest)
	}
}

// countNoun formats a number with a noun, in the singular or plural: "1 task", "2 tasks".
func countNoun(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func epicText(t *tracker.Task) string {
	if t.Epic == nil {
		return recordName(t.EpicTask, t.EpicID)
	}
	text := t.Epic.Key + " " + t.Epic.Title
	if t.Epic.IsCrossProject {
		text += " (in another project)"
	}
	return text
}
