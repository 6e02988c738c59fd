package main

import (
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/app"
)

func newServe(p *program) *cobra.Command {
	var port, modules string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API and run background jobs",
		Long: "Serve serves the HTTP API of the modules and runs their background jobs. Migrate the database first (ptd migrate).\n" +
			"Settings are environment variables; `ptd settings` lists them.",
		Example: "  ptd serve\n  ptd serve --modules identity,tracker --port 8080",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("port") {
				p.override("PORT", port)
			}
			if cmd.Flags().Changed("modules") {
				p.override("PT_MODULES", modules)
			}
			cfg, err := p.config()
			if err != nil {
				return err
			}
			log := p.logger(cfg)
			a, err := app.New(cmd.Context(), cfg, version, log)
			if err != nil {
				return err
			}
			defer a.Close()
			return a.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&port, "port", "3000", "port of the HTTP API; 0 chooses a free port (PORT)")
	cmd.Flags().StringVar(&modules, "modules", strings.Join(app.AllModules(), ","), "modules to serve, separated by commas (PT_MODULES)")
	return cmd
}
