package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"parapet/internal/app"
)

func newSettings(p *program) *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:     "settings",
		Short:   "List the environment variables that ptd reads",
		Example: "  ptd settings\n  ptd settings --markdown > docs/settings.md",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if markdown {
				_, err := fmt.Fprint(p.out, app.SettingsMarkdown())
				return err
			}
			w := tabwriter.NewWriter(p.out, 0, 4, 2, ' ', 0)
			for _, s := range app.Settings() {
				fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, orDash(s.Default, "-"), s.Doc)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print in the format of docs/settings.md")
	return cmd
}

func orDash(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
