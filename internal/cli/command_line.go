package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parapet/internal/op"
)

// checkArguments makes the argument errors of cmd and its subcommands say which argument is
// missing or superfluous. The placeholders come from the usage line.
func checkArguments(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		checkArguments(c)
	}
	validate := cmd.Args
	if validate == nil || cmd.HasSubCommands() {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := validate(cmd, args)
		if wrong := (*usageError)(nil); err == nil || errors.As(err, &wrong) {
			return err
		}
		return argumentError(cmd, args, placeholders(cmd), "")
	}
}

// placeholderPattern matches an argument in a usage line.
var placeholderPattern = regexp.MustCompile(`<[^>]+>`)

// placeholders returns the required arguments in the usage line of a command.
func placeholders(cmd *cobra.Command) []string { return placeholderPattern.FindAllString(cmd.Use, -1) }

// argumentError returns the error for a wrong number of arguments. advice, if not empty,
// says where superfluous arguments belong.
func argumentError(cmd *cobra.Command, args, required []string, advice string) error {
	usageLine := "; usage: " + strings.TrimSuffix(cmd.UseLine(), " [flags]")
	switch {
	case len(args) < len(required):
		return usagef("missing argument %s%s", strings.Join(required[len(args):], " "), usageLine)
	case advice != "":
		usageLine = "; " + advice
	}
	extra := args[len(required):]
	if len(required) == 0 {
		return usagef("%s takes no arguments, got %s%s", cmd.Name(), quoteAll(extra), usageLine)
	}
	return usagef("too many arguments: %s%s", quoteAll(extra), usageLine)
}

func quoteAll(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = strconv.Quote(t)
	}
	return strings.Join(quoted, " ")
}

// nameFields are the fields that name a new record, or what a new record says.
var nameFields = []string{"title", "name", "label", "body"}

// chooseSubject sets the flag whose value may also be the only argument: the form's, or the
// name of a new record. A command with other arguments has none.
func (k *call) chooseSubject() {
	if len(k.args) > 0 {
		return
	}
	if k.form.subject != "" {
		k.subject = k.flagName(fieldNamed(k.op, k.form.subject))
		return
	}
	if f, ok := k.nameField(); ok {
		k.subject = k.flagName(f)
	}
}

// nameField returns the required field that names the new record, if there is one.
func (k *call) nameField() (op.Field, bool) {
	for _, f := range k.op.Fields {
		if f.Required && f.Source == op.FromBody && slices.Contains(nameFields, f.Name) && k.flagName(f) != "" {
			return f, true
		}
	}
	return op.Field{}, false
}

// checkArgs is the argument check of the command.
func (k *call) checkArgs(cmd *cobra.Command, args []string) error {
	maximum := len(k.args)
	if k.subject != "" {
		maximum = 1
	}
	switch {
	case k.form.omitLast != nil && len(args) == len(k.args)-1 && !k.omitsLast(args) && !k.inv.canPrompt():
		return usagef("missing argument <%s>, which %s requires; usage: %s", k.args[len(args)].name, args[0], strings.TrimSuffix(cmd.UseLine(), " [flags]"))
	case len(args) < k.minArgs(args) && !k.inv.canPrompt():
		required := k.placeholders()
		if k.mayOmitProject(args) {
			required = required[1:]
		}
		return argumentError(cmd, args, required, "")
	case len(args) <= maximum:
		return nil
	case k.subject != "":
		return usagef("%s takes one %s, got %d arguments; quote it: pt %s %q", cmd.Name(), k.subject, len(args), k.inv.pathOf(cmd), strings.Join(args, " "))
	default:
		return argumentError(cmd, args, k.placeholders(), k.flagAdvice(args[len(k.args):]))
	}
}

// flagAdvice says which flag sets the name of the new record, for a user who gave it as an
// argument.
func (k *call) flagAdvice(extra []string) string {
	f, ok := k.nameField()
	if !ok {
		return ""
	}
	return fmt.Sprintf("give the %s with --%s %q", f.Name, k.flagName(f), strings.Join(extra, " "))
}

// pathOf returns the words of a command without the program.
func (inv *invocation) pathOf(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}

// completeCommandLine sets the flag whose value was given as the only argument, prompts for
// missing values if there is a terminal, and reports required flags that are still missing.
func (k *call) completeCommandLine(cmd *cobra.Command, args []string) error {
	if k.subject != "" && len(args) == 1 {
		f := cmd.Flags().Lookup(k.subject)
		if f.Changed {
			return usagef("give the %s once: as an argument or with --%s", k.subject, k.subject)
		}
		if err := cmd.Flags().Set(k.subject, args[0]); err != nil {
			return usage(flagError(cmd, err))
		}
	}
	if err := k.prepareEditor(cmd); err != nil {
		return err
	}
	return k.askMissing(cmd, args)
}

// requireFlags returns an error that names all required flags that are not set. Cobra checks
// them too, but later and in other words.
func requireFlags(cmd *cobra.Command, _ []string) error {
	var missing []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if isRequired(f) && !f.Changed {
			missing = append(missing, "--"+f.Name)
		}
	})
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return usagef("%s is required", missing[0])
	default:
		return usagef("%s are required", strings.Join(missing, ", "))
	}
}

// isRequired reports whether cobra requires the flag.
func isRequired(f *pflag.Flag) bool {
	required := f.Annotations[cobra.BashCompOneRequiredFlag]
	return len(required) > 0 && required[0] == "true"
}

// runAfter makes check run after the command's other checks of its command line.
func runAfter(cmd *cobra.Command, check func(cmd *cobra.Command, args []string) error) {
	before := cmd.PreRunE
	cmd.PreRunE = check
	if before != nil {
		runBefore(cmd, before)
	}
}

// runBefore makes check run before the command's other checks of its command line.
func runBefore(cmd *cobra.Command, check func(cmd *cobra.Command, args []string) error) {
	next := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil || next == nil {
			return err
		}
		return next(cmd, args)
	}
}
