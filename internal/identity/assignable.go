package identity

import (
	"context"
	"slices"

	contract "parapet/internal/contract/identity"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// guestRole is the role that work is never given to.
const guestRole = "Guest Customer"

// A role in any scope counts: a guest of one project is a guest.
const assignableSQL = `
SELECT u.principal_kind,
       u.status = 'ACTIVE' AND m.status = 'ACTIVE' AS active,
       identity.may_read(@classification, coalesce(m.clearance, 'UNCLASSIFIED')) AS cleared,
       EXISTS (SELECT 1 FROM identity.role_assignments a
               JOIN identity.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
               WHERE a.tenant_id = @tenant AND a.user_id = m.user_id AND r.name = @guest) AS guest
FROM identity.memberships m
JOIN identity.users u ON u.id = m.user_id
WHERE m.tenant_id = @tenant AND m.user_id = @user`

type candidate struct {
	PrincipalKind string
	Active        bool
	Cleared       bool
	Guest         bool
}

// Assignable implements the contract's Directory.
func (s *Service) Assignable(ctx context.Context, tenant, user op.UUID, classification string) (contract.Assignability, error) {
	q := s.deps.Pool.Read(string(tenant), nil)
	c, err := postgres.One[candidate](ctx, q, assignableSQL, postgres.Args{"tenant": tenant, "user": user, "classification": classification, "guest": guestRole})
	if postgres.IsNoRows(err) {
		return contract.Assignability{Reason: contract.NotAssignableMember}, nil
	}
	if err != nil {
		return contract.Assignability{}, postgres.MapError(err)
	}
	switch {
	case !c.Active:
		return contract.Assignability{Reason: contract.NotAssignableMember}, nil
	case c.PrincipalKind == contract.KindService:
		return contract.Assignability{Reason: contract.NotAssignableService}, nil
	case c.Guest:
		return contract.Assignability{Reason: contract.NotAssignableGuest}, nil
	case c.PrincipalKind == contract.KindAgent && !slices.Contains(s.deps.AgentTenants, tenant):
		return contract.Assignability{Reason: contract.NotAssignableAgent}, nil
	case !c.Cleared:
		return contract.Assignability{Reason: contract.NotAssignableClearance}, nil
	}
	return contract.Assignability{OK: true}, nil
}

// OrganisationExists implements the contract's Directory.
func (s *Service) OrganisationExists(ctx context.Context, tenant, organisation op.UUID) (bool, error) {
	q := s.deps.Pool.Read(string(tenant), nil)
	there, err := organisationThere(ctx, q, tenant, organisation)
	return there, postgres.MapError(err)
}

var _ contract.Directory = (*Service)(nil)
