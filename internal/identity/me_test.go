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

func TestPermissions_ReturnsScopesAndDescriptions(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	member := r.acme.people["member"]
	project := uid.New()
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope, scope_id)
	        SELECT tenant_id, gen_random_uuid(), $2, id, 'project', $3 FROM identity.roles WHERE tenant_id = $1 AND name = 'Project Manager'`, r.acme.id, member, project)
	out := must[contract.PermissionsOut](r, "permissions", request{token: r.login("member@acme.example")})
	byName := map[string]contract.EffectivePermission{}
	for _, p := range out.Permissions {
		if p.Description == "" {
			t.Errorf("%s: got no description", p.Name)
		}
		byName[p.Name] = p
	}
	if p := byName["projects.read"]; !p.Tenant {
		t.Errorf("projects.read: got %+v, want tenant-wide", p)
	}
	if p := byName["project.delete"]; p.Tenant || !slices.Equal(p.Projects, []op.UUID{project}) || len(p.Organisations) != 0 {
		t.Errorf("project.delete: got %+v, want the one project", p)
	}
	if p := byName["task.delete.own"]; !p.Tenant {
		t.Errorf("task.delete.own: got %+v, want tenant-wide", p)
	}
	if p := byName["audit.read.own"]; !p.Tenant {
		t.Errorf("audit.read.own: got %+v, want tenant-wide", p)
	}
	if _, ok := byName["role.assign"]; ok || out.TenantID != r.acme.id {
		t.Errorf("member: got role.assign or tenant %s", out.TenantID)
	}
	if n := len(must[contract.PermissionsOut](r, "permissions", request{token: r.login("platform@acme.example")}).Permissions); n != 0 {
		t.Errorf("PLATFORM_ADMIN: got %d permissions, want none", n)
	}
}

func TestListOrgs_ReturnsUsableOrganisations(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.acme.people["admin"]
	first := must[contract.OrganisationsOut](r, "list-orgs", request{token: r.login("admin@acme.example")})
	if len(first.Items) != 1 || first.Degraded || !first.Items[0].Default || first.Items[0].OrganisationID != r.acme.organisation || first.Items[0].TenantID != r.acme.id {
		t.Fatalf("one membership: got %+v, want the organisation in acme as default", first)
	}
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.globex.id, admin)
	session := r.login("admin@acme.example")
	both := must[contract.OrganisationsOut](r, "list-orgs", request{token: session})
	if len(both.Items) != 2 || !both.Items[0].Default || both.Items[1].Default || both.Items[1].OrganisationID != r.globex.organisation {
		t.Fatalf("two memberships: got %+v, want acme as default and the organisation in globex", both)
	}
	// Each listed organisation can be selected by its id or its tenant's id.
	for _, o := range both.Items {
		for _, selector := range []op.UUID{o.OrganisationID, o.TenantID} {
			if me := must[contract.MeOut](r, "me", request{token: session, actAs: string(selector)}); me.TenantID != o.TenantID {
				t.Errorf("x-act-as-org %s: got tenant %s", selector, me.TenantID)
			}
		}
	}
	away := must[contract.OrganisationsOut](r, "list-orgs", request{token: session, actAs: string(r.globex.id)})
	if len(away.Items) != 2 || away.Items[0].TenantID != r.acme.id || !away.Items[0].Default {
		t.Errorf("in another tenant: got %+v, want the token's tenant as default", away)
	}
	r.exec(`UPDATE identity.tenants SET disabled_at = now() WHERE id = $1`, r.globex.id)
	if n := len(must[contract.OrganisationsOut](r, "list-orgs", request{token: session}).Items); n != 1 {
		t.Errorf("with a disabled tenant: got %d organisations, want 1", n)
	}
	r.exec(`REVOKE SELECT ON identity.organisations FROM parapet_auth`)
	broken := must[contract.OrganisationsOut](r, "list-orgs", request{token: session})
	if !broken.Degraded || len(broken.Items) != 0 {
		t.Errorf("failed lookup: got %+v, want degraded and no items", broken)
	}
}

// A service principal can act in its home tenant only, even with other memberships.
func TestListOrgs_ServicePrincipal_ReturnsHomeTenantOnly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	user := r.provision(r.acme)["multi-llm-review"]
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.globex.id, user)
	key := must[contract.IssuedKey](r, "issue-service-key", request{token: r.login("admin@acme.example"), body: body(fields{"label": "ci", "targetUserId": user})})
	out := must[contract.OrganisationsOut](r, "list-orgs", request{token: key.Token})
	if len(out.Items) != 1 || out.Items[0].TenantID != r.acme.id {
		t.Errorf("list-orgs of a service principal: got %+v, want acme only", out)
	}
	r.wantFault("me", request{token: key.Token, actAs: string(r.globex.id)}, fault.CodeForbidden, "not allowed")
}

// A suspended membership in the target tenant takes effect immediately.
func TestActAs_WhenMembershipIsSuspended_IsDenied(t *testing.T) {
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
