package policytests_test

import (
	"slices"
	"strings"
	"testing"
)

// accountRequest is an input that every rule about accounts, grants and roles allows.
const accountRequest = `{
  "actor": CALLER,
  "account": {"id": "` + colleague + `", "kind": "HUMAN", "status": "ACTIVE", "home": "` + acme + `", "has_password": CONFIRMED, "address_confirmed": CONFIRMED},
  "holdings": [{
    "tenant": "` + acme + `", "membership": "ACTIVE", "clearance": "INTERNAL",
    "grants": [{"permissions": ["task.update"], "scope": "tenant"}],
    "delegations": [{"permissions": ["task.update"], "scope": "project", "id": "` + projectA + `"}],
    "caller": CALLER, "caller_membership": "ACTIVE"
  }],
  "roles": [{"name": "Member", "scope": "tenant", "kind": "STANDARD"}], "other_administrators": 0,
  "requested_by": "administrator", "authority_unchanged": true, "home_administered": true, "session_tenant": "` + acme + `",
  "recipient": {"id": "` + colleague + `", "kind": "HUMAN"},
  "grants": [{"permissions": ["task.update"], "scope": "tenant"}], "clearance": {"from": "INTERNAL", "to": "RESTRICTED"},
  "role": {"name": "Desk", "kind": "STANDARD", "scope": "tenant"}, "spelling": "desk", "permission": "task.update"
}`

const accountCaller = `{
    "id": "` + worker + `", "tenant": "` + acme + `", "tenant_type": "STANDARD", "kind": "HUMAN", "token_kind": "session",
    "readable": ["UNCLASSIFIED", "INTERNAL", "RESTRICTED"], "effects": ["write"], "modules": ["identity"], "all_projects": true, "projects": [],
    "grants": {"task.update": {"tenant": true, "organisations": [], "projects": []}}, "audit": {}, "permissions": ["role.assign"]
  }`

