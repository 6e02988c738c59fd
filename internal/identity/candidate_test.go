package identity_test

import (
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// Candidate returns a member in any status, by id or address. A user of another tenant and an
// unknown user both give the zero value.
func TestCandidate_FindsMembersOfTenantOnly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	candidate := func(tenant op.UUID, name string) contract.Candidate {
		t.Helper()
		c, err := r.service.Candidate(t.Context(), tenant, name)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	member := r.acme.people["member"]
	for _, name := range []string{string(member), "member@acme.example", "Member@ACME.example"} {
		c := candidate(r.acme.id, name)
		if c.ID != member || c.TenantID != r.acme.id || c.Kind != contract.KindHuman || c.Status != "ACTIVE" || c.Membership != "ACTIVE" || c.Clearance != "INTERNAL" ||
			c.AgentsAllowed || len(c.Roles) != 1 || c.Roles[0].Name != "Member" || c.Roles[0].Scope != "tenant" || len(c.Roles[0].Grants) == 0 {
			t.Errorf("Candidate(%s) = %+v", name, c)
		}
	}
	for _, name := range []string{string(uid.New()), "nobody@acme.example", string(r.globex.people["member"]), "member@globex.example", "", "x"} {
		if c := candidate(r.acme.id, name); c.ID != "" || c.TenantID != "" || c.Roles != nil {
			t.Errorf("Candidate(%q) = %+v, want the zero value", name, c)
		}
	}
	r.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, member)
	r.exec(`UPDATE identity.memberships SET status = 'REMOVED' WHERE user_id = $1`, member)
	if c := candidate(r.acme.id, string(member)); c.Status != "SUSPENDED" || c.Membership != "REMOVED" {
		t.Errorf("Candidate: got %+v, want SUSPENDED and REMOVED", c)
	}
}
