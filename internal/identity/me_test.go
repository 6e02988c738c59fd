package identity_test

import (
	"slices"
	"strings"
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestPermissionsTellScopesAndWhatTheyAllow(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	member := r.acme.people["member"]
	project := uid.New()
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope, scope_id)
	        SELECT tenant_id, gen_random_uuid(), $2, id, 'project', $3 FROM identity.roles WHERE tenant_id = $1 AND name = 'Project Manager'`, r.acme.id, member, project)
	out := must[contract.PermissionsOut](r, "permissions", request{token: r.login("member@acme.example")})
	by := map[string]contract.EffectivePermission{}
	for _, p := range out.Permissions {
		if p.Description == "" {
			t.Errorf("%s has no line", p.Name)
		}
		by[p.Name] = p
	}
	if p := by["projects.read"]; !p.Tenant {
		t.Errorf("projects.read %+v", p)
	}
	if p := by["project.delete"]; p.Tenant || !slices.Equal(p.Projects, []op.UUID{project}) || len(p.Organisations) != 0 {
		t.Errorf("project.delete %+v", p)
	}
	if p := by["task.delete.own"]; !p.Tenant {
		t.Errorf("task.delete.own %+v", p)
	}
	if p := by["audit.read.own"]; !p.Tenant {
		t.Errorf("audit.read.own %+v", p)
	}
	if _, ok := by["role.assign"]; ok || out.TenantID != r.acme.id {
		t.Errorf("a member may assign roles, in %s", out.TenantID)
	}
	if n := len(must[contract.PermissionsOut](r, "permissions", request{token: r.login("platform@acme.example")}).Permissions); n != 0 {
		t.Errorf("PLATFORM_ADMIN grants %d permissions by its name", n)
	}
}

func TestListOrgs(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.acme.people["admin"]
	first := must[contract.OrganisationsOut](r, "list-orgs", request{token: r.login("admin@acme.example")})
	if len(first.Items) != 1 || first.Degraded || !first.Items[0].Default || first.Items[0].OrganisationID != r.acme.organisation || first.Items[0].TenantID != r.acme.id {
		t.Fatalf("%+v", first)
	}
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.globex.id, admin)
	session := r.login("admin@acme.example")
	both := must[contract.OrganisationsOut](r, "list-orgs", request{token: session})
	if len(both.Items) != 2 || !both.Items[0].Default || both.Items[1].Default || both.Items[1].OrganisationID != r.globex.organisation {
		t.Fatalf("%+v", both)
	}
	// Whatever is listed can be acted in, by either id.
	for _, o := range both.Items {
		for _, selector := range []op.UUID{o.OrganisationID, o.TenantID} {
			if me := must[contract.MeOut](r, "me", request{token: session, actAs: string(selector)}); me.TenantID != o.TenantID {
				t.Errorf("%s leads to %s", selector, me.TenantID)
			}
		}
	}
	away := must[contract.OrganisationsOut](r, "list-orgs", request{token: session, actAs: string(r.globex.id)})
	if len(away.Items) != 2 || away.Items[0].TenantID != r.acme.id || !away.Items[0].Default {
		t.Errorf("the default is the token's, wherever one acts: %+v", away)
	}
	r.exec(`UPDATE identity.tenants SET disabled_at = now() WHERE id = $1`, r.globex.id)
	if n := len(must[contract.OrganisationsOut](r, "list-orgs", request{token: session}).Items); n != 1 {
		t.Errorf("%d organisations, one of them in a disabled tenant", n)
	}
	r.exec(`REVOKE SELECT ON identity.organisations FROM parapet_auth`)
	broken := must[contract.OrganisationsOut](r, "list-orgs", request{token: session})
	if !broken.Degraded || len(broken.Items) != 0 {
		t.Errorf("a lookup that failed: %+v", broken)
	}
}

// A service principal is bound to its own tenant, whatever memberships it has.
func TestListOrgsOfAServicePrincipal(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	user := r.provision(r.acme)["multi-llm-review"]
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.globex.id, user)
	key := must[contract.IssuedKey](r, "issue-service-key", request{token: r.login("admin@acme.example"), body: body(fields{"label": "ci", "targetUserId": user})})
	out := must[contract.OrganisationsOut](r, "list-orgs", request{token: key.Token})
	if len(out.Items) != 1 || out.Items[0].TenantID != r.acme.id {
		t.Errorf("%+v", out)
	}
	r.wantFault("me", request{token: key.Token, actAs: string(r.globex.id)}, fault.CodeForbidden, "not allowed")
}

// The tenant context is live: what ends in the target tenant ends at once.
func TestTenantContextIsLive(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.acme.people["admin"]
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.globex.id, admin)
	session := r.login("admin@acme.example")
	must[contract.MeOut](r, "me", request{token: session, actAs: string(r.globex.id)})
	r.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, admin)
	r.wantFault("me", request{token: session, actAs: string(r.globex.id)}, fault.CodeForbidden, "not allowed")
	must[contract.MeOut](r, "me", request{token: session})
}
