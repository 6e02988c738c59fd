package cli

import (
	"context"
	"encoding"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parapet/internal/client"
	"parapet/internal/op"
)

// runs finishes a command: run carries it out, and data is the type of what it
// shows, so that --fields can be held against it first.
func (inv *invocation) runs(cmd *cobra.Command, data reflect.Type, run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := inv.checkOutput(data); err != nil {
			return err
		}
		inv.started = true
		return run(cmd.Context(), args)
	}
	return cmd
}

// bind makes flags from fields of an operation's input: their help, whether they
// are required and their values come from the declaration. in is a pointer to
// the input that the flags fill. A name is that of the field, and where the flag
// is called otherwise "field:flag".
//
// A field that ends in "!" has no completion yet: the command registers its own.
func bind(cmd *cobra.Command, o *op.Operation, in any, names ...string) {
	v := reflect.ValueOf(in).Elem()
	for _, name := range names {
		name, own := strings.CutSuffix(name, "!")
		fieldName, flag, ok := strings.Cut(name, ":")
		if !ok {
			flag = toKebabCase(fieldName)
		}
		f := fieldNamed(o, fieldName)
		value := &fieldValue{field: f, v: v.Field(f.Index)}
		if f.Default != "" && f.Value().Kind() == reflect.Int {
			// Zero is outside the bounds of such a field: the default stands there
			// from the start.
			if err := value.Set(f.Default); err != nil {
				panic(fmt.Sprintf("cli: %s: default of %s: %v", o.Name, f.Name, err))
			}
		}
		help := f.Doc
		if f.Enum != nil {
			help = strings.TrimSuffix(help, ".") + ": " + strings.Join(f.Enum, ", ")
		}
		if f.Default != "" {
			help = strings.TrimSuffix(help, ".") + " (default " + f.Default + ")"
		}
		registered := cmd.Flags().VarPF(value, flag, "", strings.ReplaceAll(help, "`", "'"))
		if value.IsBoolFlag() {
			registered.NoOptDefVal = "true"
		}
		if f.Required {
			must(cmd.MarkFlagRequired(flag))
		}
		if own {
			continue
		}
		complete := cobra.NoFileCompletions
		if f.Enum != nil {
			complete = cobra.FixedCompletions(f.Enum, cobra.ShellCompDirectiveNoFileComp)
		}
		must(cmd.RegisterFlagCompletionFunc(flag, complete))
	}
}

// must is for errors that program text alone can cause.
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

// toKebabCase gives the flag of a field: estimatePoints is --estimate-points.
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

// fieldValue is a flag that fills a field of an input.
type fieldValue struct {
	field op.Field
	v     reflect.Value
	given bool
}

var _ pflag.Value = (*fieldValue)(nil)

// String is the value that help shows as the default: none, bind's help names it.
func (f *fieldValue) String() string { return "" }

// Type is the word that stands for the value in help.
func (f *fieldValue) Type() string {
	switch t := f.field.Value(); {
	case t == reflect.TypeFor[op.UUID]():
		return "uuid"
	case t == reflect.TypeFor[op.Date]():
		return "date"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return "n"
	case t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Bool:
		return ""
	case t.Kind() == reflect.Slice:
		return "list"
	default:
		return "text"
	}
}

// IsBoolFlag lets pflag take the flag without a value.
func (f *fieldValue) IsBoolFlag() bool { return f.field.Value().Kind() == reflect.Bool }

// Set reads the flag's value. The empty value of a field that can be cleared
// clears it. A list is split at commas, and a second flag adds to it.
func (f *fieldValue) Set(text string) error {
	v := f.v
	defer func() { f.given = true }()
	if v.Kind() == reflect.Struct {
		// An op.Opt, which every struct among the fields of an input is.
		clears := text == "" && f.field.MinLength == nil && f.field.Enum == nil
		v.FieldByName("Set").SetBool(true)
		v.FieldByName("Null").SetBool(clears)
		if clears {
			return nil
		}
		v = v.FieldByName("Value")
	}
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Kind() != reflect.Slice {
		return f.scalar(v, text)
	}
	if !f.given {
		v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	}
	for part := range strings.SplitSeq(text, ",") {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := f.scalar(item, strings.TrimSpace(part)); err != nil {
			return err
		}
		v.Set(reflect.Append(v, item))
	}
	return nil
}

