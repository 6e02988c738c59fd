package cli

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/client"
	"parapet/internal/op"
)

// call is the invocation of a command that executes an operation.
type call struct {
	inv  *invocation
	op   *op.Operation
	form form
	// in is the input, a value of the operation's input type.
	in reflect.Value
	// args are the arguments, in order.
	args []*argument
	// subject is the flag whose value may be the only argument, or "".
	subject string
	// prompted are the arguments that the user gave at prompts.
	prompted []string
	// project is --project, or nil if the operation has no such flag.
	project *argument
	// hints are all arguments and flags that may need a lookup.
	hints []*argument
	// texts are the values of the flags that read standard input if they are "-".
	texts []reflect.Value
	// custom are the values of the form's custom flags, by name.
	custom map[string]*textList
	// secrets are the fields that are prompted for.
	secrets []secretField
	// found is what the form's find read.
	found any
	yes   bool
	// mine is --mine.
	mine bool
	// opensEditor is --editor.
	opensEditor bool
	// isFollowing is --follow; followLimit is the number of entries that it shows first.
	isFollowing bool
	followLimit func() int
	writeFlags
	listFlags
}

// newOperationCmd returns the command for an operation, with the last word of path as its
// name.
func newOperationCmd(inv *invocation, o *op.Operation, f form, path string) *cobra.Command {
	k, cmd := newCall(inv, o, f, path)
	return inv.setRun(cmd, k.dataType(), k.run)
}

// newCall returns the command for an operation. The caller sets its RunE. Everything comes
// from the declaration, unless the form says otherwise.
func newCall(inv *invocation, o *op.Operation, f form, path string) (*call, *cobra.Command) {
	k := &call{inv: inv, op: o, form: f, in: reflect.New(o.In).Elem()}
	use := lastWord(path)
	for _, part := range o.PathParts() {
		if !contains(f.pathFlags, part) {
			use += k.addArgument(part, "")
		}
	}
	for word := range strings.FieldsSeq(f.args) {
		fieldName, argName, _ := strings.Cut(word, "=")
		use += k.addArgument(fieldName, argName)
	}
	if f.omitLast != nil {
		name := k.args[len(k.args)-1].name
		use = strings.TrimSuffix(use, "<"+name+">") + "[" + name + "]"
	}
	cmd := &cobra.Command{
		Use: use, Short: firstNonEmpty(f.short, strings.TrimSuffix(o.Summary, ".")), Example: f.example,
		Args: k.checkArgs, Aliases: strings.Fields(f.aliases),
	}
	if len(k.args) > 0 {
		cmd.ValidArgsFunction = k.completeArgument
	}
	k.chooseSubject()
	if k.subject != "" {
		cmd.Use += " [" + k.subject + "]"
	}
	flags := k.bindFlags(cmd)
	runBefore(cmd, k.completeCommandLine)
	cmd.Long = k.long(cmd.Short)
	if cmd.Example == "" {
		cmd.Example = "  pt " + path + " " + strings.Join(quoteArgs(k.exampleArgs()), " ")
		cmd.Example = strings.TrimRight(cmd.Example, " ")
	}
	replaceFieldNames(cmd, flags)
	return k, cmd
}

// input returns a pointer to the input, of the operation's input type.
func (k *call) input() any { return k.in.Addr().Interface() }

// inputOf returns the input of a command whose operation has the input type In.
func inputOf[In any](k *call) (*In, error) {
	in, ok := k.input().(*In)
	if !ok {
		return nil, fmt.Errorf("cli: the operation %s has the input type %s", k.op.Name, k.op.In)
	}
	return in, nil
}

// addArgument adds an argument for a field and returns its placeholder in the usage line.
func (k *call) addArgument(fieldName, name string) string {
	a := k.newArgument(fieldNamed(k.op, fieldName))
	a.name = firstNonEmpty(name, a.name)
	k.args = append(k.args, a)
	k.hints = append(k.hints, a)
	return " <" + a.name + ">"
}

func (k *call) newArgument(f op.Field) *argument {
	a := newArgument(f, k.in)
	a.lookUp = k.op.Effect == op.Destroy
	return a
}

// minArgs returns the minimum number of arguments, if args are given.
func (k *call) minArgs(args []string) int {
	if k.mayOmitProject(args) || k.omitsLast(args) {
		return len(k.args) - 1
	}
	return len(k.args)
}

// omitsLast reports whether args lack only the last argument, and may lack it.
func (k *call) omitsLast(args []string) bool {
	return k.form.omitLast != nil && len(args) == len(k.args)-1 && k.form.omitLast(args)
}

// placeholders returns the arguments as the usage line shows required ones.
func (k *call) placeholders() []string {
	var all []string
	for _, a := range k.args {
		all = append(all, "<"+a.name+">")
	}
	return all
}

