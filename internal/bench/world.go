package main

import (
	"fmt"

	"parapet/internal/authz"
)

// world is the input of every engine's decision: 50 roles with 40 permissions each, a user
// with three of them (two in the tenant, one in a project), a record that the user may
// change, and one that is classified above the user's clearance.
type world struct {
	tenant, other, actor, project, organisation string
	roles                                       map[string][]string
	held                                        []string
	permission                                  string
	allowed, denied                             authz.Resource
}

func newWorld() world {
	id := func(n int) string { return fmt.Sprintf("018f3c5e-7a10-7c3e-9d2b-%012d", n) }
	w := world{
		tenant: id(1), other: id(2), actor: id(3), project: id(4), organisation: id(5),
		roles: map[string][]string{}, permission: "task.update",
		held: []string{"role-07", "role-21", "role-33"},
	}
	for r := range 50 {
		name := fmt.Sprintf("role-%02d", r)
		for p := range 40 {
			w.roles[name] = append(w.roles[name], fmt.Sprintf("resource-%02d.verb-%02d", r, p))
		}
	}
	// The requested permission comes from the role in the project only: the longest path
	// through the rule.
	w.roles["role-33"][39] = w.permission
	w.allowed = authz.Resource{Type: "task", ID: id(9), Tenant: w.tenant, Organisation: w.organisation, Project: w.project, Creator: id(6), Owner: id(7), Classification: "INTERNAL"}
	w.denied = w.allowed
	w.denied.Classification = "SECRET"
	return w
}

// subject returns the user as the input of the product's engine.
func (w world) subject() authz.SubjectInput {
	return authz.SubjectInput{
		Token: authz.Token{Kind: authz.TokenSession, Tenant: w.tenant, Roles: w.held, Clearance: "RESTRICTED",
			RoleScopes: map[string][]string{"role-33": {"project:" + w.project}}},
		Tenant: w.tenant, TenantType: "STANDARD",
		User: authz.User{ID: w.actor, Kind: authz.KindHuman, Organisation: w.organisation},
		Stored: authz.Stored{Clearance: "RESTRICTED", Assignments: []authz.Assignment{
			{Role: "role-07", Scope: authz.ScopeTenant}, {Role: "role-21", Scope: authz.ScopeTenant},
			{Role: "role-33", Scope: authz.ScopeProject, ID: w.project},
		}},
		Roles: w.roles,
	}
}
