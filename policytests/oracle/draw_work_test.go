package oracle_test

import "parapet/policytests/oracle"

var initiatives = pool("e", 2)

// received draws the delegations of a caller, usually none.
func (d *drawer) received(roles []string) []any {
	out := []any{}
	if d.chance(65) {
		return out
	}
	for range 1 + d.rnd.IntN(2) {
		out = append(out, d.delegation(roles))
	}
	return out
}

func (d *drawer) delegation(roles []string) map[string]any {
	assignments := []any{}
	for range 1 + d.rnd.IntN(2) {
		assignments = append(assignments, d.assignment(d.one(append(roles, "Member"))))
	}
	wanted := d.some(permissions, 8)
	if d.chance(60) {
		wanted = append(wanted, "tasks.read", "task.update", "task.update.own", "tasks.update.any", "initiative.update")
	}
	if d.chance(10) {
		wanted = append(wanted, d.one([]string{"task.fly", "task.update.own.own", "", "*"}))
	}
	out := map[string]any{
		"id": d.one(pool("f", 3)), "scope": d.mostly(40, "tenant", "project", "initiative", "initiative", "galaxy"),
		"projects": []any{}, "initiatives": []any{}, "permissions": wanted,
		"delegator": map[string]any{
			"id": d.one(users), "kind": d.mostly(85, "HUMAN", "AGENT", "SERVICE"), "status": d.mostly(92, "ACTIVE", "SUSPENDED"),
			"membership": d.mostly(92, "ACTIVE", "SUSPENDED", "REMOVED"), "assignments": assignments,
		},
	}
	if d.chance(80) {
		out["delegator"].(map[string]any)["clearance"] = d.tier()
	}
	if out["scope"] != "tenant" {
		out["projects"] = d.some(append(projects, "apollo"), 3)
	}
	if out["scope"] == "initiative" {
		out["initiatives"] = []any{d.one(initiatives)}
	}
	return out
}

// delegateActor draws an actor that usually received a delegation.
func (d *drawer) delegateActor() map[string]any {
	for range 20 {
		in := d.subjectInput().(map[string]any)
		roles := in["roles"].(map[string]any)
		roles["Member"] = append(d.grants(), "tasks.read", "task.update", "tasks.update.any", "initiative.update")
		in["delegations"] = []any{d.delegation([]string{"Member"}), d.delegation([]string{"Member"})}
		actor := oracle.Oracle{}.Subject(in)
		if subjects, _ := actor["delegated_subjects"].([]any); len(subjects) > 0 || d.chance(5) {
			return actor
		}
	}
	return d.actor()
}

// delegatedDecision draws a request that a delegation usually allows.
func (d *drawer) delegatedDecision() any {
	actor := d.delegateActor()
	subjects, _ := actor["delegated_subjects"].([]any)
	if len(subjects) == 0 {
		return d.decisionFor(actor)
	}
	delegated := subjects[d.rnd.IntN(len(subjects))].(map[string]any)
	in := d.decisionFor(delegated).(map[string]any)
	in["actor"] = actor
	if d.chance(50) {
		in["module"], in["effect"] = "tracker", d.one([]string{"read", "write"})
	}
	if d.chance(25) {
		resource := in["resource"].(map[string]any)
		resource["type"], resource["id"] = d.mostly(80, "initiative", "task"), d.one(initiatives)
		delete(resource, "project")
		in["permission"] = d.mostly(80, "initiative.update", "tasks.read")
	}
	return in
}

// work draws the input of the rules about work: a record, a candidate, and the user who
// started it.
func (d *drawer) work() any {
	actor := d.delegateActor()
	if d.chance(60) {
		actor = d.actor()
		if d.chance(60) {
			grants := map[string]any{}
			for name, grant := range actor["grants"].(map[string]any) {
				grants[name] = grant
			}
			if d.chance(70) {
				grants["task.update"] = map[string]any{"tenant": d.chance(70), "organisations": []any{}, "projects": d.some(projects, 2)}
			}
			grants["tasks.update.any"] = map[string]any{"tenant": d.chance(70), "organisations": []any{}, "projects": d.some(projects, 2)}
			actor["grants"] = grants
		}
	}
	in := map[string]any{"actor": actor}
	resource := map[string]any{"type": "task", "tenant": d.mostly(93, actor["tenant"].(string), tenants...), "classification": d.mostly(80, "UNCLASSIFIED", d.tier())}
	if d.chance(85) {
		resource["project"] = d.one(projects)
		if wanted := strings(actor["projects"]); len(wanted) > 0 && d.chance(70) {
			resource["project"] = d.one(wanted)
		}
	}
	in["resource"] = resource
	roles := []any{map[string]any{"name": "Member", "kind": "STANDARD", "scope": "tenant", "grants": d.grants()}}
	if d.chance(12) {
		roles = append(roles, map[string]any{"name": "Guest Customer", "kind": "STANDARD", "scope": "project", "id": d.one(projects), "grants": []any{}})
	}
	candidate := map[string]any{
		"id": d.one(users), "tenant": d.mostly(93, actor["tenant"].(string), tenants...), "kind": d.mostly(70, "AGENT", "HUMAN", "HUMAN", "SERVICE"),
		"status": d.mostly(92, "ACTIVE", "SUSPENDED", "DELETED"), "membership": d.mostly(92, "ACTIVE", "SUSPENDED"), "roles": roles,
		"agents_allowed": d.chance(85),
	}
	if d.chance(60) {
		candidate["clearance"] = d.tier()
	}
	in["candidate"] = candidate
	for _, name := range []string{"acting", "raised_by", "holder"} {
		if d.chance(92) {
			in[name] = d.mostly(60, actor["id"].(string), users...)
		}
	}
	if acting, ok := in["acting"]; ok && d.chance(80) {
		in["assignee"] = acting
	} else if d.chance(80) {
		in["assignee"] = d.one(users)
	}
	in["category"] = d.mostly(80, "IN_PROGRESS", "TODO", "REVIEW", "")
	return in
}

