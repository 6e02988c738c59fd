package dev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/app"
	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/identity"
	"parapet/internal/op"
	"parapet/internal/password"
	"parapet/internal/postgres"
)

// seeded is the file that marks a data folder whose database was seeded completely.
const seeded = "seeded"

// seed creates the tenants unless they exist, and returns them with their contents. If it
// was interrupted, the next call starts again.
func seed(ctx context.Context, cfg app.Config, dir string, s secrets) ([]Tenant, error) {
	marker := filepath.Join(dir, seeded)
	if _, err := os.Stat(marker); errors.Is(err, fs.ErrNotExist) {
		err := openDatabase(ctx, cfg.DirectURL, func(conn *pgx.Conn) error { return createTenants(ctx, conn, s) })
		if err != nil {
			return nil, err
		}
		if err := writeFileAtomically(marker, []byte(time.Now().UTC().Format(time.RFC3339)+"\n")); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	// Row-level security may hide every tenant from the owner, but none from parapet_auth.
	url, err := postgres.RoleURL(cfg.DatabaseURL, postgres.RoleAuth, cfg.DBRoleSecret)
	if err != nil {
		return nil, err
	}
	var tenants []Tenant
	err = openDatabase(ctx, url, func(conn *pgx.Conn) error {
		tenants, err = readTenants(ctx, conn, s)
		return err
	})
	return tenants, err
}

// openDatabase runs f with a connection to url.
func openDatabase(ctx context.Context, url string, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return f(conn)
}

// createTenants creates all tenants in one transaction and then provisions the service principals
// as an operator would.
func createTenants(ctx context.Context, conn *pgx.Conn, s secrets) error {
	engine, err := authz.New(ctx, authz.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	hasher, err := password.New(password.MinParams(), 0)
	if err != nil {
		return err
	}
	type place struct{ tenant, organisation op.UUID }
	places := map[string]place{}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		by := &identity.Seeder{Tx: tx, Catalogue: engine.Catalogue(), Passwords: hasher, Now: clock.System{}.Now()}
		for _, h := range seedTenants() {
			tenant, err := by.EnsureTenant(ctx, identity.SeedTenant{Slug: h.slug, Name: h.name, Type: h.kind, Office: places[office].tenant})
			if err != nil {
				return err
			}
			organisation, err := by.EnsureOrganisation(ctx, tenant, h.organisation)
			if err != nil {
				return err
			}
			places[h.slug] = place{tenant, organisation}
			if err := createUsers(ctx, by, h, tenant, organisation, s); err != nil {
				return err
			}
		}
		home := places[office]
		guest, err := by.EnsureUser(ctx, identity.SeedUser{Tenant: home.tenant, Email: seedEmail(visitor, office), Kind: authz.KindHuman})
		if err != nil {
			return err
		}
		return by.EnsureMembership(ctx, identity.SeedMembership{Tenant: places[visitedTenant].tenant, User: guest, Organisation: places[visitedTenant].organisation, Clearance: "INTERNAL", Roles: []string{visitorRole}})
	})
	if err != nil {
		return err
	}
	for _, h := range seedTenants() {
		p := &identity.Provisioner{Policies: engine}
		if _, err := p.Run(ctx, conn, places[h.slug].tenant, places[h.slug].organisation); err != nil {
			return fmt.Errorf("%s: %w", h.slug, err)
		}
	}
	return nil
}

// createUsers creates the users and agents of one tenant.
func createUsers(ctx context.Context, by *identity.Seeder, h seedTenant, tenant, organisation op.UUID, s secrets) error {
	for _, u := range demoUsers() {
		email := seedEmail(u.name, h.slug)
		if _, err := by.EnsureUser(ctx, identity.SeedUser{
			Tenant: tenant, Organisation: organisation, Email: email, DisplayName: u.display, Kind: authz.KindHuman,
			Password: s.password(email), Clearance: u.clearance, Roles: []string{u.role},
		}); err != nil {
			return err
		}
	}
	for _, u := range seedAgents() {
		if _, err := by.EnsureUser(ctx, identity.SeedUser{
			Tenant: tenant, Organisation: organisation, Email: seedEmail(u.name, h.slug), DisplayName: u.display, Kind: authz.KindAgent,
			Clearance: u.clearance, Roles: []string{u.role}, Suspended: u.suspended,
		}); err != nil {
			return err
		}
	}
	return nil
}

func seedEmail(name, slug string) string { return name + "@" + slug + ".example" }

const seededTenantsSQL = `SELECT id, slug, type FROM identity.tenants WHERE slug = ANY(@slugs)`

const seededOrganisationsSQL = `SELECT id, name FROM identity.organisations WHERE tenant_id = @tenant ORDER BY created_at, id`

const seededUsersSQL = `
SELECT u.id, u.email, u.principal_kind, u.status, u.integration_key, m.clearance,
       array(SELECT r.name FROM identity.role_assignments a JOIN identity.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
             WHERE a.tenant_id = m.tenant_id AND a.user_id = u.id ORDER BY r.name) AS roles
FROM identity.memberships m JOIN identity.users u ON u.id = m.user_id
WHERE m.tenant_id = @tenant ORDER BY u.home_tenant_id <> m.tenant_id, u.created_at, u.id`

// readTenants returns the seeded tenants with their current contents.
func readTenants(ctx context.Context, conn *pgx.Conn, s secrets) ([]Tenant, error) {
	passwords := map[string]string{}
	var slugs []string
	for _, h := range seedTenants() {
		slugs = append(slugs, h.slug)
		for _, u := range demoUsers() {
			passwords[seedEmail(u.name, h.slug)] = s.password(seedEmail(u.name, h.slug))
		}
	}
	rows, err := conn.Query(ctx, seededTenantsSQL, pgx.StrictNamedArgs{"slugs": slugs})
	if err != nil {
		return nil, err
	}
	tenants, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Tenant, err error) {
		return t, row.Scan(&t.ID, &t.Slug, &t.Type)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(tenants, func(a, b Tenant) int { return slices.Index(slugs, a.Slug) - slices.Index(slugs, b.Slug) })
	for i := range tenants {
		if err := readTenant(ctx, conn, &tenants[i], passwords); err != nil {
			return nil, err
		}
	}
	return tenants, nil
}

func readTenant(ctx context.Context, conn *pgx.Conn, t *Tenant, passwords map[string]string) error {
	rows, err := conn.Query(ctx, seededOrganisationsSQL, pgx.StrictNamedArgs{"tenant": t.ID})
	if err != nil {
		return err
	}
	t.Organisations, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (o Organisation, err error) {
		return o, row.Scan(&o.ID, &o.Name)
	})
	if err != nil {
		return err
	}
	if rows, err = conn.Query(ctx, seededUsersSQL, pgx.StrictNamedArgs{"tenant": t.ID}); err != nil {
		return err
	}
	t.Users, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (u User, err error) {
		err = row.Scan(&u.ID, &u.Email, &u.PrincipalKind, &u.Status, &u.IntegrationKey, &u.Clearance, &u.Roles)
		if word, ok := passwords[u.Email]; ok && u.PrincipalKind == authz.KindHuman {
			u.Password = &word
		}
		return u, err
	})
	return err
}
