package identity

import (
	"context"
	"fmt"
	"slices"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func (s *Service) grantOperations() []op.Bound {
	return []op.Bound{
		executor.Handle(s.executor, contract.GrantPermission, loadRoleToGrant, s.grantPermission),
		executor.Handle(s.executor, contract.RevokePermission, loadRoleToRevoke, s.revokePermission),
		executor.Handle(s.executor, contract.ListPermissions, loadPermissions, s.listPermissions),
	}
}

func loadRoleToGrant(ctx context.Context, c *executor.Call, in *contract.GrantPermissionIn) (grantingRole, authz.Resource, error) {
	return loadRole(ctx, c, in.RoleID, true)
}

func loadRoleToRevoke(ctx context.Context, c *executor.Call, in *contract.RevokePermissionIn) (grantingRole, authz.Resource, error) {
	return loadRole(ctx, c, in.RoleID, true)
}

func loadPermissions(_ context.Context, c *executor.Call, _ *contract.ListPermissionsIn) (struct{}, authz.Resource, error) {
	return struct{}{}, tenantResource(c, "permission"), nil
}

func (s *Service) listPermissions(context.Context, *executor.Call, *contract.ListPermissionsIn, struct{}) (*op.Page[contract.Permission], error) {
	known := s.deps.Policies.Catalogue().Permissions
	page := &op.Page[contract.Permission]{Items: make([]contract.Permission, len(known))}
	for i, p := range known {
		page.Items[i] = contract.Permission{
			Name: p.Name, Module: p.Module, Effect: string(p.Effect), Description: p.Description, Platform: p.Platform,
		}
	}
	return page, nil
}

func (s *Service) grantPermission(ctx context.Context, c *executor.Call, in *contract.GrantPermissionIn, r grantingRole) (*contract.Role, error) {
	if !s.deps.Policies.Catalogue().Knows(in.Permission) {
		return nil, unknownPermission("permission", in.Permission)
	}
	if slices.Contains(r.Permissions, in.Permission) {
		return s.showUnchangedRole(ctx, c, r)
	}
	v, err := c.Evaluate(ctx, authz.ChangeRole{Change: authz.GrantToRole, Actor: c.Actor.Subject, Role: r.policyRole(), Permission: in.Permission})
	if err := accountFault(v, err); err != nil {
		return nil, err
	}
	if _, err := insertGrant(ctx, c.DB, c.Tenant, r.ID, in.Permission, c.Now); err != nil {
		return nil, err
	}
	r.Permissions = slices.Sorted(slices.Values(append(slices.Clone(r.Permissions), in.Permission)))
	return s.recordGrantChange(c, r, in.Permission, contract.ActionPermissionGranted), nil
}

func (s *Service) revokePermission(ctx context.Context, c *executor.Call, in *contract.RevokePermissionIn, r grantingRole) (*contract.Role, error) {
	i := slices.Index(r.Permissions, in.Permission)
	if i < 0 {
		return nil, fault.NotFound("grant")
	}
	v, err := c.Evaluate(ctx, authz.ChangeRole{Change: authz.RevokeOfRole, Actor: c.Actor.Subject, Role: r.policyRole(), Permission: in.Permission})
	if err := accountFault(v, err); err != nil {
		return nil, err
	}
	if err := deleteGrant(ctx, c.DB, c.Tenant, r.ID, in.Permission); err != nil {
		return nil, err
	}
	r.Permissions = slices.Delete(slices.Clone(r.Permissions), i, i+1)
	return s.recordGrantChange(c, r, in.Permission, contract.ActionPermissionRevoked), nil
}

func (s *Service) recordGrantChange(c *executor.Call, r grantingRole, permission, action string) *contract.Role {
	public := s.roleToContract(r)
	c.Record(executor.Change{
		Action: action, Type: "role", ID: r.ID, Critical: true,
		Fields: []string{"permissions"}, Details: auditChanges{"role": r.Name, "permission": permission},
		Event: contract.EventRoleUpdated, Payload: public,
	})
	return public
}

func unknownPermission(field, name string) error {
	return fault.Validation(field, fmt.Sprintf("There is no permission %q. list-permissions lists all permissions.", name))
}

// policyRole returns the role as the policies see it.
func (r grantingRole) policyRole() authz.HeldRole { return authz.HeldRole{Name: r.Name, Kind: r.Kind} }

// decideGiveAuthority returns an error if the policies do not allow the caller to give the
// requested authority.
func (s *Service) decideGiveAuthority(ctx context.Context, c *executor.Call, request authz.GiveAuthority) error {
	request.Actor = c.Actor.Subject
	v, err := c.Evaluate(ctx, request)
	return accountFault(v, err)
}
