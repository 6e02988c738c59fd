package identity_test

import (
	"slices"
	"testing"
	"time"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/identity"
	"parapet/internal/op"
	"parapet/internal/principal"
	"parapet/internal/token"
	"parapet/internal/uid"
)

func TestLogin_CreatesSession(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	before := r.clock.Now()
	out, err := r.tryLogin("Admin@ACME.example", testPassword, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out.TenantID != r.acme.id || out.User.ID != r.acme.people["admin"] || out.User.Email != "admin@acme.example" || out.User.Clearance != "SECRET" {
		t.Errorf("login: got %+v, want the administrator of acme with clearance SECRET", out)
	}
	if lifetime := out.ExpiresAt.Sub(before); lifetime < 12*time.Hour-2*time.Second || lifetime > 12*time.Hour+time.Minute {
		t.Errorf("got a lifetime of %s, want 12 hours", lifetime)
	}
	if text, expires := out.SessionCookie(); text != out.Token || !expires.Equal(out.ExpiresAt) {
		t.Error("SessionCookie: want the session token")
	}
	claims, err := r.tokens.Verify(out.Token, token.Session)
	if err != nil {
		t.Fatal(err)
	}
	if claims.Subject != out.User.ID || claims.Tenant != r.acme.id || !slices.Equal(claims.Roles, []string{"Admin"}) || claims.Clearance != "SECRET" || claims.RoleScopes != nil {
		t.Errorf("got claims %+v", claims)
	}
	if n := queryValue[int](r, `SELECT count(*) FROM identity.sessions WHERE tenant_id = $1 AND jti = $2 AND user_id = $3`, r.acme.id, claims.ID, out.User.ID); n != 1 {
		t.Error("the session is not stored")
	}
	if n := queryValue[int](r, `SELECT count(*) FROM audit.entries WHERE tenant_id = $1 AND action = 'session.created' AND actor_id = $2 AND resource_id = $3`, r.acme.id, out.User.ID, claims.ID); n != 1 {
		t.Error("the login is not in the audit log")
	}
	me := must[contract.MeOut](r, "me", request{token: out.Token})
	if me.User.ID != out.User.ID || me.TenantID != r.acme.id || me.TokenKind != "session" || me.TokenID != claims.ID || !slices.Equal(me.Roles, []string{"Admin"}) {
		t.Errorf("got me %+v", me)
	}
}

// Every failed login returns the same error.
func TestLogin_FailuresReturnSameError(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{throttle: identity.Throttle{Account: identity.Limit{Burst: 1000, Every: time.Second}, Address: identity.Limit{Burst: 1000, Every: time.Second}}})
	services := r.provision(r.acme)
	if len(services) == 0 {
		t.Fatal("no service principals")
	}
	r.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, r.acme.people["guest"])
	r.exec(`UPDATE identity.users SET status = 'DELETED' WHERE id = $1`, r.acme.people["platform"])
	r.exec(`UPDATE identity.users SET password_hash = NULL WHERE id = $1`, r.acme.people["member"])
	for _, email := range []string{"admin@acme.example", "nobody@acme.example", "guest@acme.example", "platform@acme.example", "member@acme.example", "spec-wiki-sync@acme.invalid"} {
		_, err := r.tryLogin(email, "not the password", nil)
		f := fault.From(err)
		if want := fault.Unauthorized(); f == nil || f.Code != want.Code || f.Message != want.Message || f.Reason != "" || f.Details != nil {
			t.Errorf("%s: got %v, want the generic UNAUTHORIZED", email, err)
		}
	}
	if n := queryValue[int](r, `SELECT count(*) FROM audit.entries WHERE tenant_id IS NULL AND action = 'session.refused' AND actor_id IS NULL AND changes::text NOT LIKE '%@%'`); n != 6 {
		t.Errorf("got %d failed logins in the audit log, want 6", n)
	}
	_, err := r.tryLogin("admin@acme.example", "not the password", fields{"tenantId": uid.New()})
	if f := fault.From(err); f == nil || f.Code != fault.CodeUnauthorized || f.Reason != "" {
		t.Errorf("with a tenant: got %v, want the generic UNAUTHORIZED", err)
	}
}

