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
// Users choose their own display name and address. So an address counts only if it is
// verified, and a display name only if no address and no integration key matches, and never
// if it looks like an address. An address that two members have is ambiguous.
func Names(pool *postgres.Pool) executor.Names {
	return executor.Names{Pool: pool, Records: []executor.NamedRecords{
		{
			Kind: op.KindPerson, Permission: contract.GetUser.Permission, Columns: userColumns,
			ID: "u.id", Name: "u.display_name", Email: `CASE WHEN u.address_verified THEN u.email ELSE '' END`,
			From:   `identity.memberships m JOIN identity.users u ON u.id = m.user_id WHERE m.tenant_id = $1`,
			Public: `u.id = @caller`,
			Match: `u.address_verified AND u.email_key = lower($2) OR u.home_tenant_id = $1 AND u.integration_key = $2
     OR position('@' IN $2) = 0 AND u.name_key = lower($2)`,
			Rank: `CASE WHEN u.address_verified AND u.email_key = lower($2) THEN 1 WHEN u.integration_key = $2 THEN 2
     WHEN m.status = 'ACTIVE' AND u.status = 'ACTIVE' THEN 3 ELSE 4 END`,
		},
		{
			Kind: op.KindRole, Permission: contract.GetRole.Permission, Columns: roleColumns,
			ID: "r.id", Name: "r.name", From: `identity.roles r WHERE r.tenant_id = $1`,
			Match: `lower(r.name) = lower($2)`, Rank: `CASE WHEN r.name = $2 THEN 1 ELSE 2 END`,
		},
		{
			Kind: op.KindOrganisation, Permission: contract.GetOrganisation.Permission, Columns: organisationColumns,
			ID: "o.id", Name: "o.name", From: `identity.organisations o WHERE o.tenant_id = $1`, Match: `lower(o.name) = lower($2)`,
		},
		{
			Kind: op.KindTenant, Permission: contract.ListTenants.Permission, Columns: tenantColumns,
			ID: "t.id", Key: "t.slug", Name: "t.name", From: `identity.tenants t WHERE (t.id = $1 OR t.office_id = $1)`,
			Public: `t.id = $1`,
			Match:  `t.slug = lower($2) OR lower(t.name) = lower($2)`,
		},
	}}
}
