package cli

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/op"
)

// commandForm is what a command adds to the declaration of its operation: words, and
// which fields are flags. From the declaration come its name, its arguments (the
// parts of the path, in their order, but for those that are flags), its flags
// and their help, whether it asks before it destroys, and what may be repeated.
type commandForm[In any] struct {
	// name is the command's; the operation's own unless told.
	name string
	// short is one line of help; the operation's summary unless told.
	short string
	// long is help beyond the short one; the operation's description unless told.
	long    string
	example string
	// flags are the fields that are flags, named as bind takes them. --project,
	// where the project is no part of the path, limit and cursor come by themselves.
	flags []string
	// args are the fields that are arguments besides the parts of the path, each
	// as "field:word"; they stand at the end.
	args []string
	// optional are flags that are required by the declaration, but not of a
	// person: fill has a default for them.
	optional []string
	// whole says that all pages are asked for: how they are cut is pt's matter.
	whole bool
	// anyProject says that PT_PROJECT has no say where --project may be left out.
	anyProject bool
	// question is asked before something is lost; %s is what names it.
	question string
	// naming gives a better name for the question than what was typed.
	naming func(ctx context.Context, c *client.Client, in *In) (string, error)
	// setup adds to the command what it alone has.
	setup func(cmd *cobra.Command, in *In)
	// fill works on the input before anything is asked of the service.
	fill func(in *In) error
}

// call is one command of an operation, as it is filled by the command line.
type call[In any] struct {
	inv  *invocation
	op   *op.Operation
	form commandForm[In]
	in   In
	// args are the fields that are arguments, in their order.
	args []*argument
	// project is --project, where the operation takes it outside the path.
	project *argument
	// hints are all fields that may need a look-up.
	hints []*argument
	// texts are the flags that read the input when they are "-".
	texts []reflect.Value
	yes   bool
	writeFlags
	listFlags
}

// newCall makes the command of an operation without its run.
func newCall[In any](inv *invocation, o *op.Operation, f commandForm[In]) (*call[In], *cobra.Command) {
	k := &call[In]{inv: inv, op: o, form: f}
	v := reflect.ValueOf(&k.in).Elem()
	use := first(f.name, o.Name)
	for _, part := range o.PathParts() {
		if flagged(f.flags, part) {
			continue
		}
		a := newArgument(fieldNamed(o, part), v)
		use += " <" + a.name + ">"
		k.args = append(k.args, a)
		k.hints = append(k.hints, a)
	}
	for _, name := range f.args {
		fieldName, word, _ := strings.Cut(name, ":")
		a := newArgument(fieldNamed(o, fieldName), v)
		a.name = word
		use += " <" + word + ">"
		k.args = append(k.args, a)
		k.hints = append(k.hints, a)
	}
	cmd := &cobra.Command{
		Use: use, Short: first(f.short, strings.TrimSuffix(o.Summary, ".")), Example: f.example,
		Args: cobra.RangeArgs(k.minArgs(), len(k.args)),
	}
	cmd.Long = k.long(cmd.Short)
	if len(k.args) > 0 {
		cmd.ValidArgsFunction = inv.completeArgument(k.args)
	}
	k.bindFlags(cmd, v)
	if o.Effect == op.Destroy {
		cmd.Flags().BoolVar(&k.yes, "yes", false, "do not ask")
	}
	if o.Effect.Changes() && !o.Secret {
		k.writeFlags.bind(cmd)
	}
	if f.setup != nil {
		f.setup(cmd, &k.in)
	}
	for _, flag := range f.optional {
		must(cmd.Flags().SetAnnotation(flag, cobra.BashCompOneRequiredFlag, []string{"false"}))
	}
	nameFlags(cmd, f.flags)
	return k, cmd
}

// minArgs is how many arguments must be there: the project of what is not
// destroyed may be left to PT_PROJECT, a task's key or the folder.
func (k *call[In]) minArgs() int {
	if k.mayOmitProject() {
		return len(k.args) - 1
	}
	return len(k.args)
}

func (k *call[In]) mayOmitProject() bool {
	return len(k.args) > 0 && k.args[0].kind == hintProject && k.op.Effect != op.Destroy
}

func (k *call[In]) long(short string) string {
	text := first(k.form.long, k.op.Description)
	parts := []string{short + "."}
	if k.form.long != "" {
		parts = nil
	}
	if text != "" {
		parts = append(parts, text)
	}
	for _, h := range k.hints {
		if h.kind == hintProject {
			parts = append(parts, projectHelp)
		}
	}
	return strings.Join(parts, "\n\n")
}

