package dev

// seedUser is one user of every seeded tenant. They are parts to play, not people;
// their addresses are under .example (RFC 2606) and reach nobody.
type seedUser struct {
	name, display string
	role          string
	clearance     string
	suspended     bool
}

// seedTenant is one seeded tenant.
type seedTenant struct {
	slug, name, kind string
	organisation     string
}

// office is the tenant that administers the others, and where the person with
// two memberships is at home.
const office = "northwind"

func seedTenants() []seedTenant {
	return []seedTenant{
		{slug: office, name: "Northwind", kind: "PROGRAMME_OFFICE", organisation: "Northwind Programme Office"},
		{slug: "acme", name: "Acme", kind: "STANDARD", organisation: "Acme Works"},
		{slug: "globex", name: "Globex", kind: "STANDARD", organisation: "Globex Labs"},
	}
}

// demoUsers are the persons of every tenant, one for each default role, with
// clearances from the lowest tier to the highest.
func demoUsers() []seedUser {
	return []seedUser{
		{name: "admin", display: "Admin", role: "Admin", clearance: "SECRET"},
		{name: "project-manager", display: "Project manager", role: "Project Manager", clearance: "CONFIDENTIAL"},
		{name: "member", display: "Member", role: "Member", clearance: "INTERNAL"},
		{name: "reviewer", display: "Reviewer", role: "Reviewer", clearance: "RESTRICTED"},
		{name: "auditor", display: "Auditor", role: "Auditor", clearance: "CONFIDENTIAL"},
		{name: "guest", display: "Guest customer", role: "Guest Customer", clearance: "UNCLASSIFIED"},
		{name: "agent-role", display: "Holder of the agent role", role: "Agent", clearance: "INTERNAL"},
		{name: "platform-admin", display: "Platform admin", role: "PLATFORM_ADMIN", clearance: "UNCLASSIFIED"},
	}
}

// agents are the synthetic agents of every tenant.
func agents() []seedUser {
	return []seedUser{
		{name: "agent+builder", display: "Builder agent", role: "Agent", clearance: "INTERNAL"},
		{name: "agent+retired", display: "Retired agent", role: "Agent", clearance: "INTERNAL", suspended: true},
	}
}

// visitor is the person of the office that has a membership in visited too.
const (
	visitor       = "project-manager"
	visitedTenant = "acme"
	visitorRole   = "Member"
)
