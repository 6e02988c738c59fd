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

// at returns the drawer of one case. The same seed and number always give the same case.
func at(seed, number uint64) *drawer {
	return &drawer{rnd: rand.New(rand.NewPCG(seed, number))}
}

func pool(digit string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s0000000-0000-4000-8000-00000000000%d", digit, i+1)
	}
	return out
}

var (
	tenants       = pool("a", 2)
	organisations = pool("b", 3)
	projects      = pool("c", 3)
	users         = pool("d", 3)
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

func (d *drawer) one(of []string) string { return of[d.rnd.IntN(len(of))] }

// mostly draws the first value with the given probability, otherwise one of the rest.
func (d *drawer) mostly(percent int, first string, rest ...string) string {
	if d.chance(percent) {
		return first
	}
	return d.one(rest)
}

// some draws up to n values, with repetitions.
func (d *drawer) some(of []string, most int) []any {
	out := make([]any, 0, most)
	for range d.rnd.IntN(most + 1) {
		out = append(out, d.one(of))
	}
	return out
}

func (d *drawer) tier() string {
	return d.mostly(90, d.one(tiers), "secret", "TOP SECRET", " SECRET", "")
}

func (d *drawer) grants() []any {
	out := d.some(permissions, 6)
	if d.chance(15) {
		out = append(out, d.one([]string{"task.fly", "task.update.any", "audit.read", "Tasks.read", "", "tasks.read.own", "*"}))
	}
	return out
}

func (d *drawer) subjectInput() any {
	token := map[string]any{
		"kind": d.mostly(45, "session", "api_key", "api_key", "api_key", "internal", "refresh"), "tenant": tenants[0],
		"role_scopes": map[string]any{}, "caveats": d.caveatList(),
	}
	if d.chance(80) {
		token["clearance"] = d.tier()
	}
	target := d.mostly(75, tenants[0], tenants[1])
	roles := map[string]any{}
	for range 2 + d.rnd.IntN(3) {
		roles[d.one(roleNames)] = d.grants()
	}
	named := []string{}
	for _, name := range roleNames { // sorted, so that a case can be repeated
		if _, ok := roles[name]; ok {
			named = append(named, name)
		}
	}
	signed := d.some(named, 3)
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
		assignments = append(assignments, d.assignment(d.one(roleNames)))
	}
	stored := map[string]any{"assignments": assignments}
	if d.chance(80) {
		stored["clearance"] = d.tier()
	}
	user := map[string]any{"id": d.one(users), "kind": d.mostly(65, "HUMAN", "SERVICE", "AGENT", "AGENT", "ROBOT")}
	if d.chance(60) {
		user["organisation"] = d.one(organisations)
	}
	if user["kind"] == "SERVICE" {
		user["integration_key"] = "spec-wiki-sync"
	}
	return map[string]any{
		"token": token, "tenant": target, "tenant_type": d.mostly(65, "STANDARD", "PROGRAMME_OFFICE"),
		"user": user, "stored": stored, "roles": roles, "delegations": d.received(named),
	}
}

func (d *drawer) scopes() []any {
	out := []any{}
	for range d.rnd.IntN(4) {
		switch d.rnd.IntN(8) {
		case 0, 1, 2:
			out = append(out, "project:"+d.one(projects))
		case 3, 4, 5:
			out = append(out, "organisation:"+d.one(organisations))
		default:
			out = append(out, d.one([]string{"tenant", "project:", "project", "Project:" + projects[0], "tenant:" + tenants[0], ""}))
		}
	}
	return out
}

func (d *drawer) assignment(role string) any {
	a := map[string]any{"role": role, "scope": d.mostly(50, "tenant", "organisation", "project")}
	switch a["scope"] {
	case "organisation":
		a["id"] = d.one(organisations)
	case "project":
		a["id"] = d.one(projects)
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
			out = append(out, "project:"+d.one(projects[:2]))
		case 6, 7, 8:
			out = append(out, "module:"+d.one(moduleNames))
		default:
			out = append(out, d.one([]string{"", "write-only", "read-only ", "module:", "module:none", "project:", "project:*", "READ-ONLY", "tenant:" + tenants[0]}))
		}
	}
	return out
}