// mayOmitProject reports whether the first argument is a project that may come from
// the task key in args, PT_PROJECT or the directory. Commands that delete accept only
// the task key.
func (k *call) mayOmitProject(args []string) bool {
	if len(k.args) == 0 || k.args[0].kind != hintProject {
		return false
	}
	return k.op.Effect != op.Destroy || k.taskKey(args) != ""
}

// taskKey returns the first argument if it is a task key in the place of the project, or "".
func (k *call) taskKey(args []string) string {
	if len(args) == 0 || len(args) >= len(k.args) || k.args[1].field.Name != "task" || op.TaskKeyPrefix(args[0]) == "" {
		return ""
	}
	return args[0]
}

func (k *call) long(short string) string {
	parts := []string{k.form.long}
	if k.form.long == "" {
		parts = []string{short + "."}
		if k.op.Description != "" {
			parts = append(parts, k.op.Description)
		}
	}
	for _, h := range k.hints {
		if h.kind == hintProject {
			parts = append(parts, projectHelp)
		}
	}
	return strings.Join(parts, "\n\n")
}

// prepare fills the input from the command line and returns the client. It validates the
// input before it sends requests to resolve hints, and then asks for confirmation if the
// command deletes.
func (k *call) prepare(ctx context.Context, args []string) (*client.Client, error) {
	k.inv.call = k
	args = append(args, k.prompted...)
	if err := k.readFlags(); err != nil {
		return nil, err
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
	if err := k.readSecrets(ctx); err != nil {
		return nil, err
	}
	if err := k.op.Validate(k.input()); err != nil {
		return nil, k.inputError(err)
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
	if k.form.find != nil {
		if err := k.form.find(ctx, k, c); err != nil {
			return nil, err
		}
	}
	for _, h := range k.hints {
		if err := h.resolve(ctx, c); err != nil {
			return nil, err
		}
	}
	if err := k.editText(ctx, c); err != nil {
		return nil, err
	}
	return c, k.confirm(ctx, c)
}

// readFlags sets the fields of the flags that are not set directly: long texts, custom
// flags and the form's own completion.
func (k *call) readFlags() error {
	k.setMine()
	if err := k.readTexts(); err != nil {
		return err
	}
	for _, f := range k.form.custom {
		if values := k.custom[f.name].values; values != nil {
			var err error
			if f.applyAt != nil {
				err = f.applyAt(k.input(), k.inv.localTime(), values[len(values)-1])
			} else {
				err = f.apply(k.input(), values)
			}
			if err != nil {
				return err
			}
		}
	}
	if k.form.prepare != nil {
		return k.form.prepare(k)
	}
	return nil
}

// readTexts reads standard input into the flag whose value is "-".
func (k *call) readTexts() error {
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
func (k *call) isEmptyUpdate() bool {
	for _, f := range k.op.Fields {
		if f.Source == op.FromBody && f.Required {
			return false
		}
	}
	return k.op.Method == http.MethodPatch && countChanges(k.in) == 0
}

// countChanges returns the number of fields that are set in the input of an update.
func countChanges(in reflect.Value) int {
	n := 0
	for i := range in.NumField() {
		switch f := in.Field(i); f.Kind() {
		case reflect.Struct:
			if f.FieldByName("Set").Bool() {
				n++
			}
		case reflect.Slice:
			n += f.Len()
		}
	}
	return n
}

// exampleFlag returns the name of a flag that sets a field.
func (k *call) exampleFlag() string {
	var first string
	for _, f := range k.op.Fields {
		if name := k.flagName(f); f.Source == op.FromBody && name != "" {
			if name == "status" {
				return name
			}
			first = firstNonEmpty(first, name)
		}
	}
	return first
}

// customText returns the value of a custom flag with one value, or "".
func (k *call) customText(name string) string {
	if values := k.custom[name].values; len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

// setArguments sets the fields of the arguments and the default project.
func (k *call) setArguments(args []string, s settings) error {
	remaining := k.args
	switch {
	case k.omitsLast(args):
		remaining = remaining[:len(args)]
	case len(args) < len(remaining):
		if err := k.inv.setDefaultProject(remaining[0], s, k.taskKey(args)); err != nil {
			return err
		}
		remaining = remaining[1:]
	}
	for i, a := range remaining {
		if err := k.setArgument(a, args[i]); err != nil {
			return usage(invalidValue("<"+a.name+">", args[i], err))
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
func (k *call) namesOtherRecord(project *argument) bool {
	return slices.ContainsFunc(k.hints, func(a *argument) bool { return a != project && a.isSet })
}

func (k *call) setArgument(a *argument, text string) error {
	if a.isText() {
		var err error
		if text, err = k.inv.stdinFor(text); err != nil {
			return err
		}
	}
	if a.kind == hintProject {
		return k.inv.setProject(a, text)
	}
	return a.setText(text)
}
