package policytests_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"parapet/internal/authz"
)

// request is an input that the rule allow allows. Everything that the tested grant does not
// need is permitted, too.
const request = `{
  "permission": "task.update", "effect": "write", "module": "tracker",
  "actor": {
    "id": "` + worker + `", "tenant": "` + acme + `", "tenant_type": "STANDARD", "kind": "HUMAN",
    "token_kind": "session", "organisation": "` + orgA + `", "clearance": "INTERNAL",
    "readable": ["UNCLASSIFIED", "INTERNAL"], "effects": ["read", "write"], "modules": ["tracker", "audit"],
    "all_projects": true, "projects": [], "roles": ["Member"], "admin": false,
    "grants": {"task.update": GRANT},
    "audit": {"tenant": {"tenant": true, "organisations": [], "projects": []}},
    "holds": ["task.update"], "permissions": ["task.update"], "stored_permissions": []
  },
  "resource": {
    "type": "task", "id": "` + robot + `", "tenant": "` + acme + `", "organisation": "` + orgA + `",
    "project": "` + projectA + `", "creator": "` + worker + `", "owner": "` + colleague + `", "classification": "INTERNAL"
  }
}`

// grants returns the different ways in which the subject can hold the permission for the
// request's resource.
func grants() map[string]string {
	return map[string]string{
		"tenant":              `{"tenant": true, "organisations": [], "projects": []}`,
		"organisation":        `{"tenant": false, "organisations": ["` + orgA + `"], "projects": []}`,
		"project":             `{"tenant": false, "organisations": [], "projects": ["` + projectA + `"]}`,
		"own in the tenant":   `{"tenant": false, "organisations": [], "projects": [], "own": {"tenant": true, "organisations": [], "projects": []}}`,
		"own in organisation": `{"tenant": false, "organisations": [], "projects": [], "own": {"tenant": false, "organisations": ["` + orgA + `"], "projects": []}}`,
		"own in project":      `{"tenant": false, "organisations": [], "projects": [], "own": {"tenant": false, "organisations": [], "projects": ["` + projectA + `"]}}`,
	}
}

// requiredFields returns the fields that a grant of this scope requires: without one of them
// the request is denied, and without any other field it is still allowed.
func requiredFields(way string) []string {
	fields := []string{
		"/permission", "/effect", "/module", "/actor", "/actor/tenant", "/actor/readable", "/actor/readable/1", "/actor/effects",
		"/actor/effects/1", "/actor/modules", "/actor/modules/0", "/actor/all_projects", "/actor/grants",
		"/actor/grants/task.update", "/resource", "/resource/tenant", "/resource/classification",
	}
	const grant = "/actor/grants/task.update"
	switch way {
	case "tenant":
		return append(fields, grant+"/tenant")
	case "organisation":
		return append(fields, grant+"/organisations", grant+"/organisations/0", "/resource/organisation")
	case "project":
		return append(fields, grant+"/projects", grant+"/projects/0", "/resource/project")
	}
	fields = append(fields, "/actor/id", "/resource/creator", grant+"/own")
	switch way {
	case "own in the tenant":
		return append(fields, grant+"/own/tenant")
	case "own in organisation":
		return append(fields, grant+"/own/organisations", grant+"/own/organisations/0", "/resource/organisation")
	}
	return append(fields, grant+"/own/projects", grant+"/own/projects/0", "/resource/project")
}

func allows(t *testing.T, e *authz.Engine, doc object) bool {
	t.Helper()
	result, err := e.EvalRaw(t.Context(), "parapet/access/allow", doc)
	return err == nil && result == true
}

// TestAllow_DeniesWithoutAnyRequiredField removes and corrupts every input field: without a
// required field, the request is denied.
func TestAllow_DeniesWithoutAnyRequiredField(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for way, grant := range grants() {
		text := strings.Replace(request, "GRANT", grant, 1)
		if !allows(t, e, parse(t, text)) {
			t.Fatalf("%s: the request itself is denied", way)
		}
		needs := requiredFields(way)
		for _, m := range mutations(t, text) {
			allowed := allows(t, e, m.doc)
			switch {
			case m.path == "/resource/classification" && (m.name == "text" || m.name == "empty text" || m.name == "uuid"):
				if !allowed {
					t.Errorf("%s: got a denial for an unknown classification, want allow", way)
				}
			case m.path == "/actor/readable/0" && m.name == "removed":
				// The remaining element is the required tier.
			case slices.Contains(needs, m.path) && allowed:
				t.Errorf("%s: got allow with %s %s, want a denial", way, m.path, m.name)
			case m.name == "removed" && !slices.Contains(needs, m.path) && !allowed:
				t.Errorf("%s: got a denial without %s, want allow", way, m.path)
			}
		}
	}
}

