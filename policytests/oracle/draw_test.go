package oracle_test

import (
	"fmt"
	"math/rand/v2"

	"parapet/policytests/oracle"
)

// drawer draws random inputs from few values, so that values that must match often do.
type drawer struct {
	rnd *rand.Rand
}

// newDrawer returns the drawer of one case. The same seed and number always give the same
// case.
func newDrawer(seed, number uint64) *drawer {
	return &drawer{rnd: rand.New(rand.NewPCG(seed, number))}
}

func newIDs(digit string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s0000000-0000-4000-8000-00000000000%d", digit, i+1)
	}
	return out
}

var (
	tenants       = newIDs("a", 2)
	organisations = newIDs("b", 3)
	projects      = newIDs("c", 3)
	users         = newIDs("d", 3)
	roleNames     = []string{"Admin", "Member", "Reviewer", "Auditor", "Agent", "PLATFORM_ADMIN", "wiki:page:write"}
	tiers         = []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"}
	moduleNames   = []string{"identity", "tracker", "wiki", "audit", "catalog", "events"}
	permissions   = []string{
		"tasks.read", "projects.read", "task.update", "task.update.own", "task.delete.own", "tasks.update.any", "project.update.own",
		"comment.update.own", "time_entry.delete.own",
		"audit.read.own", "audit.read.organisation", "audit.read.tenant", "audit.read.classified",
		"delegation.create", "initiative.update",
		"api_key.issue", "api_key.read.own", "api_key.revoke.own", "api_key.issue_for_service", "role.assign",
		"tenant.list", "tenant.disable", "tenant.read", "wiki:page:write", "organisation.read", "user.read",
	}
)

func (d *drawer) chance(percent int) bool { return d.rnd.IntN(100) < percent }

func (d *drawer) pick(from []string) string { return from[d.rnd.IntN(len(from))] }

// pickMostly draws the first value with the given probability, otherwise one of the rest.
func (d *drawer) pickMostly(percent int, first string, rest ...string) string {
	if d.chance(percent) {
		return first
	}
	return d.pick(rest)
}

// pickSome draws up to limit values, with repetitions.
func (d *drawer) pickSome(from []string, limit int) []any {
	out := make([]any, 0, limit)
	for range d.rnd.IntN(limit + 1) {
		out = append(out, d.pick(from))
	}
	return out
}

func (d *drawer) tier() string {
	return d.pickMostly(90, d.pick(tiers), "secret", "TOP SECRET", " SECRET", "")
}

func (d *drawer) grants() []any {
	out := d.pickSome(permissions, 6)
	if d.chance(15) {
		out = append(out, d.pick([]string{"task.fly", "task.update.any", "audit.read", "Tasks.read", "", "tasks.read.own", "*"}))
	}
	return out
}

func (d *drawer) subjectInput() any {
	token := map[string]any{
		"kind": d.pickMostly(45, "session", "api_key", "api_key", "api_key", "internal", "refresh"), "tenant": tenants[0],
		"role_scopes": map[string]any{}, "caveats": d.caveatList(),
	}
	if d.chance(80) {
		token["clearance"] = d.tier()
	}
	target := d.pickMostly(75, tenants[0], tenants[1])
	roles := map[string]any{}
	for range 2 + d.rnd.IntN(3) {
		roles[d.pick(roleNames)] = d.grants()
	}
	named := []string{}
	for _, name := range roleNames { // sorted, so that a case can be repeated
		if _, ok := roles[name]; ok {
			named = append(named, name)
		}
	}
	signed := d.pickSome(named, 3)
	if d.chance(10) {
		signed = append(signed, "Gone")
	}
	token["roles"] = signed
	for _, name := range signed {
		if d.chance(30) {
			token["role_scopes"].(map[string]any)[name.(string)] = d.scopes()
		}
	}
	assignments := []any{}
	for _, name := range signed {
		if d.chance(75) {
			assignments = append(assignments, d.assignment(name.(string)))
		}
	}
	for range d.rnd.IntN(3) {
		assignments = append(assignments, d.assignment(d.pick(roleNames)))
	}
	stored := map[string]any{"assignments": assignments}
	if d.chance(80) {
		stored["clearance"] = d.tier()
	}
	user := map[string]any{"id": d.pick(users), "kind": d.pickMostly(65, "HUMAN", "SERVICE", "AGENT", "AGENT", "ROBOT")}
	if d.chance(60) {
		user["organisation"] = d.pick(organisations)
	}
	if user["kind"] == "SERVICE" {
		user["integration_key"] = "spec-wiki-sync"
	}
	return map[string]any{
		"token": token, "tenant": target, "tenant_type": d.pickMostly(65, "STANDARD", "PROGRAMME_OFFICE"),
		"user": user, "stored": stored, "roles": roles, "delegations": d.receivedDelegations(named),
	}
}

