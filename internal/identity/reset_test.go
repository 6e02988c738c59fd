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

const newPass = "quite another secret"

// join makes a user a member of another tenant with a role and a clearance there.
func (r *fixture) join(h testTenant, user op.UUID, role, clearance string) {
	r.t.Helper()
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id, clearance) VALUES ($1, $2, nullif($3, ''))`, h.id, user, clearance)
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope)
	        SELECT tenant_id, gen_random_uuid(), $2, id, 'tenant' FROM identity.roles WHERE tenant_id = $1 AND name = $3`, h.id, user, role)
}

// lend writes a delegation of permissions to a user.
func (r *fixture) lend(h testTenant, from, to op.UUID, starts string, permissions ...string) {
	r.t.Helper()
	r.exec(`INSERT INTO projects.delegations (tenant_id, id, delegator_id, delegate_id, scope, permissions, starts_at, ends_at, created_by, created_at)
	        VALUES ($1, gen_random_uuid(), $2, $3, 'TENANT', $4, now() + $5::interval, now() + '30 days', $2, now())`, h.id, from, to, permissions, starts)
}

func (r *fixture) reset(token, password string) error {
	r.t.Helper()
	_, err := r.call("reset-password", request{body: body(fields{"token": token, "newPassword": password})})
	return err
}

// The takeover: an administrator of the home tenant sets the password of a user who
// is little at home and an administrator elsewhere, and logs in there.
func TestUpdateUser_RejectsPassword(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	member := r.acme.people["member"]
	r.join(r.globex, member, "Admin", "SECRET")
	r.wantFault("update-user", pathRequest(admin, "userId", member, fields{"password": newPass}), fault.CodeValidation, "reset-user-password")
	r.wantFault("update-user", pathRequest(admin, "userId", r.acme.people["guest"], fields{"password": nil}), fault.CodeValidation, "reset-user-password")
	if out, err := r.tryLogin("member@acme.example", newPass, fields{"tenantId": r.globex.id}); err == nil {
		t.Errorf("the administrator of acme is now in globex as %+v", out.User)
	}
}

func TestResetUserPassword_SendsALinkToTheHolderAlone(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, member := r.login("admin@acme.example"), r.acme.people["member"]
	r.join(r.globex, member, "Admin", "SECRET")
	here := r.login("member@acme.example")
	away, err := r.tryLogin("member@acme.example", testPassword, fields{"tenantId": r.globex.id})
	if err != nil {
		t.Fatal(err)
	}
	started := must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", member, nil))
	if started.UserID != member || started.Email != "member@acme.example" {
		t.Errorf("answered %+v", started)
	}
	r.login("member@acme.example") // still by the old password
	r.runResetJobs()
	to, tokens := r.sentMail.links(t)
	if len(to) != 1 || to[0] != "member@acme.example" {
		t.Fatalf("sent to %v", to)
	}
	if n := queryValue[int](r, `SELECT count(*)::int FROM identity.password_resets WHERE encode(secret_hash, 'base64') LIKE '%' || left($1, 20) || '%'`, tokens[0]); n != 0 {
		t.Error("the token is stored in clear")
	}
	for _, table := range []string{"events.outbox", "audit.entries"} {
		if n := queryValue[int](r, `SELECT count(*)::int FROM `+table+` t WHERE t::text LIKE '%' || $1 || '%'`, tokens[0][43:]); n != 0 {
			t.Errorf("the token is in %s", table)
		}
	}
	if err := r.reset(tokens[0], newPass); err != nil {
		t.Fatalf("the holder's link: %v", err)
	}
	for name, token := range map[string]string{"at home": here, "in another tenant": away.Token} {
		r.checker.DropAll()
		if _, err := r.call("me", request{token: token}); err == nil {
			t.Errorf("a session %s outlives its password", name)
		}
	}
	if _, err := r.tryLogin("member@acme.example", testPassword, nil); err == nil {
		t.Error("the old password is good")
	}
	if _, err := r.tryLogin("member@acme.example", newPass, nil); err != nil {
		t.Errorf("the new password: %v", err)
	}
	if err := r.reset(tokens[0], "a third long secret"); fault.From(err) == nil || !strings.Contains(err.Error(), "unknown, used or expired") {
		t.Errorf("used again: %v", err)
	}
	for _, action := range []string{contract.ActionResetStarted, contract.ActionPasswordReset} {
		if !r.hasCriticalEntry(r.acme.id, action, member) {
			t.Errorf("no critical entry %s", action)
		}
	}
}

