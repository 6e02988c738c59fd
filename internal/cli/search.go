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
		flags: "search=-", ignoreDefaultProject: true,
	}
}

func newSearchCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.SearchTasks.Operation, searchForm(), "search")
	cmd.Use, cmd.Args = "search [words]...", cobra.ArbitraryArgs
	return inv.setRun(cmd, k.dataType(), func(ctx context.Context, args []string) error {
		k.in.FieldByName("Search").SetString(strings.Join(args, " "))
		return k.run(ctx, nil)
	})
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
