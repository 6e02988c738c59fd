package principal_test

import (
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/principal"
	"parapet/internal/token"
	"parapet/internal/uid"
)

func wantFault(t *testing.T, err error, code fault.Code, reason string) {
	t.Helper()
	f := fault.From(err)
	if f == nil || f.Code != code || f.Reason != reason {
		t.Errorf("got error %v, want %s with reason %q", err, code, reason)
	}
}

func TestAuthenticate_AcceptsValidSessionAndKey(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{ttl: 30 * time.Second})
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	w.assign(acme, worker, w.role(acme, "Member", "projects.read", "task.update"))
	for name, issue := range map[string]func(op.UUID, op.UUID, ...string) (string, op.UUID){"session": w.session, "api_key": w.key} {
		text, jti := issue(acme, worker, "Member")
		p, err := w.authenticate(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p.UserID != worker || p.Tenant != acme || p.TokenTenant != acme || p.TokenKind != name || p.JTI != jti || p.Kind != "HUMAN" || p.Email != "worker@acme.example" {
			t.Errorf("%s: got principal %+v", name, p)
		}
		if want := (authz.CredentialID{Kind: name, ID: string(jti)}); p.Credential() != want || p.Subject.Credential() != want {
			t.Errorf("%s: got credential %+v, the subject's %+v, want %+v", name, p.Credential(), p.Subject.Credential(), want)
		}
		if !p.Subject.Holds("projects.read") || p.Subject.Holds("project.create") {
			t.Errorf("%s: got permissions %v, want projects.read and not project.create", name, p.Subject.Permissions())
		}
		want := "CONFIDENTIAL"
		if name == "api_key" {
			want = "SECRET"
		}
		if p.Clearance() != want {
			t.Errorf("%s: got clearance %s, want %s", name, p.Clearance(), want)
		}
		if p.Revision <= 1 {
			t.Errorf("%s: got revision %d, want the tenant's", name, p.Revision)
		}
	}
}

func TestAuthenticate_CookieAcceptsSessionsOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{ttl: 30 * time.Second})
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	w.assign(acme, worker, w.role(acme, "Member", "projects.read"))
	session, _ := w.session(acme, worker, "Member")
	key, _ := w.key(acme, worker, "Member")
	// Twice: a key that was accepted from a header and cached must not be accepted from a cookie.
	for range 2 {
		for _, c := range []struct {
			note           string
			token          string
			bearer, cookie bool
			ok             bool
		}{
			{"session in the header", session, true, false, true},
			{"session in the cookie", session, false, true, true},
			{"session in both", session, true, true, true},
			{"key in the header", key, true, false, true},
			{"key in the cookie", key, false, true, false},
			{"key in both", key, true, true, false},
		} {
			_, err := w.checker.Authenticate(t.Context(), principal.Credential{Token: c.token, Module: "identity", Bearer: c.bearer, Cookie: c.cookie})
			if c.ok {
				if err != nil {
					t.Errorf("%s: got error %v, want none", c.note, err)
				}
				continue
			}
			wantFault(t, err, fault.CodeUnauthorized, "")
		}
	}
}

