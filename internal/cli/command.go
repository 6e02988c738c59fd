package cli

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/client"
	"parapet/internal/op"
)

// commandForm adds help texts and flags to the declaration of an operation. The rest of
// the command comes from the declaration: its name, its arguments (the path parameters
// that are not flags, in order), the help of its flags, and whether it asks for
// confirmation.
type commandForm[In any] struct {
	// name is the command's name. Default: the operation's name.
	name string
	// short is the one-line help. Default: the operation's summary.
	short string
	// long is the full help. Default: the short help and the operation's description.
	long    string
	example string
	// flags are the fields that are flags, in the syntax of bind. --project, --limit and
	// --cursor are added if the operation has such fields.
	flags []string
	// args are further fields that are arguments, each as "field:argument". They follow
	// the path parameters.
	args []string
	// optional are flags that the declaration requires and that prepareInput gives a
	// default.
	optional []string
	// allPages makes the command fetch all pages; it has no --limit and --cursor.
	allPages bool
	// ignoreDefaultProject keeps PT_PROJECT out of an optional --project.
	ignoreDefaultProject bool
	// question is the confirmation question; %s is the name of the record.
	question string
	// recordName returns the name of the record for the question. Default: the
	// argument that the user typed.
	recordName func(ctx context.Context, c *client.Client, in *In) (string, error)
	// setup adds flags that only this command has.
	setup func(cmd *cobra.Command, in *In)
	// prepareInput completes the input before the first request.
	prepareInput func(in *In) error
}

// call is the invocation of a command that executes an operation.
type call[In any] struct {
	inv  *invocation
	op   *op.Operation
	form commandForm[In]
	in   In
	// args are the arguments, in order.
	args []*argument
	// project is --project, or nil if the operation has no such flag.
	project *argument
	// hints are all arguments and flags that may need a lookup.
	hints []*argument
	// texts are the values of the flags that read standard input if they are "-".
	texts []reflect.Value
	yes   bool
	writeFlags
	listFlags
}

