package policytests_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestDataChanges_AreDetected makes changes of the policy data that a careless or malicious
// editor could make. The Rego tests, the matrix or the invariants must detect each one.
func TestDataChanges_AreDetected(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	k := newKiller(t, l)
	list := func(path string) []any {
		at := any(l.data)
		for _, key := range strings.Split("parapet/"+path, "/") {
			at = at.(object)[key]
		}
		return slices.Clone(at.([]any))
	}
	plus := func(path, value string) any { return append(list(path), any(value)) }
	minus := func(path, value string) any {
		return slices.DeleteFunc(list(path), func(v any) bool { return v == any(value) })
	}
	grants := func(role string) string { return "roles/defaults/" + role + "/grants" }
	const permissions = "catalogue/permissions/"
	for _, c := range []struct {
		name, path string
		value      any
	}{
		{"a guest changes tasks", grants("Guest Customer"), plus(grants("Guest Customer"), "task.update")},
		{"a guest deletes its own tasks", grants("Guest Customer"), plus(grants("Guest Customer"), "task.delete.own")},
		{"an auditor gives roles", grants("Auditor"), plus(grants("Auditor"), "role.assign")},
		{"an auditor changes tasks", grants("Auditor"), plus(grants("Auditor"), "task.update")},
		{"a member deletes every task", grants("Member"), plus(grants("Member"), "task.delete")},
		{"a reviewer waives gates", grants("Reviewer"), plus(grants("Reviewer"), "gates.waive")},
		{"an agent acts for others", grants("Agent"), plus(grants("Agent"), "tasks.update.any")},
		{"a platform administrator by name", grants("PLATFORM_ADMIN"), plus(grants("PLATFORM_ADMIN"), "tenant.create")},
		{"a project manager gives roles", grants("Project Manager"), plus(grants("Project Manager"), "role.assign")},
		{"an administrator loses the classified audit", grants("Admin"), minus(grants("Admin"), "audit.read.classified")},
		{"deleting a task reads", permissions + "task.delete/effect", "read"},
		{"disabling tenants is for everybody", permissions + "tenant.disable/platform", false},
		{"user administration can be delegated", permissions + "user.update/module", "tracker"},
		{"an assignee deletes its tasks", "catalogue/own/task.delete", plus("catalogue/own/task.delete", "owner")},
		{"the reviewer's profile writes", "profiles/registered/multi-llm-review/grants", plus("profiles/registered/multi-llm-review/grants", "task.update")},
		{"the two highest tiers swap", "clearance/ladder", []any{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "SECRET", "CONFIDENTIAL"}},
		{"service keys live a year", "keys/lifetimes/service", json.Number("365")},
		{"administrators' keys live as long as others'", "keys/lifetimes/admin/cap", json.Number("365")},
		{"who gives roles is no administrator", "roles/administrative_grants", minus("roles/administrative_grants", "role.assign")},
	} {
		m := mutant{name: strings.ReplaceAll(c.path, "/", "."), data: changed(l.data, append([]string{"parapet"}, strings.Split(c.path, "/")...), c.value, false)}
		killer := k.kill(t.Context(), m)
		if killer == "" {
			t.Errorf("no test detects that %s", c.name)
		}
		t.Logf("%s: %s", c.name, killer)
	}
}
