package identity

import (
	"context"
	"fmt"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// RecordsIn selects a record type and the permission to check.
type RecordsIn struct {
	Type       string `query:"type" doc:"The type."`
	Permission string `query:"permission" doc:"The permission."`
}

// Records contains the ids of all rows of a type, of those that match the filter, and of
// those for which the decision about the loaded row allows access.
type Records struct{ All, Filtered, Decided []op.UUID }

var probeRecords = op.New[RecordsIn, Records](op.Spec{
	Name: "probe-records", Module: contract.Module, Method: "GET", Path: "/probe", Permission: "tenant.read", Effect: op.Read, Summary: "For tests.",
})

// ProbeRecords binds a test operation that compares the filter of a record type with the
// decisions about its rows.
func (s *Service) ProbeRecords() op.Bound {
	return executor.CustomDecision(s.executor, probeRecords, func(ctx context.Context, c *executor.Call, in *RecordsIn) (*Records, error) {
		probe, ok := recordProbes[in.Type]
		if !ok {
			return nil, fmt.Errorf("no type %q", in.Type)
		}
		return probe(ctx, c, in.Permission)
	})
}

type recordProbe func(ctx context.Context, c *executor.Call, permission string) (*Records, error)

// probeOf returns a probe for a type. sql must end in its WHERE clause.
func probeOf[Row any](
	columns *authz.Columns, resource func(tenant string, r *Row) authz.Resource, sql string, id func(*Row) op.UUID,
) recordProbe {
	return func(ctx context.Context, c *executor.Call, permission string) (*Records, error) {
		rows, err := postgres.Collect[Row](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant})
		if err != nil {
			return nil, err
		}
		out := &Records{}
		for i := range rows {
			out.All = append(out.All, id(&rows[i]))
			if c.Decide(ctx, permission, resource(string(c.Tenant), &rows[i])) == nil {
				out.Decided = append(out.Decided, id(&rows[i]))
			}
		}
		f, err := c.Filter(ctx, permission, columns)
		if err != nil {
			return nil, err
		}
		rows, err = postgres.Collect[Row](ctx, c.DB, sql+" AND "+f.SQL(), withFilterArgs(postgres.Args{"tenant": c.Tenant}, f))
		for i := range rows {
			out.Filtered = append(out.Filtered, id(&rows[i]))
		}
		return out, err
	}
}

// recordedRow is an audit entry or an event. The module only lists them, so the test builds
// their resources itself.
type recordedRow struct {
	ID             op.UUID
	ActorID        *string
	OrganisationID *string
	Classification *string
}

func (r *recordedRow) entry(tenant string) authz.Resource {
	return authz.Resource{
		Type: "audit entry", Tenant: tenant, Organisation: valueOrZero(r.OrganisationID), Creator: valueOrZero(r.ActorID),
		Classification: valueOrZero(r.Classification), NullClassification: r.Classification == nil,
	}
}

var recordProbes = map[string]recordProbe{
	"user":       probeOf(userType.Columns(), userType.Resource, selectUserSQL, func(u *contract.User) op.UUID { return u.ID }),
	"membership": probeOf(membershipType.Columns(), membershipType.Resource, selectMembershipSQL, func(m *contract.Membership) op.UUID { return m.UserID }),
	"organisation": probeOf(organisationType.Columns(), organisationType.Resource, selectOrganisationSQL,
		func(o *contract.Organisation) op.UUID { return o.ID }),
	"role": probeOf(roleType.Columns(), roleType.Resource, selectRoleSQL, func(r *grantingRole) op.UUID { return r.ID }),
	"assignment": probeOf(assignmentType.Columns(), assignmentType.Resource, `
SELECT a.id, a.role_id, r.name AS role, a.user_id, a.scope, coalesce(a.scope_id::text, '') AS scope_id, a.created_at
FROM identity.role_assignments a
JOIN identity.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
WHERE a.tenant_id = @tenant`, func(a *contract.RoleAssignment) op.UUID { return a.ID }),
	"tenant": probeOf(registeredTenantType.Columns(), registeredTenantType.Resource, `SELECT `+tenantColumnsSQL+`
FROM identity.tenants t
WHERE (t.id = @tenant OR t.office_id = @tenant)`, func(t *contract.Tenant) op.UUID { return t.ID }),
	"audit entry": probeOf(auditColumns, func(tenant string, r *recordedRow) authz.Resource { return r.entry(tenant) }, `
SELECT e.id, e.actor_id::text, m.organisation_id::text AS organisation_id, e.classification
FROM audit.entries e LEFT JOIN identity.memberships m ON m.tenant_id = e.tenant_id AND m.user_id = e.actor_id
WHERE e.tenant_id = @tenant`, func(r *recordedRow) op.UUID { return r.ID }),
	"event": probeOf(eventColumns, func(tenant string, r *recordedRow) authz.Resource {
		return authz.Resource{Type: "event", Tenant: tenant, Classification: valueOrZero(r.Classification)}
	}, `
SELECT o.id, o.actor_id::text, NULL::text AS organisation_id,
       CASE WHEN o.payload ? 'classification' THEN o.payload->>'classification'
            WHEN o.type LIKE 'directory.%' THEN 'UNCLASSIFIED' ELSE 'SECRET' END AS classification
FROM events.outbox o
WHERE o.tenant_id = @tenant`, func(r *recordedRow) op.UUID { return r.ID }),
}