// Compares the minimum of many alternating runs, so that other load does not affect the test.
func TestLogin_TakesSameTimeWithAndWithoutAccount(t *testing.T) {
	r := newFixture(t, fixtureOptions{throttle: identity.Throttle{Account: identity.Limit{Burst: 1000, Every: time.Second}, Address: identity.Limit{Burst: 1000, Every: time.Second}}})
	attempt := func(email string) time.Duration {
		start := time.Now()
		if _, err := r.tryLogin(email, "not the password", nil); err == nil {
			t.Fatal("logged in")
		}
		return time.Since(start)
	}
	existing, absent := time.Hour, time.Hour
	isSimilar := func() bool {
		ratio := float64(existing) / float64(absent)
		return ratio > 0.7 && ratio < 1.4
	}
	for i := 0; i < 10 || (i < 100 && !isSimilar()); i++ {
		existing = min(existing, attempt("admin@acme.example"))
		absent = min(absent, attempt("nobody@acme.example"))
	}
	if !isSimilar() {
		t.Errorf("got %s with an account and %s without one, want similar times", existing, absent)
	}
}

// A user with the correct password gets the reason why the login is rejected.
func TestLogin_ReturnsReasonOfCredentialCheck(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	for _, c := range []struct{ changeSQL, restoreSQL, reason string }{
		{`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, `UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`, principal.ReasonSuspended},
		{`UPDATE identity.memberships SET status = 'REMOVED' WHERE user_id = $1`, `UPDATE identity.memberships SET status = 'ACTIVE' WHERE user_id = $1`, principal.ReasonNotInTenant},
		{`UPDATE identity.tenants SET disabled_at = now() WHERE id = (SELECT home_tenant_id FROM identity.users WHERE id = $1)`,
			`UPDATE identity.tenants SET disabled_at = NULL WHERE id = (SELECT home_tenant_id FROM identity.users WHERE id = $1)`, principal.ReasonTenantDisabled},
	} {
		r.exec(c.changeSQL, r.acme.people["member"])
		_, err := r.tryLogin("member@acme.example", testPassword, nil)
		if f := fault.From(err); f == nil || f.Code != fault.CodeUnauthorized || f.Reason != c.reason {
			t.Errorf("login: got %v, want UNAUTHORIZED with the reason %s", err, c.reason)
		}
		r.exec(c.restoreSQL, r.acme.people["member"])
		if _, err := r.tryLogin("member@acme.example", testPassword, nil); err != nil {
			t.Errorf("restored after %s: got %v, want no error", c.reason, err)
		}
	}
}

func TestLogin_SelectsTenant(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	member := r.acme.people["member"]
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id, clearance) VALUES ($1, $2, 'RESTRICTED')`, r.globex.id, member)
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope, scope_id)
	        SELECT tenant_id, gen_random_uuid(), $2, id, 'organisation', $3 FROM identity.roles WHERE tenant_id = $1 AND name = 'Reviewer'`, r.globex.id, member, r.globex.organisation)
	home, err := r.tryLogin("member@acme.example", testPassword, nil)
	if err != nil || home.TenantID != r.acme.id {
		t.Fatalf("login without tenantId: got %+v, %v, want the home tenant acme", home, err)
	}
	away, err := r.tryLogin("member@acme.example", testPassword, fields{"tenantId": r.globex.id})
	if err != nil || away.TenantID != r.globex.id || away.User.Clearance != "RESTRICTED" {
		t.Fatalf("login with tenantId of another tenant: got %+v, %v, want globex with clearance RESTRICTED", away, err)
	}
	claims, err := r.tokens.Verify(away.Token, token.Session)
	if err != nil {
		t.Fatal(err)
	}
	want := "organisation:" + string(r.globex.organisation)
	if !slices.Equal(claims.Roles, []string{"Reviewer"}) || !slices.Equal(claims.RoleScopes["Reviewer"], []string{want}) {
		t.Errorf("got claims %+v", claims)
	}
	r.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE tenant_id = $1 AND user_id = $2`, r.acme.id, member)
	fallback, err := r.tryLogin("member@acme.example", testPassword, nil)
	if err != nil || fallback.TenantID != r.globex.id {
		t.Errorf("suspended in the home tenant: got %+v, %v, want globex", fallback, err)
	}
	_, err = r.tryLogin("member@acme.example", testPassword, fields{"tenantId": uid.New()})
	if f := fault.From(err); f == nil || f.Code != fault.CodeUnauthorized || f.Reason != principal.ReasonNotInTenant {
		t.Errorf("login with an unknown tenantId: got %v, want UNAUTHORIZED with the reason %s", err, principal.ReasonNotInTenant)
	}
}

