package identity_test

import (
	"testing"
	"time"

	"parapet/internal/postgres"
)

func TestOldSessionsArePruned(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.login("member@acme.example")
	r.login("admin@globex.example")
	if n, err := r.service.PruneSessions(t.Context(), time.Now()); err != nil || n != 0 {
		t.Fatalf("%d live sessions were deleted, %v", n, err)
	}
	// A row that lives is out of the role's reach, whatever moment is said.
	if n, err := r.service.PruneSessions(t.Context(), time.Now().Add(365*24*time.Hour)); err != nil || n != 0 {
		t.Fatalf("%d live sessions were deleted by a clock that is ahead, %v", n, err)
	}
	if _, err := r.owner.Exec(t.Context(), `UPDATE identity.sessions SET created_at = created_at - interval '60 days', expires_at = expires_at - interval '60 days' WHERE tenant_id = $1`, r.acme.id); err != nil {
		t.Fatal(err)
	}
	if n, err := r.service.PruneSessions(t.Context(), time.Now()); err != nil || n != 1 {
		t.Fatalf("%d sessions were deleted, want the old one; %v", n, err)
	}
	tag, err := r.db.Pool(t, postgres.RoleIdentity).Exec(t.Context(), `DELETE FROM identity.sessions`)
	if err == nil {
		t.Fatalf("the module's role may delete sessions: %v", tag)
	}
	if n := queryValue[int](r, `SELECT count(*) FROM identity.sessions`); n != 1 {
		t.Fatalf("%d sessions left, want one", n)
	}
}
