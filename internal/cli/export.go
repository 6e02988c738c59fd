package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
)

type exportOptions struct {
	inv  *invocation
	call *call[tracker.ExportItemsIn]
}

func newExportCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.ExportItems.Operation, commandForm[tracker.ExportItemsIn]{
		name: "export", whole: true, short: "Write the tasks of a project in the form that pt import reads",
		long: `Writes the tasks of a project in the form that pt import reads: one JSON object a
line, to the output or to a file. A file is there whole or not at all. What was
imported comes out as it came in, but for what has changed since; a task that was
made here has its own id.

With --json the items stand in one document, as everywhere.`,
		example: `  pt export APOLLO > backlog.jsonl
  pt export APOLLO backlog.jsonl
  pt export APOLLO | jq -r .title`,
	})
	o := &exportOptions{inv: inv, call: k}
	cmd.Use, cmd.Args = "export <project> [file.jsonl]", cobra.MaximumNArgs(2)
	cmd.ValidArgsFunction = inv.completeImport
	return inv.runs(cmd, reflect.TypeFor[tracker.ImportItem](), o.run)
}

func (o *exportOptions) run(ctx context.Context, args []string) error {
	var name string
	if len(args) == 2 {
		name, args = args[1], args[:1]
	}
	if name != "" && o.inv.wantsJSON() {
		return usagef("--json, --jq and --fields print: they go without a file")
	}
	c, err := o.call.ready(ctx, args)
	if err != nil {
		return err
	}
	switch {
	case o.inv.wantsJSON():
		items := []tracker.ImportItem{}
		err := o.items(ctx, c, func(item *tracker.ImportItem) error {
			items = append(items, *item)
			return nil
		})
		if err != nil {
			return err
		}
		return o.inv.show(ctx, view{data: items})
	case name == "" || name == "-":
		_, err := o.lines(ctx, c, o.inv.Out)
		return err
	default:
		n, err := o.file(ctx, c, name)
		if err == nil {
			o.inv.printNote("%d items written to %s", n, text.Line(name))
		}
		return err
	}
}

// items gives every item of the project.
func (o *exportOptions) items(ctx context.Context, c *client.Client, take func(*tracker.ImportItem) error) error {
	in := &o.call.in
	_, err := pages(true, &in.Limit, &in.Cursor, func() (string, error) {
		page, err := callOperation(ctx, c, tracker.ExportItems, in)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			if err := take(&page.Items[i]); err != nil {
				return "", err
			}
		}
		return page.NextCursor, nil
	})
	return err
}

// lines writes every item on a line of its own and counts them.
func (o *exportOptions) lines(ctx context.Context, c *client.Client, w io.Writer) (int, error) {
	out := bufio.NewWriterSize(w, 64<<10)
	n := 0
	err := o.items(ctx, c, func(item *tracker.ImportItem) error {
		line, err := json.Marshal(item, json.Deterministic(true))
		if err != nil {
			return err
		}
		n++
		if n%maxPage == 0 && w != o.inv.Out {
			o.inv.showProgress("%d items", n)
		}
		_, err = out.Write(append(text.JSON(line), '\n'))
		return err
	})
	return n, errors.Join(err, out.Flush())
}

// file writes the items to a file, which is there whole or not at all, and which
// nobody but its owner reads: what is in it may be classified.
func (o *exportOptions) file(ctx context.Context, c *client.Client, name string) (int, error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return 0, usage(err)
	}
	defer os.Remove(f.Name())
	n, err := o.lines(ctx, c, f)
	o.inv.clearProgress()
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return n, os.Rename(f.Name(), name)
}