// Two accounts with the same address and password: tenantId selects one of them.
func TestLogin_WithTwoAccounts_RequiresTenantID(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.exec(`UPDATE identity.users SET email = 'both@example.com' WHERE id IN ($1, $2)`, r.acme.people["member"], r.globex.people["member"])
	_, err := r.tryLogin("both@example.com", testPassword, nil)
	f := fault.From(err)
	if f == nil || f.Code != fault.CodeConflict {
		t.Fatalf("without tenantId: got %v, want CONFLICT", err)
	}
	tenants, _ := f.Details["tenants"].([]string)
	if !slices.Contains(tenants, string(r.acme.id)) || !slices.Contains(tenants, string(r.globex.id)) || len(tenants) != 2 {
		t.Errorf("got details %v, want both tenants", f.Details)
	}
	out, err := r.tryLogin("both@example.com", testPassword, fields{"tenantId": r.globex.id})
	if err != nil || out.User.ID != r.globex.people["member"] {
		t.Errorf("login with tenantId: got %+v, %v, want the member of globex", out, err)
	}
}

func TestLogin_IsThrottledByAccountAndAddress(t *testing.T) {
	t.Parallel()
	limits := identity.Throttle{Account: identity.Limit{Burst: 3, Every: 10 * time.Second}, Address: identity.Limit{Burst: 6, Every: 5 * time.Second}}
	r := newFixture(t, fixtureOptions{throttle: limits})
	fail := func(email string) fault.Code {
		_, err := r.tryLogin(email, "not the password", nil)
		if err == nil {
			t.Fatal("logged in")
		}
		return fault.From(err).Code
	}
	r.clock.stop()
	// Successful logins do not count.
	for range 8 {
		r.login("member@acme.example")
	}
	for i := range 3 {
		if c := fail("admin@acme.example"); c != fault.CodeUnauthorized {
			t.Fatalf("attempt %d: got %s, want UNAUTHORIZED", i+1, c)
		}
	}
	_, err := r.tryLogin("ADMIN@acme.example", testPassword, nil)
	f := fault.From(err)
	if f == nil || f.Code != fault.CodeRateLimited || f.RetryAfter <= 0 || f.RetryAfter > 10*time.Second {
		t.Fatalf("fourth attempt, with the correct password: got %v, want RATE_LIMITED", err)
	}
	// The limit applies to the account from every address, and to this account only.
	r.address = "198.51.100.7"
	if c := fail("admin@acme.example"); c != fault.CodeRateLimited {
		t.Errorf("from another address: got %s, want RATE_LIMITED", c)
	}
	r.address = "192.0.2.1"
	r.login("member@acme.example")
	// The limit of the address: three attempts are used, three are left.
	for i := range 3 {
		if c := fail([]string{"a@x.example", "b@x.example", "c@x.example"}[i]); c != fault.CodeUnauthorized {
			t.Fatalf("account %d: got %s, want UNAUTHORIZED", i, c)
		}
	}
	if c := fail("d@x.example"); c != fault.CodeRateLimited {
		t.Errorf("limit of the address: got %s, want RATE_LIMITED", c)
	}
	r.clock.advance(10 * time.Second)
	r.login("admin@acme.example")
}

func TestLogout_RevokesCurrentSessionOnly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	session, other := r.login("member@acme.example"), r.login("member@acme.example")
	out := must[contract.LogoutOut](r, "logout", request{token: session})
	if text, _ := out.SessionCookie(); text != "" {
		t.Error("logout: got a session cookie")
	}
	r.wantFault("me", request{token: session}, fault.CodeUnauthorized, "")
	must[contract.MeOut](r, "me", request{token: other})
	key := must[contract.IssuedKey](r, "issue-key", request{token: other, body: body(fields{"label": "laptop"})})
	r.wantFault("logout", request{token: key.Token}, fault.CodeConflict, "API key")
	must[contract.MeOut](r, "me", request{token: key.Token})
	if n := queryValue[int](r, `SELECT count(*) FROM audit.entries WHERE action = 'session.revoked' AND actor_id = $1`, r.acme.people["member"]); n != 1 {
		t.Errorf("got %d audit entries, want 1", n)
	}
}