// promotion draws an issue that the actor usually may change: every one, or its own.
func (d *drawer) promotion() any { return d.inFull("issue.update") }

// counting draws a scope whose records the actor usually may read.
func (d *drawer) counting() any {
	permission := d.one([]string{"tasks.read", "issues.read", "time_entries.read"})
	in := d.inFull(permission)
	in["permission"] = permission
	return in
}

func (d *drawer) inFull(permission string) map[string]any {
	in := d.work().(map[string]any)
	actor := map[string]any{}
	for name, v := range in["actor"].(map[string]any) {
		actor[name] = v
	}
	grants := map[string]any{}
	for name, grant := range actor["grants"].(map[string]any) {
		grants[name] = grant
	}
	if d.chance(80) {
		own := map[string]any{"tenant": d.chance(80), "organisations": []any{}, "projects": []any{}}
		grants[permission] = map[string]any{"tenant": d.chance(40), "organisations": []any{}, "projects": d.some(projects, 2), "own": own}
	}
	actor["grants"] = grants
	in["actor"] = actor
	resource := in["resource"].(map[string]any)
	for _, relation := range []string{"creator", "owner"} {
		if d.chance(70) {
			resource[relation] = d.mostly(70, actor["id"].(string), users...)
		}
	}
	return in
}

// delegate draws a new delegation, usually of permissions that the delegator holds.
func (d *drawer) delegate() any {
	actor := d.actor()
	wanted := []any{}
	for range 1 + d.rnd.IntN(2) {
		wanted = append(wanted, d.mostly(85, d.one([]string{"task.update", "tasks.read", "task.update.own"}), permissions...))
	}
	if d.chance(80) {
		actor["effects"], actor["modules"], actor["all_projects"] = []any{"read", "write"}, []any{"tracker"}, true
		grants := map[string]any{}
		for _, name := range []string{"task.update", "tasks.read", "delegation.create", "role.assign"} {
			grants[name] = map[string]any{"tenant": d.chance(95), "organisations": []any{}, "projects": []any{}}
		}
		actor["grants"] = grants
	}
	user := func(id string) map[string]any {
		return map[string]any{
			"id": id, "tenant": d.mostly(96, actor["tenant"].(string), tenants...), "kind": d.mostly(90, "HUMAN", "AGENT", "SERVICE"),
			"status": d.mostly(95, "ACTIVE", "SUSPENDED"), "membership": d.mostly(95, "ACTIVE", "REMOVED"),
			"roles": []any{map[string]any{"name": "Member", "kind": "STANDARD", "scope": "tenant", "grants": []any{"task.update", "tasks.read", "delegation.create", "role.assign"}}},
		}
	}
	const now = 1795305600000000
	starts := now
	if d.chance(30) {
		starts += d.nearLimit(366 * 24 * 3600 * 1000000)
	}
	if d.chance(10) {
		starts = now - d.nearLimit(5*60*1000000)
	}
	ends := starts + 3600*1000000
	if d.chance(30) {
		ends = starts + d.nearLimit(366*24*3600*1000000)
	}
	if d.chance(10) {
		ends = now - 1 + d.rnd.IntN(3)
	}
	return map[string]any{
		"now": now, "starts_at": starts, "ends_at": ends,
		"received": map[string]any{"from_delegator": d.mostlyInt(85, d.rnd.IntN(16), 16, 17), "total": d.mostlyInt(85, d.rnd.IntN(64), 64, 65)},
		"actor":    actor, "delegator": user(d.mostly(85, actor["id"].(string), users...)), "delegate": user(d.one(pool("d", 5))), "permissions": wanted,
		"resource": map[string]any{"type": "delegation", "tenant": d.mostly(97, actor["tenant"].(string), tenants...), "classification": d.mostly(92, "UNCLASSIFIED", d.tier())},
	}
}

// nearLimit draws a number at a limit, next to it, or far below it.
func (d *drawer) nearLimit(bound int) int {
	if d.chance(50) {
		return d.rnd.IntN(bound)
	}
	return bound - 1 + d.rnd.IntN(3)
}

// mostlyInt draws the first number with the given probability, otherwise one of the others.
func (d *drawer) mostlyInt(percent, usual int, others ...int) int {
	if d.chance(percent) {
		return usual
	}
	return others[d.rnd.IntN(len(others))]
}
