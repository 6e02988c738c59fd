package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/contract"
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
		Short: "Run an MCP server over stdio",
		Long: `Run a Model Context Protocol (MCP) server over standard input and output. It exposes
the operations of the service as tools, and offers prompts for everyday work and
projects and tasks as resources. It uses the current credential and organisation.

A destructive tool asks the user of the client for confirmation. Clients that do not
support this (elicitation) see no destructive tools, unless you set
--allow-destructive.

Toolsets:
` + sets.String(),
		Example: `  pt mcp
  pt mcp --toolsets default,stages --read-only
  pt mcp --profile work --toolsets all --allow-destructive`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.view.Toolsets, "toolsets", []string{mcp.Default}, "expose these toolsets, as `name,name`")
	f.BoolVar(&o.view.ReadOnly, "read-only", false, "expose only tools that do not change data")
	f.BoolVar(&o.view.AllowDestructive, "allow-destructive", false, "expose destructive tools without confirmation by the user")
	must(cmd.RegisterFlagCompletionFunc("toolsets", cobra.FixedCompletions(toolsetNames(), cobra.ShellCompDirectiveNoFileComp)))
	return inv.setRun(cmd, nil, o.run)
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
	server, err := mcp.New(contract.Operations(), o.inv.Version, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	err = server.Stdio(ctx, io.NopCloser(o.inv.In), nopCloser{o.inv.Out}, c, o.view)
	if ctx.Err() != nil {
		// A signal is the regular way to stop the server.
		return nil
	}
	return err
}

// nopCloser is a writer with a Close method that does nothing, like io.NopCloser for
// readers.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
