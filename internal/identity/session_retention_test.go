package identity_test

import (
	"testing"
	"time"

	"parapet/internal/postgres"
)

func TestPruneSessions_DeletesOldSessionsOnly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.login("member@acme.example")
	r.login("admin@globex.example")
	if n, err := r.service.PruneSessions(t.Context(), time.Now()); err != nil || n != 0 {
		t.Fatalf("active sessions: got %d deleted, %v, want none", n, err)
	}
	// The database role cannot delete an active session, whatever time is given.
	if n, err := r.service.PruneSessions(t.Context(), time.Now().Add(365*24*time.Hour)); err != nil || n != 0 {
		t.Fatalf("with a clock that is ahead: got %d deleted, %v, want none", n, err)
	}
	if _, err := r.owner.Exec(t.Context(), `UPDATE identity.sessions SET created_at = created_at - interval '60 days', expires_at = expires_at - interval '60 days' WHERE tenant_id = $1`, r.acme.id); err != nil {
		t.Fatal(err)
	}
	if n, err := r.service.PruneSessions(t.Context(), time.Now()); err != nil || n != 1 {
		t.Fatalf("old session: got %d deleted, %v, want 1", n, err)
	}
	tag, err := r.db.Pool(t, postgres.RoleIdentity).Exec(t.Context(), `DELETE FROM identity.sessions`)
	if err == nil {
		t.Fatalf("DELETE as parapet_identity: got %v, want an error", tag)
	}
	if n := queryValue[int](r, `SELECT count(*) FROM identity.sessions`); n != 1 {
		t.Fatalf("got %d sessions, want 1", n)
	}
}
