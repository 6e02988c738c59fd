package cli

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

type listTasksOptions struct {
	inv *invocation
	in  tracker.ListTasksIn
	listFlags
}

func newListTasksCmd(inv *invocation) *cobra.Command {
	o := &listTasksOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "list-tasks <project>",
		Short: "List the tasks of a project",
		Long: `Lists the tasks of a project, the newest first.

` + projectHelp,
		Example: `  pt list-tasks APOLLO
  pt list-tasks APOLLO --status IN_PROGRESS --limit 10
  pt list-tasks APOLLO --search "flight plan" --json --jq '.data[].key'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: inv.completeProject,
	}
	bind(cmd, tracker.ListTasks.Operation, &o.in, "status!", "search", "assignee", "epicId:epic", "issueType:type", "priority", "limit", "cursor")
	must(cmd.RegisterFlagCompletionFunc("status", inv.completeStatus))
	o.bind(cmd)
	return inv.runs(cmd, reflect.TypeFor[tracker.TaskSummary](), o.run)
}

func (o *listTasksOptions) run(ctx context.Context, args []string) error {
	c, s, err := o.inv.connect()
	if err != nil {
		return err
	}
	hint, _, err := projectArgs(args, 0, s)
	if err != nil {
		return err
	}
	if o.in.ProjectID, err = resolve(ctx, c, hint); err != nil {
		return err
	}
	page, err := list(ctx, o.inv, c, tracker.ListTasks, &o.in, o.listFlags, &o.in.Limit, &o.in.Cursor)
	if err != nil {
		return err
	}
	return o.inv.show(ctx, view{data: page.Items, next: page.NextCursor, markdown: func(d *markdown.Doc) {
		if len(page.Items) == 0 {
			d.Line("No tasks.")
			return
		}
		var rows [][]string
		for _, t := range page.Items {
			rows = append(rows, []string{t.Key, t.Title, t.Status, t.IssueType, t.Priority, string(t.DueDate), string(t.Assignee)})
		}
		d.Table([]string{"Key", "Title", "Status", "Type", "Priority", "Due", "Assignee"}, rows, 1)
	}})
}

func newGetTaskCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get-task <project> <task>",
		Short: "Get a task in full",
		Long: `Gets a task in full, by its key or id. Without a project the task's key tells it.

` + projectHelp,
		Example: `  pt get-task APOLLO APOLLO-17
  pt get-task APOLLO-17 --json --jq .data.description`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: inv.completeProject,
	}
	return inv.runs(cmd, reflect.TypeFor[tracker.Task](), func(ctx context.Context, args []string) error {
		c, s, err := inv.connect()
		if err != nil {
			return err
		}
		hint, rest, err := projectArgs(args, 1, s)
		if err != nil {
			return err
		}
		in := &tracker.GetTaskIn{Task: rest[0]}
		if in.ProjectID, err = resolve(ctx, c, hint); err != nil {
			return err
		}
		t, err := do(ctx, c, tracker.GetTask, in)
		if err != nil {
			return err
		}
		return inv.showTask(ctx, t)
	})
}

type createTaskOptions struct {
	inv     *invocation
	in      tracker.CreateTaskIn
	project string
	writeFlags
}

func newCreateTaskCmd(inv *invocation) *cobra.Command {
	o := &createTaskOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "create-task",
		Short: "Create a task: planned work",
		Long: `Creates a task: planned work.

` + projectHelp,
		Example: `  pt create-task --project APOLLO --title "Write the flight plan" --due 2027-03-31
  pt create-task --project APOLLO --title "Fix the hatch" --type BUG --priority HIGH --description - < hatch.md`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&o.project, "project", "", "The project, by its id, prefix or name (required unless PT_PROJECT is set)")
	must(cmd.RegisterFlagCompletionFunc("project", inv.completeProject))
	bind(cmd, tracker.CreateTask.Operation, &o.in, "title", "description", "assignee", "dueDate:due", "status!", "issueType:type", "priority",
		"progress", "epicId:epic", "parentTaskId:parent", "estimatePoints", "labels")
	must(cmd.RegisterFlagCompletionFunc("status", inv.completeStatus))
	o.bind(cmd)
	return inv.runs(cmd, reflect.TypeFor[tracker.Task](), o.run)
}

func (o *createTaskOptions) run(ctx context.Context, _ []string) error {
	var err error
	if o.in.Description, err = o.inv.stdinFor(o.in.Description); err != nil {
		return err
	}
	c, s, err := o.inv.connect()
	if err != nil {
		return err
	}
	hint := first(o.project, s.project)
	if hint == "" {
		return usagef("--project is required, or set PT_PROJECT")
	}
	if o.in.ProjectID, err = resolve(ctx, c, hint); err != nil {
		return err
	}
	t, err := do(ctx, c, tracker.CreateTask, &o.in, o.options()...)
	if err != nil {
		return err
	}
	return o.inv.showTask(ctx, t)
}

type updateTaskOptions struct {
	inv *invocation
	in  tracker.UpdateTaskIn
	writeFlags
}

func newUpdateTaskCmd(inv *invocation) *cobra.Command {
	o := &updateTaskOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "update-task <project> <task>",
		Short: "Change a task",
		Long: `Changes what the flags name and leaves the rest. An empty value clears a field
that can be empty: --assignee "" unassigns. Without a project the task's key tells it.

` + projectHelp,
		Example: `  pt update-task APOLLO APOLLO-17 --status DONE
  pt update-task APOLLO-17 --progress 60 --due 2027-04-15
  pt update-task APOLLO-17 --assignee ""`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: inv.completeProject,
	}
	bind(cmd, tracker.UpdateTask.Operation, &o.in, "title", "status!", "progress", "assignee", "dueDate:due", "description",
		"issueType:type", "priority", "epicId:epic", "parentTaskId:parent", "estimatePoints", "labels")
	must(cmd.RegisterFlagCompletionFunc("status", inv.completeStatus))
	o.bind(cmd)
	return inv.runs(cmd, reflect.TypeFor[tracker.Task](), o.run)
}

func (o *updateTaskOptions) run(ctx context.Context, args []string) error {
	if err := o.inv.fillOpt(&o.in.Description); err != nil {
		return err
	}
	if changes(&o.in) == 0 {
		return usagef("nothing to change: name a flag such as --status")
	}
	c, s, err := o.inv.connect()
	if err != nil {
		return err
	}
	hint, rest, err := projectArgs(args, 1, s)
	if err != nil {
		return err
	}
	o.in.Task = rest[0]
	if o.in.ProjectID, err = resolve(ctx, c, hint); err != nil {
		return err
	}
	t, err := do(ctx, c, tracker.UpdateTask, &o.in, o.options()...)
	if err != nil {
		return err
	}
	return o.inv.showTask(ctx, t)
}

type deleteTaskOptions struct {
	inv *invocation
	yes bool
	writeFlags
}

// deletedTask is what is told of a task that is gone.
type deletedTask struct {
	Task      string  `json:"task"`
	ProjectID op.UUID `json:"projectId"`
	Deleted   bool    `json:"deleted"`
}

func newDeleteTaskCmd(inv *invocation) *cobra.Command {
	o := &deleteTaskOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "delete-task <project> <task>",
		Short: "Delete a task for good",
		Long: `Deletes a task for good, with its sub-tasks. The children of an epic stay and
lose the epic. It asks on a terminal; without one it needs --yes.`,
		Example:           `  pt delete-task APOLLO APOLLO-17 --yes`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: inv.completeProject,
	}
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	o.bind(cmd)
	return inv.runs(cmd, reflect.TypeFor[deletedTask](), o.run)
}

func (o *deleteTaskOptions) run(ctx context.Context, args []string) error {
	if err := o.inv.mayDestroy(o.yes); err != nil {
		return err
	}
	c, _, err := o.inv.connect()
	if err != nil {
		return err
	}
	id, err := resolve(ctx, c, args[0])
	if err != nil {
		return err
	}
	if !o.yes {
		t, err := do(ctx, c, tracker.GetTask, &tracker.GetTaskIn{ProjectID: id, Task: args[1]})
		if err != nil {
			return err
		}
		if err := o.inv.confirm(ctx, "Delete the task %s %s for good?", t.Key, t.Title); err != nil {
			return err
		}
	}
	if _, err := do(ctx, c, tracker.DeleteTask, &tracker.DeleteTaskIn{ProjectID: id, Task: args[1]}, o.options()...); err != nil {
		return err
	}
	return o.inv.show(ctx, view{data: deletedTask{args[1], id, true}, markdown: func(d *markdown.Doc) {
		d.Line("Deleted the task " + args[1] + ".")
	}})
}

// showTask shows a task in full.
func (inv *invocation) showTask(ctx context.Context, t *tracker.Task) error {
	return inv.show(ctx, view{data: t, markdown: func(d *markdown.Doc) {
		d.Heading(1, t.Key+" "+t.Title)
		d.Field("ID", string(t.ID))
		d.Field("Project", string(t.ProjectID))
		d.Field("Status", t.Status)
		d.Field("Type", t.IssueType)
		d.Field("Priority", t.Priority)
		d.Field("Progress", strconv.Itoa(t.Progress)+" %")
		d.Field("Assignee", string(t.Assignee))
		d.Field("Due", string(t.DueDate))
		d.Field("Epic", epicText(t))
		d.Field("Parent", string(t.ParentTaskID))
		d.Field("Initiative", string(t.InitiativeID))
		if t.EstimatePoints != nil {
			d.Field("Estimate", strconv.FormatFloat(*t.EstimatePoints, 'g', -1, 64))
		}
		d.Field("Labels", strings.Join(t.Labels, ", "))
		d.Field("Created", moment(t.CreatedAt)+" by "+string(t.CreatedBy))
		d.Field("Updated", moment(t.UpdatedAt))
		d.Field("Completed", optMoment(t.CompletedAt))
		d.Quote(t.Description)
	}})
}

func epicText(t *tracker.Task) string {
	if t.Epic == nil {
		return string(t.EpicID)
	}
	text := t.Epic.Key + " " + t.Epic.Title
	if t.Epic.IsCrossProject {
		text += " (in another project)"
	}
	return text
}
