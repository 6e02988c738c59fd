package identity_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"parapet/internal/identity"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// tablesAsText returns the content of all tables that provisioning writes, as text.
func tablesAsText(r *fixture) string {
	return queryValue[string](r, `SELECT concat_ws(E'\n',
		(SELECT string_agg(x::text, E'\n' ORDER BY x::text) FROM identity.tenants x),
		(SELECT string_agg(x::text, E'\n' ORDER BY x::text) FROM identity.users x),
		(SELECT string_agg(x::text, E'\n' ORDER BY x::text) FROM identity.memberships x),
		(SELECT string_agg(x::text, E'\n' ORDER BY x::text) FROM identity.roles x),
		(SELECT string_agg(x::text, E'\n' ORDER BY x::text) FROM identity.role_grants x),
		(SELECT string_agg(x::text, E'\n' ORDER BY x::text) FROM identity.role_assignments x),
		(SELECT string_agg(x::text, E'\n' ORDER BY x::text) FROM audit.entries x),
		(SELECT string_agg(x.id::text, E'\n' ORDER BY x.id) FROM events.outbox x))`)
}

func TestProvision_CreatesRegisteredPrincipals(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	report, err := r.runProvision(r.acme)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Changed() || len(report.Profiles) != 2 {
		t.Fatalf("report: got %+v, want changes of 2 profiles", report)
	}
	for _, p := range report.Profiles {
		if !p.Verified || len(p.Changes) == 0 {
			t.Errorf("profile: got %+v, want it verified, with changes", p)
		}
		got := queryValue[string](r, `SELECT concat_ws('/', u.principal_kind, u.integration_key, u.status, m.status, m.organisation_id) FROM identity.users u
			JOIN identity.memberships m ON m.tenant_id = u.home_tenant_id AND m.user_id = u.id WHERE u.id = $1`, p.UserID)
		if want := "SERVICE/" + p.IntegrationKey + "/ACTIVE/ACTIVE/" + string(r.acme.organisation); got != want {
			t.Errorf("principal: got %s, want %s", got, want)
		}
		// Each profile has one critical audit entry.
		if n := queryValue[int](r, `SELECT count(*) FROM audit.entries WHERE action = 'service_principal.provisioned' AND resource_id = $1 AND tenant_id = $2`, string(p.UserID), r.acme.id); n != 1 {
			t.Errorf("%s: got %d audit entries, want 1", p.IntegrationKey, n)
		}
		if n := queryValue[int](r, `SELECT count(*) FROM events.outbox WHERE type = 'directory.user.created' AND aggregate_id = $1`, string(p.UserID)); n != 1 {
			t.Errorf("%s: got %d events, want 1", p.IntegrationKey, n)
		}
	}
	if queryValue[int](r, `SELECT count(*) FROM identity.users WHERE home_tenant_id = $1 AND principal_kind = 'SERVICE'`, r.globex.id) != 0 {
		t.Error("globex: got service principals, want none")
	}

	before := tablesAsText(r)
	second, err := r.runProvision(r.acme)
	if err != nil {
		t.Fatal(err)
	}
	if second.Changed() {
		t.Errorf("second run: got %+v, want no changes", second)
	}
	for _, p := range second.Profiles {
		if !p.Verified {
			t.Errorf("second run: %s is not verified", p.IntegrationKey)
		}
	}
	if after := tablesAsText(r); after != before {
		t.Error("second run: got changed tables")
	}
}