func TestChangePassword_RevokesOtherSessions(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	member := r.acme.people["member"]
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.globex.id, member)
	session, other := r.login("member@acme.example"), r.login("member@acme.example")
	away, err := r.tryLogin("member@acme.example", testPassword, fields{"tenantId": r.globex.id})
	if err != nil {
		t.Fatal(err)
	}
	key := must[contract.IssuedKey](r, "issue-key", request{token: session, body: body(fields{"label": "laptop"})})
	change := func(token, currentPassword, newPassword string) request {
		return request{token: token, body: body(fields{"currentPassword": currentPassword, "newPassword": newPassword})}
	}
	const fresh = "another long secret"
	r.wantFault("change-password", change(session, "not the password", fresh), fault.CodeValidation, "currentPassword")
	r.wantFault("change-password", change(session, testPassword, "short"), fault.CodeValidation, "newPassword")
	r.wantFault("change-password", change(session, testPassword, "aaaaaaaaaaaaaaaa"), fault.CodeValidation, "newPassword")
	r.wantFault("change-password", change(session, testPassword, "member@acme.example"), fault.CodeValidation, "newPassword")
	r.wantFault("change-password", change(session, testPassword, testPassword), fault.CodeValidation, "newPassword")
	r.wantFault("change-password", change(key.Token, testPassword, fresh), fault.CodeForbidden, "session")
	r.wantFault("change-password", change(away.Token, testPassword, fresh), fault.CodeConflict, "another tenant")
	must[op.None](r, "change-password", change(session, testPassword, fresh))
	must[contract.MeOut](r, "me", request{token: session})
	r.wantFault("me", request{token: other}, fault.CodeUnauthorized, "")
	r.wantFault("me", request{token: away.Token}, fault.CodeUnauthorized, "")
	if _, err := r.tryLogin("member@acme.example", testPassword, nil); !fault.HasCode(err, fault.CodeUnauthorized) {
		t.Errorf("login with the old password: got %v, want UNAUTHORIZED", err)
	}
	if _, err := r.tryLogin("member@acme.example", fresh, nil); err != nil {
		t.Errorf("login with the new password: got %v, want no error", err)
	}
	if text := queryValue[string](r, `SELECT string_agg(coalesce(changes::text, ''), ' ') FROM audit.entries`); contains(text, fresh) || contains(text, "argon2id") {
		t.Error("the audit log contains a password")
	}
}

func TestSeeder_IsIdempotent(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	before := queryValue[int64](r, `SELECT sum(grants_revision)::bigint FROM identity.tenants`)
	again := r.addTenant("acme")
	if again.id != r.acme.id || again.organisation != r.acme.organisation || again.people["admin"] != r.acme.people["admin"] {
		t.Errorf("second run: got %+v, want %+v", again, r.acme)
	}
	if after := queryValue[int64](r, `SELECT sum(grants_revision)::bigint FROM identity.tenants`); after != before {
		t.Error("second run: got changed grants")
	}
}

func TestNew_RejectsUnknownAuthProvider(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"oidc", "", "ldap"} {
		_, err := identity.New(identity.Deps{AuthProvider: name})
		if err == nil || !contains(err.Error(), "AUTH_PROVIDER") {
			t.Errorf("AUTH_PROVIDER %q: got %v, want an error that names the setting", name, err)
		}
	}
}

// Accounts with the same address in other tenants, which other administrators can create, do
// not prevent a login in the tenant that the request names.
func TestLogin_AccountsInOtherTenantsDoNotBlockLogin(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	for i := range 6 {
		r.exec(`WITH t AS (INSERT INTO identity.tenants (id, slug, name) VALUES (gen_random_uuid(), $1, 'x') RETURNING id)
			INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, created_at)
			SELECT gen_random_uuid(), id, 'HUMAN', 'guest@acme.example', 'x', now() - interval '1 year' FROM t`, "squat-"+string(rune('a'+i)))
	}
	out, err := r.tryLogin("guest@acme.example", testPassword, fields{"tenantId": r.acme.id})
	if err != nil || out.User.ID != r.acme.people["guest"] {
		t.Errorf("login with tenantId: got %v, want no error", err)
	}
	// The same applies to a member with another home tenant.
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.globex.id, r.acme.people["guest"])
	if out, err := r.tryLogin("guest@acme.example", testPassword, fields{"tenantId": r.globex.id}); err != nil || out.TenantID != r.globex.id {
		t.Errorf("login as a member of another tenant: got %v, want no error", err)
	}
}

