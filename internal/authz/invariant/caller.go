package invariant

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The ids in the generated inputs.
const (
	tenantA      = "00000000-0000-7000-8000-00000000000a"
	tenantB      = "00000000-0000-7000-8000-00000000000b"
	organisation = "00000000-0000-7000-8000-0000000000c1"
	otherOrg     = "00000000-0000-7000-8000-0000000000c2"
	project      = "00000000-0000-7000-8000-0000000000d1"
	otherProject = "00000000-0000-7000-8000-0000000000d2"
	initiative   = "00000000-0000-7000-8000-0000000000d3"
	user         = "00000000-0000-7000-8000-0000000000e1"
	colleague    = "00000000-0000-7000-8000-0000000000e2"
	stranger     = "00000000-0000-7000-8000-0000000000e3"
	delegationID = "00000000-0000-7000-8000-0000000000f1"
	recordID     = "00000000-0000-7000-8000-0000000000f2"
)

// The entry points that the program evaluates by name.
const (
	entrySubject = "parapet/subject/subject"
	entryAllow   = "parapet/access/allow"
	entryBehalf  = "parapet/access/behalf"
	entryDenial  = "parapet/access/denial"
)

// verdictEntries are the entry points that must return a verdict.
var verdictEntries = map[string]bool{
	"parapet/keys/issue_service": true, "parapet/keys/issue_self": true, "parapet/keys/list": true, "parapet/keys/revoke": true,
	"parapet/work/give": true, "parapet/work/act_as_agent": true, "parapet/work/raise_decision": true,
	"parapet/work/cancel_decision": true, "parapet/work/release_claim": true, "parapet/delegations/verdict": true,
	"parapet/work/promote_issue": true, "parapet/work/count_records": true, "parapet/work/start_run": true, "parapet/profiles/validate": true, "parapet/open/verdict": true, "parapet/actas/verdict": true,
	"parapet/grants/verdict": true, "parapet/roles/create": true, "parapet/roles/rename": true, "parapet/roles/delete": true, "parapet/roles/grant": true,
	"parapet/roles/revoke": true, "parapet/roles/unassign": true,
	"parapet/accounts/change_name": true, "parapet/accounts/change_address": true, "parapet/accounts/reset_password": true, "parapet/accounts/complete_reset": true,
	"parapet/accounts/suspend": true, "parapet/accounts/activate": true, "parapet/accounts/delete": true, "parapet/accounts/stop_membership": true,
	"parapet/accounts/restore_membership": true, "parapet/accounts/add_membership": true, "parapet/accounts/end_session": true, "parapet/accounts/change_own_credentials": true,
	"parapet/accounts/administrator_notifications": true,
}

// tiers are the clearance tiers, lowest first.
var tiers = []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"}

// caller holds an input of parapet/subject/subject and the subject that the policies compute
// from it.
type caller struct {
	input     object
	subject   ast.Value
	evaluated bool
}

func newCaller(input object) *caller { return &caller{input: input} }

// actor returns the subject, or nil if the set defines none for the input.
func (cl *caller) actor(c *checker) ast.Value {
	if !cl.evaluated {
		cl.evaluated = true
		cl.subject = c.eval(entrySubject, toValue(cl.input))
	}
	return cl.subject
}

// delegates reports whether the caller received a delegation.
func (cl *caller) delegates() bool {
	received, _ := cl.input["delegations"].([]any)
	return len(received) > 0
}

// with returns a caller with another value at the path.
func (cl *caller) with(path string, value any) *caller {
	return newCaller(cl.input.withPath(path, value))
}

// without returns a caller without the value at the path.
func (cl *caller) without(path string) *caller { return newCaller(cl.input.withoutPath(path)) }

// callerWithAllPermissions returns a person whose session and records grant every permission in the
// scope of the tenant, with the highest clearance, in a programme office. A denial therefore
// has a reason other than a missing permission.
func (c *checker) callerWithAllPermissions() *caller {
	return callerWithPermissions(namesOf(c.permissions)...)
}

