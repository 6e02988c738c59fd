package invariant

import (
	"fmt"
	"slices"
)

func checkLadder(c *checker) {
	at := -1
	ladder := c.set.Ladder()
	for _, tier := range tiers {
		i := slices.Index(ladder, tier)
		if i <= at {
			c.reportDataFault("data.parapet.clearance.ladder", fmt.Sprintf("%q, with %s in the wrong position", ladder, tier))
		}
		at = i
	}
	for a, clearance := range tiers {
		for _, classification := range tiers[a+1:] {
			if entry := "parapet/clearance/may_read"; c.entrypoints[entry] {
				c.requireDenial(query{nil, entry, object{"clearance": clearance, "classification": classification}}, "request")
			}
		}
	}
}

func checkCatalogueEffects(c *checker) {
	for _, p := range c.set.Permissions() {
		if p.Effect == "read" && effectOf(p.Name) == "write" {
			c.reportDataFault("data.parapet.catalogue.permissions", p.Name+" has the effect read")
		}
	}
}

func checkPlatformMarks(c *checker) {
	for _, p := range c.set.Permissions() {
		if slices.Contains(platformPermissions, p.Name) && !p.Platform {
			c.reportDataFault("data.parapet.catalogue.permissions", p.Name+" is not marked platform: true")
		}
	}
}

// checkBoolean evaluates incomplete inputs, which the engine never sends. A rule that allows
// such an input allows because a field is missing.
func checkBoolean(c *checker) {
	actors := append(invalidValues(), true)
	for _, entry := range c.set.Entrypoints() {
		c.requireDenial(query{entry: entry, request: object{}})
		for _, actor := range actors {
			c.requireDenial(query{entry: entry, request: object{"actor": actor}})
		}
	}
	for _, p := range c.sample {
		c.requireDenial(query{entry: entryAllow, request: object{"permission": p.Name, "effect": p.Effect, "module": p.Module, "resource": ownRecord()}})
	}
}

// effects returns both effects, because the operation determines the effect, not the
// catalogue.
func effects() []string { return []string{"read", "write"} }

func checkTenant(c *checker) {
	standard := c.callerWithSamplePermissions().with("tenant_type", "STANDARD").with("token/kind", "api_key")
	foreign := []object{ownRecord().with("tenant", tenantB), ownRecord().without("tenant")}
	callers := []*caller{c.callerWithAllPermissions(), standard, standard.with("delegations", []any{delegation(c, "tenant")})}
	for _, cl := range callers {
		permissions := c.permissions
		if cl != callers[0] {
			permissions = c.sample
		}
		for _, p := range permissions {
			for _, effect := range effects() {
				p.Effect = effect
				for _, resource := range foreign {
					c.requireDenial(access(cl, p, resource), "request/resource/tenant", "caller/delegations")
				}
			}
		}
	}
	for _, value := range append(wrongTypes(), "", tenantB+" ") {
		c.requireDenial(access(standard, Permission{Name: "tasks.read", Module: "tracker", Effect: "read"}, ownRecord().with("tenant", value)), "request/resource/tenant")
	}
}

func checkActAs(c *checker) {
	inOtherTenant := c.callerWithSamplePermissions().with("token/tenant", tenantB)
	callers := []*caller{
		// These callers have the roles in the token, which belong to the other tenant.
		inOtherTenant.with("stored/assignments", list()),
		inOtherTenant.with("stored/assignments", list()).with("token/kind", "api_key"),
		// These callers are bound to their tenant and have their stored roles.
		inOtherTenant.with("user/kind", "SERVICE"), inOtherTenant.with("user/kind", "SERVICE").with("token/kind", "api_key"),
		inOtherTenant.with("token/kind", "internal"), inOtherTenant.with("token/kind", "unknown"), inOtherTenant.with("user/kind", "unknown"),
		inOtherTenant.with("token/tenant", "unknown"), inOtherTenant.without("token/tenant"),
	}
	for _, cl := range callers {
		for _, p := range c.sample {
			c.requireDenial(access(cl, p, ownRecord()), "caller/token", "request/resource")
		}
	}
	const entry = "parapet/actas/verdict"
	target := object{"token_kind": "session", "token_tenant": tenantA, "principal_kind": "HUMAN", "module": "tracker", "header": true, "target": tenantB}
	for _, wrong := range []object{
		target.with("header", false), target.with("principal_kind", "SERVICE"), target.with("principal_kind", "unknown"), target.with("token_kind", "internal"),
		target.with("token_kind", "unknown"), target.with("target", ""), target.with("module", "wiki"), target.with("module", "unknown"),
		target.without("header"), target.without("principal_kind"), target.without("token_kind"), target.without("token_tenant"), target.without("target"), target.without("module"),
	} {
		c.requireDenial(query{entry: entry, request: wrong}, "request")
	}
}

