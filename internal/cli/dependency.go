package cli

import (
	"context"
	"reflect"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
)

func newDependencyCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		newListCmd(inv, tracker.ListDependencies, commandForm[tracker.ListDependenciesIn]{
			example: `  pt list-dependencies APOLLO-17
  pt list-dependencies APOLLO-17 --direction BLOCKED_BY --json --jq '.data[].task.key'`,
			flags: []string{"direction"},
		}, dependencyTable),
		newRecordCmd(inv, tracker.AddDependency, commandForm[tracker.AddDependencyIn]{
			example: `  pt add-dependency APOLLO APOLLO-17 APOLLO-3`,
			args:    []string{"dependsOn:depends-on"},
		}, func(d *markdown.Doc, dep *tracker.Dependency) {
			dependencyTable.write(d, []tracker.Dependency{*dep})
		}),
		newRemoveDependencyCmd(inv),
	}
}

var dependencyTable = table[tracker.Dependency]{
	emptyText: "No dependencies.", flex: 2,
	columns: []column[tracker.Dependency]{
		{name: "Direction", value: func(d *tracker.Dependency) string { return d.Direction }},
		{name: "Key", value: func(d *tracker.Dependency) string { return d.Task.Key }},
		{name: "Title", value: func(d *tracker.Dependency) string { return d.Task.Title }},
		{name: "Status", value: func(d *tracker.Dependency) string { return d.Task.Status }},
		{name: "Other project", value: func(d *tracker.Dependency) string { return yesOrEmpty(d.Task.IsCrossProject) }, optional: true},
		{name: "ID", value: func(d *tracker.Dependency) string { return string(d.Task.ID) }},
	},
}

// removeDependencyOut is the output of pt remove-dependency.
type removeDependencyOut struct {
	Task      string `json:"task"`
	DependsOn string `json:"dependsOn"`
	Removed   bool   `json:"removed"`
}

func newRemoveDependencyCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.RemoveDependency.Operation, commandForm[tracker.RemoveDependencyIn]{
		example: `  pt remove-dependency APOLLO APOLLO-17 APOLLO-3`,
	})
	return inv.setRun(cmd, reflect.TypeFor[removeDependencyOut](), func(ctx context.Context, args []string) error {
		c, err := k.prepare(ctx, args)
		if err != nil {
			return err
		}
		if _, err := callOperation(ctx, c, tracker.RemoveDependency, &k.in, k.options()...); err != nil {
			return err
		}
		out := removeDependencyOut{k.in.Task, k.in.DependsOnID, true}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
			d.Line(out.Task + " no longer waits for " + out.DependsOn + ".")
		}})
	})
}
