package principal_test

import (
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/principal"
	"parapet/internal/token"
	"parapet/internal/uid"
)

func wantRefusal(t *testing.T, err error, code fault.Code, reason string) {
	t.Helper()
	f := fault.From(err)
	if f == nil || f.Code != code || f.Reason != reason {
		t.Errorf("error %v, want %s with reason %q", err, code, reason)
	}
}

func TestLiveCredentialIsAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{ttl: 30 * time.Second})
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	w.assign(acme, worker, w.role(acme, "Member", "projects.read", "task.update"))
	for name, issue := range map[string]func(op.UUID, op.UUID, ...string) (string, op.UUID){"session": w.session, "api_key": w.key} {
		text, jti := issue(acme, worker, "Member")
		p, err := w.ask(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p.UserID != worker || p.Tenant != acme || p.TokenTenant != acme || p.TokenKind != name || p.JTI != jti || p.Kind != "HUMAN" || p.Email != "worker@acme.example" {
			t.Errorf("%s: principal %+v", name, p)
		}
		if want := (authz.CredentialID{Kind: name, ID: string(jti)}); p.Credential() != want || p.Subject.Credential() != want {
			t.Errorf("%s: credential %+v, the subject's %+v, want %+v", name, p.Credential(), p.Subject.Credential(), want)
		}
		if !p.Subject.Holds("projects.read") || p.Subject.Holds("project.create") {
			t.Errorf("%s: permissions %v", name, p.Subject.Permissions())
		}
		want := "CONFIDENTIAL"
		if name == "api_key" {
			want = "SECRET"
		}
		if p.Clearance() != want {
			t.Errorf("%s: clearance %s, want %s", name, p.Clearance(), want)
		}
		if p.Revision <= 1 {
			t.Errorf("%s: revision %d is not the tenant's", name, p.Revision)
		}
	}
}

func TestAuthenticate_CookieHoldsASessionOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{ttl: 30 * time.Second})
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	w.assign(acme, worker, w.role(acme, "Member", "projects.read"))
	session, _ := w.session(acme, worker, "Member")
	key, _ := w.key(acme, worker, "Member")
	// Asked twice: what is remembered of the key from a header is not for a cookie.
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
					t.Errorf("%s: %v", c.note, err)
				}
				continue
			}
			wantRefusal(t, err, fault.CodeUnauthorized, "")
		}
	}
}

// Each condition on its own, with and without a cache, and back again where the
// specification says that it comes back.
func TestPrincipalCheckConditions(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, break_, mend string
		reason             string
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
	w := newWorld(t, options{})
	for i, c := range cases {
		w.exec(`DELETE FROM identity.api_keys; DELETE FROM identity.memberships; DELETE FROM identity.users; DELETE FROM identity.tenants`)
		acme := w.tenant("acme" + string(rune('a'+i)))
		text, _ := w.key(acme, w.user(acme, "worker@acme.example"))
		if _, err := w.ask(text); err != nil {
			t.Fatalf("%s: before: %v", c.name, err)
		}
		w.exec(c.break_)
		_, err := w.ask(text)
		t.Log(c.name)
		wantRefusal(t, err, fault.CodeUnauthorized, c.reason)
		if c.mend != "" {
			w.exec(c.mend)
			if _, err := w.ask(text); err != nil {
				t.Errorf("%s: after it was mended: %v", c.name, err)
			}
		}
	}
}

// Who is suspended loses their sessions, and is told why all the same: the
// conditions are asked in the specification's order, the credential's own last.
func TestWhyASessionOfSomebodySuspendedEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	acme := w.tenant("acme")
	text, _ := w.session(acme, w.user(acme, "worker@acme.example"))
	w.exec(`UPDATE identity.sessions SET revoked_at = now()`)
	for _, c := range []struct{ sql, mend, reason string }{
		{`UPDATE identity.users SET status = 'SUSPENDED'`, `UPDATE identity.users SET status = 'ACTIVE'`, principal.ReasonSuspended},
		{`UPDATE identity.memberships SET status = 'SUSPENDED'`, `UPDATE identity.memberships SET status = 'ACTIVE'`, principal.ReasonNotInTenant},
		{`UPDATE identity.tenants SET disabled_at = now()`, `UPDATE identity.tenants SET disabled_at = NULL`, principal.ReasonTenantDisabled},
		{`SELECT 1`, `SELECT 1`, ""},
	} {
		w.exec(c.sql)
		_, err := w.ask(text)
		wantRefusal(t, err, fault.CodeUnauthorized, c.reason)
		w.exec(c.mend)
	}
}