// clearances returns callers whose effective clearance is the tier, from different sources.
func clearances(cl *caller, tier any) []*caller {
	session := cl.with("token/clearance", tier).with("stored/clearance", "SECRET")
	return []*caller{
		session,
		cl.with("stored/clearance", tier),
		session.with("token/kind", "api_key"),
		session.with("token/kind", "internal"),
		cl.with("token/tenant", tenantB).with("stored/clearance", tier),
	}
}

func checkClearance(c *checker) {
	for above := 1; above < len(tiers); above++ {
		// The next lower tier, and the values that count as the lowest tier.
		below := c.callerWithAllPermissions().with("token/clearance", tiers[above-1])
		for _, p := range c.permissions {
			if p.audit() {
				continue
			}
			resource := ownRecord().with("classification", tiers[above])
			c.requireDenial(access(below, p, resource), "request/resource/classification", "caller/token/clearance")
		}
	}
	few := []Permission{{Name: "tasks.read", Module: "tracker", Effect: "read"}, {Name: "task.delete", Module: "tracker", Effect: "write"}}
	cl := c.callerWithSamplePermissions()
	for a, tier := range tiers {
		for _, narrowed := range clearances(cl, tier) {
			for _, classification := range tiers[a+1:] {
				for _, p := range few {
					c.requireDenial(access(narrowed, p, ownRecord().with("classification", classification)), "request/resource/classification", "caller/token", "caller/stored")
				}
			}
		}
	}
	for _, tier := range append(invalidValues(), "secret", "TOP SECRET") {
		for _, narrowed := range clearances(cl, tier) {
			c.requireDenial(access(narrowed, few[0], ownRecord().with("classification", "INTERNAL")), "request/resource/classification", "caller/token", "caller/stored")
		}
	}
}

func checkAuditClearance(c *checker) {
	for _, name := range []string{"audit.read.own", "audit.read.organisation", "audit.read.tenant"} {
		cl := callerWithPermissions(name)
		for _, requested := range []string{"audit.read", "audit.read.own", "audit.read.organisation", "audit.read.tenant", "audit.read.classified"} {
			for _, classification := range append(tiers[1:], "unknown") {
				c.requireDenial(access(cl, Permission{Name: requested, Module: "audit", Effect: "read"}, ownRecord().with("classification", classification)), "request/resource/classification", "caller/roles")
			}
		}
	}
	withoutAudit := c.callerWithSamplePermissions().with("roles/Role", list("tasks.read", "role.assign", "decision_log.read", "events.read"))
	for _, requested := range []string{"audit.read", "audit.read.own", "audit.read.tenant"} {
		c.requireDenial(access(withoutAudit, Permission{Name: requested, Module: "audit", Effect: "read"}, ownRecord()), "caller/roles")
	}
}

func checkSubject(c *checker) {
	for _, cl := range c.incompleteCallers() {
		for _, p := range c.sample {
			c.requireDenial(access(cl, p, ownRecord()), "caller/token", "caller/user")
		}
	}
	for _, cl := range c.nonMembers() {
		for _, name := range memberPermissions {
			c.requireDenial(access(cl, Permission{Name: name, Module: "wiki", Effect: "read"}, ownRecord()), "caller/token", "caller/user", "caller/roles")
		}
	}
}

// nonMembers returns callers who do not have even the permissions that need no role.
func (c *checker) nonMembers() []*caller {
	cl := c.callerWithSamplePermissions()
	out := []*caller{newCaller(object{})}
	for _, path := range []string{"token", "token/kind", "token/caveats", "token/tenant", "tenant", "user", "user/id", "user/kind", "roles"} {
		out = append(out, cl.without(path), cl.with(path, nil), cl.with(path, "unknown"))
	}
	for _, caveat := range unknownCaveats() {
		out = append(out, cl.with("token/caveats", []any{caveat}))
	}
	inOtherTenant := cl.with("token/tenant", tenantB)
	return append(out, inOtherTenant.with("user/kind", "SERVICE"), inOtherTenant.with("token/kind", "internal"))
}

