package dev

// seedUser is a user that every seeded tenant has. The users stand for roles, not real
// people; their addresses are under .example (RFC 2606), which receives no mail.
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

// office is the programme office, which administers the other tenants. It is the home
// tenant of the user with two memberships.
const office = "northwind"

func seedTenants() []seedTenant {
	return []seedTenant{
		{slug: office, name: "Northwind", kind: "PROGRAMME_OFFICE", organisation: "Northwind Programme Office"},
		{slug: "acme", name: "Acme", kind: "STANDARD", organisation: "Acme Works"},
		{slug: "globex", name: "Globex", kind: "STANDARD", organisation: "Globex Labs"},
	}
}

// demoUsers returns the human users of every tenant: one for each default role, with
// clearances from the lowest to the highest tier.
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

// seedAgents returns the synthetic agents of every tenant.
func seedAgents() []seedUser {
	return []seedUser{
		{name: "agent+builder", display: "Builder agent", role: "Agent", clearance: "INTERNAL"},
		{name: "agent+retired", display: "Retired agent", role: "Agent", clearance: "INTERNAL", suspended: true},
	}
}

// visitor is the user of the office who also has a membership in visitedTenant.
const (
	visitor       = "project-manager"
	visitedTenant = "acme"
	visitorRole   = "Member"
)
