package cli

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"parapet/internal/client"
	"parapet/internal/op"
)

// setRun sets the function that executes a command, and returns the command. data is
// the type of the output: --fields is checked against it before run is called.
func (inv *invocation) setRun(cmd *cobra.Command, data reflect.Type, run func(ctx context.Context, args []string) error) *cobra.Command {
	if inv.outputs == nil {
		inv.outputs = map[*cobra.Command]reflect.Type{}
	}
	inv.outputs[cmd] = data
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := inv.checkOutput(data); err != nil {
			return err
		}
		inv.started = true
		return run(cmd.Context(), args)
	}
	return cmd
}

// must panics on an error that only a programming mistake can cause.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("cli: %v", err))
	}
}

func fieldNamed(o *op.Operation, name string) op.Field {
	for _, f := range o.Fields {
		if f.Name == name {
			return f
		}
	}
	panic(fmt.Sprintf("cli: the operation %s has no field %s", o.Name, name))
}

// toKebabCase converts the name of a field to the name of its flag: estimatePoints to
// estimate-points.
func toKebabCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// callOperation validates the input and executes the operation. An invalid input is a
// usage error and sends no request.
func callOperation[In, Out any](ctx context.Context, c *client.Client, o op.Op[In, Out], in *In, opts ...client.Option) (*Out, error) {
	if err := o.Validate(in); err != nil {
		return nil, usage(err)
	}
	return client.Do(ctx, c, o, in, opts...)
}

// writeFlags are the flags of every command that changes data.
type writeFlags struct {
	key string
}

func (w *writeFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.key, "idempotency-key", "", "a `key` that makes it safe to repeat the command (default: a new key for each command)")
}

func (w *writeFlags) options() []client.Option {
	if w.key == "" {
		return nil
	}
	return []client.Option{client.WithIdempotencyKey(w.key)}
}

// listFlags are the flags of every command that fetches pages.
type listFlags struct {
	all bool
}

func (l *listFlags) bind(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.all, "all", false, "list all items, not one page")
	allowOneOf(cmd, "all", "cursor")
	allowOneOf(cmd, "all", "limit")
}

// maxPage is the largest page size that the service accepts.
const maxPage = 200

// fetchPages calls fetch for one page, or for every page if all is set. limit and cursor
// point into the input of fetch, which returns the cursor of the next page. If a pointer is
// nil, the list has only one page. fetchPages returns the cursor of the first page that it
// did not fetch, or "".
func fetchPages(all bool, limit *int, cursor *string, fetch func() (string, error)) (string, error) {
	if limit == nil || cursor == nil {
		return fetch()
	}
	if all {
		*limit = maxPage
	}
	for {
		next, err := fetch()
		if err != nil || next == "" || !all {
			return next, err
		}
		*cursor = next
	}
}

// pageFields returns pointers to the limit and the cursor in the input of an operation. A
// pointer is nil if the input has no such field.
func pageFields(o *op.Operation, in reflect.Value) (limit *int, cursor *string) {
	for _, f := range o.Fields {
		switch f.Name {
		case "limit":
			limit, _ = in.Field(f.Index).Addr().Interface().(*int)
		case "cursor":
			cursor, _ = in.Field(f.Index).Addr().Interface().(*string)
		}
	}
	return limit, cursor
}

// forEachItem fetches all pages of a list and calls do for each item. It changes the limit
// and the cursor in the input.
func forEachItem[In, T any](ctx context.Context, c *client.Client, o op.Op[In, op.Page[T]], in *In, do func(*T) error) error {
	limit, cursor := pageFields(o.Operation, reflect.ValueOf(in).Elem())
	_, err := fetchPages(true, limit, cursor, func() (string, error) {
		page, err := callOperation(ctx, c, o, in)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			if err := do(&page.Items[i]); err != nil {
				return "", err
			}
		}
		return page.NextCursor, nil
	})
	return err
}

// listAll returns the items of all pages of a list.
func listAll[In, T any](ctx context.Context, c *client.Client, o op.Op[In, op.Page[T]], in *In) ([]T, error) {
	var all []T
	err := forEachItem(ctx, c, o, in, func(item *T) error {
		all = append(all, *item)
		return nil
	})
	return all, err
}

// printTruncationHint prints how to get the next page, if there is one.
func (inv *invocation) printTruncationHint(shown int, next string) {
	if next != "" {
		inv.printNote("%s shown; for more, use --all or --cursor %s", countOf(shown, "items"), next)
	}
}

// requireOneOf requires exactly one of the flags.
func requireOneOf(cmd *cobra.Command, flags ...string) {
	cmd.MarkFlagsOneRequired(flags...)
	checkFlagGroup(cmd, 1, flags)
}

// allowOneOf allows at most one of the flags.
func allowOneOf(cmd *cobra.Command, flags ...string) { checkFlagGroup(cmd, 0, flags) }

// checkFlagGroup requires at least minimum and at most one of the flags. Cobra knows the
// group too, for completion; this check runs first and has the clearer message.
func checkFlagGroup(cmd *cobra.Command, minimum int, flags []string) {
	cmd.MarkFlagsMutuallyExclusive(flags...)
	list := "--" + strings.Join(flags, ", --")
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		given := 0
		for _, name := range flags {
			if cmd.Flags().Changed(name) {
				given++
			}
		}
		switch {
		case given > 1:
			return usagef("use only one of %s", list)
		case given < minimum:
			return usagef("one of %s is required", list)
		case before != nil:
			return before(cmd, args)
		}
		return nil
	}
}

// stdinFor returns the value of a flag, or standard input if the value is "-".
func (inv *invocation) stdinFor(value string) (string, error) {
	if value != "-" {
		return value, nil
	}
	text, err := io.ReadAll(io.LimitReader(inv.In, op.DefaultMaxBody+1))
	if err != nil {
		return "", err
	}
	if len(text) > op.DefaultMaxBody {
		return "", usagef("standard input is larger than %d bytes", op.DefaultMaxBody)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
