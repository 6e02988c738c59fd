package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/password"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// Seeder creates tenants and users directly in the database, as its owner, for `ptd dev`. It
// creates what is missing and does not change what exists, so it can run at every start.
type Seeder struct {
	Tx        pgx.Tx
	Catalogue *authz.Catalogue
	Passwords *password.Hasher
	Now       time.Time
}

// SeedTenant is a tenant to ensure.
type SeedTenant struct {
	Slug, Name, Type string
	// Office is the programme office that administers the tenant, or empty.
	Office op.UUID
}

// EnsureTenant creates the tenant with the default roles unless it exists, and returns its id.
func (s *Seeder) EnsureTenant(ctx context.Context, in SeedTenant) (op.UUID, error) {
	id, err := findTenant(ctx, s.Tx, in.Slug)
	if err == nil || !postgres.IsNoRows(err) {
		return id, err
	}
	id = uid.New()
	if err := postgres.SetTenant(ctx, s.Tx, string(id)); err != nil {
		return "", err
	}
	if err := seedTenant(ctx, s.Tx, id, in, s.Now); err != nil {
		return "", err
	}
	if err := insertDefaultRoles(ctx, s.Tx, id, s.Catalogue.Roles, s.Now); err != nil {
		return "", err
	}
	return id, s.auditCreation(ctx, id, contract.ActionTenantCreated, "tenant", id)
}

// EnsureOrganisation creates the organisation unless it exists, and returns its id.
func (s *Seeder) EnsureOrganisation(ctx context.Context, tenant op.UUID, name string) (op.UUID, error) {
	// A database owner who is subject to row-level security sees only the current tenant.
	if err := postgres.SetTenant(ctx, s.Tx, string(tenant)); err != nil {
		return "", err
	}
	id, err := findOrganisation(ctx, s.Tx, tenant, name)
	if err == nil || !postgres.IsNoRows(err) {
		return id, err
	}
	id = uid.New()
	if err := seedOrganisation(ctx, s.Tx, tenant, id, name, s.Now); err != nil {
		return "", err
	}
	return id, s.auditCreation(ctx, tenant, contract.ActionOrganisationCreated, "organisation", id)
}

// SeedUser is a user to ensure, with its home tenant.
type SeedUser struct {
	Tenant, Organisation op.UUID
	Email, DisplayName   string
	// Kind is HUMAN or AGENT. Service principals are created by provisioning.
	Kind string
	// Password is the password of a person; it is hashed when the user is created.
	Password  string
	Suspended bool
	Clearance string
	// Roles are the names of tenant-wide roles.
	Roles []string
}

// EnsureUser creates the user with its membership and roles unless it exists, and returns
// its id.
func (s *Seeder) EnsureUser(ctx context.Context, in SeedUser) (op.UUID, error) {
	if in.Kind != contract.KindHuman && in.Kind != contract.KindAgent {
		return "", fmt.Errorf("identity: seed: user %s: kind must be HUMAN or AGENT, not %s", in.Email, in.Kind)
	}
	if err := postgres.SetTenant(ctx, s.Tx, string(in.Tenant)); err != nil {
		return "", err
	}
	id, err := findUser(ctx, s.Tx, in.Tenant, in.Email)
	if err == nil || !postgres.IsNoRows(err) {
		return id, err
	}
	row := userRow{ID: uid.New(), Home: in.Tenant, Kind: in.Kind, Email: in.Email, DisplayName: in.DisplayName, Status: contract.UserActive}
	if in.Suspended {
		row.Status = contract.UserSuspended
	}
	if in.Password != "" {
		if row.PasswordHash, err = s.Passwords.Hash(ctx, in.Password); err != nil {
			return "", err
		}
	}
	if err := seedUserRow(ctx, s.Tx, row, s.Now); err != nil {
		return "", err
	}
	if err := s.auditCreation(ctx, in.Tenant, contract.ActionUserCreated, "user", row.ID); err != nil {
		return "", err
	}
	return row.ID, s.EnsureMembership(ctx, SeedMembership{Tenant: in.Tenant, User: row.ID, Organisation: in.Organisation, Clearance: in.Clearance, Roles: in.Roles})
}

// SeedMembership is a membership to ensure.
type SeedMembership struct {
	Tenant, User, Organisation op.UUID
	Clearance                  string
	Roles                      []string
}

// EnsureMembership creates the membership with its roles unless it exists.
func (s *Seeder) EnsureMembership(ctx context.Context, in SeedMembership) error {
	if err := postgres.SetTenant(ctx, s.Tx, string(in.Tenant)); err != nil {
		return err
	}
	created, err := seedMembership(ctx, s.Tx, in.Tenant, in.User, in.Organisation, in.Clearance, s.Now)
	if err != nil || !created {
		return err
	}
	for _, name := range in.Roles {
		role, err := findRole(ctx, s.Tx, in.Tenant, name)
		if postgres.IsNoRows(err) {
			return fault.NotFound("role " + name)
		}
		if err != nil {
			return err
		}
		if err := assignTenantWide(ctx, s.Tx, in.Tenant, in.User, role.ID, s.Now); err != nil {
			return err
		}
	}
	return nil
}

func (s *Seeder) auditCreation(ctx context.Context, tenant op.UUID, action, resource string, id op.UUID) error {
	return runAsModuleRole(ctx, s.Tx, func() error {
		return appendAudit(ctx, s.Tx, systemAuditEntry{Tenant: tenant, ActorType: actorTypeOperator, Action: action, ResourceType: resource, ResourceID: id})
	})
}