// newCall returns the command for an operation. The caller sets its RunE.
func newCall[In any](inv *invocation, o *op.Operation, f commandForm[In]) (*call[In], *cobra.Command) {
	k := &call[In]{inv: inv, op: o, form: f}
	v := reflect.ValueOf(&k.in).Elem()
	use := firstNonEmpty(f.name, o.Name)
	for _, part := range o.PathParts() {
		if isFlag(f.flags, part) {
			continue
		}
		a := k.newArgument(fieldNamed(o, part), v)
		use += " <" + a.name + ">"
		k.args = append(k.args, a)
		k.hints = append(k.hints, a)
	}
	for _, name := range f.args {
		fieldName, argName, _ := strings.Cut(name, ":")
		a := k.newArgument(fieldNamed(o, fieldName), v)
		a.name = argName
		use += " <" + argName + ">"
		k.args = append(k.args, a)
		k.hints = append(k.hints, a)
	}
	cmd := &cobra.Command{
		Use: use, Short: firstNonEmpty(f.short, strings.TrimSuffix(o.Summary, ".")), Example: f.example,
		Args: cobra.RangeArgs(k.minArgs(), len(k.args)),
	}
	cmd.Long = k.long(cmd.Short)
	if len(k.args) > 0 {
		cmd.ValidArgsFunction = inv.completeArgument(k.args)
	}
	k.bindFlags(cmd, v)
	if o.Effect == op.Destroy {
		cmd.Flags().BoolVar(&k.yes, "yes", false, "do not ask for confirmation")
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
	replaceFieldNames(cmd, f.flags)
	return k, cmd
}

func (k *call[In]) newArgument(f op.Field, in reflect.Value) *argument {
	a := newArgument(f, in)
	a.lookUp = k.op.Effect == op.Destroy
	return a
}

// minArgs returns the minimum number of arguments.
func (k *call[In]) minArgs() int {
	if k.mayOmitProject() {
		return len(k.args) - 1
	}
	return len(k.args)
}

// mayOmitProject reports whether the first argument is a project that may come from
// PT_PROJECT, a task key or the directory. Commands that delete need it explicitly.
func (k *call[In]) mayOmitProject() bool {
	return len(k.args) > 0 && k.args[0].kind == hintProject && k.op.Effect != op.Destroy
}

func (k *call[In]) long(short string) string {
	text := firstNonEmpty(k.form.long, k.op.Description)
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

// bindFlags adds the flags: those that accept hints, and plain ones.
func (k *call[In]) bindFlags(cmd *cobra.Command, v reflect.Value) {
	for _, f := range k.op.Fields {
		if f.Name == "projectId" && (f.Source != op.FromPath || isFlag(k.form.flags, f.Name)) {
			k.project = k.newArgument(f, v)
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
			if isLongText(f) {
				k.texts = append(k.texts, v.Field(f.Index))
			}
			continue
		}
		if !renamed {
			flag = toKebabCase(fieldName)
		}
		a := k.newArgument(f, v)
		k.hints = append(k.hints, a)
		k.bindHint(cmd, a, flag)
	}
	for _, name := range []string{"limit", "cursor"} {
		if k.form.allPages {
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

// bindHint adds a flag that accepts a hint.
func (k *call[In]) bindHint(cmd *cobra.Command, a *argument, flag string) {
	help := strings.ReplaceAll(a.field.Doc, "`", "'")
	if forms := a.kind.help(); forms != "" {
		help = strings.TrimSuffix(help, ".") + " (" + forms + ")"
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

// isFlag reports whether a field is listed in flags, which has the syntax of bind.
func isFlag(flags []string, field string) bool {
	return slices.ContainsFunc(flags, func(name string) bool {
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "!"), ":")
		return name == field
	})
}

// isLongText reports whether a field accepts more than 1000 characters. The flag of such
// a field reads standard input if its value is "-".
func isLongText(f op.Field) bool {
	return f.Value().Kind() == reflect.String && f.MaxLength != nil && *f.MaxLength > 1000
}

// prepare fills the input from the command line and returns the client. It validates the
// input before it sends requests to resolve hints, and then asks for confirmation if the
// command deletes.
func (k *call[In]) prepare(ctx context.Context, args []string) (*client.Client, error) {
	if err := k.readTexts(); err != nil {
		return nil, err
	}
	if k.form.prepareInput != nil {
		if err := k.form.prepareInput(&k.in); err != nil {
			return nil, err
		}
	}
	if k.isEmptyUpdate() {
		return nil, usagef("nothing to change; set a flag such as --%s", k.exampleFlag())
	}
	s, err := k.inv.settings()
	if err != nil {
		return nil, err
	}
	if err := k.setArguments(args, s); err != nil {
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

// readTexts reads standard input into the flag whose value is "-".
func (k *call[In]) readTexts() error {
	var hasRead bool
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
		if hasRead {
			return usagef("only one flag can have the value - to read standard input")
		}
		hasRead = true
		text, err := k.inv.stdinFor("-")
		if err != nil {
			return err
		}
		v.SetString(text)
	}
	return nil
}

// isEmptyUpdate reports whether the command is an update that sets no field.
func (k *call[In]) isEmptyUpdate() bool {
	for _, f := range k.op.Fields {
		if f.Source == op.FromBody && f.Required {
			return false
		}
	}
	return k.op.Method == http.MethodPatch && countChanges(&k.in) == 0
}

// exampleFlag returns the name of a flag that sets a field.
func (k *call[In]) exampleFlag() string {
	name, flag, renamed := strings.Cut(strings.TrimSuffix(k.form.flags[0], "!"), ":")
	if slices.ContainsFunc(k.form.flags, func(n string) bool { return strings.TrimSuffix(n, "!") == "status" }) {
		return "status"
	}
	if renamed {
		return flag
	}
	return toKebabCase(name)
}

// setArguments sets the fields of the arguments and the default project.
func (k *call[In]) setArguments(args []string, s settings) error {
	remaining := k.args
	if len(args) < len(remaining) {
		var key string
		if len(args) > 0 && len(remaining) > 1 && remaining[1].field.Name == "task" {
			key = args[0]
		}
		if err := k.inv.setDefaultProject(remaining[0], s, key); err != nil {
			return err
		}
		remaining = remaining[1:]
	}
	for i, a := range remaining {
		if err := k.setArgument(a, args[i]); err != nil {
			return usagef("%s %q: %w", a.name, args[i], err)
		}
	}
	switch p := k.project; {
	case p == nil:
		return nil
	case p.isSet:
		return k.setArgument(p, p.typed)
	case p.field.Required:
		return k.inv.setDefaultProject(p, s, "")
	case s.project != "" && !k.form.ignoreDefaultProject && !k.namesOtherRecord(p):
		return k.setArgument(p, s.project)
	default:
		return nil
	}
}

// namesOtherRecord reports whether another flag names a record. That record determines
// the project, so PT_PROJECT does not apply.
func (k *call[In]) namesOtherRecord(project *argument) bool {
	return slices.ContainsFunc(k.hints, func(a *argument) bool { return a != project && a.isSet })
}

func (k *call[In]) setArgument(a *argument, text string) error {
	if a.kind == hintProject {
		return k.inv.setProject(a, text)
	}
	return a.setText(text)
}

// confirmDestructive asks for confirmation if the command deletes and --yes is not set.
func (k *call[In]) confirmDestructive(ctx context.Context, c *client.Client) error {
	if k.op.Effect != op.Destroy || k.yes {
		return nil
	}
	last := k.args[len(k.args)-1]
	name := firstNonEmpty(last.foundName, last.typed)
	if k.form.recordName != nil && last.foundName == "" {
		var err error
		if name, err = k.form.recordName(ctx, c, &k.in); err != nil {
			return err
		}
	}
	return k.inv.confirm(ctx, k.form.question, name)
}
