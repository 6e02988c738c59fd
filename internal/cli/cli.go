// Package cli owns pt: its commands, what they print and how they exit.
//
// It promises: data on the output stream and everything else on the error
// stream; Markdown that is the same bytes for the same answer, or with --json
// one document of a known form; the exit codes of exit.go and no others; one
// HTTP request where one will do; that no text of a stranger reaches a terminal
// with control characters in it, and that the token is never shown. It uses the
// contracts of the modules and the HTTP client, and nothing of the server.
package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/config"
	"parapet/internal/clock"
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTerminal, OutTerminal and ErrTerminal say which of them a person sits at.
	InTerminal, OutTerminal, ErrTerminal bool
	// Width is the width of the output's terminal in columns.
	Width int
	// ReadSecret reads a line from the terminal without showing it.
	ReadSecret func(ctx context.Context) (string, error)
}

// Program is pt with all that it needs of the world.
type Program struct {
	Streams
	Getenv  func(string) string
	Version string
	Clock   clock.Clock
	// Dir is the folder that pt is run in; without one no folder tells a project.
	Dir string
}

// invocation is one run of the program.
type invocation struct {
	Program
	flags globalFlags
	store *config.Store
	// started says that the command line was understood and a command runs.
	started bool
}

// globalFlags are the flags that every command has.
type globalFlags struct {
	json    bool
	jq      string
	fields  []string
	org     string
	profile string
	timeout string
}

// Run carries out a command line and gives the exit code.
func (p Program) Run(ctx context.Context, args []string) int {
	inv := &invocation{Program: p, store: config.NewStore(config.Dir(p.Getenv))}
	var word string
	if len(args) > 0 {
		word = args[0]
	}
	root := newRootCmd(inv, word)
	root.SetArgs(args)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && !inv.started {
		err = usage(err)
	}
	return inv.exit(err, args)
}

// newRootCmd makes pt. word is the first word of the command line: where it names
// a command, the others are left out, because to make them all takes longer than
// to start.
func newRootCmd(inv *invocation, word string) *cobra.Command {
	root := &cobra.Command{
		Use:   "pt",
		Short: "Work with projects and tasks of a Parapet service",
		Long: `pt works with the projects and tasks of a Parapet service.

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
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate("pt {{.Version}}\n")
	f := root.PersistentFlags()
	f.BoolVar(&inv.flags.json, "json", false, "print JSON: {\"schemaVersion\":1,\"data\":…,\"nextCursor\":…}")
	f.StringVar(&inv.flags.jq, "jq", "", "print what a jq `expression` gives of the JSON (implies --json)")
	f.StringSliceVar(&inv.flags.fields, "fields", nil, "print only these fields of the JSON's data, by `name,name` (implies --json)")
	f.StringVar(&inv.flags.org, "org", "", "act in this organisation, by its `id` or its tenant's")
	f.StringVar(&inv.flags.profile, "profile", "", "use the settings and credential of this profile, by its `name`")
	f.StringVar(&inv.flags.timeout, "timeout", "", "how long a request may take, as a `duration` such as 10s (30s unless told)")
	addCommands(root, inv, word)
	return root
}

// noSuchCommand is the error of a word that is no command, with those that are
// like it.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		return fmt.Errorf("there is no command %q; like it: %s", args[0], strings.Join(like, ", "))
	}
	return fmt.Errorf("there is no command %q", args[0])
}
