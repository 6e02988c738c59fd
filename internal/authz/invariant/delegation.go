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
	return c.callerWithSamplePermissions().with("token/roles", list()).with("stored/assignments", list()).with("delegations", []any{d})
}

func checkDelegation(c *checker) {
	tenantWide := delegation(c, "tenant")
	var callers []*caller
	for _, change := range []func(object) object{
		func(d object) object { return d.withPath("permissions", list("unknown")) },
		func(d object) object { return d.withoutPath("permissions") },
		func(d object) object { return d.withPath("delegator/assignments", list()) },
		func(d object) object { return d.withoutPath("delegator/assignments") },
		func(d object) object {
			return d.withPath("delegator/assignments", []any{object{"role": "Role", "scope": "project", "id": otherProject}})
		},
		func(d object) object { return d.withPath("delegator/id", user) },
		func(d object) object { return d.withoutPath("delegator/id") },
		func(d object) object { return d.withoutPath("delegator") },
		func(d object) object { return d.withoutPath("id") },
		func(d object) object { return d.withPath("delegator/kind", "SERVICE") },
		func(d object) object { return d.withPath("delegator/kind", "unknown") },
		func(d object) object { return d.withPath("delegator/status", "SUSPENDED") },
		func(d object) object { return d.withPath("delegator/status", "DELETED") },
		func(d object) object { return d.withoutPath("delegator/status") },
		func(d object) object { return d.withPath("delegator/membership", "SUSPENDED") },
		func(d object) object { return d.withPath("delegator/membership", "REMOVED") },
		func(d object) object { return d.withoutPath("delegator/membership") },
		func(d object) object { return d.withPath("scope", "unknown") },
		func(d object) object { return d.withoutPath("scope") },
		func(d object) object { return d.withPath("scope", "project").withPath("projects", list(otherProject)) },
		func(d object) object { return d.withPath("scope", "project").withoutPath("projects") },
		func(d object) object {
			return d.withPath("scope", "initiative").withPath("initiatives", list(initiative))
		},
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
		c.delegated(tenantWide.withPath("delegator/clearance", "UNCLASSIFIED")),
		c.delegated(tenantWide.withPath("delegator/clearance", "unknown")),
		c.delegated(tenantWide.withoutPath("delegator/clearance")),
	)
	// A record of the delegator, above the lowest clearance.
	delegatedRecord := otherUsersRecord().with("classification", "INTERNAL")
	for _, cl := range callers {
		for _, p := range c.sample {
			c.requireDenial(access(cl, p, delegatedRecord), "caller/delegations", "caller/token", "caller/stored", "request/resource", "request/permission")
		}
	}
	readOnly := c.delegated(tenantWide).with("token/caveats", list("read-only"))
	inProject, inInitiative := c.delegated(delegation(c, "project")), c.delegated(delegation(c, "initiative"))
	unlimited := c.delegated(tenantWide)
	for _, p := range c.sample {
		if p.Module != "tracker" || strings.HasPrefix(p.Name, "delegation") {
			// Permissions about people, keys and delegations cannot be delegated.
			c.requireDenial(access(unlimited, p, delegatedRecord), "caller/delegations", "request/permission")
			continue
		}
		writing := p
		writing.Effect = "write"
		c.requireDenial(access(readOnly, writing, delegatedRecord), "caller/token/caveats", "caller/delegations")
		for _, outside := range []object{delegatedRecord.with("project", otherProject), delegatedRecord.without("project")} {
			c.requireDenial(access(inProject, p, outside), "caller/delegations", "request/resource")
			c.requireDenial(access(inInitiative, p, outside), "caller/delegations", "request/resource")
		}
		// A permission must be both listed in the delegation and held by the delegator.
		others := slices.DeleteFunc(slices.Clone(c.sample), func(o Permission) bool {
			return strings.TrimSuffix(o.Name, ".own") == strings.TrimSuffix(p.Name, ".own")
		})
		names := list(namesOf(others)...)
		c.requireDenial(access(c.delegated(tenantWide.withPath("permissions", names)), p, delegatedRecord), "caller/delegations", "caller/roles")
		c.requireDenial(access(c.delegated(tenantWide).with("roles/Role", names), p, delegatedRecord), "caller/delegations", "caller/roles")
	}
}

// newDelegationRequest returns a request for a delegation that callerWithSamplePermissions may create.
func newDelegationRequest() object {
	grants := []any{object{"name": "Role", "kind": "STANDARD", "scope": "tenant", "grants": list("task.update", "tasks.read", "role.assign")}}
	return object{
		"resource":    otherUsersRecord(),
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

func checkDelegationRequest(c *checker) {
	cl := c.callerWithSamplePermissions()
	good := newDelegationRequest()
	bad := []object{
		good.with("permissions", list()), good.without("permissions"), good.with("permissions", "task.update"), good.with("permissions", list("role.assign")),
		good.with("permissions", list("task.update", "role.assign")), good.with("permissions", list("task.delete")), good.with("permissions", list("unknown")),
		good.with("permissions", list("delegation.create")), good.withPath("delegate/id", user), good.withoutPath("delegate/id"), good.withoutPath("delegator/id"),
		good.with("ends_at", now), good.with("ends_at", now-day), good.with("starts_at", now-day), good.with("ends_at", now+3660*day), good.with("starts_at", now+3660*day).with("ends_at", now+3661*day),
		good.without("ends_at"), good.without("starts_at"), good.without("now"), good.without("received"), good.withPath("received/from_delegator", 1000), good.withPath("received/total", 1000),
		good.withPath("delegator/roles", list()), good.withoutPath("delegator/roles"), good.without("delegate"), good.without("delegator"),
	}
	for _, who := range []string{"delegator", "delegate"} {
		for _, field := range []string{"status", "membership"} {
			for _, value := range append(invalidValues(), "SUSPENDED", "DELETED", "REMOVED") {
				bad = append(bad, good.withPath(who+"/"+field, value))
			}
			bad = append(bad, good.withoutPath(who+"/"+field))
		}
		bad = append(bad, good.withPath(who+"/kind", "SERVICE"), good.withoutPath(who+"/kind"), good.withPath(who+"/tenant", tenantB), good.withoutPath(who+"/tenant"))
	}
	for _, request := range bad {
		c.requireDenial(query{cl, delegate, request}, "request")
	}
	for _, lacking := range []*caller{
		cl.with("roles/Role", list("delegation.create", "tasks.read")), cl.with("stored/assignments", list()), cl.with("token/caveats", list("read-only")),
		c.delegated(delegation(c, "tenant")), c.scoped("project", otherProject),
	} {
		c.requireDenial(query{lacking, delegate, good}, "caller", "request")
	}
}