func TestProvision_RepairsRolesAndAssignments(t *testing.T) {
	t.Parallel()
	const role = `(SELECT id FROM identity.roles WHERE tenant_id = $1 AND name = 'multi-llm-review')`
	const user = `(SELECT id FROM identity.users WHERE home_tenant_id = $1 AND integration_key = 'multi-llm-review')`
	r := newFixture(t, fixtureOptions{})
	r.provision(r.acme)
	want := rolesAsText(r)
	for name, damage := range map[string]string{
		"an additional grant":                     `INSERT INTO identity.role_grants (tenant_id, role_id, permission) VALUES ($1, ` + role + `, 'task.delete')`,
		"a missing grant":                         `DELETE FROM identity.role_grants WHERE tenant_id = $1 AND role_id = ` + role + ` AND permission = 'tasks.read'`,
		"an additional role":                      `INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope) SELECT $1, gen_random_uuid(), ` + user + `, id, 'tenant' FROM identity.roles WHERE tenant_id = $1 AND name = 'Admin'`,
		"no role":                                 `DELETE FROM identity.role_assignments WHERE tenant_id = $1 AND user_id = ` + user,
		"a narrower scope":                        `UPDATE identity.role_assignments SET scope = 'project', scope_id = gen_random_uuid() WHERE tenant_id = $1 AND user_id = ` + user,
		"no organisation":                         `UPDATE identity.memberships SET organisation_id = NULL WHERE tenant_id = $1 AND user_id = ` + user,
		"Admin without api_key.issue_for_service": `DELETE FROM identity.role_grants WHERE tenant_id = $1 AND permission = 'api_key.issue_for_service'`,
		"role without grants and assignments":     `WITH a AS (DELETE FROM identity.role_assignments WHERE tenant_id = $1 AND role_id = ` + role + `) DELETE FROM identity.role_grants WHERE tenant_id = $1 AND role_id = ` + role,
		"a missing default role":                  `DELETE FROM identity.roles WHERE tenant_id = $1 AND name = 'Auditor'`,
	} {
		r.exec(damage, r.acme.id)
		if rolesAsText(r) == want {
			t.Fatalf("%s: the SQL changed nothing", name)
		}
		report, err := r.runProvision(r.acme)
		if err != nil || !report.Changed() {
			t.Errorf("%s: got report %+v, %v, want changes", name, report, err)
		}
		if got := rolesAsText(r); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		if again, err := r.runProvision(r.acme); err != nil || again.Changed() {
			t.Errorf("%s: second run: got %+v, %v, want no changes", name, again, err)
		}
	}
	// Other changes to default roles are kept.
	r.exec(`DELETE FROM identity.role_grants g USING identity.roles x WHERE x.tenant_id = g.tenant_id AND x.id = g.role_id AND x.name = 'Member' AND g.permission = 'task.create' AND g.tenant_id = $1`, r.acme.id)
	if report, err := r.runProvision(r.acme); err != nil || report.Changed() {
		t.Errorf("changed default role: got %+v, %v, want no changes", report, err)
	}
}

// rolesAsText returns the tenant's roles and service principals without ids and timestamps.
func rolesAsText(r *fixture) string {
	return queryValue[string](r, `SELECT concat_ws(E'\n',
		(SELECT string_agg(concat_ws(' ', x.name, x.kind, g.permission), E'\n' ORDER BY x.name, g.permission)
		 FROM identity.roles x LEFT JOIN identity.role_grants g ON g.tenant_id = x.tenant_id AND g.role_id = x.id WHERE x.tenant_id = $1),
		(SELECT string_agg(concat_ws(' ', u.integration_key, u.status, m.organisation_id, x.name, a.scope), E'\n' ORDER BY u.integration_key, x.name)
		 FROM identity.users u LEFT JOIN identity.memberships m ON m.user_id = u.id AND m.tenant_id = u.home_tenant_id
		 LEFT JOIN identity.role_assignments a ON a.tenant_id = m.tenant_id AND a.user_id = u.id
		 LEFT JOIN identity.roles x ON x.tenant_id = a.tenant_id AND x.id = a.role_id
		 WHERE u.home_tenant_id = $1 AND u.principal_kind = 'SERVICE'))`, r.acme.id)
}

