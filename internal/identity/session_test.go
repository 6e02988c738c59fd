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

func TestLoginGivesASession(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	before := r.clock.Now()
	out, err := r.tryLogin("Admin@ACME.example", testPassword, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out.TenantID != r.acme.id || out.User.ID != r.acme.people["admin"] || out.User.Email != "admin@acme.example" || out.User.Clearance != "SECRET" {
		t.Errorf("answer %+v", out)
	}
	if life := out.ExpiresAt.Sub(before); life < 12*time.Hour-2*time.Second || life > 12*time.Hour+time.Minute {
		t.Errorf("a session of %s", life)
	}
	if text, expires := out.SessionCookie(); text != out.Token || !expires.Equal(out.ExpiresAt) {
		t.Error("the cookie is not the session")
	}
	claims, err := r.tokens.Verify(out.Token, token.Session)
	if err != nil {
		t.Fatal(err)
	}
	if claims.Subject != out.User.ID || claims.Tenant != r.acme.id || !slices.Equal(claims.Roles, []string{"Admin"}) || claims.Clearance != "SECRET" || claims.RoleScopes != nil {
		t.Errorf("claims %+v", claims)
	}
	if n := queryValue[int](r, `SELECT count(*) FROM identity.sessions WHERE tenant_id = $1 AND jti = $2 AND user_id = $3`, r.acme.id, claims.ID, out.User.ID); n != 1 {
		t.Error("the session is not recorded")
	}
	if n := queryValue[int](r, `SELECT count(*) FROM audit.entries WHERE tenant_id = $1 AND action = 'session.created' AND actor_id = $2 AND resource_id = $3`, r.acme.id, out.User.ID, claims.ID); n != 1 {
		t.Error("the login is not in the audit log")
	}
	me := must[contract.MeOut](r, "me", request{token: out.Token})
	if me.User.ID != out.User.ID || me.TenantID != r.acme.id || me.TokenKind != "session" || me.TokenID != claims.ID || !slices.Equal(me.Roles, []string{"Admin"}) {
		t.Errorf("me %+v", me)
	}
}

// What a login that fails says, it says of every failure alike.
func TestLoginDoesNotTellAccountsApart(t *testing.T) {
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
			t.Errorf("%s: %v", email, err)
		}
	}
	if n := queryValue[int](r, `SELECT count(*) FROM audit.entries WHERE tenant_id IS NULL AND action = 'session.refused' AND actor_id IS NULL AND changes::text NOT LIKE '%@%'`); n != 6 {
		t.Errorf("%d of 6 refusals are in the audit log", n)
	}
	_, err := r.tryLogin("admin@acme.example", "not the password", fields{"tenantId": uid.New()})
	if f := fault.From(err); f == nil || f.Code != fault.CodeUnauthorized || f.Reason != "" {
		t.Errorf("with a tenant: %v", err)
	}
}

// The least of many runs, taken by turns, so that a busy machine does not decide.
func TestLoginTakesTheSameTimeWithAndWithoutAnAccount(t *testing.T) {
	r := newFixture(t, fixtureOptions{throttle: identity.Throttle{Account: identity.Limit{Burst: 1000, Every: time.Second}, Address: identity.Limit{Burst: 1000, Every: time.Second}}})
	attempt := func(email string) time.Duration {
		start := time.Now()
		if _, err := r.tryLogin(email, "not the password", nil); err == nil {
			t.Fatal("logged in")
		}
		return time.Since(start)
	}
	there, absent := time.Hour, time.Hour
	alike := func() bool {
		ratio := float64(there) / float64(absent)
		return ratio > 0.7 && ratio < 1.4
	}
	for i := 0; i < 10 || (i < 100 && !alike()); i++ {
		there = min(there, attempt("admin@acme.example"))
		absent = min(absent, attempt("nobody@acme.example"))
	}
	if !alike() {
		t.Errorf("an account takes %s, none %s", there, absent)
	}
}

