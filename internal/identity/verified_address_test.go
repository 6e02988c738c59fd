package identity_test

import (
	"os"
	"strings"
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/op"
)

// An address identifies its user only if an administrator has set it, or if the user can read
// the mailbox.
func TestEmailVerified_IsFalseAfterUserChangesOwnAddress(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	changeOwn := func(from, to string) {
		t.Helper()
		must[op.None](r, "change-email", request{token: r.login(from), body: body(fields{"email": to, "currentPassword": testPassword})})
	}
	setBy := func(token string, user op.UUID, email string) {
		t.Helper()
		must[contract.User](r, "update-user", pathRequest(token, "userId", user, fields{"email": email}))
	}
	steps := []struct {
		name, user, email string
		change            func(user op.UUID, email string)
		want              bool
	}{
		{"the user takes a new address", "member", "alice@acme.example", func(_ op.UUID, email string) { changeOwn("member@acme.example", email) }, false},
		{"an administrator changes the display name only", "member", "alice@acme.example", func(user op.UUID, _ string) {
			must[contract.User](r, "update-user", pathRequest(admin, "userId", user, fields{"displayName": "Alice"}))
		}, false},
		{"the user resets the password with a link that was sent to the address", "member", "alice@acme.example", func(_ op.UUID, email string) {
			must[op.None](r, "request-password-reset", request{body: body(fields{"email": email})})
			r.runResetJobs()
			_, tokens := r.sentMail.links(t)
			if err := r.resetPassword(tokens[len(tokens)-1], newPassword); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"an administrator sets an address", "guest", "bob@acme.example", func(user op.UUID, email string) { setBy(admin, user, email) }, true},
		{"the user confirms the address", "guest", "bob@acme.example", func(_ op.UUID, email string) { changeOwn(email, email) }, true},
		{"the user changes the case of the address", "guest", "BOB@acme.example", func(_ op.UUID, email string) { changeOwn("bob@acme.example", email) }, false},
		{"an administrator sets the same address", "guest", "BOB@acme.example", func(user op.UUID, email string) { setBy(admin, user, email) }, true},
		{"an administrator takes a new address", "admin", "carol@acme.example", func(user op.UUID, email string) { setBy(admin, user, email) }, false},
		{"an administrator repeats the own address", "admin", "carol@acme.example", func(user op.UUID, email string) { setBy(admin, user, email) }, false},
	}
	for _, s := range steps {
		user := r.acme.people[s.user]
		s.change(user, s.email)
		u := must[contract.User](r, "get-user", pathRequest(admin, "userId", user, nil))
		if u.Email != s.email || u.EmailVerified != s.want {
			t.Errorf("%s: got %s, verified %t, want %s, verified %t", s.name, u.Email, u.EmailVerified, s.email, s.want)
		}
		for _, p := range must[op.Page[contract.Colleague]](r, "list-people", request{token: admin}).Items {
			if p.ID == user && p.EmailVerified != s.want {
				t.Errorf("%s: list-people: got verified %t, want %t", s.name, p.EmailVerified, s.want)
			}
		}
		found, err := r.service.Candidate(t.Context(), r.acme.id, s.email)
		if err != nil {
			t.Fatal(err)
		}
		if isFound := found.ID == user; isFound != s.want {
			t.Errorf("%s: found by address: %t, want %t", s.name, isFound, s.want)
		}
	}

	// The migration derives the same states from the audit log.
	const states = `SELECT string_agg(email || ' ' || address_verified, ', ' ORDER BY email) FROM identity.users`
	want := queryValue[string](r, states)
	r.exec(`UPDATE identity.users SET address_verified = true`)
	migration, err := os.ReadFile("../../migrations/identity/0005_verified_addresses.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, backfill, _ := strings.Cut(string(migration), "WITH changes AS")
	backfill, _, _ = strings.Cut(backfill, ";")
	r.exec("WITH changes AS" + backfill)
	if got := queryValue[string](r, states); got != want {
		t.Errorf("migration: got %s, want %s", got, want)
	}
}
