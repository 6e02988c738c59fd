package identity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/identity"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const newPassword = "quite another secret"

// addMembership makes a user a member of another tenant with a role and a clearance.
func (r *fixture) addMembership(h testTenant, user op.UUID, role, clearance string) {
	r.t.Helper()
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id, clearance) VALUES ($1, $2, nullif($3, ''))`, h.id, user, clearance)
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope)
	        SELECT tenant_id, gen_random_uuid(), $2, id, 'tenant' FROM identity.roles WHERE tenant_id = $1 AND name = $3`, h.id, user, role)
}

// delegate inserts a delegation of permissions to a user.
func (r *fixture) delegate(h testTenant, from, to op.UUID, starts string, permissions ...string) {
	r.t.Helper()
	r.exec(`INSERT INTO projects.delegations (tenant_id, id, delegator_id, delegate_id, scope, permissions, starts_at, ends_at, created_by, created_at)
	        VALUES ($1, gen_random_uuid(), $2, $3, 'TENANT', $4, now() + $5::interval, now() + '30 days', $2, now())`, h.id, from, to, permissions, starts)
}

func (r *fixture) resetPassword(token, password string) error {
	r.t.Helper()
	_, err := r.call("reset-password", request{body: body(fields{"token": token, "newPassword": password})})
	return err
}

// An administrator of the home tenant must not be able to set the password of a user who is
// an administrator in another tenant, and log in there as that user.
func TestUpdateUser_RejectsPassword(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	member := r.acme.people["member"]
	r.addMembership(r.globex, member, "Admin", "SECRET")
	r.wantFault("update-user", pathRequest(admin, "userId", member, fields{"password": newPassword}), fault.CodeValidation, "reset-user-password")
	r.wantFault("update-user", pathRequest(admin, "userId", r.acme.people["guest"], fields{"password": nil}), fault.CodeValidation, "reset-user-password")
	if out, err := r.tryLogin("member@acme.example", newPassword, fields{"tenantId": r.globex.id}); err == nil {
		t.Errorf("login in globex with the password set by acme: got %+v, want an error", out.User)
	}
}

func TestResetUserPassword_SendsLinkAndRevokesSessions(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, member := r.login("admin@acme.example"), r.acme.people["member"]
	r.addMembership(r.globex, member, "Admin", "SECRET")
	homeSession := r.login("member@acme.example")
	foreignSession, err := r.tryLogin("member@acme.example", testPassword, fields{"tenantId": r.globex.id})
	if err != nil {
		t.Fatal(err)
	}
	started := must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", member, nil))
	if started.UserID != member || started.Email != "member@acme.example" {
		t.Errorf("reset-user-password: got %+v, want the id and the address of the member", started)
	}
	r.login("member@acme.example") // the old password still works
	r.runResetJobs()
	to, tokens := r.sentMail.links(t)
	if len(to) != 1 || to[0] != "member@acme.example" {
		t.Fatalf("got recipients %v, want the account's address", to)
	}
	if n := queryValue[int](r, `SELECT count(*)::int FROM identity.password_resets WHERE encode(secret_hash, 'base64') LIKE '%' || left($1, 20) || '%'`, tokens[0]); n != 0 {
		t.Error("the token is stored unhashed")
	}
	for _, table := range []string{"events.outbox", "audit.entries"} {
		if n := queryValue[int](r, `SELECT count(*)::int FROM `+table+` t WHERE t::text LIKE '%' || $1 || '%'`, tokens[0][43:]); n != 0 {
			t.Errorf("table %s contains the token", table)
		}
	}
	if err := r.resetPassword(tokens[0], newPassword); err != nil {
		t.Fatalf("reset-password: got %v, want no error", err)
	}
	for name, token := range map[string]string{"in the home tenant": homeSession, "in another tenant": foreignSession.Token} {
		r.checker.DropAll()
		if _, err := r.call("me", request{token: token}); err == nil {
			t.Errorf("session %s: still valid after the reset", name)
		}
	}
	if _, err := r.tryLogin("member@acme.example", testPassword, nil); err == nil {
		t.Error("login with the old password: got no error")
	}
	if _, err := r.tryLogin("member@acme.example", newPassword, nil); err != nil {
		t.Errorf("login with the new password: got %v", err)
	}
	if err := r.resetPassword(tokens[0], "a third long secret"); fault.From(err) == nil || !strings.Contains(err.Error(), "unknown, used or expired") {
		t.Errorf("second use of the token: got %v, want \"unknown, used or expired\"", err)
	}
	for _, action := range []string{contract.ActionResetStarted, contract.ActionPasswordReset} {
		if !r.hasCriticalEntry(r.acme.id, action, member) {
			t.Errorf("no critical audit entry %s", action)
		}
	}
}

