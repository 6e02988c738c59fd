package cli

import (
	"context"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
)

type exportOptions struct {
	inv  *invocation
	call *call
}

func newExportCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.ExportItems.Operation, form{
		allPages: true, short: "Export the tasks of a project as JSON Lines",
		long: `Export the tasks of a project to standard output or a file, in the format that
pt import reads: one JSON object per line. The file is written atomically. An imported
task keeps the ID of its source and has its current field values; a task created in
Parapet has its Parapet ID.

With --json, the items are in one JSON document.`,
		example: `  pt export APOLLO > backlog.jsonl
  pt export APOLLO backlog.jsonl
  pt export APOLLO | jq -r .title`,
	}, "export")
	o := &exportOptions{inv: inv, call: k}
	cmd.Use, cmd.Args = "export <project> [file.jsonl]", cobra.MaximumNArgs(2)
	cmd.ValidArgsFunction = inv.completeImport
	return inv.setRun(cmd, reflect.TypeFor[tracker.ImportItem](), o.run)
}

func (o *exportOptions) run(ctx context.Context, args []string) error {
	var name string
	if len(args) == 2 {
		name, args = args[1], args[:1]
	}
	if name != "" && o.inv.wantsJSON() {
		return usagef("--json, --jq and --fields print to standard output; omit the file")
	}
	c, err := o.call.prepare(ctx, args)
	if err != nil {
		return err
	}
	switch {
	case o.inv.wantsJSON():
		items := []tracker.ImportItem{}
		err := o.forEachItem(ctx, c, func(item *tracker.ImportItem) error {
			items = append(items, *item)
			return nil
		})
		if err != nil {
			return err
		}
		return o.inv.show(ctx, view{data: items})
	default:
		return o.inv.writeExport(name, "items", func(w *exportWriter) error {
			return o.forEachItem(ctx, c, func(item *tracker.ImportItem) error {
				line, err := json.Marshal(item, json.Deterministic(true))
				if err != nil {
					return err
				}
				return w.writeLine(text.JSON(line))
			})
		})
	}
}

// forEachItem calls f for every item of the project.
func (o *exportOptions) forEachItem(ctx context.Context, c *client.Client, f func(*tracker.ImportItem) error) error {
	in, err := inputOf[tracker.ExportItemsIn](o.call)
	if err != nil {
		return err
	}
	return forEachItem(ctx, c, tracker.ExportItems, in, f)
}
