package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"parapet/internal/app"
)

func newMigrate(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database to this program's schema",
		Long: "Migrate connects with DIRECT_URL as the owner of the database and creates schemas, roles and tables. It never goes back.\n" +
			"The owner needs the attribute CREATEROLE and need not be a superuser. If it lacks a privilege on a role that another role created,\n" +
			"migrate stops and prints the statements that a superuser must run.\n" +
			"Several processes may run it concurrently: one migrates, the others wait and then have nothing to do.",
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
