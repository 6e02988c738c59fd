package invariant

import (
	"slices"
	"strings"
)

// delegation returns a delegation of all permissions to the caller, from a colleague who
// holds them.
func delegation(c *checker, scope string) object {
	d := object{
		"id": delegationID, "scope": scope, "projects": list(), "initiatives": list(), "permissions": list(namesOf(c.sample)...),
		"delegator": object{
			"id": colleague, "kind": "HUMAN", "status": "ACTIVE", "membership": "ACTIVE", "clearance": "SECRET",
			"assignments": []any{object{"role": "Role", "scope": "tenant"}},
		},
	}
	if scope != "tenant" {
		d["projects"] = list(project)
	}
	if scope == "initiative" {
		d["initiatives"] = list(initiative)
	}
	return d
}

// delegated returns a caller whose only permissions come from the delegation.
func (c *checker) delegated(d object) *caller {
	return c.able().with("token/roles", list()).with("stored/assignments", list()).with("delegations", []any{d})
}

func checkDelegation(c *checker) {
	tenantWide := delegation(c, "tenant")
	var callers []*caller
	for _, change := range []func(object) object{
		func(d object) object { return d.at("permissions", list("unknown")) },
		func(d object) object { return d.cut("permissions") },
		func(d object) object { return d.at("delegator/assignments", list()) },
		func(d object) object { return d.cut("delegator/assignments") },
		func(d object) object {
			return d.at("delegator/assignments", []any{object{"role": "Role", "scope": "project", "id": otherProject}})
		},
		func(d object) object { return d.at("delegator/id", user) },
		func(d object) object { return d.cut("delegator/id") },
		func(d object) object { return d.cut("delegator") },
		func(d object) object { return d.cut("id") },
		func(d object) object { return d.at("delegator/kind", "SERVICE") },
		func(d object) object { return d.at("delegator/kind", "unknown") },
		func(d object) object { return d.at("delegator/status", "SUSPENDED") },
		func(d object) object { return d.at("delegator/status", "DELETED") },
		func(d object) object { return d.cut("delegator/status") },
		func(d object) object { return d.at("delegator/membership", "SUSPENDED") },
		func(d object) object { return d.at("delegator/membership", "REMOVED") },
		func(d object) object { return d.cut("delegator/membership") },
		func(d object) object { return d.at("scope", "unknown") },
		func(d object) object { return d.cut("scope") },
		func(d object) object { return d.at("scope", "project").at("projects", list(otherProject)) },
		func(d object) object { return d.at("scope", "project").cut("projects") },
		func(d object) object { return d.at("scope", "initiative").at("initiatives", list(initiative)) },
	} {
		callers = append(callers, c.delegated(change(tenantWide)))
	}
	callers = append(callers,
		c.delegated(tenantWide).with("roles/Role", list("unknown")),
		c.delegated(tenantWide).with("user/kind", "SERVICE"),
		c.delegated(tenantWide).with("token/caveats", list("unknown")),
		c.delegated(tenantWide).with("token/caveats", list("project:"+otherProject)),
		c.delegated(tenantWide).with("token/caveats", list("module:wiki")),
		c.delegated(tenantWide).with("token/clearance", "UNCLASSIFIED"),
		c.delegated(tenantWide).with("stored/clearance", "UNCLASSIFIED"),
		c.delegated(tenantWide.at("delegator/clearance", "UNCLASSIFIED")),
		c.delegated(tenantWide.at("delegator/clearance", "unknown")),
		c.delegated(tenantWide.cut("delegator/clearance")),
	)
	// A record of the delegator, above the lowest clearance.
	delegatedRecord := record().with("classification", "INTERNAL")
	for _, cl := range callers {
		for _, p := range c.sample {
			c.deny(access(cl, p, delegatedRecord), "caller/delegations", "caller/token", "caller/stored", "request/resource", "request/permission")
		}
	}
	readOnly := c.delegated(tenantWide).with("token/caveats", list("read-only"))
	inProject, inInitiative := c.delegated(delegation(c, "project")), c.delegated(delegation(c, "initiative"))
	unlimited := c.delegated(tenantWide)
	for _, p := range c.sample {
		if p.Module != "tracker" || strings.HasPrefix(p.Name, "delegation") {
			// Permissions about people, keys and delegations cannot be delegated.
			c.deny(access(unlimited, p, delegatedRecord), "caller/delegations", "request/permission")
			continue
		}
		writing := p
		writing.Effect = "write"
		c.deny(access(readOnly, writing, delegatedRecord), "caller/token/caveats", "caller/delegations")
		for _, outside := range []object{delegatedRecord.with("project", otherProject), delegatedRecord.without("project")} {
			c.deny(access(inProject, p, outside), "caller/delegations", "request/resource")
			c.deny(access(inInitiative, p, outside), "caller/delegations", "request/resource")
		}
		// A permission must be both listed in the delegation and held by the delegator.
		others := slices.DeleteFunc(slices.Clone(c.sample), func(o Permission) bool {
			return strings.TrimSuffix(o.Name, ".own") == strings.TrimSuffix(p.Name, ".own")
		})
		names := list(namesOf(others)...)
		c.deny(access(c.delegated(tenantWide.at("permissions", names)), p, delegatedRecord), "caller/delegations", "caller/roles")
		c.deny(access(c.delegated(tenantWide).with("roles/Role", names), p, delegatedRecord), "caller/delegations", "caller/roles")
	}
}

