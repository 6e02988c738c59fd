package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract"
	"parapet/internal/contract/identity"
	"parapet/internal/op"
)

// form is what the declaration of an operation leaves open about its command. The zero
// form is complete: an operation without a form has a command with its name, an argument
// for each path parameter, a flag for each other field, and the default output.
//
// A list of names is a text, separated by spaces.
type form struct {
	// paths are the words of the command, such as "users list", and of further commands
	// that do the same. Default: the name of the operation.
	paths []string
	// aliases are other names of the last word, which help lists.
	aliases string
	// via is the command that calls the operation, if the operation has no command of its
	// own.
	via string
	// short is the one-line help. Default: the summary of the operation.
	short string
	// long is the full help. Default: the short help and the description of the operation.
	long string
	// example is one example in each line. Default: exampleArgs.
	example string
	// args are further fields that are arguments after the path parameters, each as
	// "field=argument".
	args string
	// omitLast reports whether the last argument may be omitted after these arguments.
	omitLast func(args []string) bool
	// subject is the field whose flag may also be the only argument. Default: the required
	// field that names the new record, such as title.
	subject string
	// pathFlags are the path parameters that are flags.
	pathFlags string
	// flags names flags whose default name does not fit, each as "field=flag". The flag "-"
	// means that the field has no flag.
	flags string
	// custom are flags with a syntax of their own. Their fields have no other flag.
	custom []customFlag
	// required and optional are flags that the declaration says the opposite about.
	required, optional string
	// oneOf are flags of which exactly one is required; atMostOne are flags of which at most
	// one is allowed.
	oneOf, atMostOne string
	// allPages makes the command fetch all pages; it has no --limit and --cursor.
	allPages bool
	// ignoreDefaultProject keeps PT_PROJECT out of an optional --project.
	ignoreDefaultProject bool
	// question is the confirmation question; %s is the name of the record.
	question string
	// change describes what the command is about to change, for the confirmation, or returns
	// nil if there is nothing to confirm. Without it, only commands that delete ask.
	change func(ctx context.Context, k *call, c *client.Client) (*change, error)
	// find completes the input with what the service knows, before the hints
	// are resolved.
	find func(ctx context.Context, k *call, c *client.Client) error
	// prepare completes the input before the first request.
	prepare func(k *call) error
	// page writes the output. Default: the layout of its type.
	page func(d *markdown.Doc, out any)
	// with fetches what follows the page, at the same time as the record. It is not called with
	// --json.
	with func(ctx context.Context, k *call, c *client.Client) (func(*markdown.Doc), error)
	// log adds --follow to the list of a log.
	log *logForm
	// done is the output of an operation that returns nothing. Default: doneOf.
	done func(k *call) (data any, line string)
}

// section has the forms of operations whose commands are in one group of pt --help, by the
// name of the operation.
type section struct {
	group string
	forms map[string]form
}

// sections returns all forms.
func sections() []section {
	return []section{
		{groupTasks, taskForms()}, {groupDecisions, decisionForms()}, {groupIssues, issueForms()}, {groupProjects, projectForms()},
		{groupPlanning, planningForms()}, {groupRecords, recordForms()}, {groupCatalog, catalogForms()}, {groupWiki, wikiForms()}, {groupAccess, accessForms()}, {groupAccess, keyForms()}, {groupAdministration, administrationForms()}, {groupAdministration, webhookForms()}, {groupAdministration, grantForms()}, {groupAdministration, logForms()},
	}
}

// operations returns the operations that have a command. Public operations have none,
// because pt auth calls them.
func operations() []*op.Operation {
	return slices.DeleteFunc(contract.Operations(), func(o *op.Operation) bool { return o.Access == op.Public })
}

// operationForm is an operation with its form and its group.
type operationForm struct {
	*op.Operation
	form
	group string
}

// operationForms returns the operations with their forms. An operation without a form
// is in the group of its module.
func operationForms() []operationForm {
	known := map[string]operationForm{}
	for _, s := range sections() {
		for name, f := range s.forms {
			known[name] = operationForm{form: f, group: s.group}
		}
	}
	var all []operationForm
	for _, o := range operations() {
		f, ok := known[o.Name]
		switch {
		case ok:
		case o.Module == identity.Module:
			f.group = groupAdministration
		default:
			f.group = groupOther
		}
		f.Operation = o
		if f.paths == nil && f.via == "" {
			f.paths = []string{o.Name}
		}
		all = append(all, f)
	}
	return all
}

// firstWord returns the first word of a path.
func firstWord(path string) string {
	word, _, _ := strings.Cut(path, " ")
	return word
}

// lastWord returns the last word of a path.
func lastWord(path string) string { return path[strings.LastIndexByte(path, ' ')+1:] }

// pairs splits a list of "name=value". A name without a value has the value "".
func pairs(list string) map[string]string {
	if list == "" {
		return nil
	}
	all := map[string]string{}
	for word := range strings.FieldsSeq(list) {
		name, value, _ := strings.Cut(word, "=")
		all[name] = value
	}
	return all
}

// contains reports whether a list separated by spaces contains the name.
func contains(list, name string) bool {
	return list != "" && slices.Contains(strings.Fields(list), name)
}

// customFlag is a flag that sets fields of the input in a syntax of its own.
type customFlag struct {
	// field is the field that the flag sets, or "" if another flag of the list names it.
	field string
	name  string
	// help has the placeholder of the value in backquotes.
	help     string
	required bool
	// list makes the flag repeatable; commas also splits its values at commas.
	list, commas bool
	// suggests completes the value. Default: the completion of the field.
	suggests source
	// apply sets the input, a pointer to the operation's input type. It is called if the flag
	// is set.
	apply func(in any, values []string) error
	// applyAt replaces apply for a flag with one value that depends on the time.
	applyAt func(in any, now time.Time, text string) error
	// alias is a hidden flag that does the same.
	alias string
}

// textFlag returns a flag with one value.
func textFlag[In any](field, name, help string, apply func(in *In, text string) error) customFlag {
	return customFlag{field: field, name: name, help: help, apply: func(in any, values []string) error {
		typed, ok := in.(*In)
		if !ok {
			return usagef("--%s does not fit the command", name)
		}
		return apply(typed, values[len(values)-1])
	}}
}

// listFlag returns a repeatable flag.
func listFlag[In any](field, name, help string, apply func(in *In, texts []string) error) customFlag {
	return customFlag{field: field, name: name, help: help, list: true, apply: func(in any, values []string) error {
		typed, ok := in.(*In)
		if !ok {
			return usagef("--%s does not fit the command", name)
		}
		return apply(typed, values)
	}}
}

// lookupFlag returns a flag whose value the form's find looks up.
func lookupFlag(name, help string, suggests source) customFlag {
	return customFlag{name: name, help: help, suggests: suggests, apply: func(any, []string) error { return nil }}
}

// suggesting sets the completion of a custom flag.
func suggesting(from source, f customFlag) customFlag {
	f.suggests = from
	return f
}

// required makes a custom flag required.
func required(f customFlag) customFlag {
	f.required = true
	return f
}

// preparing returns a form's prepare for an input type.
func preparing[In any](complete func(inv *invocation, in *In) error) func(*call) error {
	return func(k *call) error {
		in, err := inputOf[In](k)
		if err != nil {
			return err
		}
		return complete(k.inv, in)
	}
}

// showing returns a form's page for an output type.
func showing[Out any](write func(d *markdown.Doc, out *Out)) func(*markdown.Doc, any) {
	return func(d *markdown.Doc, out any) {
		if typed, ok := out.(*Out); ok {
			write(d, typed)
		}
	}
}