// Who has proven to be the account's owner is told why it can't act.
func TestLoginRefusesWhatThePrincipalCheckWould(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	for _, c := range []struct{ change, back, reason string }{
		{`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, `UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`, principal.ReasonSuspended},
		{`UPDATE identity.memberships SET status = 'REMOVED' WHERE user_id = $1`, `UPDATE identity.memberships SET status = 'ACTIVE' WHERE user_id = $1`, principal.ReasonNotInTenant},
		{`UPDATE identity.tenants SET disabled_at = now() WHERE id = (SELECT home_tenant_id FROM identity.users WHERE id = $1)`,
			`UPDATE identity.tenants SET disabled_at = NULL WHERE id = (SELECT home_tenant_id FROM identity.users WHERE id = $1)`, principal.ReasonTenantDisabled},
	} {
		r.exec(c.change, r.acme.people["member"])
		_, err := r.tryLogin("member@acme.example", testPassword, nil)
		if f := fault.From(err); f == nil || f.Code != fault.CodeUnauthorized || f.Reason != c.reason {
			t.Errorf("%s: %v", c.reason, err)
		}
		r.exec(c.back, r.acme.people["member"])
		if _, err := r.tryLogin("member@acme.example", testPassword, nil); err != nil {
			t.Errorf("after %s: %v", c.reason, err)
		}
	}
}

func TestLoginChoosesTheTenant(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	member := r.acme.people["member"]
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id, clearance) VALUES ($1, $2, 'RESTRICTED')`, r.globex.id, member)
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope, scope_id)
	        SELECT tenant_id, gen_random_uuid(), $2, id, 'organisation', $3 FROM identity.roles WHERE tenant_id = $1 AND name = 'Reviewer'`, r.globex.id, member, r.globex.organisation)
	home, err := r.tryLogin("member@acme.example", testPassword, nil)
	if err != nil || home.TenantID != r.acme.id {
		t.Fatalf("%+v, %v", home, err)
	}
	away, err := r.tryLogin("member@acme.example", testPassword, fields{"tenantId": r.globex.id})
	if err != nil || away.TenantID != r.globex.id || away.User.Clearance != "RESTRICTED" {
		t.Fatalf("%+v, %v", away, err)
	}
	claims, err := r.tokens.Verify(away.Token, token.Session)
	if err != nil {
		t.Fatal(err)
	}
	want := "organisation:" + string(r.globex.organisation)
	if !slices.Equal(claims.Roles, []string{"Reviewer"}) || !slices.Equal(claims.RoleScopes["Reviewer"], []string{want}) {
		t.Errorf("claims %+v", claims)
	}
	r.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE tenant_id = $1 AND user_id = $2`, r.acme.id, member)
	fallback, err := r.tryLogin("member@acme.example", testPassword, nil)
	if err != nil || fallback.TenantID != r.globex.id {
		t.Errorf("with its home closed: %+v, %v", fallback, err)
	}
	_, err = r.tryLogin("member@acme.example", testPassword, fields{"tenantId": uid.New()})
	if f := fault.From(err); f == nil || f.Code != fault.CodeUnauthorized || f.Reason != principal.ReasonNotInTenant {
		t.Errorf("an unknown tenant: %v", err)
	}
}