// bindFlags makes the flags: those that name a record by a hint, and the rest.
func (k *call[In]) bindFlags(cmd *cobra.Command, v reflect.Value) {
	for _, f := range k.op.Fields {
		if f.Name == "projectId" && (f.Source != op.FromPath || flagged(k.form.flags, f.Name)) {
			k.project = newArgument(f, v)
			k.hints = append(k.hints, k.project)
			k.bindHint(cmd, k.project, "project")
		}
	}
	var plain []string
	for _, name := range k.form.flags {
		fieldName, flag, renamed := strings.Cut(strings.TrimSuffix(name, "!"), ":")
		f := fieldNamed(k.op, fieldName)
		if f.Name == "projectId" {
			continue
		}
		if hintKindOf(f) == hintNone {
			plain = append(plain, name)
			if longText(f) {
				k.texts = append(k.texts, v.Field(f.Index))
			}
			continue
		}
		if !renamed {
			flag = toKebabCase(fieldName)
		}
		a := newArgument(f, v)
		k.hints = append(k.hints, a)
		k.bindHint(cmd, a, flag)
	}
	for _, name := range []string{"limit", "cursor"} {
		if k.form.whole {
			v.Field(fieldNamed(k.op, "limit").Index).SetInt(maxPage)
			continue
		}
		if slices.ContainsFunc(k.op.Fields, func(f op.Field) bool { return f.Name == name }) {
			plain = append(plain, name)
		}
	}
	bind(cmd, k.op, &k.in, plain...)
	if flag := cmd.Flags().Lookup("status"); flag != nil && len(fieldNamed(k.op, "status").Enum) == 0 {
		must(cmd.RegisterFlagCompletionFunc("status", k.inv.completeStatus))
	}
}

// bindHint makes a flag that names a record of the tenant.
func (k *call[In]) bindHint(cmd *cobra.Command, a *argument, flag string) {
	help := strings.ReplaceAll(a.field.Doc, "`", "'")
	if more := a.kind.help(); more != "" {
		help = strings.TrimSuffix(help, ".") + " (" + more + ")"
	}
	cmd.Flags().Var(a, flag, help)
	if a.field.Required && a.kind != hintProject {
		must(cmd.MarkFlagRequired(flag))
	}
	complete := cobra.NoFileCompletions
	if a.kind == hintProject {
		complete = k.inv.completeProject
	}
	must(cmd.RegisterFlagCompletionFunc(flag, complete))
}

// flagged tells whether a field is among the flags.
func flagged(flags []string, field string) bool {
	return slices.ContainsFunc(flags, func(name string) bool {
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "!"), ":")
		return name == field
	})
}

// longText tells whether a field is a text for which a command line is too
// small: its flag reads the input when it is "-".
func longText(f op.Field) bool {
	return f.Value().Kind() == reflect.String && f.MaxLength != nil && *f.MaxLength > 1000
}

// ready fills the input from the command line. What the command line alone can
// tell to be wrong costs no request; after that names are looked up, and the
// person is asked where something would be lost.
func (k *call[In]) ready(ctx context.Context, args []string) (*client.Client, error) {
	if err := k.readTexts(); err != nil {
		return nil, err
	}
	if k.form.fill != nil {
		if err := k.form.fill(&k.in); err != nil {
			return nil, err
		}
	}
	if k.isReadOnly() {
		return nil, usagef("nothing to change: name a flag such as --%s", k.hasFlag())
	}
	s, err := k.inv.settings()
	if err != nil {
		return nil, err
	}
	if err := k.place(args, s); err != nil {
		return nil, err
	}
	if err := k.op.Validate(&k.in); err != nil {
		return nil, usage(err)
	}
	if k.op.Effect == op.Destroy {
		if err := k.inv.confirmDestructive(k.yes); err != nil {
			return nil, err
		}
	}
	c, err := k.inv.connectWith(s)
	if err != nil {
		return nil, err
	}
	for _, h := range k.hints {
		if err := h.resolve(ctx, c); err != nil {
			return nil, err
		}
	}
	return c, k.confirmDestructive(ctx, c)
}

// readTexts reads the input for the one text whose flag is "-".
func (k *call[In]) readTexts() error {
	var read bool
	for _, v := range k.texts {
		switch {
		case v.Kind() == reflect.Struct:
			v = v.FieldByName("Value")
		case v.Kind() == reflect.Pointer && v.IsNil():
			continue
		case v.Kind() == reflect.Pointer:
			v = v.Elem()
		}
		if v.String() != "-" {
			continue
		}
		if read {
			return usagef("only one flag can read the input with -")
		}
		read = true
		text, err := k.inv.stdinFor("-")
		if err != nil {
			return err
		}
		v.SetString(text)
	}
	return nil
}

// isReadOnly tells of a change that names no field.
func (k *call[In]) isReadOnly() bool {
	for _, f := range k.op.Fields {
		if f.Source == op.FromBody && f.Required {
			return false
		}
	}
	return k.op.Method == http.MethodPatch && changes(&k.in) == 0
}

// hasFlag names a flag that changes something.
func (k *call[In]) hasFlag() string {
	name, flag, renamed := strings.Cut(strings.TrimSuffix(k.form.flags[0], "!"), ":")
	if slices.ContainsFunc(k.form.flags, func(n string) bool { return strings.TrimSuffix(n, "!") == "status" }) {
		return "status"
	}
	if renamed {
		return flag
	}
	return toKebabCase(name)
}

