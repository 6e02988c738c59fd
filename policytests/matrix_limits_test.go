package policytests_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// limits returns the rows about the other data: tiers, lifetimes, profiles, modules, audit
// scopes, administrators and guests.
func limits(policy object) []row {
	var rows []row
	add := func(subject, about string, answer func(context.Context, *evaluation) string) {
		rows = append(rows, row{"limits", []string{subject, about}, func(ctx context.Context, v *evaluation) []string { return []string{answer(ctx, v)} }})
	}
	roles := slices.Sorted(maps.Keys(policy["roles"].(object)["defaults"].(object)))
	for _, role := range append(roles, "unknown") {
		add("role "+role, "kind", func(_ context.Context, v *evaluation) string {
			return text(v.policyData("roles", "defaults", role, "kind"))
		})
		add("role "+role, "makes an administrator by its name", func(ctx context.Context, v *evaluation) string {
			return text(field(v.subject(ctx, role, "tenant", "STANDARD", ast.NewArray()), "admin"))
		})
		add("role "+role, "can be given work", func(ctx context.Context, v *evaluation) string {
			return text(field(v.eval(ctx, "parapet/work/give", object{
				"actor": v.subject(ctx, "Member", "tenant", "STANDARD", nil), "resource": object{"tenant": acme, "classification": "UNCLASSIFIED"},
				"candidate": object{
					"id": colleague, "tenant": acme, "kind": "HUMAN", "status": "ACTIVE", "membership": "ACTIVE", "agents_allowed": false,
					"roles": []any{object{"name": role, "kind": "STANDARD", "scope": "tenant", "grants": []any{}}},
				},
			}), "allow"))
		})
	}
	for _, clearance := range append(tiers(), "none") {
		for _, classification := range tiers() {
			add("clearance "+clearance, "reads "+classification, func(ctx context.Context, v *evaluation) string {
				return text(v.eval(ctx, "parapet/clearance/may_read", object{"clearance": clearance, "classification": classification}))
			})
		}
	}
	for _, module := range policy["catalogue"].(object)["modules"].([]any) {
		caveat := fmt.Sprint("module:", module)
		add(caveat, "is a known caveat", func(ctx context.Context, v *evaluation) string {
			s := v.eval(ctx, "parapet/subject/subject", object{
				"token":  object{"kind": "session", "tenant": acme, "roles": []any{}, "role_scopes": object{}, "caveats": []any{caveat}},
				"tenant": acme, "tenant_type": "STANDARD", "user": object{"id": worker, "kind": "HUMAN"},
				"stored": object{"assignments": []any{}}, "roles": object{}, "delegations": []any{},
			})
			return text(field(s, "modules"))
		})
	}
	profiles := policy["profiles"].(object)["registered"].(object)
	for _, key := range append(slices.Sorted(maps.Keys(profiles)), "unknown") {
		for _, role := range roles {
			add("profile "+key, "fits the default role "+role, func(ctx context.Context, v *evaluation) string {
				return text(v.eval(ctx, "parapet/profiles/validate", object{"target": object{
					"id": robot, "tenant": acme, "kind": "SERVICE", "status": "ACTIVE", "membership": "ACTIVE", "integration_key": key,
					"roles": []any{object{"name": role, "kind": "GLOBAL", "scope": "tenant", "grants": v.policyData("roles", "defaults", role, "grants")}},
				}}))
			})
		}
		for _, name := range []string{"role", "secret"} {
			add("profile "+key, name, func(_ context.Context, v *evaluation) string {
				return text(v.policyData("profiles", "registered", key, name))
			})
		}
	}
	scopes := policy["audit"].(object)["scopes"].(object)
	for _, granted := range []string{"own", "organisation", "tenant", "classified"} {
		for _, requested := range slices.Sorted(maps.Keys(scopes)) {
			for _, classification := range []any{nil, "UNCLASSIFIED", "INTERNAL"} {
				add("holder of audit.read."+granted, fmt.Sprintf("%s of an entry with classification %v", requested, classification), func(ctx context.Context, v *evaluation) string {
					return v.readableEntries(ctx, granted, requested, classification)
				})
			}
		}
	}
	return append(rows, append(lifetimes(), delegationBounds()...)...)
}