// Each condition is tested alone; if it can be reversed, the credential must be accepted
// again afterwards.
func TestAuthenticate_RejectsInactiveCredentialUserOrTenant(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, deactivateSQL, restoreSQL string
		reason                          string
	}{
		{"membership suspended", `UPDATE identity.memberships SET status = 'SUSPENDED'`, `UPDATE identity.memberships SET status = 'ACTIVE'`, principal.ReasonNotInTenant},
		{"membership removed", `UPDATE identity.memberships SET status = 'REMOVED'`, `UPDATE identity.memberships SET status = 'ACTIVE'`, principal.ReasonNotInTenant},
		{"tenant disabled", `UPDATE identity.tenants SET disabled_at = now()`, `UPDATE identity.tenants SET disabled_at = NULL`, principal.ReasonTenantDisabled},
		{"user suspended", `UPDATE identity.users SET status = 'SUSPENDED'`, `UPDATE identity.users SET status = 'ACTIVE'`, principal.ReasonSuspended},
		{"user deleted", `UPDATE identity.users SET status = 'DELETED'`, ``, principal.ReasonNotInTenant},
		{"key revoked", `UPDATE identity.api_keys SET revoked_at = now(), revoked_by = owner_id`, ``, ""},
		{"record expired", `UPDATE identity.api_keys SET created_at = now() - interval '2 day', expires_at = now() - interval '1 day'`, ``, ""},
		{"record gone", `DELETE FROM identity.api_keys`, ``, ""},
	}
	w := newFixture(t, options{})
	for i, c := range cases {
		w.exec(`DELETE FROM identity.api_keys; DELETE FROM identity.memberships; DELETE FROM identity.users; DELETE FROM identity.tenants`)
		acme := w.tenant("acme" + string(rune('a'+i)))
		text, _ := w.key(acme, w.user(acme, "worker@acme.example"))
		if _, err := w.authenticate(text); err != nil {
			t.Fatalf("%s: before the change: got error %v, want none", c.name, err)
		}
		w.exec(c.deactivateSQL)
		_, err := w.authenticate(text)
		t.Log(c.name)
		wantFault(t, err, fault.CodeUnauthorized, c.reason)
		if c.restoreSQL != "" {
			w.exec(c.restoreSQL)
			if _, err := w.authenticate(text); err != nil {
				t.Errorf("%s: after restoring: got error %v, want none", c.name, err)
			}
		}
	}
}

// A suspension also revokes the user's sessions. The conditions are checked in the
// specification's order, so the error names the suspension and not the revoked session.
func TestAuthenticate_RevokedSession_ReportsCauseInSpecifiedOrder(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{})
	acme := w.tenant("acme")
	text, _ := w.session(acme, w.user(acme, "worker@acme.example"))
	w.exec(`UPDATE identity.sessions SET revoked_at = now()`)
	for _, c := range []struct{ sql, restoreSQL, reason string }{
		{`UPDATE identity.users SET status = 'SUSPENDED'`, `UPDATE identity.users SET status = 'ACTIVE'`, principal.ReasonSuspended},
		{`UPDATE identity.memberships SET status = 'SUSPENDED'`, `UPDATE identity.memberships SET status = 'ACTIVE'`, principal.ReasonNotInTenant},
		{`UPDATE identity.tenants SET disabled_at = now()`, `UPDATE identity.tenants SET disabled_at = NULL`, principal.ReasonTenantDisabled},
		{`SELECT 1`, `SELECT 1`, ""},
	} {
		w.exec(c.sql)
		_, err := w.authenticate(text)
		wantFault(t, err, fault.CodeUnauthorized, c.reason)
		w.exec(c.restoreSQL)
	}
}

// A token is rejected if its record has another owner, tenant or kind.
func TestAuthenticate_RejectsTokenThatDoesNotMatchItsRecord(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{0, 30 * time.Second} {
		w := newFixture(t, options{ttl: ttl})
		acme, globex := w.tenant("acme"), w.tenant("globex")
		worker, colleague := w.user(acme, "worker@acme.example"), w.user(acme, "colleague@acme.example")
		w.addMember(globex, worker)
		good, jti := w.key(acme, worker)
		if _, err := w.authenticate(good); err != nil {
			t.Fatal(err)
		}
		for name, forge := range map[string]func(c *token.Claims, k *token.Kind){
			"another owner":  func(c *token.Claims, _ *token.Kind) { c.Subject = colleague },
			"another tenant": func(c *token.Claims, _ *token.Kind) { c.Tenant = globex },
			"another kind of principal": func(c *token.Claims, _ *token.Kind) {
				c.PrincipalKind = "SERVICE"
			},
			"a session token with a key's id": func(_ *token.Claims, k *token.Kind) { *k = token.Session },
			"an unknown record":               func(c *token.Claims, _ *token.Kind) { c.ID = uid.New() },
			"an internal token": func(c *token.Claims, k *token.Kind) {
				*k, c.ExpiresAt = token.Internal, c.IssuedAt.Add(time.Minute)
			},
		} {
			c, kind := w.claims(acme, worker), token.APIKey
			c.ID = jti
			forge(&c, &kind)
			if _, err := w.authenticate(w.sign(c, kind)); !fault.HasCode(err, fault.CodeUnauthorized) || fault.From(err).Reason != "" {
				t.Errorf("ttl %s: %s: got %v, want UNAUTHORIZED without a reason", ttl, name, err)
			}
		}
	}
}

