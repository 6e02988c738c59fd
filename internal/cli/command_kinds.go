package cli

import (
	"context"
	"reflect"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/op"
)

// newRecordCmd returns the command for an operation that returns one record.
func newRecordCmd[In, Out any](inv *invocation, o op.Op[In, Out], f commandForm[In], render func(*markdown.Doc, *Out)) *cobra.Command {
	k, cmd := newCall(inv, o.Operation, f)
	return inv.setRun(cmd, reflect.TypeFor[Out](), func(ctx context.Context, args []string) error {
		c, err := k.prepare(ctx, args)
		if err != nil {
			return err
		}
		out, err := callOperation(ctx, c, o, &k.in, k.options()...)
		if err != nil {
			return err
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) { render(d, out) }})
	})
}

// column is a column of a list.
type column[T any] struct {
	name  string
	value func(*T) string
	// optional columns are omitted if no item has a value.
	optional bool
}

// table describes how a list is printed.
type table[T any] struct {
	// emptyText is printed for an empty list.
	emptyText string
	// flex is the index of the column that is shortened on a narrow terminal.
	flex    int
	columns []column[T]
}

func (t table[T]) write(d *markdown.Doc, items []T) {
	if len(items) == 0 {
		d.Line(t.emptyText)
		return
	}
	var names []string
	rows := make([][]string, len(items))
	for _, c := range t.columns {
		values, filled := make([]string, len(items)), false
		for i := range items {
			values[i] = c.value(&items[i])
			filled = filled || values[i] != ""
		}
		if c.optional && !filled {
			continue
		}
		names = append(names, c.name)
		for i := range rows {
			rows[i] = append(rows[i], values[i])
		}
	}
	d.Table(names, rows, t.flex)
}

// newListCmd returns the command for an operation that returns pages.
func newListCmd[In, T any](inv *invocation, o op.Op[In, op.Page[T]], f commandForm[In], t table[T]) *cobra.Command {
	k, cmd := newCall(inv, o.Operation, f)
	k.listFlags.bind(cmd)
	return inv.setRun(cmd, reflect.TypeFor[T](), func(ctx context.Context, args []string) error {
		c, err := k.prepare(ctx, args)
		if err != nil {
			return err
		}
		page, err := fetchList(ctx, inv, c, o, &k.in, k.listFlags)
		if err != nil {
			return err
		}
		return inv.show(ctx, view{data: page.Items, next: page.NextCursor, markdown: func(d *markdown.Doc) { t.write(d, page.Items) }})
	})
}

// deleteOut is the output of a command that deletes a record.
type deleteOut struct {
	// ID is the ID of the record, or the key if the user typed that.
	ID        string  `json:"id"`
	ProjectID op.UUID `json:"projectId,omitempty"`
	Deleted   bool    `json:"deleted"`
}

// newDeleteCmd returns the command for an operation that deletes a record. kind is the
// kind of record, for messages.
func newDeleteCmd[In any](inv *invocation, o op.Op[In, op.None], kind string, f commandForm[In]) *cobra.Command {
	f.question = firstNonEmpty(f.question, "Delete the "+kind+" %s permanently?")
	k, cmd := newCall(inv, o.Operation, f)
	return inv.setRun(cmd, reflect.TypeFor[deleteOut](), func(ctx context.Context, args []string) error {
		c, err := k.prepare(ctx, args)
		if err != nil {
			return err
		}
		if _, err := callOperation(ctx, c, o, &k.in, k.options()...); err != nil {
			return err
		}
		last := k.args[len(k.args)-1]
		out := deleteOut{ID: last.text(), Deleted: true}
		if k.args[0].kind == hintProject && len(k.args) > 1 {
			out.ProjectID = op.UUID(k.args[0].text())
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
			d.Line("Deleted the " + kind + " " + firstNonEmpty(last.foundName, last.typed) + ".")
		}})
	})
}
