// Package cli implements pt: its commands, their output and their exit codes.
//
// Guarantees:
//   - Data goes to standard output, everything else to standard error.
//   - Output is Markdown that is byte-identical for the same response, or one JSON
//     document with --json.
//   - Exit codes are those of exit.go.
//   - User-generated text never reaches a terminal with control characters in it.
//   - pt never prints the token.
//
// The package uses the contracts of the modules and the HTTP client, and no server
// code.
package cli

import (
	"bufio"
	"context"
	"io"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/config"
	"parapet/internal/clock"
)

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTerminal, OutTerminal and ErrTerminal report whether the stream is a terminal.
	InTerminal, OutTerminal, ErrTerminal bool
	// Width and Height are the size of the output's terminal, in columns and lines. Without a
	// height, pt uses no pager.
	Width, Height int
	// ReadSecret prints the prompt and reads a line from the terminal without echoing it. It
	// returns io.EOF after Ctrl-C or Ctrl-D.
	ReadSecret func(ctx context.Context, prompt string) (string, error)
}

// Program is pt with its dependencies.
type Program struct {
	Streams
	Getenv  func(string) string
	Version string
	Clock   clock.Clock
	// Zone is the time zone of the user; nil means UTC.
	Zone *time.Location
	// Sleep waits between two requests of a command that repeats them. The default waits
	// for the duration, or until ctx ends.
	Sleep func(ctx context.Context, d time.Duration) error
	// IgnoreInterrupt makes the program ignore Ctrl-C until restore is called, because a program
	// that pt waits for handles it. It may be nil.
	IgnoreInterrupt func() (restore func())
	// Dir is the working directory. If it is empty, pt derives no default project from it.
	Dir string
}

// invocation is one run of the program.
type invocation struct {
	Program
	flags globalFlags
	store *config.Store
	// started reports whether the command line was parsed and a command runs. Errors
	// before that are usage errors.
	started bool
	// credential has the settings of the last connection, for errors about its token.
	credential settings
	// draft is what the user wrote in the editor, or "".
	draft string
	// lines reads the answers to prompts.
	lines *bufio.Reader
	// call is the operation that the command executes, or nil.
	call *call
	// command is the command of the command line.
	command *cobra.Command
	// helpError is the error of a call for help with an unknown command.
	helpError error
	// outputs are the types of the output of the commands, for the completion of --fields.
	outputs map[*cobra.Command]reflect.Type
}

// globalFlags are the flags that every command has.
type globalFlags struct {
	json    bool
	jq      string
	fields  []string
	org     string
	profile string
	timeout string
	time    string
	noPager bool
}

// The values of --time.
const (
	timeRelative = "relative"
	timeAbsolute = "absolute"
)

// Run executes a command line and returns the exit code.
func (p Program) Run(ctx context.Context, args []string) int {
	inv := &invocation{Program: p, store: config.NewStore(config.Dir(p.Getenv))}
	var word string
	if len(args) > 0 {
		word = args[0]
	}
	if word == cobra.ShellCompRequestCmd && len(args) > 2 {
		word = args[1] // the command to complete; the last argument is what is typed so far
	}
	root := newRootCmd(inv, word)
	root.SetArgs(args)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	cmd, err := root.ExecuteContextC(ctx)
	inv.command = cmd
	if err == nil {
		err = inv.helpError
	}
	if err != nil && !inv.started {
		err = usage(err)
	}
	code := inv.reportError(err, args)
	if err != nil {
		inv.saveDraft()
	}
	return code
}

// newRootCmd returns the command pt. word is the first word of the command line. If it
// names a command, only that command's family is built, because building all commands
// dominates the startup time.
func newRootCmd(inv *invocation, word string) *cobra.Command {
	root := &cobra.Command{
		Use:   "pt",
		Short: "Work with projects and tasks of a Parapet service",
		Long: `Work with the projects and tasks of a Parapet service.

Log in with "pt auth login", or set PT_BASE_URL and PT_AUTH_TOKEN.`,
		Example: `  pt auth login --email worker@example.org
  pt list-projects
  pt list-tasks APOLLO --status IN_PROGRESS
  pt create-task --project APOLLO --title "Write the flight plan"
  pt get-task APOLLO APOLLO-17 --json --jq .data.status`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           inv.Version,
		Args:              noSuchCommand,
		PersistentPreRunE: inv.checkProfile,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("pt {{.Version}}\n")
	f := root.PersistentFlags()
	f.BoolVar(&inv.flags.json, "json", false, "print JSON: {\"schemaVersion\":1,\"data\":…,\"nextCursor\":…}")
	f.StringVar(&inv.flags.jq, "jq", "", "filter the JSON with a jq `expression` (implies --json)")
	f.StringSliceVar(&inv.flags.fields, "fields", nil, "print only these fields of the data, as `name,name` (implies --json)")
	f.StringVar(&inv.flags.org, "org", "", "act in the `tenant` with this slug or id, or with the organisation with this id")
	f.StringVar(&inv.flags.profile, "profile", "", "use the settings and credential of the profile `name`")
	f.StringVar(&inv.flags.timeout, "timeout", "", "time limit of a request, as a `duration` such as 10s (default 30s)")
	f.StringVar(&inv.flags.time, "time", timeRelative, "how a terminal shows times: `relative` or absolute; a pipe gets absolute times")
	f.BoolVar(&inv.flags.noPager, "no-pager", false, "do not show long output in a pager")
	must(root.RegisterFlagCompletionFunc("time", cobra.FixedCompletions([]string{timeRelative, timeAbsolute}, cobra.ShellCompDirectiveNoFileComp)))
	inv.completeGlobalFlags(root)
	addCommands(root, inv, word)
	// Cobra shows the general help for an unknown command with --help and exits with 0.
	root.SetUsageFunc(writeUsage)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if cmd.HasSubCommands() {
			inv.helpError = noSuchCommand(cmd, cmd.Flags().Args())
		}
		if inv.helpError == nil {
			writeHelp(cmd)
		}
	})
	return root
}

// newHelpCmd returns pt help. Cobra's own help command prints the general help for an
// unknown command and exits with 0.
func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command or topic]",
		Short: "Show help for a command or a topic",
		Long:  "Show help for a command or a topic.",
		Example: `  pt help create-task
  pt help exit-codes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if err := noSuchCommand(target, rest); err != nil {
				return err
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}
