package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"parapet/internal/app"
)

func newMigrate(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to the state that this program needs",
		Long: "Migrate connects with DIRECT_URL as the owner of the database, creates schemas, roles and tables, and goes forward only.\n" +
			"The owner needs the attribute CREATEROLE and need not be a superuser. If it lacks a privilege on a role that another role created,\n" +
			"migrate stops and names the statements that a superuser must run.\n" +
			"Any number of processes may run it at once: one does the work, the others wait and find nothing to do.",
		Example: "  DIRECT_URL=postgres://owner@db.example/parapet ptd migrate",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := p.config()
			if err != nil {
				return err
			}
			if _, err := directURL(cfg); err != nil {
				return err
			}
			report, err := app.Migrate(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			for _, m := range report.Applied {
				fmt.Fprintf(p.out, "applied %s\n", m.Path())
			}
			fmt.Fprintf(p.out, "%d applied, the database is up to date\n", len(report.Applied))
			return nil
		},
	}
}
