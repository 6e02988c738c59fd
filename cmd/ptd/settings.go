package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"parapet/internal/app"
)

func newSettings(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "settings",
		Short:   "List the settings of the environment",
		Example: "  ptd settings",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(p.out, 0, 4, 2, ' ', 0)
			for _, s := range app.Settings() {
				d := s.Default
				if d == "" {
					d = "-"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, d, s.Doc)
			}
			return w.Flush()
		},
	}
}
