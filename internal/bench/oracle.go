package main

import "parapet/internal/authz"

// oracle is the same decision written by hand in Go: a lower bound for the cost of an
// engine.
type oracle struct {
	tenant, actor  string
	rank           int
	tenantWide     map[string]bool
	inProject      map[string]map[string]bool
	inOrganisation map[string]map[string]bool
	own            map[string]bool
	rejected       bool
}

func rankOf(tier string) int {
	switch tier {
	case "UNCLASSIFIED":
		return 0
	case "INTERNAL":
		return 1
	case "RESTRICTED":
		return 2
	case "CONFIDENTIAL":
		return 3
	case "SECRET":
		return 4
	}
	return -1
}

func newOracle(w world) *oracle {
	o := &oracle{tenant: w.tenant, actor: w.actor, rank: rankOf("RESTRICTED"), tenantWide: map[string]bool{}, inProject: map[string]map[string]bool{}, inOrganisation: map[string]map[string]bool{}, own: map[string]bool{}}
	for _, p := range append(append([]string{}, w.roles["role-07"]...), w.roles["role-21"]...) {
		o.tenantWide[p] = true
	}
	for _, p := range w.roles["role-33"] {
		o.inProject[p] = map[string]bool{w.project: true}
	}
	return o
}

func (o *oracle) decide(permission string, r *authz.Resource) bool {
	if o.rejected || r.Tenant != o.tenant || r.Classification == "" || rankOf(r.Classification) > o.rank {
		return false
	}
	return o.tenantWide[permission] || o.inProject[permission][r.Project] || o.inOrganisation[permission][r.Organisation] ||
		(o.own[permission] && (r.Creator == o.actor || r.Owner == o.actor))
}
