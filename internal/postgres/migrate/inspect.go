package migrate

import (
	"context"
	"fmt"
	"slices"

	"parapet/internal/postgres"
)

// RoleProblem is a difference between a database role and what this program needs.
type RoleProblem struct {
	Role, Problem string
	// Statement corrects the role; a superuser must run it. It is empty if ptd migrate
	// corrects the role.
	Statement string
}

const inspectRolesSQL = `
SELECT rolname AS name, rolcanlogin AS login, rolinherit AS inherit,
       rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolreplication AS elevated,
       coalesce(rolconfig, '{}') AS config, false AS admin, false AS settable,
       coalesce((SELECT string_agg(g.rolname::text, ', ' ORDER BY g.rolname) FROM pg_catalog.pg_auth_members m
                 JOIN pg_catalog.pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid), '') AS member_of,
       (SELECT count(*) FROM pg_catalog.pg_class c WHERE c.relowner = r.oid) AS relations
FROM pg_catalog.pg_roles r
WHERE rolname = ANY(@names)`

type inspectedRole struct {
	roleRow
	// MemberOf lists the roles whose privileges the role can use.
	MemberOf string
	// Relations is the number of tables and indexes that the role owns in this database.
	Relations int
}

// InspectRoles compares the roles of the product with what this program needs. Every role that
// may connect may call it.
func InspectRoles(ctx context.Context, q postgres.Querier) ([]RoleProblem, error) {
	wanted := roles()
	names := make([]string, len(wanted))
	for i, r := range wanted {
		names[i] = r.name
	}
	existing, err := postgres.Collect[inspectedRole](ctx, q, inspectRolesSQL, postgres.Args{"names": names})
	if err != nil {
		return nil, err
	}
	var problems []RoleProblem
	for _, want := range wanted {
		i := slices.IndexFunc(existing, func(r inspectedRole) bool { return r.Name == want.name })
		if i < 0 {
			problems = append(problems, RoleProblem{Role: want.name, Problem: "does not exist"})
			continue
		}
		switch r := existing[i]; {
		case r.Elevated:
			problems = append(problems, RoleProblem{want.name, "has an attribute that bypasses or changes access control (SUPERUSER, BYPASSRLS, CREATEDB, CREATEROLE or REPLICATION)", want.revokeElevatedSQL()})
		case r.MemberOf != "":
			problems = append(problems, RoleProblem{want.name, "is a member of " + r.MemberOf, fmt.Sprintf("REVOKE %s FROM %s", r.MemberOf, want.name)})
		case r.Relations > 0:
			problems = append(problems, RoleProblem{want.name, "owns tables, so row-level security does not restrict it reliably", fmt.Sprintf("REASSIGN OWNED BY %s TO <owner of the database>", want.name)})
		case len(want.correctionSQL(r.roleRow)) > 0:
			problems = append(problems, RoleProblem{Role: want.name, Problem: "has other attributes or settings than ptd migrate gives it"})
		}
	}
	return problems, nil
}

// unprotectedSQL lists tables of the product without forced row-level security. The schemas
// river and parapet contain no data of tenants.
const unprotectedSQL = `
SELECT n.nspname || '.' || c.relname AS name
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY(@schemas) AND c.relkind IN ('r', 'p') AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
ORDER BY 1`

// UnprotectedTables returns the tables of the product that have no forced row-level security.
func UnprotectedTables(ctx context.Context, q postgres.Querier) ([]string, error) {
	return postgres.CollectScalars[string](ctx, q, unprotectedSQL, postgres.Args{
		"schemas": []string{"identity", "projects", "catalog", "wiki", "audit", "events"},
	})
}
