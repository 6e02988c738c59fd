// Thousands of evaluations by one goroutine, which the race detector makes ten times slower.
//go:build !race

package authz_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"parapet/internal/authz"
	"parapet/internal/authz/invariant"
	"parapet/policies"
)

// broken is a change to the embedded policies that breaks one invariant.
type broken struct {
	invariant string
	// changes are triples of file, old text and new text.
	changes [][3]string
}

const (
	accessRego      = "parapet/access/access.rego"
	subjectRego     = "parapet/subject/subject.rego"
	catalogueData   = "parapet/catalogue/data.yaml"
	rolesData       = "parapet/roles/data.yaml"
	accountsRego    = "parapet/accounts/accounts.rego"
	platformDisable = "tenant.disable:\n    {module: identity, effect: write, platform: true,"
)

// brokenPolicies returns changes of the policies that each violate one invariant.
func brokenPolicies() []broken {
	one := func(name, file, old, with string) broken { return broken{name, [][3]string{{file, old, with}}} }
	return []broken{
		one("ladder", "parapet/clearance/data.yaml", "[UNCLASSIFIED, INTERNAL, RESTRICTED, CONFIDENTIAL, SECRET]", "[UNCLASSIFIED, SECRET, INTERNAL, RESTRICTED, CONFIDENTIAL]"),
		one("catalogue-effects", catalogueData, "task.delete:\n    {module: tracker, effect: write", "task.delete:\n    {module: tracker, effect: read"),
		one("platform-permissions", catalogueData, platformDisable, "tenant.disable:\n    {module: identity, effect: write,"),
		one("boolean", "parapet/open/open.rego", `default verdict := {"allow": false`, `default verdict := {"allow": "no"`),
		one("tenant", accessRego, "input.resource.tenant == input.actor.tenant", "is_string(input.actor.tenant)"),
		one("act-as", subjectRego, "\t_kind in {\"HUMAN\", \"AGENT\"}\n\t_is_uuid(input.token.tenant)", "\t_is_uuid(input.token.tenant)"),
		one("clearance", accessRego, "\tinput.resource.classification in input.actor.readable\n", "\tis_string(input.actor.id)\n"),
		one("audit-clearance", "parapet/audit/audit.rego", `unclassified if input.resource.classification == "UNCLASSIFIED"`, "unclassified if is_string(input.resource.classification)"),
		one("subject", subjectRego, ") if {\n\t_is_uuid(input.user.id)\n", ") if {\n"),
		one("subject", subjectRego, "\t_source != \"none\"\n\tis_object(input.roles)\n", "\tis_object(input.roles)\n"),
		one("input", accessRego, "_has_clearance if {\n\tis_string(input.resource.classification)\n\tnot ", "_has_clearance if {\n\tnot "),
		one("grant", accessRego, "_has_grant if input.actor.grants[input.permission].tenant == true", "_has_grant if input.permission in input.actor.holds"),
		one("hidden", accessRego, `{"hidden": true, "reasons": ["foreign_tenant"]}`, `{"hidden": false, "reasons": ["foreign_tenant"]}`),
		one("unknown-caveat", subjectRego, `_is_known_caveat("read-only")`, "_is_known_caveat(\"read-only\")\n\n_is_known_caveat(\"weekdays\")"),
		one("caveat", subjectRego, `_effect_allowed("write") if not "read-only" in input.token.caveats`, `_effect_allowed("write")`),
		{"platform", [][3]string{
			{accessRego, `_platform_allowed if input.actor.tenant_type == "PROGRAMME_OFFICE"`, "_platform_allowed if is_string(input.actor.tenant)"},
			{subjectRego, `_platform_allowed(_) if _tenant_type == "PROGRAMME_OFFICE"`, "_platform_allowed(_) if is_string(_tenant_type)"},
		}},
		one("guest", rolesData, "Reads the projects to which the customer is invited.\n    grants:\n", "Reads the projects to which the customer is invited.\n    grants:\n      - task.update\n"),
		one("auditor", rolesData, "and changes nothing.\n    grants:\n", "and changes nothing.\n    grants:\n      - role.assign\n"),
		one("powerless-role", rolesData, "Grants nothing.\n    grants: []", "Grants nothing.\n    grants: [tasks.read]"),
		one("profile", "parapet/profiles/data.yaml", "grants: [wiki:page:write]", "grants: [wiki:page:write, task.delete]"),
		one("service-key", "parapet/keys/keys.rego", "_is_session_of_person if {\n\tinput.actor.token_kind == \"session\"\n", "_is_session_of_person if {\n"),
		one("personal-key", "parapet/keys/keys.rego", "\t_key_in_tenant\n\tis_string(input.key.owner.id)\n\tinput.key.owner.id == input.actor.id", "\t_key_in_tenant"),
		one("key-lifetime", "parapet/keys/data.yaml", "service: 90", "service: 180"),
		one("delegation", subjectRego, "\tdelegation.delegator.status == \"ACTIVE\"\n", ""),
		one("delegation-made", "parapet/delegations/delegations.rego", "\tuser.status == \"ACTIVE\"\n", ""),
		one("assignment", rolesData, "guest: Guest Customer\n", "guest: Guest\n"),
		one("speaking-for-agent", "parapet/work/work.rego", "else := _deny_missing_any(reason)", "else := _allowed if is_string(reason)"),
		one("no-subject", accountsRego, "\tis_string(input.account.id)\n\tinput.account.id != input.actor.id", "\tnot input.account.id == input.actor.id"),
		one("giving", "parapet/grants/grants.rego", "else := _deny_permission(min(_caller_lacks)) if count(_caller_lacks) > 0\n\n", ""),
		one("giving-clearance", "parapet/grants/grants.rego", "\t_raises_clearance\n\tnot _recipient_is_another_user", "\t_raises_clearance\n\tnot is_string(input.recipient.id)"),
		one("account", accountsRego, "\t_covers_all(holding.caller, holding.delegations)\n", ""),
		one("oneself", accountsRego, "else := _conflict(\"oneself\") if not _is_another_user\n\nelse := _conflict(\"deleted\")", "else := _conflict(\"deleted\")"),
		one("role-names", accountsRego, "\tpermission in input.actor.permissions\n", "\tis_string(permission)\n\tis_string(input.actor.id)\n"),
		one("filter", catalogueData, "task.delete:\n    {module: tracker, effect: write", "task.delete:\n    {module: tracker, effect: read"),
		one("necessary-conditions", accessRego, "# Audit entries have permissions", "allow if input.actor.id == \"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f\"\n\n# Audit entries have permissions"),
	}
}

