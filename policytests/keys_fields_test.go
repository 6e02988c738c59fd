package policytests_test

import (
	"strings"
	"testing"
)

// keyRequest is an input that every rule about keys allows.
const keyRequest = `{
  "actor": {
    "id": "` + worker + `", "tenant": "` + acme + `", "tenant_type": "STANDARD", "kind": "HUMAN", "token_kind": "session",
    "clearance": "UNCLASSIFIED", "readable": ["UNCLASSIFIED"], "effects": ["read", "write"], "modules": ["identity"],
    "all_projects": true, "projects": [], "roles": ["Admin"], "admin": true,
    "grants": {
      "api_key.issue": {"tenant": true, "organisations": [], "projects": []},
      "api_key.read": {"tenant": false, "organisations": [], "projects": [], "own": {"tenant": true, "organisations": [], "projects": []}},
      "api_key.revoke": {"tenant": false, "organisations": [], "projects": [], "own": {"tenant": true, "organisations": [], "projects": []}}
    },
    "audit": {}, "holds": [], "permissions": [], "stored_permissions": ["api_key.issue_for_service"]
  },
  "target": {
    "id": "` + robot + `", "tenant": "` + acme + `", "kind": "SERVICE", "status": "ACTIVE", "membership": "ACTIVE",
    "integration_key": "spec-wiki-sync",
    "roles": [{"name": "wiki:page:write", "kind": "GLOBAL", "scope": "tenant", "grants": ["wiki:page:write"]}]
  },
  "settings": {"max_user_days": 120, "max_admin_days": 60},
  "expires_in_days": 20, "active_keys": 0, "max_active_keys": 50,
  "service_owned": SERVICE,
  "owner": {"id": "` + robot + `", "tenant": "` + acme + `", "kind": "SERVICE"},
  "key": {"jti": "` + colleague + `", "tenant": "` + acme + `", "owner": {"id": "OWNER", "tenant": "` + acme + `", "kind": "SERVICE"}}
}`

// TestKeyRules_DenyWithoutAnyRequiredField removes and corrupts the input fields of each
// rule about keys: without a required field, the verdict is a denial, and no key gets a
// longer lifetime.
func TestKeyRules_DenyWithoutAnyRequiredField(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	actor := []string{"/actor", "/actor/tenant", "/actor/kind", "/actor/effects", "/actor/modules", "/actor/modules/0", "/actor/all_projects"}
	stored := append([]string{"/actor/token_kind", "/actor/stored_permissions", "/actor/stored_permissions/0"}, actor...)
	for name, c := range map[string]struct {
		rule, service, owner string
		needs                []string
	}{
		"issue a service key": {"issue_service", "true", robot, append([]string{
			"/target", "/target/tenant", "/target/kind", "/target/status", "/target/membership", "/target/integration_key",
			"/target/roles", "/target/roles/0", "/target/roles/0/kind", "/target/roles/0/scope", "/target/roles/0/grants",
			"/target/roles/0/grants/0", "/settings", "/actor/effects/1",
		}, stored...)},
		"issue a personal key": {"issue_self", "false", worker, []string{
			"/actor", "/actor/kind", "/actor/token_kind", "/actor/effects", "/actor/effects/1", "/actor/modules", "/actor/modules/0",
			"/actor/all_projects", "/actor/grants", "/actor/grants/api_key.issue", "/actor/grants/api_key.issue/tenant", "/settings",
			"/active_keys", "/max_active_keys",
		}},
		"list service keys": {"list", "true", robot, append([]string{"/service_owned", "/owner", "/owner/tenant", "/owner/kind", "/actor/effects/0"}, stored...)},
		"list own keys": {"list", "false", worker, []string{
			"/actor", "/actor/effects", "/actor/effects/0", "/actor/modules", "/actor/modules/0", "/actor/all_projects",
			"/actor/grants", "/actor/grants/api_key.read", "/actor/grants/api_key.read/own", "/actor/grants/api_key.read/own/tenant", "/service_owned",
		}},
		"revoke a service key": {"revoke", "true", robot, append([]string{
			"/service_owned", "/key", "/key/tenant", "/key/owner", "/key/owner/kind", "/actor/effects/1",
		}, stored...)},
		"revoke an own key": {"revoke", "false", worker, []string{
			"/actor", "/actor/id", "/actor/tenant", "/actor/effects", "/actor/effects/1", "/actor/modules", "/actor/modules/0", "/actor/all_projects",
			"/actor/grants", "/actor/grants/api_key.revoke", "/actor/grants/api_key.revoke/own", "/actor/grants/api_key.revoke/own/tenant",
			"/service_owned", "/key", "/key/tenant", "/key/owner", "/key/owner/id",
		}},
	} {
		text := strings.NewReplacer("SERVICE,", c.service+",", "OWNER", c.owner).Replace(keyRequest)
		verdict := func(doc object) (object, bool) {
			result, err := e.EvalRaw(t.Context(), "parapet/keys/"+c.rule, doc)
			if err != nil {
				return object{}, false
			}
			v, ok := result.(object)
			if !ok {
				t.Fatalf("%s: got %v, want a verdict", name, result)
			}
			allow, ok := v["allow"].(bool)
			if !ok || !allow && v["code"] == nil {
				t.Fatalf("%s: got %v, want a verdict", name, v)
			}
			return v, allow
		}
		if v, allow := verdict(parse(t, text)); !allow {
			t.Fatalf("%s: got %v, want allow", name, v)
		}
		needs := map[string]bool{}
		for _, path := range c.needs {
			needs[path] = true
		}
		for _, m := range mutations(t, text) {
			v, allow := verdict(m.doc)
			emptySettings := m.path == "/settings" && strings.HasPrefix(m.name, "object")
			anotherNumber := strings.HasSuffix(m.path, "active_keys") && (m.name == "number" || m.name == "negative")
			if allow && needs[m.path] && !emptySettings && !anotherNumber {
				t.Errorf("%s: got allow with %s %s, want a denial: %v", name, m.path, m.name, v)
			}
			if allow && c.rule == "issue_service" && days(v) != 90 {
				t.Errorf("%s: %s %s: got %v days, want 90", name, m.path, m.name, v["days"])
			}
			if allow && c.rule == "issue_self" && days(v) > 60 {
				t.Errorf("%s: %s %s: got %v days, want at most 60", name, m.path, m.name, v["days"])
			}
			if !allow && m.name == "removed" && !needs[m.path] {
				t.Errorf("%s: got a denial without %s, want allow: %v", name, m.path, v)
			}
		}
	}
}

