package oracle_test

import "parapet/policytests/oracle"

var initiatives = newIDs("e", 2)

// receivedDelegations draws the delegations of a caller, usually none.
func (d *drawer) receivedDelegations(roles []string) []any {
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
		assignments = append(assignments, d.assignment(d.pick(append(roles, "Member"))))
	}
	wanted := d.pickSome(permissions, 8)
	if d.chance(60) {
		wanted = append(wanted, "tasks.read", "task.update", "task.update.own", "tasks.update.any", "initiative.update")
	}
	if d.chance(10) {
		wanted = append(wanted, d.pick([]string{"task.fly", "task.update.own.own", "", "*"}))
	}
	out := map[string]any{
		"id": d.pick(newIDs("f", 3)), "scope": d.pickMostly(40, "tenant", "project", "initiative", "initiative", "galaxy"),
		"projects": []any{}, "initiatives": []any{}, "permissions": wanted,
		"delegator": map[string]any{
			"id": d.pick(users), "kind": d.pickMostly(85, "HUMAN", "AGENT", "SERVICE"), "status": d.pickMostly(92, "ACTIVE", "SUSPENDED"),
			"membership": d.pickMostly(92, "ACTIVE", "SUSPENDED", "REMOVED"), "assignments": assignments,
		},
	}
	if d.chance(80) {
		out["delegator"].(map[string]any)["clearance"] = d.tier()
	}
	if out["scope"] != "tenant" {
		out["projects"] = d.pickSome(append(projects, "apollo"), 3)
	}
	if out["scope"] == "initiative" {
		out["initiatives"] = []any{d.pick(initiatives)}
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
		in["module"], in["effect"] = "tracker", d.pick([]string{"read", "write"})
	}
	if d.chance(25) {
		resource := in["resource"].(map[string]any)
		resource["type"], resource["id"] = d.pickMostly(80, "initiative", "task"), d.pick(initiatives)
		delete(resource, "project")
		in["permission"] = d.pickMostly(80, "initiative.update", "tasks.read")
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
				grants["task.update"] = map[string]any{"tenant": d.chance(70), "organisations": []any{}, "projects": d.pickSome(projects, 2)}
			}
			grants["tasks.update.any"] = map[string]any{"tenant": d.chance(70), "organisations": []any{}, "projects": d.pickSome(projects, 2)}
			actor["grants"] = grants
		}
	}
	in := map[string]any{"actor": actor}
	resource := map[string]any{"type": "task", "tenant": d.pickMostly(93, actor["tenant"].(string), tenants...), "classification": d.pickMostly(80, "UNCLASSIFIED", d.tier())}
	if d.chance(85) {
		resource["project"] = d.pick(projects)
		if wanted := stringsOf(actor["projects"]); len(wanted) > 0 && d.chance(70) {
			resource["project"] = d.pick(wanted)
		}
	}
	in["resource"] = resource
	roles := []any{map[string]any{"name": "Member", "kind": "STANDARD", "scope": "tenant", "grants": d.grants()}}
	if d.chance(12) {
		roles = append(roles, map[string]any{"name": "Guest Customer", "kind": "STANDARD", "scope": "project", "id": d.pick(projects), "grants": []any{}})
	}
	candidate := map[string]any{
		"id": d.pick(users), "tenant": d.pickMostly(93, actor["tenant"].(string), tenants...), "kind": d.pickMostly(70, "AGENT", "HUMAN", "HUMAN", "SERVICE"),
		"status": d.pickMostly(92, "ACTIVE", "SUSPENDED", "DELETED"), "membership": d.pickMostly(92, "ACTIVE", "SUSPENDED"), "roles": roles,
		"agents_allowed": d.chance(85),
	}
	if d.chance(60) {
		candidate["clearance"] = d.tier()
	}
	in["candidate"] = candidate
	for _, name := range []string{"acting", "raised_by", "holder"} {
		if d.chance(92) {
			in[name] = d.pickMostly(60, actor["id"].(string), users...)
		}
	}
	if acting, ok := in["acting"]; ok && d.chance(80) {
		in["assignee"] = acting
	} else if d.chance(80) {
		in["assignee"] = d.pick(users)
	}
	in["category"] = d.pickMostly(80, "IN_PROGRESS", "TODO", "REVIEW", "")
	return in
}

// promotionRequest draws an issue that the actor usually may change, as any issue or as its
// own.
func (d *drawer) promotionRequest() any { return d.requestWithOwnGrant("issue.update") }

// countRequest draws a scope whose records the actor usually may read.
func (d *drawer) countRequest() any {
	permission := d.pick([]string{"tasks.read", "issues.read", "time_entries.read"})
	in := d.requestWithOwnGrant(permission)
	in["permission"] = permission
	return in
}

// requestWithOwnGrant draws a request of an actor that usually holds the permission only as
// .own.
func (d *drawer) requestWithOwnGrant(permission string) map[string]any {
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
		grants[permission] = map[string]any{"tenant": d.chance(40), "organisations": []any{}, "projects": d.pickSome(projects, 2), "own": own}
	}
	actor["grants"] = grants
	in["actor"] = actor
	resource := in["resource"].(map[string]any)
	for _, relation := range []string{"creator", "owner"} {
		if d.chance(70) {
			resource[relation] = d.pickMostly(70, actor["id"].(string), users...)
		}
	}
	return in
}

// delegate draws a new delegation, usually of permissions that the delegator holds.
func (d *drawer) delegate() any {
	actor := d.actor()
	wanted := []any{}
	for range 1 + d.rnd.IntN(2) {
		wanted = append(wanted, d.pickMostly(85, d.pick([]string{"task.update", "tasks.read", "task.update.own"}), permissions...))
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
			"id": id, "tenant": d.pickMostly(96, actor["tenant"].(string), tenants...), "kind": d.pickMostly(90, "HUMAN", "AGENT", "SERVICE"),
			"status": d.pickMostly(95, "ACTIVE", "SUSPENDED"), "membership": d.pickMostly(95, "ACTIVE", "REMOVED"),
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
		"received": map[string]any{"from_delegator": d.pickMostlyInt(85, d.rnd.IntN(16), 16, 17), "total": d.pickMostlyInt(85, d.rnd.IntN(64), 64, 65)},
		"actor":    actor, "delegator": user(d.pickMostly(85, actor["id"].(string), users...)), "delegate": user(d.pick(newIDs("d", 5))), "permissions": wanted,
		"resource": map[string]any{"type": "delegation", "tenant": d.pickMostly(97, actor["tenant"].(string), tenants...), "classification": d.pickMostly(92, "UNCLASSIFIED", d.tier())},
	}
}

// nearLimit draws a number at a limit, next to it, or far below it.
func (d *drawer) nearLimit(bound int) int {
	if d.chance(50) {
		return d.rnd.IntN(bound)
	}
	return bound - 1 + d.rnd.IntN(3)
}

// pickMostlyInt draws the first number with the given probability, otherwise one of the others.
func (d *drawer) pickMostlyInt(percent, usual int, others ...int) int {
	if d.chance(percent) {
		return usual
	}
	return others[d.rnd.IntN(len(others))]
}
