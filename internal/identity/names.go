package identity

import (
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// The columns for the policies; the engine caches by their address.
var (
	userColumns         = userType.Columns()
	roleColumns         = roleType.Columns()
	organisationColumns = organisationType.Columns()
	tenantColumns       = registeredTenantType.Columns()
)

// Names returns the names of the module's records. pool connects as parapet_identity.
//
// An address is unique only among the users whose home tenant it is, and a display name is
// not unique at all and chosen by its user. So an address of the home tenant comes first,
// and a display name counts only if no address and no integration key matches: nobody can
// take the place of another person by choosing a name.
func Names(pool *postgres.Pool) executor.Names {
	return executor.Names{Pool: pool, Records: []executor.NamedRecords{
		{
			Kind: op.KindPerson, Permission: contract.GetUser.Permission, Columns: userColumns,
			ID: "u.id", Name: "u.display_name", Email: "u.email",
			From:   `identity.memberships m JOIN identity.users u ON u.id = m.user_id WHERE m.tenant_id = $1`,
			Public: `u.id = @caller`,
			Match:  `lower(u.email) = lower($2) OR u.integration_key = $2 OR lower(u.display_name) = lower($2)`,
			Rank: `CASE WHEN lower(u.email) = lower($2) AND u.home_tenant_id = $1 THEN 1 WHEN lower(u.email) = lower($2) THEN 2
     WHEN u.integration_key = $2 THEN 3 WHEN m.status = 'ACTIVE' THEN 4 ELSE 5 END`,
		},
		{
			Kind: op.KindRole, Permission: contract.GetRole.Permission, Columns: roleColumns,
			ID: "r.id", Name: "r.name", From: `identity.roles r WHERE r.tenant_id = $1`, Match: `lower(r.name) = lower($2)`,
		},
		{
			Kind: op.KindOrganisation, Permission: contract.GetOrganisation.Permission, Columns: organisationColumns,
			ID: "o.id", Name: "o.name", From: `identity.organisations o WHERE o.tenant_id = $1`, Match: `lower(o.name) = lower($2)`,
		},
		{
			Kind: op.KindTenant, Permission: contract.ListTenants.Permission, Columns: tenantColumns,
			ID: "t.id", Key: "t.slug", Name: "t.name", From: `identity.tenants t WHERE (t.id = $1 OR t.office_id = $1)`,
			Public: `t.id = $1`,
			Match:  `t.slug = lower($2) OR lower(t.name) = lower($2)`, Rank: `CASE WHEN t.slug = lower($2) THEN 1 ELSE 2 END`,
		},
	}}
}