func (f *fieldValue) scalar(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if text == "" {
			// An empty filter is no filter.
			return nil
		}
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		for _, e := range f.field.Enum {
			if strings.EqualFold(e, text) {
				text = e
			}
		}
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("it must be a whole number")
		}
		v.SetInt(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("it must be a number")
		}
		v.SetFloat(x)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("it must be true or false")
		}
		v.SetBool(b)
	default:
		return fmt.Errorf("a flag can't hold it")
	}
	return nil
}

// callOperation holds an input against its declaration, so that a wrong flag costs no
// request, and carries the operation out.
func callOperation[In, Out any](ctx context.Context, c *client.Client, o op.Op[In, Out], in *In, opts ...client.Option) (*Out, error) {
	if err := o.Validate(in); err != nil {
		return nil, usage(err)
	}
	return client.Do(ctx, c, o, in, opts...)
}

// writeFlags are the flags of every command that changes something.
type writeFlags struct {
	key string
}

func (w *writeFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.key, "idempotency-key", "", "a `text` that makes the same command safe to repeat: it is carried out once (each command has one of its own unless told)")
}

func (w *writeFlags) options() []client.Option {
	if w.key == "" {
		return nil
	}
	return []client.Option{client.WithIdempotencyKey(w.key)}
}

// listFlags are the flags of every command that lists pages.
type listFlags struct {
	all bool
}

func (l *listFlags) bind(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.all, "all", false, "list all, not one page")
	atMostOne(cmd, "all", "cursor")
	atMostOne(cmd, "all", "limit")
}

// maxPage is the largest page that a list gives.
const maxPage = 200

// pages asks for one page, or with all for every one: ask gives the cursor of
// the next. limit and cursor point into what it asks with. What pages gives is
// the cursor of what was not asked for.
func pages(all bool, limit *int, cursor *string, ask func() (string, error)) (string, error) {
	if all {
		*limit = maxPage
	}
	for {
		next, err := ask()
		if err != nil || next == "" || !all {
			return next, err
		}
		*cursor = next
	}
}

// printTruncationHint says that a list goes on.
func (inv *invocation) printTruncationHint(shown int, next string) {
	if next != "" {
		inv.printNote("%d shown, more follow: --all, or --cursor %s", shown, next)
	}
}

// list carries out an operation that answers pages: one, or with --all all of
// them. A list that was cut says so.
func list[In, T any](ctx context.Context, inv *invocation, c *client.Client, o op.Op[In, op.Page[T]], in *In, l listFlags) (*op.Page[T], error) {
	v := reflect.ValueOf(in).Elem()
	limit, hasLimit := v.Field(fieldNamed(o.Operation, "limit").Index).Addr().Interface().(*int)
	cursor, hasCursor := v.Field(fieldNamed(o.Operation, "cursor").Index).Addr().Interface().(*string)
	if !hasLimit || !hasCursor {
		return nil, fmt.Errorf("the operation %s has no limit and cursor", o.Name)
	}
	out := &op.Page[T]{Items: []T{}}
	var err error
	out.NextCursor, err = pages(l.all, limit, cursor, func() (string, error) {
		page, err := callOperation(ctx, c, o, in)
		if err != nil {
			return "", err
		}
		out.Items = append(out.Items, page.Items...)
		return page.NextCursor, nil
	})
	if err != nil {
		return nil, err
	}
	inv.printTruncationHint(len(out.Items), out.NextCursor)
	return out, nil
}

// oneOf makes exactly one of some flags required.
func oneOf(cmd *cobra.Command, flags ...string) {
	cmd.MarkFlagsOneRequired(flags...)
	checkGroup(cmd, 1, flags)
}

// atMostOne lets only one of some flags be given.
func atMostOne(cmd *cobra.Command, flags ...string) { checkGroup(cmd, 0, flags) }

// checkGroup asks for least to one of some flags. cobra keeps the group too, so
// that completion knows of it; this check comes first and says it more clearly.
func checkGroup(cmd *cobra.Command, least int, flags []string) {
	cmd.MarkFlagsMutuallyExclusive(flags...)
	words := "--" + strings.Join(flags, ", --")
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
			return usagef("only one of %s can be given", words)
		case given < least:
			return usagef("one of %s is needed", words)
		case before != nil:
			return before(cmd, args)
		}
		return nil
	}
}

// stdinFor gives the text of a flag, which is the input where the flag is "-".
func (inv *invocation) stdinFor(value string) (string, error) {
	if value != "-" {
		return value, nil
	}
	text, err := io.ReadAll(io.LimitReader(inv.In, op.DefaultMaxBody+1))
	if err != nil {
		return "", err
	}
	if len(text) > op.DefaultMaxBody {
		return "", usagef("the input is larger than %d bytes", op.DefaultMaxBody)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