func (d *drawer) scopes() []any {
	out := []any{}
	for range d.rnd.IntN(4) {
		switch d.rnd.IntN(8) {
		case 0, 1, 2:
			out = append(out, "project:"+d.pick(projects))
		case 3, 4, 5:
			out = append(out, "organisation:"+d.pick(organisations))
		default:
			out = append(out, d.pick([]string{"tenant", "project:", "project", "Project:" + projects[0], "tenant:" + tenants[0], ""}))
		}
	}
	return out
}

func (d *drawer) assignment(role string) any {
	a := map[string]any{"role": role, "scope": d.pickMostly(50, "tenant", "organisation", "project")}
	switch a["scope"] {
	case "organisation":
		a["id"] = d.pick(organisations)
	case "project":
		a["id"] = d.pick(projects)
	}
	return a
}

func (d *drawer) caveatList() []any {
	out := []any{}
	if d.chance(70) {
		return out
	}
	for range 1 + d.rnd.IntN(2) {
		switch d.rnd.IntN(10) {
		case 0, 1, 2:
			out = append(out, "read-only")
		case 3, 4, 5:
			out = append(out, "project:"+d.pick(projects[:2]))
		case 6, 7, 8:
			out = append(out, "module:"+d.pick(moduleNames))
		default:
			out = append(out, d.pick([]string{"", "write-only", "read-only ", "module:", "module:none", "project:", "project:*", "READ-ONLY", "tenant:" + tenants[0]}))
		}
	}
	return out
}

// actor draws a subject as the policies compute it, usually with permissions.
func (d *drawer) actor() map[string]any {
	actor := oracle.Oracle{}.Subject(d.subjectInput())
	for range 3 {
		if len(stringsOf(actor["holds"])) > 0 || d.chance(10) {
			break
		}
		actor = oracle.Oracle{}.Subject(d.subjectInput())
	}
	return actor
}

// keyHolder draws an actor that usually may manage keys.
func (d *drawer) keyHolder() map[string]any {
	in := d.subjectInput().(map[string]any)
	if d.chance(85) {
		if d.chance(70) {
			in["user"].(map[string]any)["kind"] = "HUMAN"
		}
		token := in["token"].(map[string]any)
		in["tenant"] = tenants[0]
		in["roles"].(map[string]any)["Member"] = []any{"api_key.issue", "api_key.read.own", "api_key.revoke.own"}
		if d.chance(50) {
			in["roles"].(map[string]any)["Member"] = []any{"api_key.issue_for_service", "api_key.issue"}
		}
		token["kind"] = d.pickMostly(80, "session", "api_key")
		token["roles"] = []any{"Member"}
		token["role_scopes"] = map[string]any{}
		in["stored"] = map[string]any{"assignments": []any{map[string]any{"role": "Member", "scope": d.pickMostly(90, "tenant", "project"), "id": projects[0]}}}
		if d.chance(80) {
			token["caveats"] = []any{}
		}
		if d.chance(25) { // only on record, not in the token
			in["roles"].(map[string]any)["Auditor"] = []any{"api_key.issue_for_service"}
			stored := in["stored"].(map[string]any)
			stored["assignments"] = append(stored["assignments"].([]any), map[string]any{"role": "Auditor", "scope": "tenant"})
		}
	}
	return oracle.Oracle{}.Subject(in)
}

