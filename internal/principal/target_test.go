package principal_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/principal"
	"parapet/internal/token"
	"parapet/internal/uid"
)

// recordingPolicies stores the input of the last call of Subject.
type recordingPolicies struct {
	principal.Policies
	last authz.SubjectInput
}

func (p *recordingPolicies) Subject(ctx context.Context, in authz.SubjectInput) (*authz.Subject, error) {
	p.last = in
	return p.Policies.Subject(ctx, in)
}

func TestAuthenticate_HidesTokenRolesFromOtherTenants(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{})
	acme, globex := w.tenant("acme"), w.tenant("globex")
	worker := w.user(acme, "worker@acme.example")
	w.addMember(globex, worker)
	w.assign(acme, worker, w.role(acme, "Harbour Master", "user.read"))
	session, _ := w.session(acme, worker, "Harbour Master")
	policies := &recordingPolicies{Policies: w.engine}
	checker, err := principal.New(principal.Config{Pool: w.db.Pool(t, postgres.RoleAuth), Tokens: w.tokens, Policies: policies, Clock: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		target op.UUID
		roles  int
	}{{acme, 1}, {globex, 0}} {
		if _, err := checker.Authenticate(t.Context(), principal.Credential{Token: session, ActAs: string(c.target), HasActAs: true, Module: "tracker"}); err != nil {
			t.Fatal(err)
		}
		got := policies.last.Token
		if len(got.Roles) != c.roles || c.roles == 0 && (len(got.RoleScopes) > 0 || got.Clearance != "") {
			t.Errorf("policies of tenant %s: got token %+v, want %d roles", c.target, got, c.roles)
		}
	}
}

func TestAuthenticate_SelectsTargetTenantFromActAs(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{ttl: 30 * time.Second})
	acme, globex, initech := w.tenant("acme"), w.tenant("globex"), w.tenant("initech")
	worker := w.user(acme, "worker@acme.example")
	w.addMember(globex, worker)
	acmeOrg, globexOrg, initechOrg := w.organisation(acme, "Acme"), w.organisation(globex, "Globex"), w.organisation(initech, "Initech")
	w.assign(acme, worker, w.role(acme, "Admin", "user.read"))
	w.assign(globex, worker, w.role(globex, "Member", "projects.read"))
	w.role(globex, "Admin", "user.read", "role.assign")
	session, _ := w.session(acme, worker, "Admin")
	key, _ := w.key(acme, worker, "Admin")
	for name, text := range map[string]string{"session": session, "key": key} {
		for selector, want := range map[string]string{
			string(acme): string(acme), string(acmeOrg): string(acme), string(globex): string(globex), string(globexOrg): string(globex),
			"acme": string(acme), "globex": string(globex), "GLOBEX": string(globex), strings.ToUpper(string(globex)): string(globex),
			"": "", "initech": "", "nowhere": "", "Globex Works": "", "globex ": "", "globex%": "", "gl\x00bex": "", "gl\xffbex": "", strings.Repeat("g", 100): "", string(initech): "", string(initechOrg): "", string(uid.New()): "", string(globex) + " ": "", "*": "",
		} {
			// Twice, so that the second call uses the cache.
			for range 2 {
				p, err := w.authenticateAs(text, selector)
				if want == "" {
					if f := fault.From(err); f == nil || f.Code != fault.CodeForbidden || f.Message != fault.ForbiddenTenant().Message || f.Permission != "" || f.Reason != "" {
						t.Errorf("%s: selector %q: %v, want the generic FORBIDDEN", name, selector, err)
					}
					continue
				}
				if err != nil || string(p.Tenant) != want || p.TokenTenant != acme {
					t.Errorf("%s: selector %q: got %+v, %v, want tenant %s", name, selector, p, err, want)
				}
			}
		}
		// The role Admin in the token belongs to Acme; in Globex only stored roles count.
		p, err := w.authenticateAs(text, string(globex))
		if err != nil {
			t.Fatal(err)
		}
		if p.Subject.Holds("user.read") || !p.Subject.Holds("projects.read") {
			t.Errorf("%s: got permissions %v in globex, want only projects.read", name, p.Subject.Permissions())
		}
	}
}

func TestAuthenticate_WikiAcceptsActAsOnlyFromKeys(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{ttl: 30 * time.Second})
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	session, _ := w.session(acme, worker)
	key, _ := w.key(acme, worker)
	for _, c := range []struct {
		token, module string
		ok            bool
	}{{session, "wiki", false}, {key, "wiki", true}, {session, "tracker", true}, {key, "tracker", true}} {
		_, err := w.checker.Authenticate(t.Context(), principal.Credential{Token: c.token, Module: c.module, ActAs: string(acme), HasActAs: true})
		if (err == nil) != c.ok {
			t.Errorf("module %s: got error %v, want accepted = %t", c.module, err, c.ok)
		}
	}
}