// Without notifications, a cached success is used for the configured time, but never for
// more than a minute.
func TestAuthenticate_UsesCachedSuccessForConfiguredTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ttl, max, want time.Duration }{
		{30 * time.Second, time.Minute, 30 * time.Second},
		{10 * time.Minute, 10 * time.Minute, time.Minute},
		{30 * time.Second, 5 * time.Second, 5 * time.Second},
	} {
		w := newFixture(t, options{ttl: c.ttl, max: c.max})
		acme := w.tenant("acme")
		text, _ := w.key(acme, w.user(acme, "worker@acme.example"))
		if _, err := w.authenticate(text); err != nil {
			t.Fatal(err)
		}
		w.exec(`UPDATE identity.api_keys SET revoked_at = now(), revoked_by = owner_id`)
		start := w.clock.Now()
		w.clock.setTime(start.Add(c.want - time.Second))
		if _, err := w.authenticate(text); err != nil {
			t.Errorf("%+v: within the TTL: got error %v, want none", c, err)
		}
		w.clock.setTime(start.Add(c.want))
		_, err := w.authenticate(text)
		wantFault(t, err, fault.CodeUnauthorized, "")
	}
}

// A cached record does not extend the record's own expiry.
func TestAuthenticate_RejectsExpiredCachedRecord(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{ttl: 30 * time.Second})
	acme := w.tenant("acme")
	text, _ := w.key(acme, w.user(acme, "worker@acme.example"))
	w.exec(`UPDATE identity.api_keys SET expires_at = $1`, w.clock.Now().Add(10*time.Second))
	if _, err := w.authenticate(text); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(10 * time.Second)
	_, err := w.authenticate(text)
	wantFault(t, err, fault.CodeUnauthorized, "")
}

func TestAuthenticate_AppliesNotificationsImmediately(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{ttl: time.Minute, listen: true})
	w.runChecker()
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	key, keyID := w.key(acme, worker)
	session, sessionID := w.session(acme, worker)
	isRejected := func(text, reason string) func() bool {
		return func() bool {
			_, err := w.authenticate(text)
			return fault.HasCode(err, fault.CodeUnauthorized) && fault.From(err).Reason == reason
		}
	}
	isAccepted := func(text string) func() bool {
		return func() bool { _, err := w.authenticate(text); return err == nil }
	}
	pgtest.Eventually(t, time.Minute, "both credentials are accepted", func() bool { return isAccepted(key)() && isAccepted(session)() })
	// The listener may still be connecting: repeat until it has received a notification.
	pgtest.Eventually(t, time.Minute, "the key is rejected after the user's suspension", func() bool {
		w.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, worker)
		if isRejected(key, principal.ReasonSuspended)() {
			return true
		}
		w.exec(`UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`, worker)
		return false
	})
	w.exec(`UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`, worker)
	pgtest.Eventually(t, time.Minute, "both credentials are accepted after the user's activation", func() bool { return isAccepted(key)() && isAccepted(session)() })

	w.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, worker)
	pgtest.Eventually(t, time.Minute, "the session is rejected after the membership's suspension", isRejected(session, principal.ReasonNotInTenant))
	w.exec(`UPDATE identity.memberships SET status = 'ACTIVE' WHERE user_id = $1`, worker)
	pgtest.Eventually(t, time.Minute, "both credentials are accepted after the membership's activation", func() bool { return isAccepted(key)() && isAccepted(session)() })

	w.exec(`UPDATE identity.tenants SET disabled_at = now() WHERE id = $1`, acme)
	pgtest.Eventually(t, time.Minute, "the key is rejected after the tenant was disabled", isRejected(key, principal.ReasonTenantDisabled))
	w.exec(`UPDATE identity.tenants SET disabled_at = NULL WHERE id = $1`, acme)
	pgtest.Eventually(t, time.Minute, "both credentials are accepted after the tenant was enabled", func() bool { return isAccepted(key)() && isAccepted(session)() })

	w.exec(`UPDATE identity.api_keys SET revoked_at = now(), revoked_by = owner_id WHERE jti = $1`, keyID)
	pgtest.Eventually(t, time.Minute, "the revoked key is rejected", isRejected(key, ""))
	w.exec(`UPDATE identity.sessions SET revoked_at = now() WHERE jti = $1`, sessionID)
	pgtest.Eventually(t, time.Minute, "the revoked session is rejected", isRejected(session, ""))
}

