package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"parapet/internal/dev"
)

func newDev(p *program) *cobra.Command {
	var port, dataDir, infoFile string
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Serve on an embedded PostgreSQL with demo tenants",
		Long: "Dev starts a PostgreSQL server in a data folder, migrates it, seeds the tenants acme, globex and northwind once, and serves.\n" +
			"The next start on the folder has the same ids and passwords. Settings work as in `ptd serve`; if DATABASE_URL and\n" +
			"DIRECT_URL are set, it uses that database instead. SIGTERM stops it and its database.",
		Example: "  ptd dev\n  ptd dev --port 0 --data-dir ./data --info-file ./info.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("port") {
				p.override("PORT", port)
			}
			cfg, err := p.config()
			if err != nil {
				return err
			}
			if dataDir == "" {
				if dataDir, err = p.defaultDataDir(); err != nil {
					return err
				}
			}
			d, err := dev.Start(cmd.Context(), dev.Options{DataDir: dataDir, Getenv: p.getenv, Version: version, Log: p.logger(cfg), Program: cfg.Program})
			if err != nil {
				return err
			}
			defer d.Close()
			if infoFile != "" {
				if err := d.Info().Write(infoFile); err != nil {
					return err
				}
			}
			p.printWelcome(d.Info(), dataDir)
			return d.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&port, "port", "3000", "port of the HTTP API; 0 chooses a free port (PORT)")
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "folder for the database and the secrets (default: parapet in the user's data folder)")
	cmd.Flags().StringVar(&infoFile, "info-file", "", "when ready, write addresses, secrets and accounts to this file (mode 0600)")
	return cmd
}

// defaultDataDir returns the default data folder of the XDG base directory specification.
func (p *program) defaultDataDir() (string, error) {
	if dir := p.getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "parapet"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &usageError{errors.Join(errors.New("there is no home folder; choose a data folder with --data-dir"), err)}
	}
	return filepath.Join(home, ".local", "share", "parapet"), nil
}

// printWelcome prints what a person needs to continue. It prints no passwords; they are only in
// the info file.
func (p *program) printWelcome(info dev.Info, dataDir string) {
	fmt.Fprintf(p.out, "Parapet listens at %s\n\n", info.BaseURL)
	for _, t := range info.Tenants {
		fmt.Fprintf(p.out, "  %-10s %-17s %s\n", t.Slug, t.Type, t.ID)
	}
	fmt.Fprintf(p.out, "\nData folder: %s. Accounts are <role>@<tenant>.example, such as admin@acme.example;\n`ptd dev --info-file FILE` writes their passwords.\n", dataDir)
}
