package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/text"
	"parapet/internal/contract/tracker"
)

// completionTime is the time limit of a completion request.
const completionTime = 1500 * time.Millisecond

func newCompletionCmd(*invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "completion <bash|zsh|fish>",
		Short: "Print the completion script for a shell",
		Long: `Print the script that completes pt's commands, flags and values in a shell. pt
requests the names of projects and statuses from the service.`,
		Example: `  pt completion bash > ~/.local/share/bash-completion/completions/pt
  pt completion zsh > "${fpath[1]}/_pt"
  pt completion fish > ~/.config/fish/completions/pt.fish`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			default:
				return root.GenFishCompletion(out, true)
			}
		},
	}
}

// completeProject suggests the prefixes of the projects, with their names.
func (inv *invocation) completeProject(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && cmd.Flags().Lookup("project") == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	c, _, err := inv.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	page, err := callOperation(ctx, c, tracker.ListProjects, &tracker.ListProjectsIn{Limit: maxPage})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var suggestions []string
	for _, p := range page.Items {
		suggestions = append(suggestions, p.Prefix+"\t"+text.Line(p.Name))
	}
	return suggestions, cobra.ShellCompDirectiveNoFileComp
}

// completeArgument returns the function that completes a command's arguments. It suggests
// projects if the first argument is a project, and nothing otherwise.
func (inv *invocation) completeArgument(args []*argument) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	if args[0].kind == hintProject {
		return inv.completeProject
	}
	return cobra.NoFileCompletions
}

// completeStatus suggests the statuses of the project on the command line, else of the
// default project.
func (inv *invocation) completeStatus(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	c, s, err := inv.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	hint := s.project
	if len(args) > 0 {
		hint = args[0]
		if m := keyPattern.FindStringSubmatch(hint); m != nil {
			hint = m[1]
		}
	} else if f := cmd.Flags().Lookup("project"); f != nil && f.Changed {
		hint = f.Value.String()
	}
	if hint == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	p, err := callOperation(ctx, c, tracker.FindProject, &tracker.FindProjectIn{Hint: hint})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var suggestions []string
	for _, st := range p.CustomStatuses {
		suggestions = append(suggestions, text.Line(st.Name))
	}
	return suggestions, cobra.ShellCompDirectiveNoFileComp
}

// completeImport suggests projects for the first argument and files for the second.
func (inv *invocation) completeImport(cmd *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return []string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return inv.completeProject(cmd, args, part)
}
