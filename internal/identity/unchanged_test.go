package identity_test

import (
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// grant adds a permission to the roles of a member.
func (r *fixture) grant(h testTenant, user op.UUID, permission string) {
	r.t.Helper()
	r.exec(`INSERT INTO identity.role_grants (tenant_id, role_id, permission)
	        SELECT tenant_id, role_id, $3 FROM identity.role_assignments WHERE tenant_id = $1 AND user_id = $2`, h.id, user, permission)
}

// A request that changes nothing returns the record only to a caller who may read it.
func TestUnchangedRecord_RequiresReadPermission(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	office := r.addOffice()
	role := r.roleID(r.acme.id, "Member")
	known := queryValue[string](r, `SELECT permission FROM identity.role_grants WHERE tenant_id = $1 AND role_id = $2 ORDER BY permission LIMIT 1`, r.acme.id, role)
	// other adds a member of acme without roles, of this kind and status.
	other := func(kind, status string) op.UUID {
		id := uid.New()
		r.exec(`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, status) VALUES ($1, $2, $3, $4, 'O', $5)`,
			id, r.acme.id, kind, "agent+"+string(id)+"@acme.example", status)
		r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.acme.id, id)
		return id
	}
	for _, o := range []struct {
		name string
		// tenant is the tenant of the caller; nil means acme.
		tenant  *testTenant
		reads   []string
		request func(token string) request
	}{
		{"update-tenant", nil, []string{"tenant.read"}, func(token string) request { return pathRequest(token, "tenantId", r.acme.id, fields{"name": "acme"}) }},
		{"update-organisation", nil, []string{"organisation.read"}, func(token string) request {
			return pathRequest(token, "organisationId", r.acme.organisation, fields{"name": "acme works"})
		}},
		{"update-user", nil, []string{"user.read"}, func(token string) request { return pathRequest(token, "userId", other("HUMAN", "ACTIVE"), fields{}) }},
		{"suspend-user", nil, []string{"user.read"}, func(token string) request { return pathRequest(token, "userId", other("HUMAN", "SUSPENDED"), fields{}) }},
		{"activate-user", nil, []string{"user.read"}, func(token string) request { return pathRequest(token, "userId", other("HUMAN", "ACTIVE"), fields{}) }},
		{"delete-user", nil, []string{"user.read"}, func(token string) request { return pathRequest(token, "userId", other("AGENT", "DELETED"), nil) }},
		{"update-membership", nil, []string{"membership.read"}, func(token string) request {
			return pathRequest(token, "userId", other("HUMAN", "ACTIVE"), fields{"status": "ACTIVE"})
		}},
		{"update-role", nil, []string{"role.read"}, func(token string) request { return pathRequest(token, "roleId", role, fields{"name": "Member"}) }},
		{"grant-permission", nil, []string{"role.read"}, func(token string) request { return pathRequest(token, "roleId", role, fields{"permission": known}) }},
		{"enable-tenant", &office, []string{"tenant.list", "tenant.read"}, func(token string) request {
			return pathRequest(token, "tenantId", r.acme.id, fields{})
		}},
		{"disable-tenant", &office, []string{"tenant.list", "tenant.read"}, func(token string) request {
			id := uid.New()
			r.exec(`INSERT INTO identity.tenants (id, slug, name, type, office_id, disabled_at) VALUES ($1, $2, 'Off', 'STANDARD', $3, now())`, id, "off-"+string(id)[24:], office.id)
			return pathRequest(token, "tenantId", id, fields{})
		}},
		{"revoke-key", nil, []string{"api_key.read.own"}, func(token string) request {
			key := must[contract.IssuedKey](r, "issue-key", request{token: token, body: body(fields{"label": "k"})})
			must[contract.Key](r, "revoke-key", pathRequest(token, "keyId", key.ID, fields{}))
			return pathRequest(token, "keyId", key.ID, fields{})
		}},
	} {
		home := r.acme
		if o.tenant != nil {
			home = *o.tenant
		}
		needs := []string{r.bound[o.name].Permission}
		if needs[0] == "" {
			needs = []string{"api_key.issue", "api_key.revoke.own"}
		}
		writer, session := r.addPersonIn(home, "w-"+string(uid.New()), needs...)
		q := o.request(session)
		entries := `SELECT count(*)::int FROM audit.entries`
		before := queryValue[int](r, entries)
		for _, read := range o.reads {
			r.wantFault(o.name, q, fault.CodeForbidden, read)
			r.grant(home, writer, read)
		}
		if out, err := r.call(o.name, q); err != nil {
			t.Errorf("%s with %v: got %v, want no error", o.name, o.reads, err)
		} else if out == nil {
			t.Errorf("%s with %v: got no response", o.name, o.reads)
		}
		if now := queryValue[int](r, entries); now != before {
			t.Errorf("%s: got %d audit entries, want none", o.name, now-before)
		}
	}
}