func TestResetUserPassword_Denials(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	service := r.provision(r.acme)["multi-llm-review"]
	admin, member := r.login("admin@acme.example"), r.login("member@acme.example")
	guest := r.globex.people["member"]
	r.addMembership(r.acme, guest, "Member", "")
	r.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, r.acme.people["guest"])
	r.wantFault("reset-user-password", pathRequest(member, "userId", r.acme.people["admin"], nil), fault.CodeForbidden, "user.update")
	r.wantFault("reset-user-password", pathRequest(admin, "userId", guest, nil), fault.CodeForbidden, "home tenant")
	r.wantFault("reset-user-password", pathRequest(admin, "userId", service, nil), fault.CodeConflict, "person")
	r.wantFault("reset-user-password", pathRequest(admin, "userId", r.acme.people["guest"], nil), fault.CodeConflict, "not ACTIVE")
	r.runResetJobs()
	if to, _ := r.sentMail.links(t); len(to) != 0 {
		t.Errorf("got recipients %v, want none", to)
	}
}

func TestResetPassword_InvalidTokensReturnSameError(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{throttle: identity.Throttle{Account: identity.Limit{Burst: 1000, Every: time.Second}, Address: identity.Limit{Burst: 1000, Every: time.Second}}})
	admin := r.login("admin@acme.example")
	send := func(name string) string {
		must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", r.acme.people[name], nil))
		r.runResetJobs()
		_, tokens := r.sentMail.links(t)
		return tokens[len(tokens)-1]
	}
	valid := send("member")
	flipped := valid[:85] + string("AQgw"[strings.IndexByte("gwAQ", valid[85])%4])
	if flipped == valid {
		flipped = valid[:60] + strings.Map(func(c rune) rune { return map[bool]rune{true: 'B', false: 'A'}[c == 'A'] }, valid[60:61]) + valid[61:]
	}
	ended := send("guest")
	r.exec(`UPDATE identity.password_resets SET ended_at = now() WHERE user_id = $1`, r.acme.people["guest"])
	suspended := send("platform")
	r.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, r.acme.people["platform"])
	wantInvalid := func(token string) {
		t.Helper()
		f := fault.From(r.resetPassword(token, newPassword))
		if f == nil || f.Code != fault.CodeValidation || f.Field != "token" || f.Message != "This reset link is unknown, used or expired. Request a new one." || f.Details != nil {
			t.Errorf("token %.12s…: got %v, want the generic error", token, f)
		}
	}
	for _, token := range []string{"x", strings.Repeat("A", 86), valid[:85], flipped, valid + "=", ended, suspended} {
		wantInvalid(token)
	}
	if err := r.resetPassword(valid, "short"); fault.From(err).Field != "newPassword" {
		t.Errorf("short password: got %v, want an error for newPassword", err)
	}
	if err := r.resetPassword(valid, "member@acme.example"); fault.From(err).Field != "newPassword" {
		t.Errorf("password equal to the address: got %v, want an error for newPassword", err)
	}
	r.clock.advance(31 * time.Minute)
	wantInvalid(valid)
	r.clock.advance(-31 * time.Minute)
	if err := r.resetPassword(valid, newPassword); err != nil {
		t.Errorf("before expiry: got %v, want no error", err)
	}
}

