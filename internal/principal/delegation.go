package principal

import (
	"context"
	"slices"

	"parapet/internal/authz"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// delegatorRow is a delegator with its roles in the target tenant.
type delegatorRow struct {
	ID          op.UUID
	Kind        string
	Status      string
	Membership  string
	Clearance   string
	Assignments []assignment
	Roles       map[string][]string
}

const delegatorsSQL = `
SELECT u.id, u.principal_kind AS kind, u.status, m.status AS membership, coalesce(m.clearance, '') AS clearance,
       (SELECT coalesce(json_agg(json_build_object('role', r.name, 'scope', a.scope, 'id', coalesce(a.scope_id::text, ''))
                                 ORDER BY r.name, a.scope, a.scope_id), '[]')
        FROM identity.role_assignments a
        JOIN identity.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
        WHERE a.tenant_id = m.tenant_id AND a.user_id = m.user_id) AS assignments,
       (SELECT coalesce(json_object_agg(g.name, g.permissions), '{}')
        FROM (SELECT r.name, json_agg(g.permission ORDER BY g.permission) AS permissions
              FROM identity.roles r
              JOIN identity.role_grants g ON g.tenant_id = r.tenant_id AND g.role_id = r.id
              WHERE r.tenant_id = m.tenant_id AND r.id IN (
                    SELECT a.role_id FROM identity.role_assignments a WHERE a.tenant_id = m.tenant_id AND a.user_id = m.user_id)
              GROUP BY r.name) g) AS roles
FROM identity.memberships m
JOIN identity.users u ON u.id = m.user_id
WHERE m.tenant_id = @tenant AND m.user_id = ANY (@users)`

// loadDelegations reads the delegators' current roles and adds the grants of these roles
// to roles. A delegator who is not a member of the tenant delegates nothing. It runs after
// the revision was read, so a later change makes the next request refresh the principal.
func (c *Checker) loadDelegations(ctx context.Context, tenant op.UUID, active Delegations, roles map[string][]string) ([]authz.Delegation, []op.UUID, error) {
	if len(active.Active) == 0 {
		return nil, nil, nil
	}
	var users []op.UUID
	for _, d := range active.Active {
		if !slices.Contains(users, d.Delegator) {
			users = append(users, d.Delegator)
		}
	}
	found, err := postgres.Collect[delegatorRow](ctx, c.cfg.Pool, delegatorsSQL, postgres.Args{"tenant": tenant, "users": users})
	if err != nil {
		return nil, nil, err
	}
	known := map[op.UUID]authz.Delegator{}
	for _, l := range found {
		known[l.ID] = authz.Delegator{
			ID: string(l.ID), Kind: l.Kind, Status: l.Status, Membership: l.Membership, Clearance: l.Clearance,
			Assignments: policyAssignments(l.Assignments),
		}
		for role, grants := range l.Roles {
			roles[role] = grants
		}
	}
	var delegations []authz.Delegation
	for _, d := range active.Active {
		if delegator, ok := known[d.Delegator]; ok {
			delegations = append(delegations, authz.Delegation{
				ID: string(d.ID), Delegator: delegator, Scope: d.Scope, Projects: d.Projects, Initiatives: d.Initiatives, Permissions: d.Permissions,
			})
		}
	}
	return delegations, users, nil
}