func TestResetUserPassword_Refusals(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	service := r.provision(r.acme)["multi-llm-review"]
	admin, member := r.login("admin@acme.example"), r.login("member@acme.example")
	guest := r.globex.people["member"]
	r.join(r.acme, guest, "Member", "")
	r.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, r.acme.people["guest"])
	r.wantFault("reset-user-password", pathRequest(member, "userId", r.acme.people["admin"], nil), fault.CodeForbidden, "user.update")
	r.wantFault("reset-user-password", pathRequest(admin, "userId", guest, nil), fault.CodeForbidden, "home tenant")
	r.wantFault("reset-user-password", pathRequest(admin, "userId", service, nil), fault.CodeConflict, "person")
	r.wantFault("reset-user-password", pathRequest(admin, "userId", r.acme.people["guest"], nil), fault.CodeConflict, "not ACTIVE")
	r.runResetJobs()
	if to, _ := r.sentMail.links(t); len(to) != 0 {
		t.Errorf("sent to %v", to)
	}
}

func TestResetPassword_AnswersEveryBadTokenAlike(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{throttle: identity.Throttle{Account: identity.Limit{Burst: 1000, Every: time.Second}, Address: identity.Limit{Burst: 1000, Every: time.Second}}})
	admin := r.login("admin@acme.example")
	send := func(name string) string {
		must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", r.acme.people[name], nil))
		r.runResetJobs()
		_, tokens := r.sentMail.links(t)
		return tokens[len(tokens)-1]
	}
	good := send("member")
	flipped := good[:85] + string("AQgw"[strings.IndexByte("gwAQ", good[85])%4])
	if flipped == good {
		flipped = good[:60] + strings.Map(func(c rune) rune { return map[bool]rune{true: 'B', false: 'A'}[c == 'A'] }, good[60:61]) + good[61:]
	}
	ended := send("guest")
	r.exec(`UPDATE identity.password_resets SET ended_at = now() WHERE user_id = $1`, r.acme.people["guest"])
	suspended := send("platform")
	r.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, r.acme.people["platform"])
	refuse := func(token string) {
		t.Helper()
		f := fault.From(r.reset(token, newPass))
		if f == nil || f.Code != fault.CodeValidation || f.Field != "token" || f.Message != "This reset link is unknown, used or expired. Ask for a new one." || f.Details != nil {
			t.Errorf("%.12s…: %v", token, f)
		}
	}
	for _, token := range []string{"x", strings.Repeat("A", 86), good[:85], flipped, good + "=", ended, suspended} {
		refuse(token)
	}
	if err := r.reset(good, "short"); fault.From(err).Field != "newPassword" {
		t.Errorf("a short password: %v", err)
	}
	if err := r.reset(good, "member@acme.example"); fault.From(err).Field != "newPassword" {
		t.Errorf("the account's own name: %v", err)
	}
	r.clock.advance(31 * time.Minute)
	refuse(good)
	r.clock.advance(-31 * time.Minute)
	if err := r.reset(good, newPass); err != nil {
		t.Errorf("within its time: %v", err)
	}
}

func TestRequestPasswordReset_AnswersAndWritesAlike(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.exec(`UPDATE identity.users SET email = 'member@acme.example' WHERE id = $1`, r.globex.people["guest"])
	r.exec(`UPDATE identity.users SET address_confirmed = true WHERE id = $1`, r.globex.people["guest"])
	for _, email := range []string{"Member@acme.example", "nobody@acme.example"} {
		before := queryValue[int](r, `SELECT count(*)::int FROM events.outbox`)
		must[op.None](r, "request-password-reset", request{body: body(fields{"email": email})})
		if n := queryValue[int](r, `SELECT count(*)::int FROM events.outbox`) - before; n != 1 {
			t.Errorf("%s: %d events", email, n)
		}
		if n := queryValue[int](r, `SELECT count(*)::int FROM identity.password_resets`); n != 0 {
			t.Errorf("%s: the request itself looked the account up", email)
		}
	}
	r.runResetJobs()
	to, tokens := r.sentMail.links(t)
	if len(to) != 2 {
		t.Fatalf("sent to %v, want both accounts of the address", to)
	}
	for _, token := range tokens {
		if err := r.reset(token, newPass); err != nil {
			t.Error(err)
		}
	}
	for range 10 {
		_, err := r.call("request-password-reset", request{body: body(fields{"email": "nobody@acme.example"})})
		if fault.HasCode(err, fault.CodeRateLimited) {
			return
		}
	}
	t.Error("requests are not throttled")
}

