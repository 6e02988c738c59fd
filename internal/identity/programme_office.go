package identity

import (
	"context"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/password"
	"parapet/internal/postgres"
)

// ProgrammeOffice contains the ids of a new programme office.
type ProgrammeOffice struct {
	Tenant       op.UUID `json:"tenant"`
	Organisation op.UUID `json:"organisation"`
	Admin        op.UUID `json:"admin"`
}

// CreateProgrammeOffice creates a programme office with its organisation and its first
// administrator. It is the first step of an installation, because every other tenant is
// created by an administrator of a programme office. Unlike the other methods of Seeder, it
// returns an error if the tenant exists.
func (s *Seeder) CreateProgrammeOffice(ctx context.Context, in contract.CreateTenantIn) (ProgrammeOffice, error) {
	var office ProgrammeOffice
	in.Type = contract.TenantProgrammeOffice
	if err := contract.CreateTenant.Validate(&in); err != nil {
		return office, err
	}
	if err := checkEmail("adminEmail", contract.KindHuman, in.AdminEmail); err != nil {
		return office, err
	}
	if err := password.Check(in.AdminPassword, in.AdminEmail); err != nil {
		return office, fault.Validation("adminPassword", "The password is not accepted: "+err.Error()+".")
	}
	switch _, err := findTenant(ctx, s.Tx, in.Slug); {
	case err == nil:
		return office, fault.Conflict("The slug is already in use. Choose another one.").WithDetails(map[string]any{"field": "slug"})
	case !postgres.IsNoRows(err):
		return office, err
	}
	var err error
	if office.Tenant, err = s.EnsureTenant(ctx, SeedTenant{Slug: in.Slug, Name: strings.TrimSpace(in.Name), Type: in.Type}); err != nil {
		// A database owner who is subject to row-level security does not see other tenants' slugs.
		return office, postgres.MapError(err, constraints)
	}
	if office.Organisation, err = s.EnsureOrganisation(ctx, office.Tenant, strings.TrimSpace(in.OrganisationName)); err != nil {
		return office, err
	}
	office.Admin, err = s.EnsureUser(ctx, SeedUser{
		Tenant: office.Tenant, Organisation: office.Organisation, Email: in.AdminEmail, DisplayName: strings.TrimSpace(in.AdminName),
		Kind: authz.KindHuman, Password: in.AdminPassword, Clearance: in.AdminClearance, Roles: []string{s.Catalogue.AdministratorRole},
	})
	return office, err
}