// TestAllow_CorruptedFieldNeverAllowsDeniedRequest removes and corrupts every field of
// requests that are denied.
func TestAllow_CorruptedFieldNeverAllowsDeniedRequest(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	closings := map[string][2]string{
		"other tenant":        {`"tenant": "` + acme + `", "organisation"`, `"tenant": "` + globex + `", "organisation"`},
		"a higher tier":       {`"classification": "INTERNAL"`, `"classification": "SECRET"`},
		"read-only caveat":    {`["read", "write"]`, `["read"]`},
		"other module":        {`["tracker", "audit"]`, `["audit"]`},
		"other project":       {`"all_projects": true, "projects": []`, `"all_projects": false, "projects": ["` + projectB + `"]`},
		"no project":          {`"all_projects": true, "projects": []`, `"all_projects": false, "projects": []`},
		"missing permission":  {`"permission": "task.update"`, `"permission": "task.delete"`},
		"platform permission": {`task.update`, `tenant.create`},
		"classified":          {`"permission": "task.update"`, `"permission": "audit.read"`},
	}
	checked, variant := 0, 0
	for name, closing := range closings {
		for way, grant := range grants() {
			text := strings.ReplaceAll(strings.Replace(request, "GRANT", grant, 1), closing[0], closing[1])
			if allows(t, e, parse(t, text)) {
				t.Fatalf("%s, %s: the request is allowed", name, way)
			}
			variant++
			for i, m := range mutations(t, text) {
				if !isSampled(i + variant) {
					continue
				}
				checked++
				if !allows(t, e, m.doc) || mayBeAllowed(name, m) {
					continue
				}
				t.Errorf("%s, %s: got allow with %s %s, want a denial", name, way, m.path, m.name)
			}
		}
	}
	t.Logf("%d corrupted requests", checked)
}

// mayBeAllowed reports whether the corrupted value may allow a denied request: everyone can
// read an unknown classification, and null is the classification of an unclassified audit
// entry.
func mayBeAllowed(closing string, m mutation) bool {
	if m.path != "/resource/classification" {
		return false
	}
	return closing == "a higher tier" && (m.name == "text" || m.name == "empty text" || m.name == "uuid") ||
		closing == "classified" && m.name == "null"
}

// caller is the input of parapet.subject with a value in every field.
const caller = `{
  "token": {
    "kind": "KIND", "tenant": "TOKEN", "roles": ["Member", "Lead", "Boss"],
    "role_scopes": {"Lead": ["project:` + projectA + `"], "Boss": ["organisation:` + orgA + `"]},
    "clearance": "RESTRICTED", "caveats": CAVEATS
  },
  "tenant": "` + acme + `", "tenant_type": "PROGRAMME_OFFICE",
  "user": {"id": "` + worker + `", "kind": "HUMAN", "organisation": "` + orgA + `"},
  "stored": {
    "assignments": [
      {"role": "Member", "scope": "tenant"}, {"role": "Lead", "scope": "project", "id": "` + projectA + `"},
      {"role": "Boss", "scope": "organisation", "id": "` + orgA + `"}
    ],
    "clearance": "RESTRICTED"
  },
  "roles": {
    "Member": ["tasks.read", "task.update.own", "tenant.list", "audit.read.own"],
    "Lead": ["task.update", "audit.read.tenant"], "Boss": ["task.delete", "api_key.issue_for_service"]
  },
  "delegations": [
    {
      "id": "` + robot + `", "scope": "tenant", "projects": [], "initiatives": [], "permissions": ["task.update", "tasks.read"],
      "delegator": {"id": "` + colleague + `", "kind": "HUMAN", "status": "ACTIVE", "membership": "ACTIVE", "clearance": "INTERNAL",
        "assignments": [{"role": "Lead", "scope": "tenant"}, {"role": "Member", "scope": "organisation", "id": "` + orgA + `"}]}
    },
    {
      "id": "` + orgB + `", "scope": "initiative", "projects": ["` + projectA + `"], "initiatives": ["` + projectB + `"], "permissions": ["task.delete", "task.update.own"],
      "delegator": {"id": "` + robot + `", "kind": "AGENT", "status": "ACTIVE", "membership": "ACTIVE", "clearance": "SECRET",
        "assignments": [{"role": "Boss", "scope": "project", "id": "` + projectA + `"}, {"role": "Member", "scope": "tenant"}]}
    }
  ]
}`