func TestRequestPasswordReset_DoesNotRevealAccounts(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.exec(`UPDATE identity.users SET email = 'member@acme.example' WHERE id = $1`, r.globex.people["guest"])
	r.exec(`UPDATE identity.users SET address_confirmed = true WHERE id = $1`, r.globex.people["guest"])
	for _, email := range []string{"Member@acme.example", "nobody@acme.example"} {
		before := queryValue[int](r, `SELECT count(*)::int FROM events.outbox`)
		must[op.None](r, "request-password-reset", request{body: body(fields{"email": email})})
		if n := queryValue[int](r, `SELECT count(*)::int FROM events.outbox`) - before; n != 1 {
			t.Errorf("%s: got %d events, want 1", email, n)
		}
		if n := queryValue[int](r, `SELECT count(*)::int FROM identity.password_resets`); n != 0 {
			t.Errorf("%s: got a reset in the request, want it in the job", email)
		}
	}
	r.runResetJobs()
	to, tokens := r.sentMail.links(t)
	if len(to) != 2 {
		t.Fatalf("got recipients %v, want both accounts of the address", to)
	}
	for _, token := range tokens {
		if err := r.resetPassword(token, newPassword); err != nil {
			t.Error(err)
		}
	}
	for range 10 {
		_, err := r.call("request-password-reset", request{body: body(fields{"email": "nobody@acme.example"})})
		if fault.HasCode(err, fault.CodeRateLimited) {
			return
		}
	}
	t.Error("got no RATE_LIMITED after 10 requests")
}

// An administrator changes the address while the account has few permissions, and requests
// the reset after the account has gained more.
func TestResetUserPassword_RejectsAddressSetByAdministrator(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, member := r.login("admin@acme.example"), r.acme.people["member"]
	must[contract.User](r, "update-user", pathRequest(admin, "userId", member, fields{"email": "me@evil.example"}))
	r.wantFault("reset-user-password", pathRequest(admin, "userId", member, nil), fault.CodeConflict, "has not confirmed it")
	r.addMembership(r.globex, member, "Admin", "SECRET")
	r.wantFault("reset-user-password", pathRequest(admin, "userId", member, nil), fault.CodeConflict, "has not confirmed it")
	must[op.None](r, "request-password-reset", request{body: body(fields{"email": "me@evil.example"})})
	r.runResetJobs()
	if to, _ := r.sentMail.links(t); len(to) != 0 {
		t.Fatalf("got recipients %v, want none", to)
	}
	// The user can still log in and confirm an address.
	session := r.login("me@evil.example")
	r.wantFault("change-email", request{token: session, body: body(fields{"email": "member@acme.example", "currentPassword": "not the password"})}, fault.CodeValidation, "currentPassword")
	for _, email := range []string{"admin@acme.example\u200b", "ad\u00admin@acme.example", "\uff41dmin@acme.example", "\u212aate@acme.example"} {
		r.wantFault("change-email", request{token: session, body: body(fields{"email": email, "currentPassword": testPassword})}, fault.CodeValidation, "e-mail address")
	}
	must[op.None](r, "change-email", request{token: session, body: body(fields{"email": "member@acme.example", "currentPassword": testPassword})})
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", member, nil))
	r.runResetJobs()
	if to, _ := r.sentMail.links(t); len(to) != 1 || to[0] != "member@acme.example" {
		t.Errorf("got recipients %v, want the confirmed address", to)
	}
}

// A change of the address invalidates links that were sent to the old address.
func TestUpdateUser_NewAddressInvalidatesResetLinks(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, member := r.login("admin@acme.example"), r.acme.people["member"]
	for _, sentBefore := range []bool{true, false} {
		must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", member, nil))
		if sentBefore {
			r.runResetJobs()
		}
		must[contract.User](r, "update-user", pathRequest(admin, "userId", member, fields{"email": "m@acme.example"}))
		r.runResetJobs()
		_, tokens := r.sentMail.links(t)
		if len(tokens) != 1 {
			t.Fatalf("got %d links, want 1", len(tokens))
		}
		if err := r.resetPassword(tokens[0], newPassword); err == nil {
			t.Error("link sent to the old address: got no error")
		}
		r.exec(`UPDATE identity.users SET email = 'member@acme.example' WHERE id = $1`, member)
		r.exec(`UPDATE identity.users SET address_confirmed = true WHERE id = $1`, member)
	}
}