// incompleteCallers returns callers that lack a part of their subject, or have it in a wrong form.
// Fields in except are not changed.
func (c *checker) incompleteCallers(except ...string) []*caller {
	cl := c.callerWithSamplePermissions()
	out := []*caller{newCaller(object{})}
	for _, path := range []string{"token", "token/kind", "token/caveats", "token/roles", "token/tenant", "tenant", "user", "user/id", "user/kind", "roles"} {
		if slices.Contains(except, path) {
			continue
		}
		out = append(out, cl.without(path), cl.with(path, nil), cl.with(path, "unknown"))
	}
	out = append(out, cl.without("stored"), cl.without("stored/assignments"), cl.with("stored/assignments", nil), cl.with("stored/assignments", "unknown"))
	return out
}

func checkInput(c *checker) {
	few := []Permission{
		{Name: "tasks.read", Module: "tracker", Effect: "read"}, {Name: "task.delete", Module: "tracker", Effect: "write"},
		{Name: "tenant.create", Module: "identity", Effect: "write"}, {Name: "audit.read", Module: "audit", Effect: "read"},
	}
	cl := c.callerWithSamplePermissions()
	for _, p := range few {
		base := access(cl, p, ownRecord())
		for _, path := range []string{"permission", "effect", "module", "resource", "resource/tenant"} {
			c.requireDenial(query{base.caller, entryAllow, base.request.withoutPath(path)}, "request")
			for _, value := range invalidValues() {
				c.requireDenial(query{base.caller, entryAllow, base.request.withPath(path, value)}, "request")
			}
		}
		c.requireDenial(query{base.caller, entryAllow, base.request.withoutPath("resource/classification")}, "request")
		for _, value := range wrongTypes() {
			if value == nil && p.audit() {
				continue // an audit entry without a classification counts as UNCLASSIFIED
			}
			c.requireDenial(query{base.caller, entryAllow, base.request.withPath("resource/classification", value)}, "request")
		}
	}
	for _, name := range []string{"", "unknown", "tasks.read ", "TASKS.READ", "tasks", "own", "*"} {
		c.requireDenial(access(cl, Permission{Name: name, Module: "tracker", Effect: "read"}, ownRecord()), "request/permission")
		c.requireDenial(access(callerWithPermissions(name), Permission{Name: name, Module: "tracker", Effect: "read"}, ownRecord()), "request/permission", "caller/roles")
	}
	for _, path := range []string{"roles/Role", "token/roles", "token/caveats"} {
		for _, value := range []any{nil, 7, "unknown", "tasks.read", object{}, list("unknown")} {
			malformed := cl.with(path, value)
			for _, p := range few {
				c.requireDenial(access(malformed, p, ownRecord()), "caller/"+path)
			}
		}
	}
	for _, scope := range []any{nil, 7, "", "unknown", "project", "organisation"} {
		malformed := cl.with("stored/assignments", []any{object{"role": "Role", "scope": scope}})
		for _, p := range few {
			c.requireDenial(access(malformed, p, ownRecord()), "caller/stored")
		}
	}
}

func checkHidden(c *checker) {
	if c.err != nil || !c.entrypoints[entryDenial] {
		return
	}
	high, low := c.callerWithSamplePermissions(), c.callerWithSamplePermissions().with("token/clearance", "UNCLASSIFIED")
	for _, p := range c.permissions {
		c.requireHidden(access(high, p, ownRecord().with("tenant", tenantB)), "request/resource/tenant")
		if !p.audit() {
			c.requireHidden(access(low, p, ownRecord().with("classification", "SECRET")), "request/resource/classification", "caller/token/clearance")
		}
	}
}

// requireHidden reports a violation if the denial does not hide the record.
func (c *checker) requireHidden(q query, keep ...string) {
	if c.err != nil {
		return
	}
	c.decisions++
	q.entry = entryDenial
	if value := c.eval(entryDenial, c.input(q)); c.err == nil && fmt.Sprint(member(value, "hidden")) != "true" {
		c.err = &Violation{Invariant: c.current, Entrypoint: entryDenial, Problem: fmt.Sprintf("returns %v", value), Counterexample: q.String()}
	}
}
