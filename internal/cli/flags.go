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

// setRun sets the function that executes a command, and returns the command. data is
// the type of the output: --fields is checked against it before run is called.
func (inv *invocation) setRun(cmd *cobra.Command, data reflect.Type, run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := inv.checkOutput(data); err != nil {
			return err
		}
		inv.started = true
		return run(cmd.Context(), args)
	}
	return cmd
}

// bind adds flags for fields of an operation's input. The help of a flag, its allowed
// values and whether it is required come from the declaration. in is a pointer to the
// input that the flags set. A name is "field", or "field:flag" if the flag has another
// name.
//
// The suffix "!" of a name means that the command registers its own completion.
func bind(cmd *cobra.Command, o *op.Operation, in any, names ...string) {
	v := reflect.ValueOf(in).Elem()
	for _, name := range names {
		name, hasOwnCompletion := strings.CutSuffix(name, "!")
		fieldName, flag, ok := strings.Cut(name, ":")
		if !ok {
			flag = toKebabCase(fieldName)
		}
		f := fieldNamed(o, fieldName)
		value := &fieldValue{field: f, v: v.Field(f.Index)}
		if f.Default != "" && f.Value().Kind() == reflect.Int {
			// Zero is outside the bounds of such a field, so the field starts with its
			// default.
			if err := value.Set(f.Default); err != nil {
				panic(fmt.Sprintf("cli: %s: default of %s: %v", o.Name, f.Name, err))
			}
		}
		help := f.Description()
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
		if hasOwnCompletion {
			continue
		}
		complete := cobra.NoFileCompletions
		if f.Enum != nil {
			complete = cobra.FixedCompletions(f.Enum, cobra.ShellCompDirectiveNoFileComp)
		}
		must(cmd.RegisterFlagCompletionFunc(flag, complete))
	}
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

// fieldValue is a flag that sets a field of an operation's input.
type fieldValue struct {
	field op.Field
	v     reflect.Value
	isSet bool
}

var _ pflag.Value = (*fieldValue)(nil)

// String implements pflag.Value. It returns no default value, because bind writes the
// default into the help text.
func (f *fieldValue) String() string { return "" }

// Type implements pflag.Value. It returns the placeholder of the value in help.
func (f *fieldValue) Type() string {
	switch t := f.field.Value(); {
	case f.field.Kind != "":
		return string(f.field.Kind)
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

// IsBoolFlag reports whether the flag needs no value.
func (f *fieldValue) IsBoolFlag() bool { return f.field.Value().Kind() == reflect.Bool }

// Set implements pflag.Value. An empty text clears a field that can be cleared. A list is
// split at commas; repeating the flag appends to the list.
func (f *fieldValue) Set(text string) error {
	v := f.v
	defer func() { f.isSet = true }()
	if v.Kind() == reflect.Struct {
		// Every struct field of an input is an op.Opt.
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
	if !f.isSet {
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
	if f.field.Kind != "" {
		if id, err := op.ParseUUID(text); err == nil {
			text = string(id)
		}
		v.SetString(text)
		return nil
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if text == "" {
			// An empty filter counts as absent.
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
			return fmt.Errorf("must be an integer")
		}
		v.SetInt(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("must be a number")
		}
		v.SetFloat(x)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("must be true or false")
		}
		v.SetBool(b)
	default:
		return fmt.Errorf("no flag supports the type %s", v.Type())
	}
	return nil
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
// point into the input of fetch; fetch returns the cursor of the next page. fetchPages
// returns the cursor of the first page that it did not fetch, or "".
func fetchPages(all bool, limit *int, cursor *string, fetch func() (string, error)) (string, error) {
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

// printTruncationHint prints how to get the next page, if there is one.
func (inv *invocation) printTruncationHint(shown int, next string) {
	if next != "" {
		inv.printNote("%s shown; for more, use --all or --cursor %s", countNoun(shown, "item"), next)
	}
}

// fetchList executes an operation that returns pages: one page, or all pages with --all.
// If more items follow, it prints how to get them.
func fetchList[In, T any](ctx context.Context, inv *invocation, c *client.Client, o op.Op[In, op.Page[T]], in *In, l listFlags) (*op.Page[T], error) {
	v := reflect.ValueOf(in).Elem()
	limit, hasLimit := v.Field(fieldNamed(o.Operation, "limit").Index).Addr().Interface().(*int)
	cursor, hasCursor := v.Field(fieldNamed(o.Operation, "cursor").Index).Addr().Interface().(*string)
	if !hasLimit || !hasCursor {
		return nil, fmt.Errorf("the operation %s has no limit and cursor", o.Name)
	}
	out := &op.Page[T]{Items: []T{}}
	var err error
	out.NextCursor, err = fetchPages(l.all, limit, cursor, func() (string, error) {
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
