package policytests_test

import (
	"slices"
	"strings"
	"testing"
)

// workRequest is an input that every rule about work and the rule about delegations allow.
// GRANTS and DELEGATED are replaced by the permissions of the actor.
const workRequest = `{
  "actor": {
    "id": "` + worker + `", "tenant": "` + acme + `", "tenant_type": "STANDARD", "kind": "HUMAN", "token_kind": "session",
    "clearance": "INTERNAL", "readable": ["INTERNAL"], "effects": ["write"], "modules": ["tracker"], "all_projects": true, "projects": [],
    "roles": [], "admin": false, "grants": GRANTS, "audit": {}, "holds": [], "permissions": [], "stored_permissions": [], "delegated_subjects": DELEGATED
  },
  "resource": {"type": "task", "tenant": "` + acme + `", "project": "` + projectA + `", "classification": "INTERNAL"},
  CASE
}`

const (
	forOthers          = `{"tasks.update.any": {"tenant": true, "organisations": [], "projects": []}}`
	forOthersDelegated = `[{
      "delegation": "` + orgB + `", "id": "` + colleague + `", "tenant": "` + acme + `", "tenant_type": "STANDARD", "readable": ["INTERNAL"],
      "effects": ["write"], "modules": ["tracker"], "all_projects": false, "projects": ["` + projectA + `"], "initiatives": [],
      "grants": ` + forOthers + `, "audit": {}, "holds": ["tasks.update.any"]
    }]`
	anAgent = `"candidate": {
    "id": "` + robot + `", "tenant": "` + acme + `", "kind": "AGENT", "status": "ACTIVE", "membership": "ACTIVE", "clearance": "INTERNAL",
    "roles": [{"name": "Agent", "kind": "STANDARD", "scope": "tenant", "grants": []}], "agents_allowed": true
  }`
	twoUsers = `"delegator": {
    "id": "` + worker + `", "tenant": "` + acme + `", "kind": "HUMAN", "status": "ACTIVE", "membership": "ACTIVE",
    "roles": [{"name": "Lead", "kind": "STANDARD", "scope": "tenant", "grants": ["tasks.update.any"]}]
  },
  "delegate": {"id": "` + colleague + `", "tenant": "` + acme + `", "kind": "HUMAN", "status": "ACTIVE", "membership": "ACTIVE", "roles": []},
  "permissions": ["tasks.update.any"],
  "now": 1795305600000000, "starts_at": 1795305600000000, "ends_at": 1795392000000000, "received": {"from_delegator": 0, "total": 0}`
	raiser   = `{"task.update": {"tenant": true, "organisations": [], "projects": []}}`
	promoter = `{"issue.update": {"tenant": true, "organisations": [], "projects": []}}`
)