// authority converts the permissions of a subject into comparable facts.
func authority(t *testing.T, e *authz.Engine, doc object) map[string]bool {
	t.Helper()
	facts := map[string]bool{}
	result, err := e.EvalRaw(t.Context(), "parapet/subject/subject", doc)
	if err != nil {
		return facts
	}
	s := result.(object)
	for _, list := range []string{"readable", "effects", "modules", "permissions", "holds", "stored_permissions"} {
		for _, v := range s[list].([]any) {
			facts[list+" "+v.(string)] = true
		}
	}
	for _, kind := range []string{"grants", "audit"} {
		for name, grant := range s[kind].(object) {
			grantFacts(facts, kind+" "+name, grant.(object))
		}
	}
	extentFacts(facts, "", s)
	for _, item := range s["delegated_subjects"].([]any) {
		delegated := item.(object)
		for _, list := range []string{"readable", "effects", "modules", "holds"} {
			for _, v := range delegated[list].([]any) {
				facts["delegated "+list+" "+v.(string)] = true
			}
		}
		for name, grant := range delegated["grants"].(object) {
			grantFacts(facts, "delegated "+name, grant.(object))
		}
		extentFacts(facts, "delegated ", delegated)
		for _, id := range delegated["initiatives"].([]any) {
			facts["lent initiative "+id.(string)] = true
		}
	}
	return facts
}

func extentFacts(facts map[string]bool, name string, s object) {
	if s["all_projects"] == true {
		facts[name+"project "+projectA], facts[name+"project any"] = true, true
	}
	for _, p := range s["projects"].([]any) {
		facts[name+"project "+p.(string)] = true
	}
}

func grantFacts(facts map[string]bool, name string, grant object) {
	if grant["tenant"] == true {
		facts[name+" tenant"] = true
	}
	for _, list := range []string{"organisations", "projects"} {
		for _, id := range grant[list].([]any) {
			facts[name+" "+list+" "+id.(string)] = true
		}
	}
	if own, ok := grant["own"].(object); ok {
		grantFacts(facts, name+" own", own)
	}
}

// thorough makes the tests of corrupted fields try every change in every variant. A nightly
// workflow sets it.
var thorough = flag.Bool("thorough", false, "try every corrupted field in every variant, not a quarter of them")

// isSampled reports whether to try the n-th change. Each run tries a quarter of the changes
// of each variant of the input, and a different quarter in each of four variants.
func isSampled(n int) bool { return *thorough || n%(4*perDetector) == 0 }

// TestSubject_CorruptedFieldAddsNoAuthority removes and corrupts every field of callers: no
// change adds a permission, a tier or a scope.
func TestSubject_CorruptedFieldAddsNoAuthority(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	checked, variant := 0, 0
	for _, kind := range []string{"session", "api_key", "internal"} {
		for _, token := range []string{acme, globex} {
			for i, caveats := range []string{`[]`, `["module:tracker", "read-only"]`, `["project:` + projectA + `"]`} {
				if i > 0 && (kind != "session" || token != acme) {
					continue
				}
				text := strings.NewReplacer("KIND", kind, "TOKEN", token, "CAVEATS", caveats).Replace(caller)
				whole := authority(t, e, parse(t, text))
				if kind != "internal" && len(whole) < 15 {
					t.Fatalf("%s of %s: got too few facts to compare: %v", kind, token, whole)
				}
				variant++
				for i, m := range mutations(t, text) {
					if !isSampled(i + variant) {
						continue
					}
					checked++
					if grantsMoreIfValid(m) {
						continue
					}
					for fact := range authority(t, e, m.doc) {
						if !whole[fact] {
							t.Errorf("%s of %s, caveats %s: %s %s: got the additional fact %q", kind, token, caveats, m.path, m.name, fact)
						}
					}
				}
			}
		}
	}
	t.Logf("%d corrupted callers", checked)
}

// grantsMoreIfValid reports whether the change is a valid input that grants more: a token
// without this caveat, a role without narrower scopes, or the same role in another scope.
func grantsMoreIfValid(m mutation) bool {
	switch {
	case (strings.HasPrefix(m.path, "/stored/assignments/") || strings.HasPrefix(m.path, "/delegations/")) && m.name == "uuid":
		return true
	case strings.HasPrefix(m.path, "/token/caveats/") && m.name == "removed":
		return true
	case m.path == "/token/caveats" && m.name == "list":
		return true
	case strings.HasPrefix(m.path, "/token/role_scopes/") && strings.Count(m.path, "/") == 3 && m.name == "removed":
		return true
	}
	return m.path == "/token/role_scopes" && strings.HasPrefix(m.name, "object")
}
