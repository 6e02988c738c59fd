package identity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"parapet/internal/authz"
	trackercontract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// policyAccount returns the account as the policies see it.
func (a accountState) policyAccount() authz.Account {
	return authz.Account{
		ID: string(a.ID), Kind: a.PrincipalKind, Status: a.Status, Home: string(a.HomeTenantID),
		HasPassword: a.HasPassword, AddressConfirmed: a.AddressConfirmed,
	}
}

// userHoldings returns the authority that a user holds in the given tenants, or in every
// tenant if none is given, together with the caller's subject in each of them. With
// withKeys, each active API key is a holding as well, because a key keeps the roles that it
// was issued with.
func (s *Service) userHoldings(ctx context.Context, c *executor.Call, user op.UUID, withKeys bool, tenants ...op.UUID) ([]authz.Holding, error) {
	rows, err := readHoldings(ctx, s.deps.Auth, user, c.Actor.UserID)
	if err != nil {
		return nil, postgres.MapError(err)
	}
	var list []authz.Holding
	for _, r := range rows {
		if len(tenants) > 0 && !slices.Contains(tenants, r.TenantID) {
			continue
		}
		h, err := s.newHolding(ctx, r, user)
		if err != nil {
			return nil, err
		}
		switch {
		case r.TenantID == c.Tenant:
			h.Caller = c.Actor.Subject
		case r.CallerMembership != "":
			// A caller without a subject in this tenant holds nothing in it.
			if h.Caller, err = c.SubjectInTenant(ctx, r.TenantID, r.Revision); err != nil && !fault.HasCode(err, fault.CodeForbidden) {
				return nil, err
			}
		}
		list = append(list, h)
		if withKeys {
			list = append(list, keyHoldings(h, r.Keys)...)
		}
	}
	return list, nil
}

// keyHoldings returns a holding for each key, in the tenant of h.
func keyHoldings(h authz.Holding, keys []holdingKey) []authz.Holding {
	list := make([]authz.Holding, len(keys))
	for i, k := range keys {
		list[i] = h
		list[i].Clearance, list[i].Grants, list[i].Delegations = k.Clearance, grantsOf(k.Roles), nil
	}
	return list
}

func grantsOf(roles []holdingRole) []authz.Grant {
	var grants []authz.Grant
	for _, role := range roles {
		grants = append(grants, authz.Grant{Permissions: role.Grants, Scope: role.Scope, ScopeID: role.ID})
	}
	return grants
}

// newHolding returns the holding of a row with the delegations that the user received in
// its tenant.
func (s *Service) newHolding(ctx context.Context, r holdingRow, user op.UUID) (authz.Holding, error) {
	h := authz.Holding{
		Tenant: string(r.TenantID), Membership: r.Membership, Clearance: r.Clearance, CallerMembership: r.CallerMembership,
		Grants: grantsOf(r.Roles),
	}
	received, err := s.deps.Delegations.Received(ctx, r.TenantID, user)
	if err != nil {
		return h, err
	}
	for _, d := range received {
		g := authz.Grant{Permissions: d.Permissions, Scope: authz.ScopeTenant}
		// The projects of an initiative may change, so its delegation counts as tenant-wide.
		if d.Scope == trackercontract.DelegationProject {
			g.Scope, g.ScopeID = authz.ScopeProject, string(d.ProjectID)
		}
		h.Delegations = append(h.Delegations, g)
	}
	return h, nil
}

// authorityDigest returns a digest of all authority that a user holds in any tenant and by
// delegation. It changes when that authority changes.
func (s *Service) authorityDigest(ctx context.Context, user op.UUID) ([]byte, error) {
	rows, err := readHoldings(ctx, s.deps.Auth, user, "")
	if err != nil {
		return nil, postgres.MapError(err)
	}
	var all []authz.Holding
	for _, r := range rows {
		h, err := s.newHolding(ctx, r, user)
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("identity: marshal holdings: %w", err)
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}

// decideAccount returns an error if the policies do not allow the caller to change a
// member's account. For a change that could hand over the account it passes the account's
// holdings; for a change that disables the account it passes the number of other
// administrators.
func (s *Service) decideAccount(ctx context.Context, c *executor.Call, change authz.AccountChange, user op.UUID) error {
	account, err := readAccount(ctx, c.DB, user)
	if err != nil {
		return err
	}
	request := authz.ChangeAccount{Change: change, Actor: c.Actor.Subject, Account: account.policyAccount()}
	switch change {
	case authz.ChangeAddress:
		request.Holdings, err = s.lockedHoldings(ctx, c, user, false)
	case authz.ActivateAccount:
		request.Holdings, err = s.lockedHoldings(ctx, c, user, true)
	case authz.ResetPassword:
		if !account.AddressConfirmed || !account.HasPassword {
			request.Holdings, err = s.lockedHoldings(ctx, c, user, false)
		}
	case authz.RestoreMembership:
		request.Holdings, err = s.lockedHoldings(ctx, c, user, true, c.Tenant)
	case authz.SuspendAccount, authz.DeleteAccount, authz.StopMembership:
		if request.OtherAdministrators, err = s.countOtherAdministrators(ctx, c, user); err == nil {
			request.Roles, err = s.rolesInTenant(ctx, c, user)
		}
	}
	if err != nil {
		return err
	}
	v, err := c.Evaluate(ctx, request)
	return accountFault(v, err)
}

// lockedHoldings returns the user's holdings after locking the grants of the current tenant.
func (s *Service) lockedHoldings(ctx context.Context, c *executor.Call, user op.UUID, withKeys bool, tenants ...op.UUID) ([]authz.Holding, error) {
	if err := lockTenant(ctx, c.DB, c.Tenant); err != nil {
		return nil, err
	}
	return s.userHoldings(ctx, c, user, withKeys, tenants...)
}

// rolesInTenant returns the roles that a user holds in the current tenant.
func (s *Service) rolesInTenant(ctx context.Context, c *executor.Call, user op.UUID) ([]authz.HeldRole, error) {
	held, err := readHeldRoles(ctx, c.DB, c.Tenant, user)
	if err != nil {
		return nil, err
	}
	roles := make([]authz.HeldRole, len(held))
	for i, h := range held {
		roles[i] = authz.HeldRole{Name: h.Name, Scope: h.Scope}
	}
	return roles, nil
}

// countOtherAdministrators counts the tenant's active administrators except one user. It
// locks the tenant's row first, so of two concurrent changes the second one sees the first.
func (s *Service) countOtherAdministrators(ctx context.Context, c *executor.Call, user op.UUID) (int, error) {
	if err := lockTenant(ctx, c.DB, c.Tenant); err != nil {
		return 0, err
	}
	return countAdministrators(ctx, c.DB, c.Tenant, user, s.deps.Policies.Catalogue().AdministratorRole)
}
