package cli

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/op"
)

// flagNames are the fields whose flag has another name than the field, in every operation.
// A field that identifies a record loses its suffix Id without an entry here.
var flagNames = map[string]string{
	"startDate": "start", "endDate": "end", "dueDate": "due", "issueType": "type", "epicId": "epic", "parentTaskId": "parent",
	"targetUserId": "user",
}

// flagName returns the name of the flag for a field, or "" if the field has no flag: the
// arguments, the form's custom flags, and the fields that the form excludes.
func (k *call) flagName(f op.Field) string {
	for _, a := range k.args {
		if a.field.Name == f.Name {
			return ""
		}
	}
	for _, c := range k.form.custom {
		if c.field == f.Name {
			return ""
		}
	}
	if k.form.allPages && (f.Name == "limit" || f.Name == "cursor") {
		return ""
	}
	name := pairs(k.form.flags)[f.Name]
	switch {
	case name == "-":
		return ""
	case name != "":
		return name
	case flagNames[f.Name] != "":
		return flagNames[f.Name]
	case op.AcceptsName(f.Name) || hintKindOf(f) != hintNone:
		return toKebabCase(strings.TrimSuffix(f.Name, "Id"))
	default:
		return toKebabCase(f.Name)
	}
}

// bindFlags adds the flags of the operation, and returns their names by field.
func (k *call) bindFlags(cmd *cobra.Command) map[string]string {
	names := map[string]string{}
	for _, f := range k.op.Fields {
		name := k.flagName(f)
		switch {
		case name == "":
			continue
		case isSecret(f):
			k.bindSecret(cmd, f)
			continue
		case f.Name == "projectId":
			k.project = k.newArgument(f)
			k.hints = append(k.hints, k.project)
			k.bindHint(cmd, k.project, name)
		case hintKindOf(f) != hintNone:
			a := k.newArgument(f)
			k.hints = append(k.hints, a)
			k.bindHint(cmd, a, name)
		default:
			k.bindField(cmd, f, name)
		}
		names[f.Name] = name
	}
	for _, f := range k.form.custom {
		k.bindCustom(cmd, f)
		if f.field != "" {
			names[f.field] = f.name
		}
	}
	if k.form.allPages {
		if limit, _ := pageFields(k.op, k.in); limit != nil {
			*limit = maxPage
		}
	}
	if k.op.Effect == op.Destroy || k.form.change != nil {
		cmd.Flags().BoolVar(&k.yes, "yes", false, "do not ask for confirmation")
	}
	if k.op.Effect.Changes() && !k.op.Secret {
		k.writeFlags.bind(cmd)
	}
	if cmd.Flags().Lookup("cursor") != nil {
		k.listFlags.bind(cmd)
	}
	k.bindMine(cmd)
	k.bindEditor(cmd)
	if k.form.log != nil {
		k.bindFollow(cmd)
	}
	for flag := range strings.FieldsSeq(k.form.required) {
		must(cmd.MarkFlagRequired(flag))
	}
	for flag := range strings.FieldsSeq(k.form.optional) {
		must(cmd.Flags().SetAnnotation(flag, cobra.BashCompOneRequiredFlag, []string{"false"}))
	}
	if k.form.oneOf != "" {
		requireOneOf(cmd, strings.Fields(k.form.oneOf)...)
	}
	if k.form.atMostOne != "" {
		allowOneOf(cmd, strings.Fields(k.form.atMostOne)...)
	}
	return names
}

// bindField adds the flag for a field. Its help, its allowed values and whether it is
// required come from the declaration.
func (k *call) bindField(cmd *cobra.Command, f op.Field, name string) {
	value := k.inv.newFieldValue(f, k.in.Field(f.Index))
	if f.Default != "" && f.Value().Kind() == reflect.Int {
		// Zero is outside the bounds of such a field, so the field starts with its
		// default.
		if err := value.Set(f.Default); err != nil {
			panic(fmt.Sprintf("cli: %s: default of %s: %v", k.op.Name, f.Name, err))
		}
	}
	help := f.Description()
	if f.Enum != nil {
		help = strings.TrimSuffix(help, ".") + ": " + strings.Join(f.Enum, ", ")
	}
	if f.Default != "" {
		help = strings.TrimSuffix(help, ".") + " (default " + f.Default + ")"
	}
	registered := cmd.Flags().VarPF(value, name, "", strings.ReplaceAll(help, "`", "'"))
	if value.IsBoolFlag() {
		registered.NoOptDefVal = "true"
	}
	if f.Required {
		must(cmd.MarkFlagRequired(name))
	}
	if isLongText(f) {
		k.texts = append(k.texts, k.in.Field(f.Index))
	}
	must(cmd.RegisterFlagCompletionFunc(name, k.completeField(f)))
}

// bindHint adds a flag that accepts a hint.
func (k *call) bindHint(cmd *cobra.Command, a *argument, name string) {
	help := strings.ReplaceAll(a.field.Doc, "`", "'")
	if forms := a.kind.help(); forms != "" {
		help = strings.TrimSuffix(help, ".") + " (" + forms + ")"
	}
	cmd.Flags().Var(a, name, help)
	if a.field.Required && a.kind != hintProject {
		must(cmd.MarkFlagRequired(name))
	}
	must(cmd.RegisterFlagCompletionFunc(name, k.completeField(a.field)))
}

// bindCustom adds a flag of the form.
func (k *call) bindCustom(cmd *cobra.Command, f customFlag) {
	if k.custom == nil {
		k.custom = map[string]*textList{}
	}
	k.custom[f.name] = &textList{flag: f}
	cmd.Flags().Var(k.custom[f.name], f.name, f.help)
	if f.required {
		must(cmd.MarkFlagRequired(f.name))
	}
	if f.alias != "" {
		cmd.Flags().Var(k.custom[f.name], f.alias, f.help)
		must(cmd.Flags().MarkHidden(f.alias))
		must(cmd.RegisterFlagCompletionFunc(f.alias, cobra.NoFileCompletions))
	}
	switch {
	case f.suggests != nil:
		k.inv.completeFlag(cmd, f.name, f.suggests)
	case f.field != "":
		must(cmd.RegisterFlagCompletionFunc(f.name, k.completeField(fieldNamed(k.op, f.field))))
	default:
		must(cmd.RegisterFlagCompletionFunc(f.name, cobra.NoFileCompletions))
	}
}

// isLongText reports whether a field accepts more than 1000 characters. The flag of such
// a field reads standard input if its value is "-".
func isLongText(f op.Field) bool {
	return f.Value().Kind() == reflect.String && f.MaxLength != nil && *f.MaxLength > 1000
}