// actor draws a subject as the policies compute it, usually with permissions.
func (d *drawer) actor() map[string]any {
	actor := oracle.Oracle{}.Subject(d.subjectInput())
	for range 3 {
		if len(strings(actor["holds"])) > 0 || d.chance(10) {
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
		token["kind"] = d.mostly(80, "session", "api_key")
		token["roles"] = []any{"Member"}
		token["role_scopes"] = map[string]any{}
		in["stored"] = map[string]any{"assignments": []any{map[string]any{"role": "Member", "scope": d.mostly(90, "tenant", "project"), "id": projects[0]}}}
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

func strings(v any) []string {
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
	permission := d.one(permissions)
	if held := strings(actor["holds"]); len(held) > 0 && d.chance(85) {
		permission = d.one(held)
	}
	if d.chance(3) {
		permission = d.one([]string{"audit.read", "audit.read.everything", "task.fly", "*", "tasks"})
	}
	if oracle.IsPlatform(permission) && d.chance(25) {
		actor["tenant_type"] = "STANDARD" // the policies compute no such subject, so only this rule denies
	}
	resource := map[string]any{"type": "task", "tenant": actor["tenant"]}
	if d.chance(6) {
		resource["tenant"] = d.one(tenants)
	}
	if d.chance(70) {
		resource["id"] = d.one(users)
	}
	for name, from := range map[string][]string{"organisation": organisations, "project": projects, "creator": users, "owner": users} {
		resource[name] = from
	}
	for _, name := range []string{"organisation", "project", "creator", "owner"} {
		from := resource[name].([]string)
		delete(resource, name)
		if d.chance(70) {
			resource[name] = d.one(from)
		}
	}
	if d.chance(30) {
		resource["creator"] = actor["id"]
	}
	d.aim(resource, actor, permission)
	if wanted := strings(actor["projects"]); len(wanted) > 0 && d.chance(70) {
		resource["project"] = d.one(wanted)
	}
	if mine, ok := actor["organisation"].(string); ok && d.chance(40) {
		resource["organisation"] = mine
	}
	resource["classification"] = d.mostly(60, "UNCLASSIFIED", d.tier())
	if tiers := strings(actor["readable"]); len(tiers) > 0 && d.chance(50) {
		resource["classification"] = d.one(tiers)
	}
	if d.chance(4) {
		resource["classification"] = nil
	}
	effect, module := d.mostly(75, "read", "write", "write", "write", "delete", ""), d.one(moduleNames)
	if wanted := strings(actor["modules"]); len(wanted) > 0 && d.chance(92) {
		module = d.one(wanted)
	}
	return map[string]any{"permission": permission, "effect": effect, "module": module, "actor": actor, "resource": resource}
}

// aim usually places the resource in a scope in which the actor holds the permission.
func (d *drawer) aim(resource, actor map[string]any, permission string) {
	grant, ok := actor["grants"].(map[string]any)[permission].(map[string]any)
	if !ok || d.chance(15) {
		return
	}
	if own, ok := grant["own"].(map[string]any); ok && d.chance(60) {
		grant = own
		resource[d.one([]string{"creator", "owner"})] = actor["id"]
	}
	if held := strings(grant["organisations"]); len(held) > 0 {
		resource["organisation"] = d.one(held)
	}
	if held := strings(grant["projects"]); len(held) > 0 {
		resource["project"] = d.one(held)
	}
}

func (d *drawer) clearancePair() any {
	return map[string]any{"clearance": d.tier(), "classification": d.tier()}
}

func (d *drawer) target() map[string]any {
	key := d.mostly(48, "spec-wiki-sync", "multi-llm-review", "multi-llm-review", "multi-llm-review", "third-integration")
	role := map[string]any{"name": "wiki:page:write", "kind": d.mostly(94, "GLOBAL", "STANDARD"), "scope": d.mostly(94, "tenant", "project"), "grants": []any{"wiki:page:write"}}
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
		role["name"] = d.one(roleNames)
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
		"id": d.one(users), "tenant": d.mostly(92, tenants[0], tenants[1]), "kind": d.mostly(92, "SERVICE", "HUMAN", "AGENT"),
		"status": d.mostly(92, "ACTIVE", "SUSPENDED", "DELETED"), "membership": d.mostly(92, "ACTIVE", "SUSPENDED", "REMOVED"),
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
	return map[string]any{"id": d.one(users), "tenant": d.mostly(85, tenants[0], tenants[1]), "kind": d.mostly(70, "SERVICE", "HUMAN", "AGENT")}
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
	return map[string]any{"effect": d.mostly(45, "read", "write", "write", "delete"), "module": d.one(moduleNames), "actor": d.actor()}
}

func (d *drawer) actAs() any {
	return map[string]any{
		"token_kind": d.mostly(40, "session", "api_key", "api_key", "internal", "refresh"), "token_tenant": tenants[0],
		"principal_kind": d.mostly(50, "HUMAN", "AGENT", "SERVICE", "SERVICE", "ROBOT"),
		"module":         d.one(moduleNames), "header": d.chance(60), "target": d.mostly(50, tenants[0], tenants[1]),
	}
}
