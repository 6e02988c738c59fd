package oracle_test

// grantList draws a list of grants, usually a short one.
func (d *drawer) grantList() []any {
	out := []any{}
	for range d.rnd.IntN(3) {
		grant := map[string]any{"permissions": d.pickSome([]string{
			"task.update", "tasks.read", "task.update.own", "task.delete.own", "api_key.read.own", "audit.read.own", "audit.read.classified",
			"tenant.disable", "task.fly", "role.assign",
		}, 2), "scope": d.pickMostly(70, "tenant", "project", "organisation", "galaxy")}
		switch grant["scope"] {
		case "project":
			grant["id"] = d.pick(projects)
		case "organisation":
			grant["id"] = d.pick(organisations)
		}
		out = append(out, grant)
	}
	return out
}

// grantingActor draws an actor of the tenant that usually holds permissions to grant.
func (d *drawer) grantingActor(tenant string) map[string]any {
	actor := d.actor()
	actor["tenant"] = tenant
	if d.chance(85) {
		actor["effects"], actor["modules"], actor["all_projects"] = []any{"read", "write"}, []any{"identity"}, true
		grants := map[string]any{}
		for _, name := range []string{"task.update", "tasks.read", "task.delete", "role.assign", "api_key.read"} {
			if !d.chance(90) {
				continue
			}
			grant := map[string]any{"tenant": d.chance(85), "organisations": d.pickSome(organisations, 2), "projects": d.pickSome(projects, 2)}
			if name == "api_key.read" {
				grant["own"] = map[string]any{"tenant": true, "organisations": []any{}, "projects": []any{}}
			}
			grants[name] = grant
		}
		actor["grants"] = grants
		audit := map[string]any{}
		for _, scope := range []string{"own", "tenant", "classified"} {
			if d.chance(75) {
				audit[scope] = map[string]any{"tenant": true, "organisations": []any{}, "projects": []any{}}
			}
		}
		actor["audit"] = audit
	}
	return actor
}

// grantRequest draws a request to grant roles, permissions and a clearance.
func (d *drawer) grantRequest() any {
	actor := d.grantingActor(tenants[0])
	in := map[string]any{
		"actor": actor, "grants": d.grantList(), "roles": []any{map[string]any{"kind": d.pickMostly(93, "STANDARD", "GLOBAL")}},
		"clearance": map[string]any{"from": d.pickMostly(50, "", tiers...), "to": d.pickMostly(60, "", tiers...)},
	}
	if d.chance(85) {
		in["recipient"] = map[string]any{"id": d.pickMostly(85, d.pick(newIDs("e", 3)), actor["id"].(string)), "kind": d.pickMostly(92, "HUMAN", "SERVICE", "AGENT")}
	}
	return in
}

// account draws the input of the rules about accounts and roles.
func (d *drawer) account() any {
	tenant := tenants[0]
	actor := d.grantingActor(tenant)
	id := d.pickMostly(92, d.pick(newIDs("e", 3)), actor["id"].(string))
	holdings := []any{}
	for i, t := range tenants {
		if i > 0 && d.chance(55) {
			break
		}
		h := map[string]any{
			"tenant": t, "membership": d.pickMostly(75, "ACTIVE", "SUSPENDED", "REMOVED", "PENDING"), "clearance": d.pickMostly(70, "", tiers...),
			"grants": d.grantList(), "delegations": []any{}, "caller_membership": d.pickMostly(90, "ACTIVE", "SUSPENDED", ""),
		}
		if d.chance(25) {
			h["delegations"] = d.grantList()
		}
		if d.chance(95) {
			caller := d.grantingActor(t)
			caller["id"] = d.pickMostly(97, actor["id"].(string), users...)
			h["caller"] = caller
			if i == 0 && d.chance(95) {
				h["caller"] = actor
			}
		}
		holdings = append(holdings, h)
	}
	roles := []any{}
	for range d.rnd.IntN(3) {
		roles = append(roles, map[string]any{"name": d.pickMostly(50, "Admin", roleNames...), "scope": d.pickMostly(70, "tenant", "project")})
	}
	return map[string]any{
		"actor": actor, "holdings": holdings, "roles": roles, "other_administrators": d.rnd.IntN(3),
		"account": map[string]any{
			"id": id, "kind": d.pickMostly(90, "HUMAN", "SERVICE", "AGENT"), "status": d.pickMostly(88, "ACTIVE", "SUSPENDED", "DELETED"),
			"home": d.pickMostly(93, tenant, tenants...), "has_password": d.chance(50), "address_confirmed": d.chance(35),
		},
		"requested_by": d.pickMostly(70, "administrator", "holder"), "authority_unchanged": d.chance(60), "home_administered": d.chance(80),
	}
}

// role draws a change of a role.
func (d *drawer) role() any {
	return map[string]any{
		"actor": d.grantingActor(tenants[0]),
		"role": map[string]any{
			"name": d.pickMostly(40, "Admin", "Desk", "wiki:page:write", "multi-llm-review"), "kind": d.pickMostly(60, "STANDARD", "GLOBAL"), "scope": d.pickMostly(75, "tenant", "project"),
		},
		"permission": d.pickMostly(40, "wiki:page:write", "task.update", "tasks.read", "task.fly", "tenant.disable", "user.read"),
		"recipient":  map[string]any{"id": d.pick(users), "kind": d.pickMostly(75, "HUMAN", "AGENT", "SERVICE")}, "other_administrators": d.rnd.IntN(3),
	}
}