// place takes the arguments to their fields; where the project is left out it
// finds what is meant.
func (k *call[In]) place(args []string, s settings) error {
	named := k.args
	if len(args) < len(named) {
		var key string
		if len(args) > 0 && len(named) > 1 && named[1].field.Name == "task" {
			key = args[0]
		}
		if err := k.inv.defaultProject(named[0], s, key); err != nil {
			return err
		}
		named = named[1:]
	}
	for i, a := range named {
		if err := k.take(a, args[i]); err != nil {
			return usagef("the %s %q: %w", a.name, args[i], err)
		}
	}
	switch p := k.project; {
	case p == nil:
		return nil
	case p.given:
		return k.take(p, p.typed)
	case p.field.Required:
		return k.inv.defaultProject(p, s, "")
	case s.project != "" && !k.form.anyProject && !k.namesOtherProject(p):
		return k.take(p, s.project)
	default:
		return nil
	}
}

// namesOtherProject tells whether a flag names a record that has a project of its own,
// so that PT_PROJECT has no say.
func (k *call[In]) namesOtherProject(project *argument) bool {
	return slices.ContainsFunc(k.hints, func(a *argument) bool { return a != project && a.given })
}

func (k *call[In]) take(a *argument, text string) error {
	if a.kind == hintProject {
		return k.inv.takeProject(a, text)
	}
	return a.take(text)
}

// confirmDestructive asks the person before something is lost.
func (k *call[In]) confirmDestructive(ctx context.Context, c *client.Client) error {
	if k.op.Effect != op.Destroy || k.yes {
		return nil
	}
	last := k.args[len(k.args)-1]
	name := first(last.found, last.typed)
	if k.form.naming != nil && last.found == "" {
		var err error
		if name, err = k.form.naming(ctx, c, &k.in); err != nil {
			return err
		}
	}
	return k.inv.confirm(ctx, k.form.question, name)
}

// showRecord makes the command of an operation that answers one thing.
func showRecord[In, Out any](inv *invocation, o op.Op[In, Out], f commandForm[In], render func(*markdown.Doc, *Out)) *cobra.Command {
	k, cmd := newCall(inv, o.Operation, f)
	return inv.runs(cmd, reflect.TypeFor[Out](), func(ctx context.Context, args []string) error {
		c, err := k.ready(ctx, args)
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
	// wide columns are left out where no item has a value.
	wide bool
}

// table is how a list is shown: its columns, of which flex may be cut on a
// narrow terminal, and what stands there when nothing is listed.
type table[T any] struct {
	empty   string
	flex    int
	columns []column[T]
}

func (t table[T]) write(d *markdown.Doc, items []T) {
	if len(items) == 0 {
		d.Line(t.empty)
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
		if c.wide && !filled {
			continue
		}
		names = append(names, c.name)
		for i := range rows {
			rows[i] = append(rows[i], values[i])
		}
	}
	d.Table(names, rows, t.flex)
}

// lists makes the command of an operation that answers pages.
func lists[In, T any](inv *invocation, o op.Op[In, op.Page[T]], f commandForm[In], t table[T]) *cobra.Command {
	k, cmd := newCall(inv, o.Operation, f)
	k.listFlags.bind(cmd)
	return inv.runs(cmd, reflect.TypeFor[T](), func(ctx context.Context, args []string) error {
		c, err := k.ready(ctx, args)
		if err != nil {
			return err
		}
		page, err := list(ctx, inv, c, o, &k.in, k.listFlags)
		if err != nil {
			return err
		}
		return inv.show(ctx, view{data: page.Items, next: page.NextCursor, markdown: func(d *markdown.Doc) { t.write(d, page.Items) }})
	})
}

// deleted is what is told of something that is gone.
type deleted struct {
	// ID is its id, or its key where that was typed.
	ID        string  `json:"id"`
	ProjectID op.UUID `json:"projectId,omitempty"`
	Deleted   bool    `json:"deleted"`
}

// removesRecord makes the command of an operation that deletes a thing, whose kind is
// called what.
func removesRecord[In any](inv *invocation, o op.Op[In, op.None], what string, f commandForm[In]) *cobra.Command {
	f.question = first(f.question, "Delete the "+what+" %s for good?")
	k, cmd := newCall(inv, o.Operation, f)
	return inv.runs(cmd, reflect.TypeFor[deleted](), func(ctx context.Context, args []string) error {
		c, err := k.ready(ctx, args)
		if err != nil {
			return err
		}
		if _, err := callOperation(ctx, c, o, &k.in, k.options()...); err != nil {
			return err
		}
		last := k.args[len(k.args)-1]
		out := deleted{ID: last.text(), Deleted: true}
		if k.args[0].kind == hintProject && len(k.args) > 1 {
			out.ProjectID = op.UUID(k.args[0].text())
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) { d.Line("Deleted the " + what + " " + first(last.found, last.typed) + ".") }})
	})
}