// A session token without scopes is limited by the roles on record. A scope that is assigned
// after the login counts at once, unlike in a session with scopes; a new role does not.
func TestLogin_LeavesOutScopesThatMakeTokenTooLong(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	member := r.acme.people["member"]
	r.exec(`UPDATE identity.role_assignments SET scope = 'project', scope_id = gen_random_uuid() WHERE user_id = $1`, member)
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope, scope_id)
SELECT a.tenant_id, gen_random_uuid(), a.user_id, a.role_id, 'project', gen_random_uuid()
FROM identity.role_assignments a, generate_series(2, 300) WHERE a.user_id = $1`, member)
	out, err := r.tryLogin("member@acme.example", testPassword, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Token) > 3800 {
		t.Errorf("got a token of %d bytes, which is too long for a cookie", len(out.Token))
	}
	projects := func() int {
		t.Helper()
		for _, p := range must[contract.PermissionsOut](r, "permissions", request{token: out.Token}).Permissions {
			if p.Name == "tasks.read" && !p.Tenant {
				return len(p.Projects)
			}
		}
		return 0
	}
	if n := projects(); n != 300 {
		t.Errorf("got the permission in %d projects, want 300", n)
	}
	r.exec(`DELETE FROM identity.role_assignments WHERE ctid IN (SELECT ctid FROM identity.role_assignments WHERE user_id = $1 LIMIT 100)`, member)
	r.checker.DropAll()
	if n := projects(); n != 200 {
		t.Errorf("after 100 unassignments: got the permission in %d projects, want 200", n)
	}
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope, scope_id)
SELECT tenant_id, gen_random_uuid(), user_id, role_id, 'project', gen_random_uuid() FROM identity.role_assignments WHERE user_id = $1 LIMIT 1`, member)
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope)
SELECT tenant_id, gen_random_uuid(), $1, id, 'tenant' FROM identity.roles WHERE tenant_id = $2 AND name = 'Admin'`, member, r.acme.id)
	r.checker.DropAll()
	if n := projects(); n != 201 {
		t.Errorf("after an assignment of the role and one of another role: got the permission in %d projects, want 201", n)
	}
	r.exec(`DELETE FROM identity.role_assignments a USING identity.roles r WHERE a.user_id = $1 AND r.id = a.role_id AND r.name = 'Admin'`, member)
	// The scopes in a key count by themselves, so it cannot do without them.
	issuer := uid.New()
	r.exec(`INSERT INTO identity.roles (tenant_id, id, name) VALUES ($1, $2, 'Issuer')`, r.acme.id, issuer)
	r.exec(`INSERT INTO identity.role_grants (tenant_id, role_id, permission) VALUES ($1, $2, 'api_key.issue')`, r.acme.id, issuer)
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope) VALUES ($1, gen_random_uuid(), $2, $3, 'tenant')`, r.acme.id, member, issuer)
	if out, err = r.tryLogin("member@acme.example", testPassword, nil); err != nil {
		t.Fatal(err)
	}
	r.checker.DropAll()
	r.wantFault("issue-key", request{token: out.Token, body: body(fields{"label": "CI"})}, fault.CodeConflict, "more scopes than a key can contain")

	r.exec(`INSERT INTO identity.roles (tenant_id, id, name) SELECT $1, gen_random_uuid(), repeat('x', 90) || i FROM generate_series(100, 199) i`, r.acme.id)
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope)
SELECT tenant_id, gen_random_uuid(), $2, id, 'tenant' FROM identity.roles WHERE tenant_id = $1 AND name LIKE 'xxx%'`, r.acme.id, member)
	if _, err := r.tryLogin("member@acme.example", testPassword, nil); !fault.HasCode(err, fault.CodeConflict) {
		t.Errorf("with 100 roles of 93 letters: got %v, want a conflict", err)
	}
}
