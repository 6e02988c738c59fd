// Thousands of evaluations by one goroutine, which the race detector makes ten times slower.
//go:build !race

package authz_test

import (
	"testing"
	"testing/fstest"

	"parapet/internal/authz"
	"parapet/policies"
)

// TestReload_InvalidSourceIsRejected reloads incomplete and invalid sources: the current
// policies stay in use.
func TestReload_InvalidSourceIsRejected(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{})
	s := subject(t, e, person(e, "Member"))
	before := e.Revision()
	const access = "parapet/access/access.rego"
	for name, source := range map[string]authz.Source{
		"nothing":     {},
		"no tests":    {Policies: policies.FS},
		"empty tests": {Policies: policies.FS, Tests: testSource("package only_test\n\nhelper := 1\n")},
		"a failing test": {
			Policies: policies.FS,
			Tests:    testSource("package only_test\n\ntest_fails if data.parapet.access.allow with input as {}\n"),
		},
		"a test that the changed policies fail": {
			Policies: change(t, access, "is_string(input.resource.tenant)\n\tinput.resource.tenant == input.actor.tenant", "input.actor.tenant"),
			Tests:    testsOf(t, "access"),
		},
		"a syntax error":                     {Policies: change(t, access, "default allow := false", "default allow :="), Tests: passingTests()},
		"an unknown field":                   {Policies: change(t, access, "input.resource.owner", "input.resource.ownr"), Tests: passingTests()},
		"an unused import":                   {Policies: change(t, access, "import data.parapet.audit\n", "import data.parapet.audit\nimport data.parapet.clearance\n"), Tests: passingTests()},
		"network access":                     {Policies: change(t, access, "\t_has_grant\n}", "\thttp.send({\"url\": \"http://localhost\", \"method\": \"get\"})\n\t_has_grant\n}"), Tests: passingTests()},
		"clock access":                       {Policies: change(t, access, "\t_has_grant\n}", "\ttime.now_ns() > 0\n\t_has_grant\n}"), Tests: passingTests()},
		"environment access":                 {Policies: change(t, access, "\t_has_grant\n}", "\topa.runtime().env\n\t_has_grant\n}"), Tests: passingTests()},
		"a condition without an SQL form":    {Policies: change(t, access, "\t_has_grant\n}", "\tstartswith(input.resource.project, \"0\")\n\t_has_grant\n}"), Tests: passingTests()},
		"an attribute that rows lack":        {Policies: change(t, access, "\t_has_grant\n}", "\tinput.resource.classification[0] == \"x\"\n\t_has_grant\n}"), Tests: passingTests()},
		"a comparison of two row attributes": {Policies: change(t, access, "\t_has_grant\n}", "\tinput.resource.creator == input.resource.owner\n\t_has_grant\n}"), Tests: passingTests()},
		"a missing entry point":              {Policies: change(t, access, "# entrypoint: true\n", ""), Tests: passingTests()},
		"data of the wrong type":             {Policies: change(t, "parapet/clearance/data.yaml", "", "ladder: SECRET\n"), Tests: passingTests()},
		"an empty list of tiers":             {Policies: change(t, "parapet/clearance/data.yaml", "", "ladder: []\n"), Tests: passingTests()},
		"duplicate data":                     {Policies: change(t, "parapet/clearance/more.yaml", "", "ladder: [SECRET]\n"), Tests: passingTests()},
		"data that is not an object":         {Policies: change(t, "parapet/clearance/more.yaml", "", "[1, 2]\n"), Tests: passingTests()},
		"invalid YAML":                       {Policies: change(t, "parapet/clearance/more.yaml", "", "a: [1\n"), Tests: passingTests()},
		"an unknown effect":                  {Policies: change(t, "parapet/catalogue/data.yaml", "effect: read,", "effect: peek,"), Tests: passingTests()},
		"a role with an unknown permission": {
			Policies: change(t, "parapet/roles/data.yaml", "- tasks.read\n", "- tasks.raed\n"), Tests: passingTests(),
		},
		"an invalid schema":         {Policies: change(t, "schemas/access/input.json", "", "{"), Tests: passingTests()},
		"invalid capabilities":      {Policies: change(t, "capabilities/opa.json", "", "{"), Tests: passingTests()},
		"without capabilities":      {Policies: fstest.MapFS{}, Tests: passingTests()},
		"without rules":             {Policies: fstest.MapFS{"capabilities/opa.json": &fstest.MapFile{Data: []byte("{}")}}, Tests: passingTests()},
		"tests with a syntax error": {Policies: policies.FS, Tests: testSource("package")},
		"tests that do not compile": {Policies: policies.FS, Tests: testSource("package only_test\n\ntest_it if no_such_function(1)\n")},
	} {
		if err := e.Reload(t.Context(), source); err == nil {
			t.Errorf("reload, %s: got no error", name)
		}
		if e.Revision() != before {
			t.Fatalf("%s: the policies in use changed", name)
		}
	}
	if d := decide(t, e, authz.Input{Permission: "tasks.read", Effect: authz.Read, Module: "tracker", Actor: s, Resource: task()}); !d.Allow {
		t.Errorf("decision after rejected reloads: got %+v, want allow", d)
	}
	if stats := e.Stats(); stats.Reloads != 0 || stats.ReloadFailures == 0 {
		t.Errorf("after rejected reloads: got counters %+v, want only failed reloads", stats)
	}
}

func TestReload_ReplacesPolicies(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{})
	before := e.Revision()
	for name, source := range map[string]authz.Source{"embedded": authz.Embedded(), "folders": authz.Dir("../..")} {
		if revision, err := authz.RevisionOf(source); err != nil || revision != before {
			t.Errorf("%s: got revision %q, error %v, want %q", name, revision, err, before)
		}
	}
	spare := change(t, "parapet/catalogue/data.yaml", "permissions:\n", "permissions:\n  spares.read:\n    {module: identity, effect: read, description: A permission of the test.}\n")
	if err := e.Reload(t.Context(), authz.Source{Policies: spare, Tests: testsOf(t, "access")}); err != nil {
		t.Fatal(err)
	}
	if e.Revision() == before || !e.Catalogue().Knows("spares.read") {
		t.Error("after the reload: got the previous policies, want the new ones")
	}
	if stats := e.Stats(); stats.Reloads != 1 {
		t.Errorf("after one reload: got %d reloads, want 1", stats.Reloads)
	}
}

func TestNew_InvalidPoliciesAreError(t *testing.T) {
	t.Parallel()
	broken := change(t, "parapet/access/access.rego", "default allow := false", "default allow :=")
	if _, err := authz.New(t.Context(), authz.Config{Source: authz.Source{Policies: broken}}); err == nil {
		t.Error("start with policies that have a syntax error: got no error")
	}
}
