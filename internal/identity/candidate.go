package identity

import (
	"context"
	"slices"

	contract "parapet/internal/contract/identity"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// An address is unique only among users whose home tenant it is, so only these are found. An
// unverified address may belong to somebody else.
const candidateByEmailSQL = `
SELECT u.id
FROM identity.users u
JOIN identity.memberships m ON m.tenant_id = @tenant AND m.user_id = u.id
WHERE u.home_tenant_id = @tenant AND u.email_key = lower(@email) AND u.address_verified`

// Candidate implements contract.Directory.
func (s *Service) Candidate(ctx context.Context, tenant op.UUID, idOrEmail string) (contract.Candidate, error) {
	c, err := s.candidate(ctx, tenant, idOrEmail)
	if postgres.IsNoRows(err) {
		return contract.Candidate{}, nil
	}
	return c, postgres.MapError(err)
}

func (s *Service) candidate(ctx context.Context, tenant op.UUID, idOrEmail string) (contract.Candidate, error) {
	q := s.deps.Pool.Read(string(tenant), nil)
	user, err := op.ParseUUID(idOrEmail)
	if err != nil {
		err = q.QueryRow(ctx, candidateByEmailSQL, postgres.Args{"tenant": tenant, "email": idOrEmail}).Scan(&user)
		if err != nil {
			return contract.Candidate{}, err
		}
	}
	p, held, err := readPrincipal(ctx, q, tenant, user)
	if err != nil {
		return contract.Candidate{}, err
	}
	c := contract.Candidate{
		ID: p.ID, TenantID: tenant, Kind: p.Kind, Status: p.Status, Membership: p.Membership, Clearance: p.Clearance,
		AgentsAllowed: slices.Contains(s.deps.AgentTenants, tenant),
	}
	for _, h := range held {
		c.Roles = append(c.Roles, contract.CandidateRole(h))
	}
	return c, nil
}

// OrganisationExists implements contract.Directory.
func (s *Service) OrganisationExists(ctx context.Context, tenant, organisation op.UUID) (bool, error) {
	q := s.deps.Pool.Read(string(tenant), nil)
	exists, err := organisationExists(ctx, q, tenant, organisation)
	return exists, postgres.MapError(err)
}

var _ contract.Directory = (*Service)(nil)
