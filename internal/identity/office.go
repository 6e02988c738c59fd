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

// CreateProgrammeOffice is a programme office as it was made.
type ProgrammeOffice struct {
	Tenant       op.UUID `json:"tenant"`
	Organisation op.UUID `json:"organisation"`
	Admin        op.UUID `json:"admin"`
}

// CreateProgrammeOffice makes a programme office with its organisation and its first
// administrator: what an installation begins with, since every other tenant is
// made by the administrator of an office. Unlike the rest of Seeder it refuses
// what is there already.
func (s *Seeder) CreateProgrammeOffice(ctx context.Context, in contract.CreateTenantIn) (ProgrammeOffice, error) {
	var made ProgrammeOffice
	in.Type = contract.TenantProgrammeOffice
	if err := contract.CreateTenant.Validate(&in); err != nil {
		return made, err
	}
	if err := checkEmail("adminEmail", contract.KindHuman, in.AdminEmail); err != nil {
		return made, err
	}
	if err := password.Check(in.AdminPassword, in.AdminEmail); err != nil {
		return made, fault.Validation("adminPassword", "The password is rejected: "+err.Error()+".")
	}
	switch _, err := findTenant(ctx, s.Tx, in.Slug); {
	case err == nil:
		return made, fault.Conflict("The slug is taken. Choose another.").WithDetails(map[string]any{"field": "slug"})
	case !postgres.IsNoRows(err):
		return made, err
	}
	var err error
	if made.Tenant, err = s.EnsureTenant(ctx, SeedTenant{Slug: in.Slug, Name: strings.TrimSpace(in.Name), Type: in.Type}); err != nil {
		// An owner whom row-level security binds does not see that the slug is taken.
		return made, postgres.MapError(err, constraints)
	}
	if made.Organisation, err = s.EnsureOrganisation(ctx, made.Tenant, strings.TrimSpace(in.OrganisationName)); err != nil {
		return made, err
	}
	made.Admin, err = s.EnsureUser(ctx, SeedUser{
		Tenant: made.Tenant, Organisation: made.Organisation, Email: in.AdminEmail, DisplayName: strings.TrimSpace(in.AdminName),
		Kind: authz.KindHuman, Password: in.AdminPassword, Clearance: in.AdminClearance, Roles: []string{s.Catalogue.AdministratorRole},
	})
	return made, err
}