// A token whose record says another owner, tenant or kind is nobody's.
func TestTokenMustMatchItsRecord(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{0, 30 * time.Second} {
		w := newWorld(t, options{ttl: ttl})
		acme, globex := w.tenant("acme"), w.tenant("globex")
		worker, colleague := w.user(acme, "worker@acme.example"), w.user(acme, "colleague@acme.example")
		w.member(globex, worker)
		good, jti := w.key(acme, worker)
		if _, err := w.ask(good); err != nil {
			t.Fatal(err)
		}
		for name, forge := range map[string]func(c *token.Claims, k *token.Kind){
			"another owner":  func(c *token.Claims, _ *token.Kind) { c.Subject = colleague },
			"another tenant": func(c *token.Claims, _ *token.Kind) { c.Tenant = globex },
			"another kind of principal": func(c *token.Claims, _ *token.Kind) {
				c.PrincipalKind = "SERVICE"
			},
			"a session by a key's record": func(_ *token.Claims, k *token.Kind) { *k = token.Session },
			"an unknown record":           func(c *token.Claims, _ *token.Kind) { c.ID = uid.New() },
			"an internal token": func(c *token.Claims, k *token.Kind) {
				*k, c.ExpiresAt = token.Internal, c.IssuedAt.Add(time.Minute)
			},
		} {
			c, kind := w.claims(acme, worker), token.APIKey
			c.ID = jti
			forge(&c, &kind)
			if _, err := w.ask(w.sign(c, kind)); !fault.HasCode(err, fault.CodeUnauthorized) || fault.From(err).Reason != "" {
				t.Errorf("ttl %s: %s: %v", ttl, name, err)
			}
		}
	}
}

// The window without notices: a success is believed for the time that is set,
// and never for more than a minute, whatever is set.
func TestCacheWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ttl, max, want time.Duration }{
		{30 * time.Second, time.Minute, 30 * time.Second},
		{10 * time.Minute, 10 * time.Minute, time.Minute},
		{30 * time.Second, 5 * time.Second, 5 * time.Second},
	} {
		w := newWorld(t, options{ttl: c.ttl, max: c.max})
		acme := w.tenant("acme")
		text, _ := w.key(acme, w.user(acme, "worker@acme.example"))
		if _, err := w.ask(text); err != nil {
			t.Fatal(err)
		}
		w.exec(`UPDATE identity.api_keys SET revoked_at = now(), revoked_by = owner_id`)
		start := w.clock.Now()
		w.clock.set(start.Add(c.want - time.Second))
		if _, err := w.ask(text); err != nil {
			t.Errorf("%+v: refused inside the window: %v", c, err)
		}
		w.clock.set(start.Add(c.want))
		_, err := w.ask(text)
		wantRefusal(t, err, fault.CodeUnauthorized, "")
	}
}

// A record's own expiry is not stretched by what is remembered of it.
func TestRememberedRecordExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{ttl: 30 * time.Second})
	acme := w.tenant("acme")
	text, _ := w.key(acme, w.user(acme, "worker@acme.example"))
	w.exec(`UPDATE identity.api_keys SET expires_at = $1`, w.clock.Now().Add(10*time.Second))
	if _, err := w.ask(text); err != nil {
		t.Fatal(err)
	}
	w.clock.add(10 * time.Second)
	_, err := w.ask(text)
	wantRefusal(t, err, fault.CodeUnauthorized, "")
}

func TestNoticeDropsEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{ttl: time.Minute, listen: true})
	w.run()
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	key, keyID := w.key(acme, worker)
	session, sessionID := w.session(acme, worker)
	refused := func(text, reason string) func() bool {
		return func() bool {
			_, err := w.ask(text)
			return fault.HasCode(err, fault.CodeUnauthorized) && fault.From(err).Reason == reason
		}
	}
	accepted := func(text string) func() bool {
		return func() bool { _, err := w.ask(text); return err == nil }
	}
	const soon = 5 * time.Second
	within(t, soon, "both are accepted", func() bool { return accepted(key)() && accepted(session)() })
	// The listener may still be connecting: prove that it hears before relying on it.
	within(t, soon, "a suspension is heard", func() bool {
		w.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, worker)
		if refused(key, principal.ReasonSuspended)() {
			return true
		}
		w.exec(`UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`, worker)
		return false
	})
	w.exec(`UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`, worker)
	within(t, soon, "accepted again", func() bool { return accepted(key)() && accepted(session)() })

	w.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, worker)
	within(t, soon, "a membership's end is heard", refused(session, principal.ReasonNotInTenant))
	w.exec(`UPDATE identity.memberships SET status = 'ACTIVE' WHERE user_id = $1`, worker)
	within(t, soon, "accepted again", func() bool { return accepted(key)() && accepted(session)() })

	w.exec(`UPDATE identity.tenants SET disabled_at = now() WHERE id = $1`, acme)
	within(t, soon, "a tenant's end is heard", refused(key, principal.ReasonTenantDisabled))
	w.exec(`UPDATE identity.tenants SET disabled_at = NULL WHERE id = $1`, acme)
	within(t, soon, "accepted again", func() bool { return accepted(key)() && accepted(session)() })

	w.exec(`UPDATE identity.api_keys SET revoked_at = now(), revoked_by = owner_id WHERE jti = $1`, keyID)
	within(t, soon, "a revoked key is heard", refused(key, ""))
	w.exec(`UPDATE identity.sessions SET revoked_at = now() WHERE jti = $1`, sessionID)
	within(t, soon, "a revoked session is heard", refused(session, ""))
}

// The listener's connection is cut while a key is revoked: the new connection
// begins by forgetting everything.
func TestLostNoticeIsMadeUpFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{ttl: time.Minute, listen: true})
	w.run()
	acme := w.tenant("acme")
	worker := w.user(acme, "worker@acme.example")
	listeners := func() int {
		var n int
		err := w.owner.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'parapet-notices' AND query LIKE 'LISTEN%'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	within(t, 5*time.Second, "a listener is there", func() bool { return listeners() == 1 })
	w.exec(`ALTER TABLE identity.api_keys DISABLE TRIGGER api_keys_notify`)
	// A listener forgets everything when it begins, and notices of the people
	// above may still come: only a key that is still believed after its
	// revocation has lost its notice.
	var key string
	within(t, 10*time.Second, "a revocation that nobody hears of", func() bool {
		var jti op.UUID
		key, jti = w.key(acme, worker)
		if _, err := w.ask(key); err != nil {
			t.Fatal(err)
		}
		w.exec(`UPDATE identity.api_keys SET revoked_at = now(), revoked_by = owner_id WHERE jti = $1`, jti)
		_, err := w.ask(key)
		return err == nil
	})
	w.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'parapet-notices'`)
	within(t, 10*time.Second, "the revocation is seen after listening again", func() bool {
		_, err := w.ask(key)
		return fault.HasCode(err, fault.CodeUnauthorized)
	})
}

func TestLastUsedAtIsWrittenBehindOnceAMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{ttl: time.Minute})
	w.run()
	acme := w.tenant("acme")
	key, jti := w.key(acme, w.user(acme, "worker@acme.example"))
	lastUsed := func() *time.Time {
		var at *time.Time
		if err := w.owner.QueryRow(t.Context(), `SELECT last_used_at FROM identity.api_keys WHERE jti = $1`, jti).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	if lastUsed() != nil {
		t.Fatal("used before it was used")
	}
	first := w.clock.Now()
	use := func() {
		t.Helper()
		if _, err := w.ask(key); err != nil {
			t.Fatal(err)
		}
	}
	use()
	within(t, 5*time.Second, "the first use is written", func() bool { at := lastUsed(); return at != nil && at.Equal(first) })
	w.clock.set(first.Add(59 * time.Second))
	use()
	time.Sleep(700 * time.Millisecond)
	if at := lastUsed(); !at.Equal(first) {
		t.Errorf("written again within the minute: %s", at)
	}
	w.clock.set(first.Add(60 * time.Second))
	use()
	within(t, 5*time.Second, "a use after a minute is written", func() bool { return lastUsed().Equal(first.Add(60 * time.Second)) })
}