// newDelegationRequest returns a delegation that the powerful caller may create.
func newDelegationRequest() object {
	grants := []any{object{"name": "Role", "kind": "STANDARD", "scope": "tenant", "grants": list("task.update", "tasks.read", "role.assign")}}
	return object{
		"resource":    record(),
		"delegator":   candidate("HUMAN").with("id", user).with("roles", grants),
		"delegate":    candidate("HUMAN"),
		"permissions": list("task.update"),
		// Times are in microseconds: from now on, for one day.
		"now": now, "starts_at": now, "ends_at": now + day, "received": object{"from_delegator": 0, "total": 0},
	}
}

const (
	now = 1_767_225_600_000_000
	day = 86_400_000_000
)

func checkDelegationMade(c *checker) {
	cl := c.able()
	good := newDelegationRequest()
	bad := []object{
		good.with("permissions", list()), good.without("permissions"), good.with("permissions", "task.update"), good.with("permissions", list("role.assign")),
		good.with("permissions", list("task.update", "role.assign")), good.with("permissions", list("task.delete")), good.with("permissions", list("unknown")),
		good.with("permissions", list("delegation.create")), good.at("delegate/id", user), good.cut("delegate/id"), good.cut("delegator/id"),
		good.with("ends_at", now), good.with("ends_at", now-day), good.with("starts_at", now-day), good.with("ends_at", now+3660*day), good.with("starts_at", now+3660*day).with("ends_at", now+3661*day),
		good.without("ends_at"), good.without("starts_at"), good.without("now"), good.without("received"), good.at("received/from_delegator", 1000), good.at("received/total", 1000),
		good.at("delegator/roles", list()), good.cut("delegator/roles"), good.without("delegate"), good.without("delegator"),
	}
	for _, who := range []string{"delegator", "delegate"} {
		for _, field := range []string{"status", "membership"} {
			for _, value := range append(spoilt(), "SUSPENDED", "DELETED", "REMOVED") {
				bad = append(bad, good.at(who+"/"+field, value))
			}
			bad = append(bad, good.cut(who+"/"+field))
		}
		bad = append(bad, good.at(who+"/kind", "SERVICE"), good.cut(who+"/kind"), good.at(who+"/tenant", tenantB), good.cut(who+"/tenant"))
	}
	for _, request := range bad {
		c.deny(question{cl, delegate, request}, "request")
	}
	for _, lacking := range []*caller{
		cl.with("roles/Role", list("delegation.create", "tasks.read")), cl.with("stored/assignments", list()), cl.with("token/caveats", list("read-only")),
		c.delegated(delegation(c, "tenant")), c.scoped("project", otherProject),
	} {
		c.deny(question{lacking, delegate, good}, "caller", "request")
	}
}