// callerWithSamplePermissions returns the same person with only the permissions in c.sample, which is
// faster to evaluate.
func (c *checker) callerWithSamplePermissions() *caller {
	return callerWithPermissions(namesOf(c.sample)...)
}

// essential are the permissions that the rules of other packages require.
var essential = []string{
	"api_key.issue", "api_key.issue_for_service", "api_key.read.own", "api_key.revoke.own", "role.assign", "tasks.update.any", "tasks.read", "task.update",
	"task.delete", "tenant.create", "audit.read.tenant", "issue.update", "time_entries.read",
}

func namesOf(permissions []Permission) []string {
	names := make([]string, len(permissions))
	for i, p := range permissions {
		names[i] = p.Name
	}
	return names
}

// callerWithPermissions returns the same person with only these permissions.
func callerWithPermissions(permissions ...string) *caller {
	return newCaller(object{
		"token": object{
			"kind": "session", "tenant": tenantA, "roles": list("Role"), "role_scopes": object{}, "clearance": "SECRET", "caveats": list(),
		},
		"tenant": tenantA, "tenant_type": "PROGRAMME_OFFICE",
		"user": object{"id": user, "kind": "HUMAN", "organisation": organisation, "status": "ACTIVE"},
		"stored": object{
			"assignments": []any{object{"role": "Role", "scope": "tenant"}}, "clearance": "SECRET", "membership": "ACTIVE",
		},
		"roles":       object{"Role": list(permissions...)},
		"delegations": list(),
	})
}

// otherUsersRecord returns an unclassified record of the tenant that the caller neither
// created nor owns.
func otherUsersRecord() object {
	return object{
		"type": "record", "id": recordID, "tenant": tenantA, "organisation": organisation, "project": project,
		"creator": colleague, "owner": colleague, "classification": "UNCLASSIFIED",
	}
}

// ownRecord returns a record that the caller created and owns.
func ownRecord() object { return otherUsersRecord().with("creator", user).with("owner", user) }

// access returns a decision request for one record.
func access(cl *caller, p Permission, resource object) query {
	return query{cl, entryAllow, object{"permission": p.Name, "effect": p.Effect, "module": p.Module, "resource": resource}}
}

// readVerbs are the endings of the names of read permissions.
var readVerbs = []string{"read", "read.own", "read.organisation", "read.tenant", "read.classified", "list", "list.own"}

// effectOf derives the effect from the name of a permission. A name without a read verb has
// the effect write.
func effectOf(name string) string {
	if slices.ContainsFunc(readVerbs, func(verb string) bool { return strings.HasSuffix(name, "."+verb) }) {
		return "read"
	}
	return "write"
}

// platformPermissions are the permissions that administer other tenants.
var platformPermissions = []string{"tenant.create", "tenant.disable", "tenant.enable", "tenant.list"}

// memberPermissions are the permissions that a set may give to every member of a tenant
// without a role.
var memberPermissions = []string{"pages.read"}

// requiredPermissions returns the permissions that the program uses by name. The catalogue
// may lack them.
func requiredPermissions() []Permission {
	names := map[string]string{
		"api_key.issue": "identity", "api_key.issue_for_service": "identity", "role.assign": "identity", "user.update": "identity",
		"task.delete": "tracker", "issue.update": "tracker", "time_entries.read": "tracker", "task.update": "tracker", "tasks.read": "tracker", "tasks.update.any": "tracker", "project.delete": "tracker",
		"audit.read": "audit", "audit.read.tenant": "audit", "decision_log.read": "audit",
	}
	for _, name := range platformPermissions {
		names[name] = "identity"
	}
	var out []Permission
	for name, module := range names {
		out = append(out, Permission{Name: name, Module: module, Effect: effectOf(name), Platform: slices.Contains(platformPermissions, name)})
	}
	slices.SortFunc(out, func(a, b Permission) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// audit reports whether the permission reads audit entries, for which clearance is not
// compared.
func (p Permission) audit() bool {
	return p.Name == "audit.read" || strings.HasPrefix(p.Name, "audit.read.")
}
