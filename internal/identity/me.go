package identity

import (
	"context"
	"log/slog"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/op"
)

func (s *Service) meOperations() []op.Bound {
	return []op.Bound{
		executor.Authenticated(s.executor, contract.Me, s.showCaller),
		executor.Authenticated(s.executor, contract.Permissions, s.listCallerPermissions),
		executor.Authenticated(s.executor, contract.ListOrgs, s.listOrgs),
	}
}

func (s *Service) showCaller(ctx context.Context, c *executor.Call, _ *contract.MeIn) (*contract.MeOut, error) {
	row, err := readCaller(ctx, c.DB, c.Tenant, c.Actor.UserID)
	if err != nil {
		return nil, err
	}
	a := c.Actor
	out := &contract.MeOut{
		User: contract.Person{
			ID: a.UserID, Email: a.Email, DisplayName: a.DisplayName, PrincipalKind: a.Kind, IntegrationKey: a.IntegrationKey,
			Status: row.Status, Clearance: row.Clearance,
		},
		TenantID: c.Tenant, TenantSlug: row.Slug, TenantName: row.Name, TenantType: row.Type, OrganisationID: a.Organisation,
		Roles: a.Subject.Roles(), Clearance: a.Subject.Clearance(),
		TokenKind: a.TokenKind, TokenTenantID: a.TokenTenant, TokenID: a.JTI, ExpiresAt: a.ExpiresAt,
	}
	if out.Roles == nil {
		out.Roles = []string{}
	}
	return out, nil
}

func (s *Service) listCallerPermissions(_ context.Context, c *executor.Call, _ *contract.MeIn) (*contract.PermissionsOut, error) {
	descriptions := map[string]string{}
	for _, p := range s.deps.Policies.Catalogue().Permissions {
		descriptions[p.Name] = p.Description
	}
	out := &contract.PermissionsOut{TenantID: c.Tenant, Permissions: []contract.EffectivePermission{}}
	for _, name := range c.Actor.Subject.Permissions() {
		scopes := c.Actor.Subject.Scopes(name)
		out.Permissions = append(out.Permissions, contract.EffectivePermission{
			Name: name, Description: descriptions[name],
			Tenant: scopes.Tenant, Organisations: toUUIDs(scopes.Organisations), Projects: toUUIDs(scopes.Projects),
		})
	}
	return out, nil
}

func toUUIDs(texts []string) []op.UUID {
	list := make([]op.UUID, len(texts))
	for i, t := range texts {
		list[i] = op.UUID(t)
	}
	return list
}

// listOrgs lists the organisations that the credential can act in. It reads every tenant,
// which only parapet_auth may do. If that fails, it sets Degraded, because an empty list
// alone would mean that there are none.
func (s *Service) listOrgs(ctx context.Context, c *executor.Call, _ *contract.MeIn) (*contract.OrganisationsOut, error) {
	out := &contract.OrganisationsOut{Items: []contract.OrganisationChoice{}}
	rows, err := readOrganisationChoices(ctx, s.deps.Auth, c.Actor.UserID, c.Actor.TokenTenant)
	if err != nil {
		s.deps.Log.WarnContext(ctx, "could not look up the organisations", slog.String("requestId", op.RequestID(ctx)), slog.Any("error", err))
		out.Degraded = true
		return out, nil
	}
	hasDefault := false
	for _, r := range rows {
		v, err := c.Evaluate(ctx, authz.ActAs{
			User: string(c.Actor.UserID), Credential: c.Actor.Credential(),
			TokenKind: c.Actor.TokenKind, TokenTenant: string(c.Actor.TokenTenant), PrincipalKind: c.Actor.Kind,
			Module: contract.Module, Header: true, Target: string(r.TenantID),
		})
		if err != nil || !v.Allow {
			continue
		}
		choice := contract.OrganisationChoice{
			Name: r.Name, TenantID: r.TenantID, TenantSlug: r.TenantSlug, TenantName: r.TenantName,
			Default: !hasDefault && r.TenantID == c.Actor.TokenTenant,
		}
		if r.OrganisationID != nil {
			choice.OrganisationID = *r.OrganisationID
		}
		hasDefault = hasDefault || choice.Default
		out.Items = append(out.Items, choice)
	}
	return out, nil
}
