package identity

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
)

// showUnchanged returns the record for a request that changes nothing. It requires the
// permission to read the record; otherwise a caller without it could read the record with an
// empty change.
func showUnchanged[T any](ctx context.Context, c *executor.Call, readPermission string, r authz.Resource, record *T) (*T, error) {
	if err := c.Decide(ctx, readPermission, r); err != nil {
		return nil, err
	}
	return record, nil
}

func showUnchangedUser(ctx context.Context, c *executor.Call, u contract.User) (*contract.User, error) {
	return showUnchanged(ctx, c, contract.GetUser.Permission, userType.Resource(string(c.Tenant), &u), &u)
}

func (s *Service) showUnchangedRole(ctx context.Context, c *executor.Call, r grantingRole) (*contract.Role, error) {
	return showUnchanged(ctx, c, contract.GetRole.Permission, roleType.Resource(string(c.Tenant), &r), s.roleToContract(r))
}

func showUnchangedTenant(ctx context.Context, c *executor.Call, t contract.Tenant) (*contract.Tenant, error) {
	r, err := readableTenantResource(ctx, c, t)
	if err != nil {
		return nil, err
	}
	return showUnchanged(ctx, c, contract.GetTenant.Permission, r, &t)
}
