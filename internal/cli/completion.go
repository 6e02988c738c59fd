package cli

import (
	"context"
	"embed"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/repo"
	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/op"
)

// completionTime is the time limit of a completion request.
const completionTime = 1500 * time.Millisecond

// maxAbout is the maximum width of the explanation of a suggestion, in columns.
const maxAbout = 60

// completionScripts are the scripts of the shells. They call pt __complete, whose protocol
// is Cobra's, and need no other package: Cobra's own script for bash needs bash-completion,
// and its scripts for bash and zsh evaluate what the user has typed so far.
//
//go:embed completion/pt.bash completion/pt.zsh completion/pt.fish
var completionScripts embed.FS

func newCompletionCmd(*invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "completion <bash|zsh|fish>",
		Short: "Print the completion script for a shell",
		Long: `Print the script that completes commands, flags and values in a shell: task keys,
people, projects, statuses, roles and other names. pt requests the names from the
service, at most one request for each Tab, and stores nothing.

bash: add this line to ~/.bashrc. It does not need the package bash-completion:
  source <(pt completion bash)

zsh: add this line to ~/.zshrc, after compinit:
  source <(pt completion zsh)

fish: run once:
  pt completion fish > ~/.config/fish/completions/pt.fish`,
		Example: `  source <(pt completion bash)
  pt completion fish > ~/.config/fish/completions/pt.fish`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			script, err := completionScripts.ReadFile("completion/pt." + args[0])
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(script)
			return err
		},
	}
}

// completeField returns the function that completes the flag of a field.
func (k *call) completeField(f op.Field) cobra.CompletionFunc {
	from := sourceOf(k.op, f)
	if from == nil {
		return cobra.NoFileCompletions
	}
	return func(cmd *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
		return k.complete(cmd.Context(), from, f, args, part)
	}
}

// completeArgument suggests values for the next argument.
func (k *call) completeArgument(cmd *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
	a := k.nextArgument(args)
	if a == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	from := sourceOf(k.op, a.field)
	if from == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return k.complete(cmd.Context(), from, a.field, args, part)
}

// nextArgument returns the argument after args, or nil if there is none. The project may be
// omitted: before a task always, because the key of a task contains it, and before another
// record if there is a default project.
func (k *call) nextArgument(args []string) *argument {
	n := len(args)
	if k.mayOmitProject(args) && len(k.args) > 1 {
		isTask := k.args[1].field.Name == "task"
		switch {
		case isTask && (n == 0 || op.TaskKeyPrefix(args[0]) != ""):
			n++
		case n == 0:
			if s, err := k.inv.settings(); err == nil && s.project != "" {
				n++
			}
		}
	}
	if n >= len(k.args) {
		return nil
	}
	return k.args[n]
}

// complete returns the suggestions of a source for a field.
func (k *call) complete(ctx context.Context, from source, f op.Field, args []string, part string) ([]string, cobra.ShellCompDirective) {
	q := &completionQuery{part: part}
	switch {
	case k.project != nil && k.project.isSet:
		q.project = k.project.typed
	case len(args) > 0 && len(k.args) > 0 && k.args[0].kind == hintProject:
		q.project = args[0]
	}
	if scope := k.in.FieldByName("Scope"); scope.IsValid() && scope.Kind() == reflect.String {
		q.scope = scope.String()
	}
	var chosen string
	if f.Value().Kind() == reflect.Slice {
		// Complete the last value of a list.
		at := strings.LastIndexByte(part, ',') + 1
		chosen, q.part = part[:at], part[at:]
	}
	return k.inv.suggest(ctx, from, q, chosen)
}

