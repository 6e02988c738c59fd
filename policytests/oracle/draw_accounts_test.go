package oracle_test

// grantList draws a list of grants, usually a short one.
func (d *drawer) grantList() []any {
	out := []any{}
	for range d.rnd.IntN(3) {
		grant := map[string]any{"permissions": d.some([]string{
			"task.update", "tasks.read", "task.update.own", "task.delete.own", "api_key.read.own", "audit.read.own", "audit.read.classified",
			"tenant.disable", "task.fly", "role.assign",
		}, 2), "scope": d.mostly(70, "tenant", "project", "organisation", "galaxy")}
		switch grant["scope"] {
		case "project":
			grant["id"] = d.one(projects)
		case "organisation":
			grant["id"] = d.one(organisations)
		}
		out = append(out, grant)
	}
	return out
}

// grantingActor draws an actor that holds most permissions of given.
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
			grant := map[string]any{"tenant": d.chance(85), "organisations": d.some(organisations, 2), "projects": d.some(projects, 2)}
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
		"actor": actor, "grants": d.grantList(), "roles": []any{map[string]any{"kind": d.mostly(93, "STANDARD", "GLOBAL")}},
		"clearance": map[string]any{"from": d.mostly(50, "", tiers...), "to": d.mostly(60, "", tiers...)},
	}
	if d.chance(85) {
		in["recipient"] = map[string]any{"id": d.mostly(85, d.one(pool("e", 3)), actor["id"].(string)), "kind": d.mostly(92, "HUMAN", "SERVICE", "AGENT")}
	}
	return in
}

// account draws the input of the rules about accounts and roles.
func (d *drawer) account() any {
	tenant := tenants[0]
	actor := d.grantingActor(tenant)
	id := d.mostly(92, d.one(pool("e", 3)), actor["id"].(string))
	holdings := []any{}
	for i, t := range tenants {
		if i > 0 && d.chance(55) {
			break
		}
		h := map[string]any{
			"tenant": t, "membership": d.mostly(75, "ACTIVE", "SUSPENDED", "REMOVED", "PENDING"), "clearance": d.mostly(70, "", tiers...),
			"grants": d.grantList(), "delegations": []any{}, "caller_membership": d.mostly(90, "ACTIVE", "SUSPENDED", ""),
		}
		if d.chance(25) {
			h["delegations"] = d.grantList()
		}
		if d.chance(95) {
			caller := d.grantingActor(t)
			caller["id"] = d.mostly(97, actor["id"].(string), users...)
			h["caller"] = caller
			if i == 0 && d.chance(95) {
				h["caller"] = actor
			}
		}
		holdings = append(holdings, h)
	}
	roles := []any{}
	for range d.rnd.IntN(3) {
		roles = append(roles, map[string]any{"name": d.mostly(50, "Admin", roleNames...), "scope": d.mostly(70, "tenant", "project")})
	}
	return map[string]any{
		"actor": actor, "holdings": holdings, "roles": roles, "other_administrators": d.rnd.IntN(3),
		"account": map[string]any{
			"id": id, "kind": d.mostly(90, "HUMAN", "SERVICE", "AGENT"), "status": d.mostly(88, "ACTIVE", "SUSPENDED", "DELETED"),
			"home": d.mostly(93, tenant, tenants...), "has_password": d.chance(50), "address_confirmed": d.chance(35),
		},
		"requested_by": d.mostly(70, "administrator", "holder"), "authority_unchanged": d.chance(60), "home_administered": d.chance(80),
	}
}

// role draws a change of a role.
func (d *drawer) role() any {
	return map[string]any{
		"actor": d.grantingActor(tenants[0]),
		"role": map[string]any{
			"name": d.mostly(40, "Admin", "Desk", "wiki:page:write", "multi-llm-review"), "kind": d.mostly(60, "STANDARD", "GLOBAL"), "scope": d.mostly(75, "tenant", "project"),
		},
		"permission": d.mostly(40, "wiki:page:write", "task.update", "tasks.read", "task.fly", "tenant.disable", "user.read"),
		"recipient":  map[string]any{"id": d.one(users), "kind": d.mostly(75, "HUMAN", "AGENT", "SERVICE")}, "other_administrators": d.rnd.IntN(3),
	}
}
