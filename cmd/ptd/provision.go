package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"parapet/internal/authz"
	"parapet/internal/identity"
	"parapet/internal/op"
)

func newProvision(p *program) *cobra.Command {
	var tenant, organisation string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "db:provision-service-principals",
		Short: "Provision the service principals of a tenant",
		Long: "Provision connects with DIRECT_URL, reconciles the default roles, creates or corrects each registered service principal in its\n" +
			"own audited transaction, checks before the commit that keys can be issued for it, and repairs agent rows.\n" +
			"It can be repeated at any time; it prints \"nothing to change\" if everything is up to date.",
		Example: "  DIRECT_URL=postgres://owner@db.example/parapet ptd db:provision-service-principals --tenant <tenant_uuid> --org <organisation_uuid>",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := op.ParseUUID(tenant)
			if err != nil {
				return &usageError{fmt.Errorf("--tenant: %w", err)}
			}
			o, err := op.ParseUUID(organisation)
			if err != nil {
				return &usageError{fmt.Errorf("--org: %w", err)}
			}
			cfg, err := p.config()
			if err != nil {
				return err
			}
			url, err := directURL(cfg)
			if err != nil {
				return err
			}
			report, err := provision(cmd.Context(), url, t, o, p.logger(cfg))
			if report.Tenant != "" {
				p.printProvision(report, asJSON, err == nil)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "UUID of the tenant")
	cmd.Flags().StringVar(&organisation, "org", "", "UUID of the organisation of the service principals")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

func provision(ctx context.Context, url string, tenant, organisation op.UUID, log *slog.Logger) (identity.ProvisionReport, error) {
	engine, err := authz.New(ctx, authz.Config{Logger: log})
	if err != nil {
		return identity.ProvisionReport{}, err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return identity.ProvisionReport{}, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	p := &identity.Provisioner{Policies: engine}
	return p.Run(ctx, conn, tenant, organisation)
}

func (p *program) printProvision(r identity.ProvisionReport, asJSON, done bool) {
	if asJSON {
		enc := json.NewEncoder(p.out)
		enc.SetIndent("", "  ")
		_ = enc.Encode(r)
		return
	}
	for _, change := range r.Roles {
		fmt.Fprintf(p.out, "roles: %s\n", change)
	}
	for _, profile := range r.Profiles {
		for _, change := range profile.Changes {
			fmt.Fprintf(p.out, "%s: %s\n", profile.IntegrationKey, change)
		}
		if profile.Verified {
			fmt.Fprintf(p.out, "%s: verified (%s)\n", profile.IntegrationKey, profile.UserID)
		}
	}
	for _, change := range r.Agents {
		fmt.Fprintf(p.out, "agents: %s\n", change)
	}
	if done && !r.Changed() {
		fmt.Fprintln(p.out, "nothing to change")
	}
}