// An administrator changes the address while the account has little authority, and
// asks for the reset once it has more.
func TestResetUserPassword_NotToAnAddressThatAnAdministratorSet(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, member := r.login("admin@acme.example"), r.acme.people["member"]
	must[contract.User](r, "update-user", pathRequest(admin, "userId", member, fields{"email": "me@evil.example"}))
	r.wantFault("reset-user-password", pathRequest(admin, "userId", member, nil), fault.CodeConflict, "has not confirmed it")
	r.join(r.globex, member, "Admin", "SECRET")
	r.wantFault("reset-user-password", pathRequest(admin, "userId", member, nil), fault.CodeConflict, "has not confirmed it")
	must[op.None](r, "request-password-reset", request{body: body(fields{"email": "me@evil.example"})})
	r.runResetJobs()
	if to, _ := r.sentMail.links(t); len(to) != 0 {
		t.Fatalf("a link was sent to %v", to)
	}
	// The holder still logs in, and confirms where the links go.
	session := r.login("me@evil.example")
	r.wantFault("change-email", request{token: session, body: body(fields{"email": "member@acme.example", "currentPassword": "not the password"})}, fault.CodeValidation, "currentPassword")
	must[op.None](r, "change-email", request{token: session, body: body(fields{"email": "member@acme.example", "currentPassword": testPassword})})
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", member, nil))
	r.runResetJobs()
	if to, _ := r.sentMail.links(t); len(to) != 1 || to[0] != "member@acme.example" {
		t.Errorf("sent to %v", to)
	}
}

// A link under way to the old address ends with a change of the address.
func TestUpdateUser_NewAddressCancelsLinks(t *testing.T) {
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
			t.Fatalf("%d links were sent", len(tokens))
		}
		if err := r.reset(tokens[0], newPass); err == nil {
			t.Error("a link to the old address is good")
		}
		r.exec(`UPDATE identity.users SET email = 'member@acme.example' WHERE id = $1`, member)
		r.exec(`UPDATE identity.users SET address_confirmed = true WHERE id = $1`, member)
	}
}

// An account without a password has no holder yet: its address can be corrected
// and the link sent, by whoever holds all that the account holds until it is used.
func TestResetUserPassword_FirstPassword(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	u := must[contract.User](r, "create-user", request{token: admin, body: body(fields{"email": "typo@acme.example", "displayName": "New", "roles": []string{"Member"}})})
	must[contract.User](r, "update-user", pathRequest(admin, "userId", u.ID, fields{"email": "new@acme.example"}))
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", u.ID, nil))
	r.runResetJobs()
	to, tokens := r.sentMail.links(t)
	if len(to) != 1 || to[0] != "new@acme.example" {
		t.Fatalf("sent to %v", to)
	}
	// The account gains authority elsewhere before the link is used.
	r.join(r.globex, u.ID, "Admin", "SECRET")
	if err := r.reset(tokens[0], newPass); err == nil {
		t.Fatal("the link is good for more than the administrator holds")
	}
	r.wantFault("reset-user-password", pathRequest(admin, "userId", u.ID, nil), fault.CodeForbidden, "more than you do")
	r.exec(`DELETE FROM identity.role_assignments WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, u.ID)
	r.exec(`DELETE FROM identity.memberships WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, u.ID)
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", u.ID, nil))
	r.runResetJobs()
	_, tokens = r.sentMail.links(t)
	if err := r.reset(tokens[len(tokens)-1], newPass); err != nil {
		t.Fatal(err)
	}
	if _, err := r.tryLogin("new@acme.example", newPass, nil); err != nil {
		t.Error(err)
	}
}

