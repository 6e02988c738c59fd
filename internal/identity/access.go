package identity

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	trackercontract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// getAccess returns what a user may do in the tenant. The policies compute the permissions
// from the records of the tenant. To find the origins, they compute them again with each
// role assignment and each delegation alone.
func (s *Service) getAccess(ctx context.Context, c *executor.Call, in *contract.UserIn) (*contract.Access, error) {
	u, resource, err := loadUser(ctx, c, in.UserID, false)
	if fault.HasCode(err, fault.CodeNotFound) {
		// Only a caller who may read users learns that there is no such user.
		unknown := tenantResource(c, "user")
		unknown.ID = string(in.UserID)
		if err := c.Decide(ctx, contract.GetAccess.Permission, unknown); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	showsDelegations, err := decideAccess(ctx, c, resource)
	if err != nil {
		return nil, err
	}
	received, err := s.deps.Delegations.Received(ctx, c.Tenant, u.ID)
	if err != nil {
		return nil, err
	}
	origins, err := s.permissionOrigins(ctx, c, &u, received)
	if err != nil {
		return nil, err
	}
	out := &contract.Access{
		User: u, Active: isActive(&u),
		Permissions: s.toAccessPermissions(origins),
	}
	if showsDelegations {
		out.Delegations = toReceivedDelegations(received)
	} else {
		hideDelegations(out.Permissions)
	}
	return out, nil
}

// hideDelegations removes what identifies a delegation from the origins. The permission and
// the fact that it is delegated stay.
func hideDelegations(permissions []contract.AccessPermission) {
	for _, p := range permissions {
		for i := range p.Origins {
			if o := &p.Origins[i]; o.Kind == contract.OriginDelegation {
				*o = contract.PermissionOrigin{Kind: o.Kind, Scope: o.Scope}
			}
		}
	}
}

// decideAccess decides whether the caller may see the access of a user, and whether also
// the delegations to the user. Everybody may see their own.
func decideAccess(ctx context.Context, c *executor.Call, user authz.Resource) (showsDelegations bool, err error) {
	if user.ID == string(c.Actor.UserID) {
		v, err := c.Evaluate(ctx, authz.AuthenticatedAccess{Actor: c.Actor.Subject, Effect: authz.Read, Module: contract.Module})
		return true, accountFault(v, err)
	}
	if err := c.Decide(ctx, contract.GetAccess.Permission, user); err != nil {
		return false, err
	}
	if err := c.Decide(ctx, contract.GetRole.Permission, tenantResource(c, "role")); err != nil {
		return false, err
	}
	return mayReadDelegations(ctx, c), nil
}

// isActive reports whether both the user's account and its membership of the tenant are active.
func isActive(u *contract.User) bool {
	return u.Status == contract.UserActive && u.MembershipStatus == contract.MembershipActive
}

// mayReadDelegations reports whether the caller may read all delegations of the tenant.
func mayReadDelegations(ctx context.Context, c *executor.Call) bool {
	return c.Decide(ctx, trackercontract.PermDelegationsRead, tenantResource(c, "delegation")) == nil
}

// permissionOrigins returns the permissions of the user with their origins.
func (s *Service) permissionOrigins(ctx context.Context, c *executor.Call, u *contract.User, received []trackercontract.ReceivedDelegation) (map[string][]contract.PermissionOrigin, error) {
	held, err := readHeldRoles(ctx, c.DB, c.Tenant, u.ID)
	if err != nil {
		return nil, err
	}
	origins := map[string][]contract.PermissionOrigin{}
	// A role gives the same permissions in each project, so one evaluation is enough.
	type roleIn struct{ role, scope string }
	granted := map[roleIn][]string{}
	for _, h := range held {
		key := roleIn{h.Name, h.Scope}
		if _, ok := granted[key]; !ok {
			subject, err := s.deps.Policies.Subject(ctx, storedSubject(c, u, []heldRole{h}))
			if err != nil {
				return nil, err
			}
			granted[key] = subject.Permissions()
		}
		for _, name := range granted[key] {
			origins[name] = append(origins[name], contract.PermissionOrigin{Kind: contract.OriginRole, Role: h.Name, Scope: h.Scope, ScopeID: op.UUID(h.ScopeID)})
		}
	}
	for i := range received {
		d := &received[i]
		if d.From.After(c.Now) {
			continue
		}
		names, err := s.delegatedPermissions(ctx, c, u, held, d)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			origins[name] = append(origins[name], contract.PermissionOrigin{
				Kind: contract.OriginDelegation, Scope: strings.ToLower(d.Scope), ScopeID: d.ProjectID, DelegationID: d.ID, Delegator: d.Delegator,
			})
		}
	}
	return origins, nil
}

