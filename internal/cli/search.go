package cli

import (
	"context"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/contract/tracker"
)

// searchForm is the form of pt search.
func searchForm() form {
	return form{
		short: "Search the tasks of all projects",
		long: `List the tasks that contain the words, latest change first: in all projects, or in the
one of --project. Each word matches the start of a word in title or description, or a
part of the title. OR between words, -word (after --) and "quoted words" also work.
Without words, pt lists all tasks that match the flags.`,
		example: `  pt search granite
  pt search flight plan --mine --open
  pt search --label stone --due-before +2w --sort due
  pt search crane --project HW --priority high`,
		flags: "search=-",
	}
}

func newSearchCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.SearchTasks.Operation, searchForm(), "search")
	cmd.Use, cmd.Args = "search [words]...", cobra.ArbitraryArgs
	project := cmd.Flags().String("project", "", "only tasks of this `project` ("+hintProject.help()+")")
	must(cmd.RegisterFlagCompletionFunc("project", inv.completeProject))
	// list-tasks, which searches one project, has no such filters.
	for _, flag := range []string{"open", "created-by", "status-category"} {
		allowOneOf(cmd, "project", flag)
	}
	return inv.setRun(cmd, k.dataType(), func(ctx context.Context, args []string) error {
		k.in.FieldByName("Search").SetString(strings.Join(args, " "))
		if *project == "" {
			return k.run(ctx, nil)
		}
		return k.runInProject(ctx, *project)
	})
}

// runInProject executes list-tasks with the filters of search-tasks.
func (k *call) runInProject(ctx context.Context, project string) error {
	if err := k.readFlags(); err != nil {
		return err
	}
	inProject, _ := newCall(k.inv, tracker.ListTasks.Operation, form{}, "search")
	for i := range k.in.NumField() {
		if target := inProject.in.FieldByName(k.in.Type().Field(i).Name); target.IsValid() && target.Type() == k.in.Field(i).Type() {
			target.Set(k.in.Field(i))
		}
	}
	inProject.listFlags = k.listFlags
	if sort := inProject.in.FieldByName("Sort"); sort.String() == "" && !k.isQueue() {
		sort.SetString(tracker.SortUpdated) // the order of search-tasks
	}
	return inProject.run(ctx, []string{project})
}

// isQueue reports whether a flag selects a list with an order of its own.
func (k *call) isQueue() bool {
	for _, name := range []string{"Ready", "Review", "AwaitingDecision"} {
		if k.in.FieldByName(name).Bool() {
			return true
		}
	}
	return false
}

// bindMine adds --mine to a list that can be filtered by assignee.
func (k *call) bindMine(cmd *cobra.Command) {
	assignee := k.in.FieldByName("Assignee")
	if pageType(k.op) == nil || !assignee.IsValid() || assignee.Kind() != reflect.String {
		return
	}
	cmd.Flags().BoolVar(&k.mine, "mine", false, "only records assigned to you; same as --assignee me")
	allowOneOf(cmd, "mine", "assignee")
}

// setMine applies --mine.
func (k *call) setMine() {
	if k.mine {
		k.in.FieldByName("Assignee").SetString("me")
	}
}