// Whoever creates an account chooses its first address. While the account has no
// password, a link goes there only if the account holds no more than they do.
func TestResetUserPassword_FirstPasswordOfAnAccountThatGainedAuthority(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	must[contract.Role](r, "create-role", request{token: admin, body: body(fields{"name": "Helper", "permissions": []string{"tasks.read"}})})
	_, desk := r.addPerson("desk", "user.create", "user.read", "user.update", "role.assign", "tasks.read")
	u := must[contract.User](r, "create-user", request{token: desk, body: body(fields{"email": "desk@evil.example", "displayName": "New", "roles": []string{"Helper"}})})
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(desk, "userId", u.ID, nil))
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope)
	        SELECT tenant_id, gen_random_uuid(), $2, id, 'tenant' FROM identity.roles WHERE tenant_id = $1 AND name = 'Admin'`, r.acme.id, u.ID)
	r.wantFault("reset-user-password", pathRequest(desk, "userId", u.ID, nil), fault.CodeForbidden, "more than you do")
	must[op.None](r, "request-password-reset", request{body: body(fields{"email": "desk@evil.example"})})
	r.runResetJobs()
	if to, _ := r.sentMail.links(t); len(to) != 0 {
		t.Fatalf("a link was sent to %v", to)
	}
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", u.ID, nil))
}

// What an account holds anywhere counts, and who the administrator is there.
func TestUpdateUser_AddressNeedsAllThatTheAccountHolds(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	first, number := r.login("admin@acme.example"), 0
	for name, c := range map[string]struct {
		prepare func(r *fixture, admin, member op.UUID)
		allowed bool
	}{
		"little at home":          {func(*fixture, op.UUID, op.UUID) {}, true},
		"administrator elsewhere": {func(r *fixture, _, member op.UUID) { r.join(r.globex, member, "Admin", "") }, false},
		"suspended elsewhere": {func(r *fixture, _, member op.UUID) {
			r.join(r.globex, member, "Member", "")
			r.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, member)
		}, false},
		"removed elsewhere": {func(r *fixture, _, member op.UUID) {
			r.join(r.globex, member, "Admin", "")
			r.exec(`UPDATE identity.memberships SET status = 'REMOVED' WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, member)
		}, true},
		"a mere member elsewhere": {func(r *fixture, _, member op.UUID) {
			r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.globex.id, member)
		}, false},
		"less than the administrator elsewhere": {func(r *fixture, admin, member op.UUID) {
			r.join(r.globex, member, "Member", "INTERNAL")
			r.join(r.globex, admin, "Admin", "INTERNAL")
		}, true},
		"more clearance elsewhere": {func(r *fixture, admin, member op.UUID) {
			r.join(r.globex, member, "Member", "RESTRICTED")
			r.join(r.globex, admin, "Admin", "INTERNAL")
		}, false},
		"an administrator who is suspended elsewhere": {func(r *fixture, admin, member op.UUID) {
			r.join(r.globex, member, "Member", "")
			r.join(r.globex, admin, "Admin", "SECRET")
			r.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE tenant_id = $1 AND user_id = $2`, r.globex.id, admin)
		}, false},
		"a delegation at home that the administrator covers": {func(r *fixture, admin, member op.UUID) {
			r.lend(r.acme, admin, member, "-1 hour", "task.update", "tasks.update.any")
		}, true},
		"a delegation elsewhere": {func(r *fixture, admin, member op.UUID) {
			r.join(r.globex, member, "Guest Customer", "")
			r.join(r.globex, admin, "Guest Customer", "")
			r.lend(r.globex, r.globex.people["admin"], member, "-1 hour", "task.delete")
		}, false},
		"a delegation elsewhere that begins later": {func(r *fixture, admin, member op.UUID) {
			r.join(r.globex, member, "Guest Customer", "")
			r.join(r.globex, admin, "Guest Customer", "")
			r.lend(r.globex, r.globex.people["admin"], member, "1 day", "task.delete")
		}, false},
	} {
		// Each case has an administrator and a member of its own.
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
			r.wantFault("update-user", change, fault.CodeForbidden, "more than you do")
		}
		// Reactivation restores the same, but what is suspended elsewhere stays so.
		r.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, member)
		r.checker.DropAll()
		activate := pathRequest(token, "userId", member, fields{})
		if c.allowed || name == "suspended elsewhere" {
			must[contract.User](r, "activate-user", activate)
		} else {
			r.wantFault("activate-user", activate, fault.CodeForbidden, "more than you do")
		}
	}
}

// Restoring a membership restores its roles and its clearance.
func TestUpdateMembership_RestoringNeedsWhatGrantingWould(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	_, desk := r.addPerson("desk", "user.read", "user.update", "membership.update", "membership.read", "tasks.read")
	for _, status := range []string{"SUSPENDED", "REMOVED"} {
		r.exec(`UPDATE identity.memberships SET status = $3 WHERE tenant_id = $1 AND user_id = $2`, r.acme.id, r.acme.people["admin"], status)
		r.wantFault("update-membership", pathRequest(desk, "userId", r.acme.people["admin"], fields{"status": "ACTIVE"}), fault.CodeForbidden, "more than you do")
		if got := queryValue[string](r, `SELECT status FROM identity.memberships WHERE tenant_id = $1 AND user_id = $2`, r.acme.id, r.acme.people["admin"]); got != status {
			t.Errorf("the membership is %s", got)
		}
	}
	r.exec(`UPDATE identity.memberships SET status = 'ACTIVE' WHERE user_id = $1`, r.acme.people["admin"])
	admin := r.login("admin@acme.example")
	r.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, r.acme.people["member"])
	must[contract.Membership](r, "update-membership", pathRequest(admin, "userId", r.acme.people["member"], fields{"status": "ACTIVE"}))
}

// A mail server that fails has the link tried again; a link that was sent is not
// sent again, and a newer one makes an older one useless.
func TestSendReset_RetriesUntilSent(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, member := r.login("admin@acme.example"), r.acme.people["member"]
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", member, nil))
	id := op.UUID(queryValue[string](r, `SELECT id::text FROM identity.password_resets`))
	r.sentMail.failures, r.sentMail.err = 2, errors.New("no route to host")
	for range 2 {
		if err := r.service.SendReset(t.Context(), r.acme.id, id); err == nil {
			t.Fatal("a failure counts as sent")
		}
	}
	for range 3 {
		if err := r.service.SendReset(t.Context(), r.acme.id, id); err != nil {
			t.Fatal(err)
		}
	}
	to, tokens := r.sentMail.links(t)
	if len(to) != 1 {
		t.Fatalf("sent %d times", len(to))
	}
	if err := r.reset(tokens[0], newPass); err != nil {
		t.Error(err)
	}
}

// One token sets one password, however many try at once.
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
		wg.Go(func() { results[i] = r.reset(tokens[0], newPass) })
	}
	wg.Wait()
	good := 0
	for _, err := range results {
		if err == nil {
			good++
		}
	}
	if good != 1 {
		t.Errorf("%d of %d succeeded: %v", good, len(results), results)
	}
}

func TestResetUserPassword_WithoutMailNamesTheSettings(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{withoutMail: true})
	admin := r.login("admin@acme.example")
	r.wantFault("reset-user-password", pathRequest(admin, "userId", r.acme.people["member"], nil), fault.CodeUnavailable, "PT_SMTP_URL")
	r.wantFault("request-password-reset", request{body: body(fields{"email": "member@acme.example"})}, fault.CodeUnavailable, "PT_SMTP_URL")
}

// parapet_auth deletes expired resets and sees no other, and no hash.
func TestPasswordResets_ByRole(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	must[contract.PasswordResetStarted](r, "reset-user-password", pathRequest(admin, "userId", r.acme.people["member"], nil))
	var n int
	if err := r.auth.QueryRow(t.Context(), `SELECT count(*)::int FROM identity.password_resets`).Scan(&n); err != nil || n != 0 {
		t.Errorf("parapet_auth sees %d live resets, %v", n, err)
	}
	err := r.auth.InTx(context.Background(), "", nil, func(tx *postgres.Tx) error {
		_, err := tx.Exec(context.Background(), `SELECT secret_hash FROM identity.password_resets`)
		return err
	})
	if codeOf(err) != "42501" {
		t.Errorf("parapet_auth reads hashes: %v", err)
	}
	r.exec(`UPDATE identity.password_resets SET created_at = now() - interval '90 days', expires_at = now() - interval '89 days'`)
	if n, err := r.service.PruneResets(t.Context(), r.clock.Now()); err != nil || n != 1 {
		t.Errorf("pruned %d, %v", n, err)
	}
}