func TestAuthenticate_ServicePrincipalCannotActInAnotherTenant(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{})
	acme, globex := w.tenant("acme"), w.tenant("globex")
	bot := uid.New()
	w.exec(`INSERT INTO identity.users (id, home_tenant_id, principal_kind, integration_key, email, display_name) VALUES ($1, $2, 'SERVICE', 'spec-wiki-sync', 'sync@acme.example', 'Sync')`, bot, acme)
	w.addMember(acme, bot)
	w.addMember(globex, bot)
	w.exec(`INSERT INTO identity.role_grants (tenant_id, role_id, permission) VALUES ($1, $2, 'wiki:page:write')`, acme, w.role(acme, "wiki:page:write"))
	c := w.claims(acme, bot, "wiki:page:write")
	c.PrincipalKind = "SERVICE"
	w.exec(`INSERT INTO identity.api_keys (tenant_id, jti, label, owner_id, kind, expires_at, created_by, created_at) VALUES ($1, $2, 'ci', $3, 'SERVICE', $4, $3, $5)`, acme, c.ID, bot, c.ExpiresAt, c.IssuedAt)
	text := w.sign(c, token.APIKey)
	p, err := w.authenticate(text)
	if err != nil {
		t.Fatal(err)
	}
	if p.IntegrationKey != "spec-wiki-sync" || !p.Subject.Holds("wiki:page:write") {
		t.Errorf("got principal %+v with permissions %v, want wiki:page:write", p, p.Subject.Permissions())
	}
	if _, err := w.authenticateAs(text, string(acme)); err != nil {
		t.Errorf("x-act-as-org with its own tenant: got error %v, want none", err)
	}
	_, err = w.authenticateAs(text, string(globex))
	wantFault(t, err, fault.CodeForbidden, "")
}

func TestRefresh_RebuildsSubjectForNewRevision(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{ttl: 30 * time.Second})
	ctx := t.Context()
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	role := w.role(acme, "Member", "projects.read", "tasks.read")
	w.assign(acme, worker, role)
	text, _ := w.key(acme, worker, "Member")
	p, err := w.authenticate(text)
	if err != nil || !p.Subject.Holds("tasks.read") {
		t.Fatalf("%v, %v", p, err)
	}
	w.exec(`DELETE FROM identity.role_grants WHERE permission = 'tasks.read'`)
	var live int64
	if err := w.owner.QueryRow(ctx, `SELECT grants_revision FROM identity.tenants WHERE id = $1`, acme).Scan(&live); err != nil {
		t.Fatal(err)
	}
	if live == p.Revision {
		t.Fatal("changing grants did not change the revision")
	}
	fresh, err := w.checker.Refresh(ctx, p, principal.LiveState{Revision: live})
	if err != nil {
		t.Fatal(err)
	}
	if fresh.Revision != live || fresh.Subject.Holds("tasks.read") || !fresh.Subject.Holds("projects.read") {
		t.Errorf("got revision %d with permissions %v, want revision %d without tasks.read", fresh.Revision, fresh.Subject.Permissions(), live)
	}
	if p.Subject.Holds("tasks.read") != true {
		t.Error("Refresh changed the original principal")
	}
	again, err := w.authenticate(text)
	if err != nil || again.Revision != live {
		t.Errorf("next request: got revision %d, want %d; error %v", again.Revision, live, err)
	}
	w.exec(`DELETE FROM identity.role_assignments; DELETE FROM identity.api_keys; DELETE FROM identity.memberships`)
	_, err = w.checker.Refresh(ctx, p, principal.LiveState{Revision: live + 1})
	wantFault(t, err, fault.CodeForbidden, "")
}

// A Subject is used for at most SubjectTTL, even if its revision stays the same.
func TestAuthenticate_RebuildsSubjectAfterTTL(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{})
	acme := w.tenant("acme")
	text, _ := w.key(acme, w.user(acme, "worker@acme.example"))
	first, err := w.authenticate(text)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.advance(principal.SubjectTTL - time.Second)
	second, err := w.authenticate(text)
	if err != nil || second.Subject != first.Subject {
		t.Errorf("before the TTL: got a new Subject (%v), want the cached one", err)
	}
	w.clock.advance(time.Second)
	third, err := w.authenticate(text)
	if err != nil || third.Subject == first.Subject {
		t.Errorf("after the TTL: got the cached Subject (%v), want a new one", err)
	}
}

// The cached principal of one token is not used for another token with the same id: that
// would lose its caveats or add roles.
func TestAuthenticate_TokensWithSameIDDoNotShareCache(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{ttl: 30 * time.Second})
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	w.role(acme, "Member", "projects.read")
	w.role(acme, "Admin", "role.assign")
	plain, jti := w.key(acme, worker, "Member")
	narrow, more := w.claims(acme, worker, "Member"), w.claims(acme, worker, "Member", "Admin")
	narrow.ID, narrow.Caveats, narrow.Clearance = jti, []string{"no-such-caveat"}, "INTERNAL"
	more.ID = jti
	for range 2 {
		for _, c := range []struct {
			name, text, clearance string
			holds                 []string
		}{
			{"the original token", plain, "SECRET", []string{"projects.read"}},
			{"with a caveat", w.sign(narrow, token.APIKey), "INTERNAL", nil},
			{"with an additional role", w.sign(more, token.APIKey), "SECRET", []string{"projects.read", "role.assign"}},
		} {
			p, err := w.authenticate(c.text)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if got := p.Subject.Permissions(); !slices.Equal(got, c.holds) || p.Clearance() != c.clearance {
				t.Errorf("%s: got permissions %v with clearance %s, want %v with %s", c.name, got, p.Clearance(), c.holds, c.clearance)
			}
		}
	}
}