// TestWorkRules_DenyWithoutAnyRequiredField removes and corrupts the input fields of each
// rule about work and delegations: without a required field, the verdict is a denial.
func TestWorkRules_DenyWithoutAnyRequiredField(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	record := []string{"/actor", "/actor/tenant", "/resource", "/resource/tenant", "/resource/classification"}
	reach := append([]string{"/actor/readable", "/actor/readable/0", "/actor/effects", "/actor/effects/0", "/actor/modules", "/actor/modules/0", "/actor/all_projects"}, record...)
	grantNeeds := append([]string{"/actor/grants", "/actor/grants/tasks.update.any", "/actor/grants/tasks.update.any/tenant"}, reach...)
	needsOf := func(permission string) []string {
		return []string{"/actor/grants", "/actor/grants/" + permission, "/actor/grants/" + permission + "/tenant"}
	}
	const delegated = "/actor/delegated_subjects/0"
	delegatedNeeds := append([]string{
		"/actor/delegated_subjects", delegated, delegated + "/delegation", delegated + "/tenant", delegated + "/readable", delegated + "/readable/0", delegated + "/effects", delegated + "/effects/0",
		delegated + "/modules", delegated + "/modules/0", delegated + "/projects", delegated + "/projects/0", delegated + "/grants",
		delegated + "/grants/tasks.update.any", delegated + "/grants/tasks.update.any/tenant", "/resource/project",
	}, record...)
	candidate := []string{
		"/candidate", "/candidate/tenant", "/candidate/kind", "/candidate/status", "/candidate/membership", "/candidate/clearance", "/candidate/roles",
		"/candidate/roles/0/name", "/candidate/agents_allowed",
	}
	for name, c := range map[string]struct {
		rule, grants, delegations, fields string
		needs                             []string
	}{
		"assign work":                       {"work/give", `{}`, `[]`, anAgent, append(candidate, record...)},
		"act for an agent":                  {"work/act_as_agent", forOthers, `[]`, anAgent, append(candidate, grantNeeds...)},
		"act for an agent by delegation":    {"work/act_as_agent", `{}`, forOthersDelegated, anAgent, append(candidate, delegatedNeeds...)},
		"raise a decision":                  {"work/raise_decision", raiser, `[]`, `"acting": "` + worker + `", "assignee": "` + worker + `", "category": "IN_PROGRESS"`, append(append([]string{"/actor/id", "/acting", "/assignee", "/category"}, needsOf("task.update")...), reach...)},
		"raise a decision for another user": {"work/raise_decision", forOthers, `[]`, `"acting": "` + robot + `", "assignee": "` + robot + `", "category": "IN_PROGRESS"`, append([]string{"/acting", "/assignee", "/category"}, grantNeeds...)},
		"promote an issue":                  {"work/promote_issue", promoter, `[]`, `"holder": "` + robot + `"`, append(needsOf("issue.update"), reach...)},
		"count records":                     {"work/count_records", strings.Replace(forOthers, "tasks.update.any", "tasks.read", 1), `[]`, `"permission": "tasks.read"`, append(append(needsOf("tasks.read"), "/permission"), reach...)},
		"start a run":                       {"work/start_run", `{}`, `[]`, anAgent, append(candidate, record[2:]...)},
		"cancel a decision":                 {"work/cancel_decision", `{}`, `[]`, `"raised_by": "` + worker + `"`, append([]string{"/actor/id", "/raised_by"}, reach...)},
		"cancel a decision by delegation":   {"work/cancel_decision", `{}`, forOthersDelegated, `"raised_by": "` + robot + `"`, append(delegatedNeeds, reach...)},
		"release a lease":                   {"work/release_claim", forOthers, `[]`, `"holder": "` + robot + `"`, grantNeeds},
		"delegate": {"delegations/verdict", forOthers, `[]`, twoUsers, append([]string{
			"/delegator", "/delegator/id", "/delegator/tenant", "/delegator/kind", "/delegator/status", "/delegator/membership", "/delegator/roles",
			"/delegator/roles/0", "/delegator/roles/0/grants", "/delegator/roles/0/grants/0", "/delegate", "/delegate/id", "/delegate/tenant",
			"/delegate/kind", "/delegate/status", "/delegate/membership", "/permissions", "/permissions/0",
			"/now", "/starts_at", "/ends_at", "/received", "/received/from_delegator", "/received/total",
		}, grantNeeds...)},
	} {
		text := strings.NewReplacer("GRANTS", c.grants, "DELEGATED", c.delegations, "CASE", c.fields).Replace(workRequest)
		if c.rule == "work/count_records" {
			text = strings.Replace(text, `"effects": ["write"]`, `"effects": ["read"]`, 1)
		}
		verdict := func(doc object) object {
			result, err := e.EvalRaw(t.Context(), "parapet/"+c.rule, doc)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return object{}
			}
			o, _ := result.(object)
			if _, ok := o["allow"].(bool); !ok {
				t.Errorf("%s: got %v, want a verdict", name, result)
			}
			return o
		}
		if v := verdict(parse(t, text)); v["allow"] != true {
			t.Fatalf("%s: got %v, want allow", name, v)
		}
		for _, m := range mutations(t, text) {
			allowed := verdict(m.doc)["allow"] == true
			switch {
			case setsUnknownClassification(m), keepsWorkVerdict(m):
			case slices.Contains(c.needs, m.path) && allowed:
				t.Errorf("%s: got allow with %s %s, want a denial", name, m.path, m.name)
			case m.name == "removed" && !slices.Contains(c.needs, m.path) && !allowed && !strings.HasPrefix(m.path, "/candidate/roles/0") && !strings.HasPrefix(m.path, delegated+"/"):
				t.Errorf("%s: got a denial without %s, want allow", name, m.path)
			}
		}
	}
}

// setsUnknownClassification reports whether the change sets an unknown classification, which
// everyone can read.
func setsUnknownClassification(m mutation) bool {
	return m.path == "/resource/classification" && (m.name == "text" || m.name == "empty text" || m.name == "uuid")
}

// keepsWorkVerdict reports whether the corrupted value does not change the verdict: a user
// without roles or with unknown roles is not a guest, and another string is another user.
func keepsWorkVerdict(m mutation) bool {
	switch m.path {
	case "/candidate/roles":
		return m.name == "list"
	case "/candidate/roles/0/name":
		return m.name == "text" || m.name == "empty text" || m.name == "uuid"
	case "/received/from_delegator", "/received/total":
		return m.name == "number" || m.name == "negative"
	case "/delegator/id", "/delegate/id":
		return m.name == "uuid" || m.name == "text" || m.name == "empty text"
	case "/actor/delegated_subjects/0/delegation":
		return m.name != "removed"
	}
	return false
}
