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
		if err := accountFault(v, err); err != nil {
			return false, err
		}
		// As for the records of other users, which belong to no project.
		if c.Actor.Subject.IsLimitedToProjects() {
			return false, fault.ForbiddenBecause("get-access is not available with a key that is limited to a project. " +
				"Use the operation permissions, or a credential without this limit.")
		}
		return true, nil
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
		permissions, err := s.delegatedPermissions(ctx, c, u, held, d)
		if err != nil {
			return nil, err
		}
		for name, scopes := range permissions {
			for _, o := range delegatedOrigins(d, scopes) {
				o.Kind, o.DelegationID, o.Delegator = contract.OriginDelegation, d.ID, d.Delegator
				origins[name] = append(origins[name], o)
			}
		}
	}
	return origins, nil
}

// storedSubject returns the input for the subject of a user with these roles, as a session
// that contains all of them.
func storedSubject(c *executor.Call, u *contract.User, held []heldRole) authz.SubjectInput {
	in := authz.SubjectInput{
		Token:  authz.Token{Kind: authz.TokenSession, Tenant: string(c.Tenant), Clearance: u.Clearance, Caveats: []string{}},
		Tenant: string(c.Tenant), TenantType: c.Actor.TenantType,
		User:   authz.User{ID: string(u.ID), Kind: u.PrincipalKind, IntegrationKey: u.IntegrationKey, Organisation: string(u.OrganisationID)},
		Stored: authz.Stored{Clearance: u.Clearance, Assignments: assignmentsOf(held)},
		Roles:  map[string][]string{},
	}
	in.Token.Roles, in.Token.RoleScopes = tokenRoles(held, nil)
	for _, h := range held {
		in.Roles[h.Name] = h.Grants
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

// delegatedOrigins returns the scopes of a delegated permission: those of the delegation in
// which the delegator holds the permission now. The identity module knows neither the
// projects of an initiative nor the organisation of a project. It therefore shows such a
// delegation with its own scope if the delegator's scopes may overlap with it.
func delegatedOrigins(d *trackercontract.ReceivedDelegation, delegator authz.Scopes) []contract.PermissionOrigin {
	delegationScope := []contract.PermissionOrigin{{Scope: strings.ToLower(d.Scope), ScopeID: d.ProjectID}}
	switch {
	case delegator.Tenant:
		return delegationScope
	case d.ProjectID != "":
		if len(delegator.Organisations) > 0 || slices.Contains(delegator.Projects, string(d.ProjectID)) {
			return delegationScope
		}
		return nil
	case delegationScope[0].Scope != contract.ScopeTenant:
		return delegationScope
	}
	var origins []contract.PermissionOrigin
	for _, id := range delegator.Organisations {
		origins = append(origins, contract.PermissionOrigin{Scope: contract.ScopeOrganisation, ScopeID: op.UUID(id)})
	}
	for _, id := range delegator.Projects {
		origins = append(origins, contract.PermissionOrigin{Scope: contract.ScopeProject, ScopeID: op.UUID(id)})
	}
	return origins
}

// delegatedPermissions returns the permissions that an active delegation gives the user,
// with the scopes in which the delegator holds each now.
func (s *Service) delegatedPermissions(
	ctx context.Context, c *executor.Call, u *contract.User, held []heldRole, d *trackercontract.ReceivedDelegation,
) (map[string]authz.Scopes, error) {
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
	// The delegator, as the session of a user with its roles.
	holder := contract.User{ID: delegator.ID, PrincipalKind: delegator.Kind, Clearance: delegator.Clearance}
	own, err := s.deps.Policies.Subject(ctx, storedSubject(c, &holder, roles))
	if err != nil {
		return nil, err
	}
	permissions := map[string]authz.Scopes{}
	for _, name := range subject.DelegatedPermissions() {
		permissions[name] = own.Scopes(name)
		if base, isOwn := strings.CutSuffix(name, ".own"); isOwn {
			all := own.Scopes(base) // who holds P also holds P.own
			permissions[name] = authz.Scopes{
				Tenant:        permissions[name].Tenant || all.Tenant,
				Organisations: union(permissions[name].Organisations, all.Organisations),
				Projects:      union(permissions[name].Projects, all.Projects),
			}
		}
	}
	return permissions, nil
}

// union returns the sorted elements of both lists.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
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