// storedSubject returns the input for the subject of a user with these roles, as a session
// that contains all of them.
func storedSubject(c *executor.Call, u *contract.User, held []heldRole) authz.SubjectInput {
	in := authz.SubjectInput{
		Token:  authz.Token{Kind: authz.TokenSession, Tenant: string(c.Tenant), Clearance: u.Clearance, Caveats: []string{}, RoleScopes: map[string][]string{}},
		Tenant: string(c.Tenant), TenantType: c.Actor.TenantType,
		User:   authz.User{ID: string(u.ID), Kind: u.PrincipalKind, IntegrationKey: u.IntegrationKey, Organisation: string(u.OrganisationID)},
		Stored: authz.Stored{Clearance: u.Clearance, Assignments: assignmentsOf(held)},
		Roles:  map[string][]string{},
	}
	for _, h := range held {
		in.Token.Roles = append(in.Token.Roles, h.Name)
		in.Roles[h.Name] = h.Grants
		if h.Scope != contract.ScopeTenant {
			in.Token.RoleScopes[h.Name] = append(in.Token.RoleScopes[h.Name], h.Scope+":"+h.ScopeID)
		}
	}
	return in
}

func assignmentsOf(held []heldRole) []authz.Assignment {
	list := make([]authz.Assignment, len(held))
	for i, h := range held {
		list[i] = authz.Assignment{Role: h.Name, Scope: h.Scope, ID: h.ScopeID}
	}
	return list
}

// delegatedPermissions returns the permissions that an active delegation gives the user.
func (s *Service) delegatedPermissions(ctx context.Context, c *executor.Call, u *contract.User, held []heldRole, d *trackercontract.ReceivedDelegation) ([]string, error) {
	delegator, roles, err := readPrincipal(ctx, c.DB, c.Tenant, d.Delegator)
	if postgres.IsNoRows(err) {
		return nil, nil // not a member of the tenant any more
	}
	if err != nil {
		return nil, err
	}
	in := storedSubject(c, u, held)
	for _, r := range roles {
		in.Roles[r.Name] = r.Grants
	}
	in.Delegations = []authz.Delegation{{
		ID: string(d.ID), Scope: strings.ToLower(d.Scope), Projects: []string{}, Initiatives: []string{}, Permissions: d.Permissions,
		Delegator: authz.Delegator{
			ID: string(delegator.ID), Kind: delegator.Kind, Status: delegator.Status, Membership: delegator.Membership,
			Clearance: delegator.Clearance, Assignments: assignmentsOf(roles),
		},
	}}
	subject, err := s.deps.Policies.Subject(ctx, in)
	if err != nil {
		return nil, err
	}
	return subject.DelegatedPermissions(), nil
}

// toAccessPermissions returns the permissions by name. The origins of each are in a fixed
// order: roles by name, then delegations by id.
func (s *Service) toAccessPermissions(origins map[string][]contract.PermissionOrigin) []contract.AccessPermission {
	descriptions := map[string]string{}
	for _, p := range s.deps.Policies.Catalogue().Permissions {
		descriptions[p.Name] = p.Description
	}
	list := make([]contract.AccessPermission, 0, len(origins))
	for _, name := range slices.Sorted(maps.Keys(origins)) {
		list = append(list, contract.AccessPermission{Name: name, Description: descriptions[name], Origins: origins[name]})
	}
	return list
}

func toReceivedDelegations(received []trackercontract.ReceivedDelegation) []contract.ReceivedDelegation {
	list := make([]contract.ReceivedDelegation, len(received))
	for i, d := range received {
		list[i] = contract.ReceivedDelegation{
			ID: d.ID, Delegator: d.Delegator, Scope: strings.ToLower(d.Scope), ScopeID: d.ProjectID, Permissions: d.Permissions,
			From: d.From.UTC().Truncate(time.Microsecond), Until: d.Until.UTC().Truncate(time.Microsecond),
		}
	}
	return list
}
