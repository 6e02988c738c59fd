package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/mcp"
)

type mcpOptions struct {
	inv  *invocation
	view mcp.View
}

func newMCPCmd(inv *invocation) *cobra.Command {
	o := &mcpOptions{inv: inv}
	var sets strings.Builder
	for _, t := range mcp.Toolsets() {
		fmt.Fprintf(&sets, "  %-13s %s\n", t.Name, t.Doc)
	}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the operations as tools to an MCP client, over stdio",
		Long: `Serves the operations of the service as tools of the Model Context Protocol to
the client that starts it, over the standard streams. It acts with the credential
and in the organisation in use, as every command does.

A tool that can't be undone asks the client's user first, and is not offered to a
client that can't ask, unless --allow-destructive is given.

Toolsets:
` + sets.String(),
		Example: `  pt mcp
  pt mcp --toolsets default,stages --read-only
  pt mcp --profile work --toolsets all --allow-destructive`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.view.Toolsets, "toolsets", []string{mcp.Default}, "offer these toolsets, by `name,name`")
	f.BoolVar(&o.view.ReadOnly, "read-only", false, "offer only tools that change nothing")
	f.BoolVar(&o.view.AllowDestructive, "allow-destructive", false, "offer tools that can't be undone without asking the user first")
	must(cmd.RegisterFlagCompletionFunc("toolsets", cobra.FixedCompletions(toolsetNames(), cobra.ShellCompDirectiveNoFileComp)))
	return inv.runs(cmd, nil, o.run)
}

func toolsetNames() []string {
	var names []string
	for _, t := range mcp.Toolsets() {
		names = append(names, t.Name)
	}
	return names
}

func (o *mcpOptions) run(ctx context.Context, _ []string) error {
	if err := mcp.CheckToolsets(o.view.Toolsets); err != nil {
		return usage(err)
	}
	c, _, err := o.inv.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	server, err := mcp.New(slices.Concat(identity.Operations(), tracker.Operations()), o.inv.Version, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	err = server.Stdio(ctx, io.NopCloser(o.inv.In), nopCloser{o.inv.Out}, c, o.view)
	if ctx.Err() != nil {
		// The client has told it to end: that is how it ends.
		return nil
	}
	return err
}

// nopCloser is a stream that is its owner's to close.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