// A profile that fails is rolled back, and the other profiles are provisioned.
func TestProvision_RollsBackFailedProfilesOnly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.provision(r.acme)
	r.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE integration_key = 'multi-llm-review'`)
	r.exec(`DELETE FROM identity.role_assignments a USING identity.users u WHERE u.id = a.user_id AND u.principal_kind = 'SERVICE'`)
	report, err := r.runProvision(r.acme)
	if err == nil || !strings.Contains(err.Error(), "multi-llm-review") || !strings.Contains(err.Error(), "not active") || strings.Contains(err.Error(), "spec-wiki-sync") {
		t.Errorf("suspended principal: got %v, want an error that names only multi-llm-review as not active", err)
	}
	for _, p := range report.Profiles {
		if p.Verified != (p.IntegrationKey == "spec-wiki-sync") {
			t.Errorf("profile: got %+v, want only spec-wiki-sync verified", p)
		}
	}
	if n := queryValue[int](r, `SELECT count(*) FROM identity.role_assignments a JOIN identity.users u ON u.id = a.user_id WHERE u.integration_key = 'multi-llm-review'`); n != 0 {
		t.Error("failed profile: got a role assignment, want none")
	}
	r.exec(`UPDATE identity.users SET status = 'ACTIVE' WHERE integration_key = 'multi-llm-review'`)

	r.exec(`UPDATE identity.roles SET kind = 'STANDARD' WHERE name = 'multi-llm-review'`)
	if _, err := r.runProvision(r.acme); err == nil || !strings.Contains(err.Error(), "not GLOBAL") {
		t.Errorf("STANDARD role: got %v, want an error", err)
	}
	r.exec(`UPDATE identity.roles SET kind = 'GLOBAL' WHERE name = 'multi-llm-review'`)

	before := tablesAsText(r)
	for name, where := range map[string]testTenant{
		"unknown tenant":                 {id: uid.New(), organisation: r.acme.organisation},
		"unknown organisation":           {id: r.acme.id, organisation: uid.New()},
		"organisation of another tenant": {id: r.acme.id, organisation: r.globex.organisation},
	} {
		if _, err := r.runProvision(where); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if tablesAsText(r) != before {
		t.Error("failed runs changed the tables")
	}
	r.exec(`UPDATE identity.tenants SET disabled_at = now() WHERE id = $1`, r.acme.id)
	if _, err := r.runProvision(r.acme); err == nil {
		t.Error("disabled tenant: got no error")
	}
}

func TestProvision_RepairsAgents(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.provision(r.acme)
	user := func(kind, email, status string) op.UUID {
		id := uid.New()
		r.exec(`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, status) VALUES ($1, $2, $3, $4, $4, $5)`, id, r.acme.id, kind, email, status)
		return id
	}
	wrong := user("HUMAN", "agent+builder@acme.example", "ACTIVE")
	r.exec(`UPDATE identity.users SET password_hash = 'x' WHERE id = $1`, wrong)
	bare := user("AGENT", "agent+tester@acme.example", "SUSPENDED")
	person := user("HUMAN", "agent.smith@acme.example", "ACTIVE")
	gone := user("HUMAN", "agent+gone@acme.example", "DELETED")
	report, err := r.runProvision(r.acme)
	if err != nil || len(report.Agents) == 0 {
		t.Fatalf("got %+v, %v, want repaired agents", report, err)
	}
	state := func(id op.UUID) string {
		return queryValue[string](r, `SELECT concat_ws('/', u.principal_kind, u.status, m.status, x.name, u.password_hash) FROM identity.users u
			LEFT JOIN identity.memberships m ON m.user_id = u.id LEFT JOIN identity.role_assignments a ON a.user_id = u.id
			LEFT JOIN identity.roles x ON x.tenant_id = a.tenant_id AND x.id = a.role_id WHERE u.id = $1`, id)
	}
	for id, want := range map[op.UUID]string{wrong: "AGENT/ACTIVE/ACTIVE/Agent", bare: "AGENT/SUSPENDED/ACTIVE/Agent", person: "HUMAN/ACTIVE", gone: "HUMAN/DELETED"} {
		if got := state(id); got != want {
			t.Errorf("agent: got %q, want %q", got, want)
		}
	}
	if again, err := r.runProvision(r.acme); err != nil || again.Changed() {
		t.Errorf("second run: got %+v, %v, want no changes", again, err)
	}
}

// Of concurrent runs one creates the principals and the others verify them.
func TestProvision_ConcurrentRunsCreatePrincipalsOnce(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	reports := make([]identity.ProvisionReport, 3)
	errs := make([]error, 3)
	var group sync.WaitGroup
	for i := range reports {
		group.Go(func() { reports[i], errs[i] = r.runProvision(r.acme) })
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("run %d: %v", i, err)
		}
	}
	if n := queryValue[int](r, `SELECT count(*) FROM identity.users WHERE principal_kind = 'SERVICE'`); n != 2 {
		t.Errorf("got %d principals, want 2", n)
	}
	if n := queryValue[int](r, `SELECT count(*) FROM audit.entries WHERE action = 'service_principal.provisioned'`); n != 2 {
		t.Errorf("got %d audit entries, want 2", n)
	}
	if !slices.ContainsFunc(reports, func(p identity.ProvisionReport) bool { return p.Changed() }) {
		t.Error("got no report with changes")
	}
}