// changedPolicies returns the embedded policies with the changes.
func changedPolicies(t *testing.T, changes [][3]string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(policies.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(policies.FS, path)
		files[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		before := string(files[c[0]].Data)
		if !strings.Contains(before, c[1]) {
			t.Fatalf("%s does not contain %q: update the test case after a change of the policies", c[0], c[1])
		}
		files[c[0]] = &fstest.MapFile{Data: []byte(strings.Replace(before, c[1], c[2], 1))}
	}
	return files
}

// TestInvariants_EachRejectsSetThatBreaksIt shows that every invariant can fail.
func TestInvariants_EachRejectsSetThatBreaksIt(t *testing.T) {
	t.Parallel()
	untested := map[string]bool{}
	for _, i := range invariant.All() {
		untested[i.Name] = true
	}
	for _, b := range brokenPolicies() {
		delete(untested, b.invariant)
		t.Run(b.invariant, func(t *testing.T) {
			t.Parallel()
			err := authz.CheckInvariant(t.Context(), authz.Source{Policies: changedPolicies(t, b.changes)}, b.invariant)
			var violation *invariant.Violation
			if !errors.As(err, &violation) || violation.Invariant.Name != b.invariant || violation.Counterexample == "" {
				t.Fatalf("policies that break the invariant %s: got %v, want a violation of it with a counterexample", b.invariant, err)
			}
		})
	}
	for name := range untested {
		t.Errorf("invariant %s has no test case", name)
	}
}

// TestReload_SetThatOnlyItsOwnTestsAcceptIsRejected reloads a rule that checks only the
// tenant, with one test that always passes.
func TestReload_SetThatOnlyItsOwnTestsAcceptIsRejected(t *testing.T) {
	t.Parallel()
	var outcome authz.ReloadOutcome
	e := newEngine(t, authz.Config{OnReload: func(_ context.Context, o authz.ReloadOutcome) error { outcome = o; return nil }})
	before := e.Revision()
	weak := changedPolicies(t, [][3]string{{accessRego, "\t_project_allowed\n\t_has_clearance\n\t_platform_allowed\n\t_has_grant\n}", "}"}, {accessRego, "\tinput.effect in input.actor.effects\n\tinput.module in input.actor.modules\n}", "}"}})
	err := e.Reload(t.Context(), authz.Source{Policies: weak, Tests: passingTests()})
	var violation *invariant.Violation
	if !errors.As(err, &violation) {
		t.Fatalf("reload of a weak set: got %v, want a violation", err)
	}
	if e.Revision() != before || outcome.Before != before || outcome.After == "" || outcome.After == before || outcome.Invariant() != violation.Invariant.Name {
		t.Errorf("rejected reload: got revision %s, outcome %+v; want revision %s and the invariant %s", e.Revision(), outcome, before, violation.Invariant.Name)
	}
}

// TestReload_UnrecordedReloadIsRejected reloads a valid set whose outcome cannot be written
// to the audit log.
func TestReload_UnrecordedReloadIsRejected(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	e := newEngine(t, authz.Config{OnReload: func(context.Context, authz.ReloadOutcome) error { return full }})
	before := e.Revision()
	good := changedPolicies(t, [][3]string{{accessRego, "# Audit entries have permissions", "# Audit entries, once more, are gated"}})
	if err := e.Reload(t.Context(), authz.Source{Policies: good, Tests: passingTests()}); !errors.Is(err, full) || e.Revision() != before {
		t.Errorf("reload that OnReload rejects: got revision %s, %v; want revision %s and the error %q", e.Revision(), err, before, full)
	}
}

// TestNew_ChecksSetFromFolder starts an engine with policies that are not the embedded ones.
func TestNew_ChecksSetFromFolder(t *testing.T) {
	t.Parallel()
	weak := changedPolicies(t, brokenPolicies()[4].changes)
	_, err := authz.New(t.Context(), authz.Config{Source: authz.Source{Policies: weak, Tests: passingTests()}})
	var violation *invariant.Violation
	if !errors.As(err, &violation) {
		t.Errorf("start with a weak set: got %v, want a violation", err)
	}
}