// delegationBounds returns rows for delegations at and beyond each limit.
func delegationBounds() []row {
	const now, day, second = 1767225600000000, 86400000000, 1000000
	var rows []row
	add := func(about string, from, until, same, total int) {
		rows = append(rows, row{"limits", []string{"delegation", about}, func(ctx context.Context, v *evaluation) []string {
			user := func(id string) object {
				return object{
					"id": id, "tenant": acme, "kind": "HUMAN", "status": "ACTIVE", "membership": "ACTIVE", "clearance": "SECRET",
					"roles": []any{object{"name": "holder", "kind": "STANDARD", "scope": "tenant", "grants": []any{"task.update"}}},
				}
			}
			return []string{text(v.eval(ctx, "parapet/delegations/verdict", object{
				"actor": v.subject(ctx, "Member", "tenant", "STANDARD", nil), "delegator": user(worker), "delegate": user(colleague), "permissions": []any{"task.update"},
				"resource": object{"tenant": acme, "organisation": orgA, "project": projectA, "classification": "UNCLASSIFIED"},
				"now":      now, "starts_at": from, "ends_at": until, "received": object{"from_delegator": same, "total": total},
			}))}
		}})
	}
	for _, days := range []int{366, 367} {
		add(fmt.Sprintf("starts in %d days", days), now+days*day, now+(days+1)*day, 0, 0)
		add(fmt.Sprintf("lasts %d days", days), now, now+days*day, 0, 0)
	}
	for _, seconds := range []int{300, 301} {
		add(fmt.Sprintf("started %d seconds ago", seconds), now-seconds*second, now+day, 0, 0)
	}
	for _, n := range []int{15, 16} {
		add(fmt.Sprintf("is number %d between the two", n+1), now, now+day, n, n)
	}
	for _, n := range []int{63, 64} {
		add(fmt.Sprintf("is number %d to the delegate", n+1), now, now+day, 0, n)
	}
	return rows
}

// readableEntries returns the audit entries that a subject with one audit scope can read.
func (v *evaluation) readableEntries(ctx context.Context, granted, requested string, classification any) string {
	actor := v.subject(ctx, "auditor", "tenant", "STANDARD", ast.NewArray(ast.StringTerm("audit.read."+granted)))
	answer := ""
	for _, entry := range []struct{ name, creator, organisation string }{{"own", worker, orgB}, {"organisation", colleague, orgA}, {"any", colleague, orgB}} {
		if v.eval(ctx, "parapet/access/allow", object{
			"permission": requested, "effect": "read", "module": "audit", "actor": actor,
			"resource": object{"type": "audit_entry", "tenant": acme, "creator": entry.creator, "organisation": entry.organisation, "classification": classification},
		}) == ast.Value(ast.Boolean(true)) {
			answer += entry.name + " "
		}
	}
	return answer
}

func lifetimes() []row {
	var rows []row
	add := func(subject, entry string, settings, more object, granted ...string) {
		rows = append(rows, row{"limits", []string{"key of " + subject, fmt.Sprint("settings ", settings, " wish ", more["expires_in_days"])}, func(ctx context.Context, v *evaluation) []string {
			terms := []*ast.Term{}
			for _, g := range append(granted, "api_key.issue", "api_key.issue_for_service") {
				if subject != "a person" || g != "api_key.issue_for_service" {
					terms = append(terms, ast.StringTerm(g))
				}
			}
			request := object{"actor": v.subject(ctx, subject, "tenant", "STANDARD", ast.NewArray(terms...)), "settings": settings, "active_keys": 0, "max_active_keys": 50}
			maps.Copy(request, more)
			verdict := v.eval(ctx, entry, request)
			return []string{fmt.Sprintf("%s days, cap %s", text(field(verdict, "days")), text(field(verdict, "cap")))}
		}})
	}
	target := object{"target": object{
		"id": robot, "tenant": acme, "kind": "SERVICE", "status": "ACTIVE", "membership": "ACTIVE", "integration_key": "spec-wiki-sync",
		"roles": []any{object{"name": "wiki:page:write", "kind": "GLOBAL", "scope": "tenant", "grants": []any{"wiki:page:write"}}},
	}}
	for _, settings := range []object{{}, {"max_user_days": 100, "max_admin_days": 20}, {"max_user_days": 1000, "max_admin_days": 1000}, {"max_user_days": 89}} {
		add("a service principal", "parapet/keys/issue_service", settings, target)
		for _, more := range []object{{}, {"expires_in_days": 1}, {"expires_in_days": 365}, {"expires_in_days": 366}} {
			add("a person", "parapet/keys/issue_self", settings, more)
			add("an administrator", "parapet/keys/issue_self", settings, more)
		}
	}
	return rows
}