// One address, one password, two accounts: only tenantId tells which.
func TestLoginWithTwoAccounts(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.exec(`UPDATE identity.users SET email = 'both@example.com' WHERE id IN ($1, $2)`, r.acme.people["member"], r.globex.people["member"])
	_, err := r.tryLogin("both@example.com", testPassword, nil)
	f := fault.From(err)
	if f == nil || f.Code != fault.CodeConflict {
		t.Fatalf("%v", err)
	}
	tenants, _ := f.Details["tenants"].([]string)
	if !slices.Contains(tenants, string(r.acme.id)) || !slices.Contains(tenants, string(r.globex.id)) || len(tenants) != 2 {
		t.Errorf("details %v", f.Details)
	}
	out, err := r.tryLogin("both@example.com", testPassword, fields{"tenantId": r.globex.id})
	if err != nil || out.User.ID != r.globex.people["member"] {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestLoginIsThrottled(t *testing.T) {
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
	// Logins that succeed use nothing up.
	for range 8 {
		r.login("member@acme.example")
	}
	for i := range 3 {
		if c := fail("admin@acme.example"); c != fault.CodeUnauthorized {
			t.Fatalf("attempt %d: %s", i+1, c)
		}
	}
	_, err := r.tryLogin("ADMIN@acme.example", testPassword, nil)
	f := fault.From(err)
	if f == nil || f.Code != fault.CodeRateLimited || f.RetryAfter <= 0 || f.RetryAfter > 10*time.Second {
		t.Fatalf("the fourth attempt, with the right password: %v", err)
	}
	// Another address does not help with this account, and others are not held up.
	r.address = "198.51.100.7"
	if c := fail("admin@acme.example"); c != fault.CodeRateLimited {
		t.Errorf("from another address: %s", c)
	}
	r.address = "192.0.2.1"
	r.login("member@acme.example")
	// The address's own limit: three are used, three are left.
	for i := range 3 {
		if c := fail([]string{"a@x.example", "b@x.example", "c@x.example"}[i]); c != fault.CodeUnauthorized {
			t.Fatalf("account %d: %s", i, c)
		}
	}
	if c := fail("d@x.example"); c != fault.CodeRateLimited {
		t.Errorf("the address: %s", c)
	}
	r.clock.advance(10 * time.Second)
	r.login("admin@acme.example")
}

func TestLogoutRevokes(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	session, other := r.login("member@acme.example"), r.login("member@acme.example")
	out := must[contract.LogoutOut](r, "logout", request{token: session})
	if text, _ := out.SessionCookie(); text != "" {
		t.Error("the cookie stays")
	}
	r.wantFault("me", request{token: session}, fault.CodeUnauthorized, "")
	must[contract.MeOut](r, "me", request{token: other})
	key := must[contract.IssuedKey](r, "issue-key", request{token: other, body: body(fields{"label": "laptop"})})
	r.wantFault("logout", request{token: key.Token}, fault.CodeConflict, "API key")
	must[contract.MeOut](r, "me", request{token: key.Token})
	if n := queryValue[int](r, `SELECT count(*) FROM audit.entries WHERE action = 'session.revoked' AND actor_id = $1`, r.acme.people["member"]); n != 1 {
		t.Errorf("%d audit entries of one logout", n)
	}
}

func TestChangePassword(t *testing.T) {
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
	change := func(token, was, will string) request {
		return request{token: token, body: body(fields{"currentPassword": was, "newPassword": will})}
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
		t.Errorf("the old password: %v", err)
	}
	if _, err := r.tryLogin("member@acme.example", fresh, nil); err != nil {
		t.Errorf("the new password: %v", err)
	}
	if text := queryValue[string](r, `SELECT string_agg(coalesce(changes::text, ''), ' ') FROM audit.entries`); contains(text, fresh) || contains(text, "argon2id") {
		t.Error("a password is in the audit log")
	}
}

func TestSeedTwiceIsSeedOnce(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	before := queryValue[int64](r, `SELECT sum(grants_revision)::bigint FROM identity.tenants`)
	again := r.addTenant("acme")
	if again.id != r.acme.id || again.organisation != r.acme.organisation || again.people["admin"] != r.acme.people["admin"] {
		t.Errorf("%+v, first %+v", again, r.acme)
	}
	if after := queryValue[int64](r, `SELECT sum(grants_revision)::bigint FROM identity.tenants`); after != before {
		t.Error("the second run changed something")
	}
}

func TestProviderIsChosenByItsSetting(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"oidc", "", "ldap"} {
		_, err := identity.New(identity.Deps{AuthProvider: name})
		if err == nil || !contains(err.Error(), "AUTH_PROVIDER") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Accounts of the same address in other tenants, which anybody's administrator can
// create, keep nobody out of the tenant that the login names.
func TestLogin_AccountsElsewhereBlockNobody(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	for i := range 6 {
		r.exec(`WITH t AS (INSERT INTO identity.tenants (id, slug, name) VALUES (gen_random_uuid(), $1, 'x') RETURNING id)
			INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name, created_at)
			SELECT gen_random_uuid(), id, 'HUMAN', 'guest@acme.example', 'x', now() - interval '1 year' FROM t`, "squat-"+string(rune('a'+i)))
	}
	out, err := r.tryLogin("guest@acme.example", testPassword, fields{"tenantId": r.acme.id})
	if err != nil || out.User.ID != r.acme.people["guest"] {
		t.Errorf("the user of a seventh tenant: %v", err)
	}
	// A member whose home is elsewhere comes first as well.
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.globex.id, r.acme.people["guest"])
	if out, err := r.tryLogin("guest@acme.example", testPassword, fields{"tenantId": r.globex.id}); err != nil || out.TenantID != r.globex.id {
		t.Errorf("as a member of another tenant: %v", err)
	}
}