func days(v object) float64 {
	switch d := v["days"].(type) {
	case float64:
		return d
	case interface{ Float64() (float64, error) }:
		f, _ := d.Float64()
		return f
	}
	return -1
}

// TestActAs_DeniesWithoutAnyRequiredField removes and corrupts the input fields of the rule
// about acting in another tenant.
func TestActAs_DeniesWithoutAnyRequiredField(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	const elsewhere = `{"token_kind": "api_key", "token_tenant": "` + acme + `", "principal_kind": "HUMAN",
		"module": "wiki", "header": true, "target": "` + globex + `"}`
	verdict := func(doc object) bool {
		result, err := e.EvalRaw(t.Context(), "parapet/actas/verdict", doc)
		if err != nil {
			return false
		}
		return result.(object)["allow"] == true
	}
	if !verdict(parse(t, elsewhere)) {
		t.Fatal("got a denial, want allow")
	}
	for _, m := range mutations(t, elsewhere) {
		anotherTenant := (m.path == "/target" || m.path == "/token_tenant") && (m.name == "uuid" || strings.HasSuffix(m.name, "text"))
		if verdict(m.doc) && !anotherTenant {
			t.Errorf("got allow with %s %s, want a denial", m.path, m.name)
		}
	}
}

// TestProfiles_RejectAnyChangedField removes and corrupts the fields of a service principal
// that matches its profile.
func TestProfiles_RejectAnyChangedField(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	const principal = `{"target": {"id": "` + robot + `", "tenant": "` + acme + `", "kind": "SERVICE", "status": "ACTIVE", "membership": "ACTIVE",
		"integration_key": "multi-llm-review",
		"roles": [{"name": "r", "kind": "GLOBAL", "scope": "tenant", "grants": ["tasks.read", "projects.read"]}]}}`
	fits := func(doc object) bool {
		result, err := e.EvalRaw(t.Context(), "parapet/profiles/validate", doc)
		if err != nil {
			return false
		}
		return result.(object)["allow"] == true
	}
	if !fits(parse(t, principal)) {
		t.Fatal("got a denial, want allow")
	}
	unread := map[string]bool{"/target/id": true, "/target/tenant": true, "/target/status": true, "/target/membership": true, "/target/roles/0/name": true}
	for _, m := range mutations(t, principal) {
		if fits(m.doc) != unread[m.path] {
			t.Errorf("%s %s: got allow %v, want the opposite", m.path, m.name, !unread[m.path])
		}
	}
}