// TestAccountRules_DenyWithoutAnyRequiredField removes and corrupts the input fields of each
// rule about accounts, grants and roles: without a required field, the verdict is a denial.
func TestAccountRules_DenyWithoutAnyRequiredField(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	home := []string{"/account", "/account/home", "/actor", "/actor/tenant"}
	another := []string{"/account", "/account/id", "/actor", "/actor/id"}
	subject := func(at string) []string {
		return []string{
			at, at + "/tenant", at + "/effects", at + "/effects/0", at + "/modules", at + "/modules/0", at + "/all_projects",
			at + "/grants", at + "/grants/task.update", at + "/grants/task.update/tenant", at + "/readable", at + "/readable/0",
		}
	}
	holding := append([]string{
		"/actor/id", "/holdings", "/holdings/0", "/holdings/0/tenant", "/holdings/0/clearance", "/holdings/0/grants",
		"/holdings/0/grants/0/permissions", "/holdings/0/grants/0/scope", "/holdings/0/delegations", "/holdings/0/delegations/0/permissions",
		"/holdings/0/delegations/0/scope", "/holdings/0/delegations/0/id", "/holdings/0/caller/id", "/holdings/0/caller/readable/1", "/holdings/0/caller_membership",
	}, subject("/holdings/0/caller")...)
	last := []string{"/roles", "/roles/0/name", "/roles/0/scope", "/other_administrators"}
	for name, c := range map[string]struct {
		rule, confirmed string
		needs           []string
	}{
		"change the name":             {"accounts/change_name", "true", home},
		"change the address":          {"accounts/change_address", "true", slices.Concat(home, holding)},
		"reset a confirmed address":   {"accounts/reset_password", "true", append([]string{"/account/kind", "/account/status", "/account/has_password", "/account/address_confirmed"}, home...)},
		"reset without a password":    {"accounts/reset_password", "false", slices.Concat([]string{"/account/kind", "/account/status", "/account/has_password"}, home, holding)},
		"complete the reset":          {"accounts/complete_reset", "true", []string{"/account", "/account/kind", "/account/status", "/account/has_password", "/account/address_confirmed"}},
		"complete without a password": {"accounts/complete_reset", "false", []string{"/account", "/account/kind", "/account/status", "/account/has_password", "/requested_by", "/authority_unchanged"}},
		"suspend":                     {"accounts/suspend", "true", slices.Concat(home, another, last)},
		"activate":                    {"accounts/activate", "true", slices.Concat([]string{"/account/status"}, home, holding)},
		"add a membership":            {"accounts/add_membership", "true", []string{"/home_administered", "/account", "/account/kind", "/account/status", "/actor", "/actor/tenant"}},
		"stop a membership":           {"accounts/stop_membership", "true", slices.Concat(another, last)},
		"restore a membership":        {"accounts/restore_membership", "true", slices.Concat([]string{"/actor/tenant"}, another, holding)},
		"end a session":               {"accounts/end_session", "true", []string{"/actor", "/actor/token_kind", "/actor/tenant", "/session_tenant"}},
		"change own credentials":      {"accounts/change_own_credentials", "true", append([]string{"/actor/token_kind", "/actor/kind"}, home...)},
		"read notifications":          {"accounts/administrator_notifications", "true", []string{"/actor", "/actor/permissions", "/actor/permissions/0"}},
		"grant": {"grants/verdict", "true", slices.Concat([]string{
			"/roles", "/roles/0/kind", "/grants", "/grants/0/permissions", "/grants/0/scope", "/actor/readable", "/actor/readable/2",
			"/recipient", "/recipient/id", "/actor/id", "/clearance", "/clearance/to",
		}, subject("/actor"))},
		"create a role":       {"roles/create", "true", []string{"/spelling"}},
		"rename a role":       {"roles/rename", "true", []string{"/spelling", "/role", "/role/name", "/role/kind"}},
		"delete a role":       {"roles/delete", "true", []string{"/role", "/role/name", "/role/kind"}},
		"add a permission":    {"roles/grant", "true", append([]string{"/permission"}, subject("/actor")...)},
		"remove a permission": {"roles/revoke", "true", []string{"/permission"}},
		"unassign a role":     {"roles/unassign", "true", []string{"/recipient", "/recipient/kind", "/role", "/role/name", "/role/scope", "/other_administrators"}},
	} {
		text := strings.NewReplacer("CALLER", accountCaller, "CONFIRMED", c.confirmed).Replace(accountRequest)
		verdict := func(doc object) bool {
			result, err := e.EvalRaw(t.Context(), "parapet/"+c.rule, doc)
			if err != nil {
				// A failed evaluation denies.
				return false
			}
			v, ok := result.(object)
			if !ok {
				t.Fatalf("%s: got %v, want a verdict", name, result)
			}
			allow, ok := v["allow"].(bool)
			if !ok || (!allow && v["code"] == nil) {
				t.Fatalf("%s: got %v, want a verdict", name, v)
			}
			return allow
		}
		if !verdict(parse(t, text)) {
			t.Fatalf("%s: got a denial, want allow", name)
		}
		for _, m := range mutations(t, text) {
			if m.name != "removed" && !slices.Contains(c.needs, m.path) {
				continue
			}
			allowed := verdict(m.doc)
			switch {
			case allowed && slices.Contains(c.needs, m.path) && !keepsAccountVerdict(m):
				t.Errorf("%s: got allow with %s %s, want a denial", name, m.path, m.name)
			case !allowed && m.name == "removed" && !slices.Contains(c.needs, m.path):
				t.Errorf("%s: got a denial without %s, want allow", name, m.path)
			}
		}
	}
}

// keepsAccountVerdict reports whether the corrupted value does not change the verdict: another
// string is another user, an unknown tier is UNCLASSIFIED, an unknown role or permission
// grants nothing, and an empty list contains nothing.
func keepsAccountVerdict(m mutation) bool {
	isText := m.name == "text" || m.name == "empty text" || m.name == "uuid"
	switch {
	case m.path == "/account/id", m.path == "/recipient/id", m.path == "/actor/tenant":
		return isText
	case strings.HasSuffix(m.path, "/id"), m.path == "/other_administrators":
		return m.name != "removed"
	case strings.HasSuffix(m.path, "/readable/0"):
		return true
	case strings.HasSuffix(m.path, "/clearance"), strings.HasSuffix(m.path, "/clearance/to"), strings.HasSuffix(m.path, "/name"),
		strings.HasSuffix(m.path, "/permission"), m.path == "/spelling":
		return m.name != "removed"
	case strings.HasSuffix(m.path, "/scope"):
		return isText && strings.HasPrefix(m.path, "/role")
	case strings.HasSuffix(m.path, "s"):
		return m.name == "list"
	}
	return false
}