// The address of an account without a password may be corrected and a link sent to it, if the
// administrator holds everything that the account holds when the link is used.
func TestResetUserPassword_WithoutPassword_SendsLinkToCorrectedAddress(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	u := must[contract.User](r, "create-user", request{token: admin, body: body(fields{"email": "typo@acme.example", "displayName": "New", "roles": []string{"Member"}})})
	must[contract.User](r, "update-user", pathRequest(admin, "userId", u.ID, fields{"email": "new@acme.example"}))
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", u.ID, nil))
	r.runResetJobs()
	to, tokens := r.sentMail.links(t)
	if len(to) != 1 || to[0] != "new@acme.example" {
		t.Fatalf("got recipients %v, want the corrected address", to)
	}
	// The account gains permissions in another tenant before the link is used.
	r.addMembership(r.globex, u.ID, "Admin", "SECRET")
	if err := r.resetPassword(tokens[0], newPassword); err == nil {
		t.Fatal("reset of an account with more permissions than the administrator: got no error")
	}
	r.wantFault("reset-user-password", pathRequest(admin, "userId", u.ID, nil), fault.CodeForbidden, "permissions that you do not have")
	r.exec(`DELETE FROM identity.role_assignments WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, u.ID)
	r.exec(`DELETE FROM identity.memberships WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, u.ID)
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", u.ID, nil))
	r.runResetJobs()
	_, tokens = r.sentMail.links(t)
	if err := r.resetPassword(tokens[len(tokens)-1], newPassword); err != nil {
		t.Fatal(err)
	}
	if _, err := r.tryLogin("new@acme.example", newPassword, nil); err != nil {
		t.Error(err)
	}
}