func stringsOf(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (d *drawer) decision() any { return d.decisionFor(d.actor()) }

func (d *drawer) decisionFor(actor map[string]any) any {
	permission := d.pick(permissions)
	if held := stringsOf(actor["holds"]); len(held) > 0 && d.chance(85) {
		permission = d.pick(held)
	}
	if d.chance(3) {
		permission = d.pick([]string{"audit.read", "audit.read.everything", "task.fly", "*", "tasks"})
	}
	if oracle.IsPlatform(permission) && d.chance(25) {
		actor["tenant_type"] = "STANDARD" // the policies compute no such subject, so only this rule denies
	}
	resource := map[string]any{"type": "task", "tenant": actor["tenant"]}
	if d.chance(6) {
		resource["tenant"] = d.pick(tenants)
	}
	if d.chance(70) {
		resource["id"] = d.pick(users)
	}
	for name, from := range map[string][]string{"organisation": organisations, "project": projects, "creator": users, "owner": users} {
		resource[name] = from
	}
	for _, name := range []string{"organisation", "project", "creator", "owner"} {
		from := resource[name].([]string)
		delete(resource, name)
		if d.chance(70) {
			resource[name] = d.pick(from)
		}
	}
	if d.chance(30) {
		resource["creator"] = actor["id"]
	}
	d.placeInGrantedScope(resource, actor, permission)
	if wanted := stringsOf(actor["projects"]); len(wanted) > 0 && d.chance(70) {
		resource["project"] = d.pick(wanted)
	}
	if mine, ok := actor["organisation"].(string); ok && d.chance(40) {
		resource["organisation"] = mine
	}
	resource["classification"] = d.pickMostly(60, "UNCLASSIFIED", d.tier())
	if tiers := stringsOf(actor["readable"]); len(tiers) > 0 && d.chance(50) {
		resource["classification"] = d.pick(tiers)
	}
	if d.chance(4) {
		resource["classification"] = nil
	}
	effect, module := d.pickMostly(75, "read", "write", "write", "write", "delete", ""), d.pick(moduleNames)
	if wanted := stringsOf(actor["modules"]); len(wanted) > 0 && d.chance(92) {
		module = d.pick(wanted)
	}
	return map[string]any{"permission": permission, "effect": effect, "module": module, "actor": actor, "resource": resource}
}

// placeInGrantedScope usually places the resource in a scope in which the actor holds the
// permission.
func (d *drawer) placeInGrantedScope(resource, actor map[string]any, permission string) {
	grant, ok := actor["grants"].(map[string]any)[permission].(map[string]any)
	if !ok || d.chance(15) {
		return
	}
	if own, ok := grant["own"].(map[string]any); ok && d.chance(60) {
		grant = own
		resource[d.pick([]string{"creator", "owner"})] = actor["id"]
	}
	if held := stringsOf(grant["organisations"]); len(held) > 0 {
		resource["organisation"] = d.pick(held)
	}
	if held := stringsOf(grant["projects"]); len(held) > 0 {
		resource["project"] = d.pick(held)
	}
}

func (d *drawer) clearancePair() any {
	return map[string]any{"clearance": d.tier(), "classification": d.tier()}
}

func (d *drawer) target() map[string]any {
	key := d.pickMostly(48, "spec-wiki-sync", "multi-llm-review", "multi-llm-review", "multi-llm-review", "third-integration")
	role := map[string]any{"name": "wiki:page:write", "kind": d.pickMostly(94, "GLOBAL", "STANDARD"), "scope": d.pickMostly(94, "tenant", "project"), "grants": []any{"wiki:page:write"}}
	if key != "spec-wiki-sync" {
		role["name"], role["grants"] = "multi-llm-review", []any{"projects.read", "tasks.read"}
		if d.chance(30) {
			role["grants"] = []any{"tasks.read", "projects.read"}
		}
	}
	switch d.rnd.IntN(20) {
	case 0:
		role["grants"] = append(role["grants"].([]any), "task.update")
	case 1:
		role["grants"] = role["grants"].([]any)[1:]
	case 2:
		role["name"] = d.pick(roleNames)
	case 3:
		role["grants"] = append(role["grants"].([]any), role["grants"].([]any)[0])
	}
	roles := []any{role}
	switch d.rnd.IntN(25) {
	case 0:
		roles = append(roles, map[string]any{"name": "Member", "kind": "STANDARD", "scope": "tenant", "grants": []any{}})
	case 1:
		roles = []any{}
	}
	return map[string]any{
		"id": d.pick(users), "tenant": d.pickMostly(92, tenants[0], tenants[1]), "kind": d.pickMostly(92, "SERVICE", "HUMAN", "AGENT"),
		"status": d.pickMostly(92, "ACTIVE", "SUSPENDED", "DELETED"), "membership": d.pickMostly(92, "ACTIVE", "SUSPENDED", "REMOVED"),
		"integration_key": key, "roles": roles,
	}
}

func (d *drawer) settings() map[string]any {
	s := map[string]any{}
	days := []any{1, 7, 14, 20, 29, 30, 31, 89, 90, 91, 180, 364, 365, 366, 1000}
	if d.chance(35) {
		s["max_admin_days"] = days[d.rnd.IntN(len(days))]
	}
	if d.chance(35) {
		s["max_user_days"] = days[d.rnd.IntN(len(days))]
	}
	return s
}

func (d *drawer) issueService() any {
	actor, target, settings := d.keyHolder(), d.target(), d.settings()
	if d.chance(50) {
		actor["kind"], actor["token_kind"] = "HUMAN", "session"
		target["tenant"] = actor["tenant"]
		delete(settings, "max_user_days")
	}
	return map[string]any{"actor": actor, "target": target, "settings": settings}
}

func (d *drawer) issueSelf() any {
	in := map[string]any{"actor": d.keyHolder(), "settings": d.settings(), "active_keys": d.rnd.IntN(55), "max_active_keys": 50}
	if d.chance(60) {
		wishes := []any{-1, 0, 1, 2, 13, 14, 15, 29, 30, 31, 90, 180, 364, 365, 366, 10000, 1.5}
		in["expires_in_days"] = wishes[d.rnd.IntN(len(wishes))]
	}
	return in
}

func (d *drawer) owner() map[string]any {
	return map[string]any{"id": d.pick(users), "tenant": d.pickMostly(85, tenants[0], tenants[1]), "kind": d.pickMostly(70, "SERVICE", "HUMAN", "AGENT")}
}

func (d *drawer) listKeys() any {
	in := map[string]any{"actor": d.keyHolder(), "service_owned": d.chance(60)}
	if in["service_owned"] == true {
		in["owner"] = d.owner()
	}
	return in
}

func (d *drawer) revokeKey() any {
	actor := d.keyHolder()
	owner := d.owner()
	if d.chance(30) {
		owner["id"], owner["kind"] = actor["id"], actor["kind"]
	}
	key := map[string]any{"jti": users[0], "tenant": owner["tenant"], "owner": owner}
	return map[string]any{"actor": actor, "service_owned": d.chance(50), "key": key}
}

func (d *drawer) validateProfile() any {
	return map[string]any{"target": d.target()}
}

func (d *drawer) open() any {
	return map[string]any{"effect": d.pickMostly(45, "read", "write", "write", "delete"), "module": d.pick(moduleNames), "actor": d.actor()}
}

func (d *drawer) actAs() any {
	return map[string]any{
		"token_kind": d.pickMostly(40, "session", "api_key", "api_key", "internal", "refresh"), "token_tenant": tenants[0],
		"principal_kind": d.pickMostly(50, "HUMAN", "AGENT", "SERVICE", "SERVICE", "ROBOT"),
		"module":         d.pick(moduleNames), "header": d.chance(60), "target": d.pickMostly(50, tenants[0], tenants[1]),
	}
}