// suggest returns the suggestions of a source that start with q.part, each after chosen:
// the earlier values of a list. It completes the query with the client and the default project.
func (inv *invocation) suggest(ctx context.Context, from source, q *completionQuery, chosen string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	s, err := inv.settings()
	q.project = projectOfCompletion(q.part, q.project, s.project)
	q.connect = func() (*client.Client, error) {
		if err != nil {
			return nil, err
		}
		return inv.connectWith(s)
	}
	found, err := from(ctx, q)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	earlier := strings.Split(chosen, ",")
	var lines []string
	for _, one := range found {
		if hasPrefixFold(one.value, q.part) && isSafeValue(one.value) && (chosen == "" || !slices.Contains(earlier, one.value) && !strings.Contains(one.value, ",")) {
			lines = append(lines, one.line(chosen))
		}
	}
	return lines, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// line returns the line for Cobra's protocol: the value and, after a tab, the explanation.
func (s suggestion) line(chosen string) string {
	about := text.Cut(text.Line(strings.TrimSpace(s.about)), maxAbout)
	if about == "" {
		return chosen + s.value
	}
	return chosen + s.value + "\t" + about
}

// projectOfCompletion returns the project of the value to complete: that of a task key,
// else the first of the hints. It returns "" for a directory or an address, because the
// service looks them up in a request of its own.
func projectOfCompletion(part string, hints ...string) string {
	if prefix, number, ok := strings.Cut(part, "-"); ok && op.TaskKeyPrefix(prefix+"-1") != "" && strings.Trim(number, "0123456789") == "" {
		return strings.ToUpper(prefix)
	}
	hint := firstNonEmpty(hints...)
	if prefix := op.TaskKeyPrefix(hint); prefix != "" {
		return prefix
	}
	if repo.IsPath(hint) || repo.Address(hint) != "" {
		return ""
	}
	return hint
}

// isSafeValue reports whether a value means itself on a command line after the shell has
// quoted it. A record can have any name: a name with control characters would differ from
// the text that the terminal shows, and a name that starts with - would become a flag.
func isSafeValue(value string) bool {
	return value != "" && text.Line(value) == value && value[0] != '-' && !strings.HasPrefix(value, "_activeHelp_")
}

// hasPrefixFold reports whether text starts with prefix, in any case.
func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// completeProject suggests the projects for the first argument.
func (inv *invocation) completeProject(cmd *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return inv.suggest(cmd.Context(), suggestProjects, &completionQuery{part: part}, "")
}

// completeImport suggests projects for the first argument and files for the second.
func (inv *invocation) completeImport(cmd *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return inv.completeProject(cmd, args, part)
	case 1:
		return []string{"jsonl", "json", "csv"}, cobra.ShellCompDirectiveFilterFileExt
	default:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag registers the completion of a flag that is no field of an operation.
func (inv *invocation) completeFlag(cmd *cobra.Command, name string, from source) {
	must(cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, part string) ([]string, cobra.ShellCompDirective) {
		return inv.suggest(cmd.Context(), from, &completionQuery{part: part}, "")
	}))
}

// completeGlobalFlags registers the completion of the flags that every command has.
func (inv *invocation) completeGlobalFlags(root *cobra.Command) {
	inv.completeFlag(root, "org", suggestMyOrganisations)
	must(root.RegisterFlagCompletionFunc("profile", inv.completeProfile))
	must(root.RegisterFlagCompletionFunc("fields", inv.completeFieldNames))
	for _, name := range []string{"jq", "timeout"} {
		must(root.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// completeProfile suggests the profiles.
func (inv *invocation) completeProfile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	c, err := inv.store.Config()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return profileNames(c), cobra.ShellCompDirectiveNoFileComp
}

// completeFieldNames suggests the fields of the command's output for --fields.
func (inv *invocation) completeFieldNames(cmd *cobra.Command, _ []string, part string) ([]string, cobra.ShellCompDirective) {
	data := inv.outputs[cmd]
	if data == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	at := strings.LastIndexByte(part, ',') + 1
	return inv.suggest(cmd.Context(), fixedSource(jsonNames(data)), &completionQuery{part: part[at:]}, part[:at])
}