// The creator of an account chooses its first address. While the account has no password, a
// link is sent only if the account holds no more than the caller.
func TestResetUserPassword_WithoutPassword_IsDeniedAfterAccountGainedRoles(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	must[contract.Role](r, "create-role", request{token: admin, body: body(fields{"name": "Helper", "permissions": []string{"tasks.read"}})})
	_, desk := r.addPerson("desk", "user.create", "user.read", "user.update", "role.assign", "tasks.read")
	u := must[contract.User](r, "create-user", request{token: desk, body: body(fields{"email": "desk@evil.example", "displayName": "New", "roles": []string{"Helper"}})})
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(desk, "userId", u.ID, nil))
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope)
	        SELECT tenant_id, gen_random_uuid(), $2, id, 'tenant' FROM identity.roles WHERE tenant_id = $1 AND name = 'Admin'`, r.acme.id, u.ID)
	r.wantFault("reset-user-password", pathRequest(desk, "userId", u.ID, nil), fault.CodeForbidden, "permissions that you do not have")
	must[op.None](r, "request-password-reset", request{body: body(fields{"email": "desk@evil.example"})})
	r.runResetJobs()
	if to, _ := r.sentMail.links(t); len(to) != 0 {
		t.Fatalf("got recipients %v, want none", to)
	}
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", u.ID, nil))
}

// The holdings of the account in every tenant count, compared with the caller's in each.
func TestUpdateUser_NewAddressRequiresAllHoldingsOfTheAccount(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	first, number := r.login("admin@acme.example"), 0
	for name, c := range map[string]struct {
		prepare func(r *fixture, admin, member op.UUID)
		allowed bool
	}{
		"member of the home tenant only":  {func(*fixture, op.UUID, op.UUID) {}, true},
		"administrator in another tenant": {func(r *fixture, _, member op.UUID) { r.addMembership(r.globex, member, "Admin", "") }, false},
		"suspended in another tenant": {func(r *fixture, _, member op.UUID) {
			r.addMembership(r.globex, member, "Member", "")
			r.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, member)
		}, false},
		"removed in another tenant": {func(r *fixture, _, member op.UUID) {
			r.addMembership(r.globex, member, "Admin", "")
			r.exec(`UPDATE identity.memberships SET status = 'REMOVED' WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, member)
		}, true},
		"member without roles in another tenant": {func(r *fixture, _, member op.UUID) {
			r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.globex.id, member)
		}, false},
		"fewer permissions than the caller in another tenant": {func(r *fixture, admin, member op.UUID) {
			r.addMembership(r.globex, member, "Member", "INTERNAL")
			r.addMembership(r.globex, admin, "Admin", "INTERNAL")
		}, true},
		"higher clearance than the caller in another tenant": {func(r *fixture, admin, member op.UUID) {
			r.addMembership(r.globex, member, "Member", "RESTRICTED")
			r.addMembership(r.globex, admin, "Admin", "INTERNAL")
		}, false},
		"caller suspended in another tenant": {func(r *fixture, admin, member op.UUID) {
			r.addMembership(r.globex, member, "Member", "")
			r.addMembership(r.globex, admin, "Admin", "SECRET")
			r.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, admin)
		}, false},
		"delegation in the home tenant that the caller covers": {func(r *fixture, admin, member op.UUID) {
			r.delegate(r.acme, admin, member, "-1 hour", "task.update", "tasks.update.any")
		}, true},
		"delegation in another tenant": {func(r *fixture, admin, member op.UUID) {
			r.addMembership(r.globex, member, "Guest Customer", "")
			r.addMembership(r.globex, admin, "Guest Customer", "")
			r.delegate(r.globex, r.globex.people["admin"], member, "-1 hour", "task.delete")
		}, false},
		"delegation in another tenant that begins later": {func(r *fixture, admin, member op.UUID) {
			r.addMembership(r.globex, member, "Guest Customer", "")
			r.addMembership(r.globex, admin, "Guest Customer", "")
			r.delegate(r.globex, r.globex.people["admin"], member, "1 day", "task.delete")
		}, false},
	} {
		// Each case creates its own administrator and member.
		number++
		person := func(kind, role, clearance string) op.UUID {
			id := must[contract.User](r, "create-user", request{token: first, body: body(fields{
				"email": fmt.Sprintf("%s%d@acme.example", kind, number), "displayName": kind, "roles": []string{role}, "clearance": clearance, "password": testPassword,
			})}).ID
			return id
		}
		boss, member := person("boss", "Admin", "SECRET"), person("worker", "Member", "INTERNAL")
		c.prepare(r, boss, member)
		token := r.login(fmt.Sprintf("boss%d@acme.example", number))
		change := pathRequest(token, "userId", member, fields{"email": fmt.Sprintf("new%d@acme.example", number)})
		t.Log(name)
		if c.allowed {
			must[contract.User](r, "update-user", change)
		} else {
			r.wantFault("update-user", change, fault.CodeForbidden, "permissions that you do not have")
		}
		// Activation restores the same, except suspended memberships in other tenants.
		r.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, member)
		r.checker.DropAll()
		activate := pathRequest(token, "userId", member, fields{})
		if c.allowed || name == "suspended in another tenant" {
			must[contract.User](r, "activate-user", activate)
		} else {
			r.wantFault("activate-user", activate, fault.CodeForbidden, "permissions that you do not have")
		}
	}
}