// Notifications are lost while the listener is disconnected, so the checker clears its
// caches when the listener reconnects.
func TestAuthenticate_AfterReconnect_ClearsCaches(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{ttl: time.Minute, listen: true})
	w.runChecker()
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	listeners := func() int {
		var n int
		err := w.owner.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'parapet-notifications' AND query LIKE 'LISTEN%'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	pgtest.Eventually(t, time.Minute, "the listener is connected", func() bool { return listeners() == 1 })
	w.exec(`ALTER TABLE identity.api_keys DISABLE TRIGGER api_keys_notify`)
	// The checker clears its caches when the listener connects, and notifications of the
	// changes above may still arrive. Repeat until a revoked key is still accepted: then
	// its notification was lost.
	var key string
	pgtest.Eventually(t, time.Minute, "a revoked key is accepted from the cache", func() bool {
		var jti op.UUID
		key, jti = w.key(acme, worker)
		if _, err := w.authenticate(key); err != nil {
			t.Fatal(err)
		}
		w.exec(`UPDATE identity.api_keys SET revoked_at = now(), revoked_by = owner_id WHERE jti = $1`, jti)
		_, err := w.authenticate(key)
		return err == nil
	})
	w.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'parapet-notifications'`)
	pgtest.Eventually(t, time.Minute, "the revoked key is rejected after the listener has reconnected", func() bool {
		_, err := w.authenticate(key)
		return fault.HasCode(err, fault.CodeUnauthorized)
	})
}

func TestRun_WritesLastUsedAtAtMostOncePerMinute(t *testing.T) {
	t.Parallel()
	w := newFixture(t, options{ttl: time.Minute})
	w.runChecker()
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	key, keyID := w.key(acme, worker)
	other, otherID := w.key(acme, worker)
	lastUsed := func(jti op.UUID) *time.Time {
		var at *time.Time
		if err := w.owner.QueryRow(t.Context(), `SELECT last_used_at FROM identity.api_keys WHERE jti = $1`, jti).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	if lastUsed(keyID) != nil {
		t.Fatal("last_used_at is set before the first use")
	}
	first := w.clock.Now()
	use := func(key string) {
		t.Helper()
		if _, err := w.authenticate(key); err != nil {
			t.Fatal(err)
		}
	}
	use(key)
	pgtest.Eventually(t, time.Minute, "the first use is written to last_used_at", func() bool { at := lastUsed(keyID); return at != nil && at.Equal(first) })
	w.clock.setTime(first.Add(59 * time.Second))
	use(key)
	// Pending uses are written together: after the other key's use, none of the first key is pending.
	use(other)
	pgtest.Eventually(t, time.Minute, "the use of the other key is written to last_used_at", func() bool { return lastUsed(otherID) != nil })
	if at := lastUsed(keyID); !at.Equal(first) {
		t.Errorf("got last_used_at %s, want the first use: it is written at most once per minute", at)
	}
	w.clock.setTime(first.Add(60 * time.Second))
	use(key)
	pgtest.Eventually(t, time.Minute, "a use one minute later is written to last_used_at", func() bool { return lastUsed(keyID).Equal(first.Add(60 * time.Second)) })
}
