package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"parapet/internal/authz"
	"parapet/internal/clock"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/identity"
	"parapet/internal/password"
)

func newOffice(p *program) *cobra.Command {
	in := contract.CreateTenantIn{OrganisationType: "INTERNAL"}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "db:create-office",
		Short: "Create a programme office with its first administrator",
		Long: "Create-office connects with DIRECT_URL and creates a PROGRAMME_OFFICE tenant, its organisation and its first administrator, and\n" +
			"writes audit entries. It is the first step of a new installation: the office's administrator creates all other tenants over the\n" +
			"HTTP API. The administrator's password, at least 12 characters, is read from standard input.",
		Example: "  DIRECT_URL=postgres://owner@db.example/parapet ptd db:create-office --slug head-office --name 'Head office' \\\n" +
			"    --admin-email admin@example.com --admin-name 'Administrator' < password.txt",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := p.config()
			if err != nil {
				return err
			}
			url, err := directURL(cfg)
			if err != nil {
				return err
			}
			if in.OrganisationName == "" {
				in.OrganisationName = in.Name
			}
			if in.AdminPassword, err = p.readPassword(); err != nil {
				return err
			}
			office, err := createOffice(cmd.Context(), url, in, p.logger(cfg))
			if fault.HasCode(err, fault.CodeValidation) {
				return &usageError{err}
			}
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(p.out).Encode(office)
			}
			_, err = fmt.Fprintf(p.out, "tenant %s\norganisation %s\nadministrator %s\n", office.Tenant, office.Organisation, office.Admin)
			return err
		},
	}
	for _, f := range []struct {
		value     *string
		name, use string
	}{
		{&in.Slug, "slug", "short name: lower-case letters, digits and hyphens, unique in the installation"},
		{&in.Name, "name", "name of the office"},
		{&in.OrganisationName, "organisation-name", "name of its organisation (default: the office's name)"},
		{&in.AdminEmail, "admin-email", "address of the first administrator"},
		{&in.AdminName, "admin-name", "name of the first administrator"},
		{&in.AdminClearance, "admin-clearance", "highest classification that the administrator may read; administrators cannot raise their own (default: UNCLASSIFIED)"},
	} {
		cmd.Flags().StringVar(f.value, f.name, "", f.use)
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the ids as JSON")
	return cmd
}

func createOffice(ctx context.Context, url string, in contract.CreateTenantIn, log *slog.Logger) (created identity.ProgrammeOffice, err error) {
	engine, err := authz.New(ctx, authz.Config{Logger: log})
	if err != nil {
		return created, err
	}
	hasher, err := password.New(password.MinParams(), 0)
	if err != nil {
		return created, err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return created, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		seeder := &identity.Seeder{Tx: tx, Catalogue: engine.Catalogue(), Passwords: hasher, Now: clock.System{}.Now()}
		created, err = seeder.CreateProgrammeOffice(ctx, in)
		return err
	})
	return created, err
}

// readPassword reads a line, without echo on a terminal.
func (p *program) readPassword() (string, error) {
	if f, ok := p.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(p.err, "Password of the administrator: ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(p.err)
		return string(text), err
	}
	line, err := bufio.NewReader(io.LimitReader(p.in, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