// Restoring a membership restores its roles and its clearance, so the caller must hold them.
func TestUpdateMembership_RestoringRequiresHoldingsOfMember(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	_, desk := r.addPerson("desk", "user.read", "user.update", "membership.update", "membership.read", "tasks.read")
	for _, status := range []string{"SUSPENDED", "REMOVED"} {
		r.exec(`UPDATE identity.memberships SET status = $3 WHERE tenant_id = $1 AND user_id = $2`, r.acme.id, r.acme.people["admin"], status)
		r.wantFault("update-membership", pathRequest(desk, "userId", r.acme.people["admin"], fields{"status": "ACTIVE"}), fault.CodeForbidden, "permissions that you do not have")
		if got := queryValue[string](r, `SELECT status FROM identity.memberships WHERE tenant_id = $1 AND user_id = $2`, r.acme.id, r.acme.people["admin"]); got != status {
			t.Errorf("got membership status %s, want it unchanged", got)
		}
	}
	r.exec(`UPDATE identity.memberships SET status = 'ACTIVE' WHERE user_id = $1`, r.acme.people["admin"])
	admin := r.login("admin@acme.example")
	r.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, r.acme.people["member"])
	must[contract.Membership](r, "update-membership", pathRequest(admin, "userId", r.acme.people["member"], fields{"status": "ACTIVE"}))
}

// SendReset is retried while the mail server fails. A sent link is not sent again.
func TestSendReset_RetriesUntilSent(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, member := r.login("admin@acme.example"), r.acme.people["member"]
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", member, nil))
	id := op.UUID(queryValue[string](r, `SELECT id::text FROM identity.password_resets`))
	r.sentMail.failures, r.sentMail.err = 2, errors.New("no route to host")
	for range 2 {
		if err := r.service.SendReset(t.Context(), r.acme.id, id); err == nil {
			t.Fatal("SendReset with a failing mail server: got no error")
		}
	}
	for range 3 {
		if err := r.service.SendReset(t.Context(), r.acme.id, id); err != nil {
			t.Fatal(err)
		}
	}
	to, tokens := r.sentMail.links(t)
	if len(to) != 1 {
		t.Fatalf("got %d messages, want 1", len(to))
	}
	if err := r.resetPassword(tokens[0], newPassword); err != nil {
		t.Error(err)
	}
}

// Of concurrent requests with the same token, exactly one sets the password.
func TestResetPassword_TokenIsSingleUseUnderConcurrency(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, member := r.login("admin@acme.example"), r.acme.people["member"]
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", member, nil))
	r.runResetJobs()
	_, tokens := r.sentMail.links(t)
	var wg sync.WaitGroup
	results := make([]error, 4)
	for i := range results {
		wg.Go(func() { results[i] = r.resetPassword(tokens[0], newPassword) })
	}
	wg.Wait()
	successes := 0
	for _, err := range results {
		if err == nil {
			successes++
		}
	}
	if successes != 1 {
		t.Errorf("got %d successes of %d, want 1: %v", successes, len(results), results)
	}
}

func TestResetUserPassword_WithoutMail_ReturnsUnavailable(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{withoutMail: true})
	admin := r.login("admin@acme.example")
	r.wantFault("reset-user-password", pathRequest(admin, "userId", r.acme.people["member"], nil), fault.CodeUnavailable, "PT_SMTP_URL")
	r.wantFault("request-password-reset", request{body: body(fields{"email": "member@acme.example"})}, fault.CodeUnavailable, "PT_SMTP_URL")
}

// parapet_auth can delete expired resets only, and cannot read hashes.
func TestPasswordResets_DatabasePrivileges(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", r.acme.people["member"], nil))
	var n int
	if err := r.auth.QueryRow(t.Context(), `SELECT count(*)::int FROM identity.password_resets`).Scan(&n); err != nil || n != 0 {
		t.Errorf("parapet_auth: got %d active resets, %v, want 0", n, err)
	}
	err := r.auth.InTx(context.Background(), "", nil, func(tx *postgres.Tx) error {
		_, err := tx.Exec(context.Background(), `SELECT secret_hash FROM identity.password_resets`)
		return err
	})
	if codeOf(err) != "42501" {
		t.Errorf("parapet_auth reading hashes: got %v, want 42501", err)
	}
	r.exec(`UPDATE identity.password_resets SET created_at = now() - interval '90 days', expires_at = now() - interval '89 days'`)
	if n, err := r.service.PruneResets(t.Context(), r.clock.Now()); err != nil || n != 1 {
		t.Errorf("PruneResets: got %d, %v, want 1", n, err)
	}
}
