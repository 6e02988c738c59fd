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
		Short: "Serve on an embedded Postgres with seeded demo tenants",
		Long: "Dev starts a Postgres of its own in a data folder, migrates it, seeds the tenants acme, globex and northwind once, and serves.\n" +
			"A second start on the folder finds the same ids and passwords. Settings work as in `ptd serve`; with DATABASE_URL and\n" +
			"DIRECT_URL set it uses that database instead of its own. SIGTERM ends it, the database too.",
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
			p.welcome(d.Info(), dataDir)
			return d.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&port, "port", "3000", "port of the HTTP API; 0 takes any free one (PORT)")
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "folder that holds the database and the secrets (default: parapet in the user's data folder)")
	cmd.Flags().StringVar(&infoFile, "info-file", "", "write addresses, secrets and accounts to this file, mode 0600, once ready")
	return cmd
}

// defaultDataDir follows the XDG base directory specification.
func (p *program) defaultDataDir() (string, error) {
	if dir := p.getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "parapet"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &usageError{errors.Join(errors.New("there is no home folder: name one with --data-dir"), err)}
	}
	return filepath.Join(home, ".local", "share", "parapet"), nil
}

// welcome tells a person how to go on. Passwords are shown on a terminal's own
// request only: in the info file.
func (p *program) welcome(info dev.Info, dataDir string) {
	fmt.Fprintf(p.out, "Parapet answers at %s\n\n", info.BaseURL)
	for _, t := range info.Tenants {
		fmt.Fprintf(p.out, "  %-10s %-17s %s\n", t.Slug, t.Type, t.ID)
	}
	fmt.Fprintf(p.out, "\nData folder: %s. Accounts are <role>@<tenant>.example, such as admin@acme.example;\n`ptd dev --info-file FILE` writes their passwords.\n", dataDir)
}
