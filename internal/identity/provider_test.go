package identity

import (
	"context"
	"testing"

	"parapet/internal/password"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
)

// A login compares the same number of passwords, however many accounts the address has.
func TestAuthenticate_ComparesConstantNumberOfPasswords(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner := db.Owner(t)
	hasher, err := password.New(password.MinParams(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		_, err := owner.Exec(t.Context(), `WITH t AS (INSERT INTO identity.tenants (id, slug, name) VALUES (gen_random_uuid(), $1, 'x') RETURNING id)
			INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name)
			SELECT gen_random_uuid(), id, 'HUMAN', $2, 'x' FROM t`, "t-"+string(rune('a'+i)), map[bool]string{true: "one@x.example", false: "many@x.example"}[i == 0])
		if err != nil {
			t.Fatal(err)
		}
	}
	for email, accounts := range map[string]int{"nobody@x.example": 0, "one@x.example": 1, "many@x.example": maxTriedAccounts} {
		counter := &countingVerifier{hasher: hasher}
		p := &localProvider{accounts: db.Pool(t, postgres.RoleAuth), passwords: counter}
		known, proven, err := p.authenticate(t.Context(), email, "not the password", "")
		if err != nil || len(known) != accounts || len(proven) != 0 {
			t.Errorf("%s: got %d known and %d proven accounts, %v, want %d and 0", email, len(known), len(proven), err, accounts)
		}
		if counter.n != maxTriedAccounts {
			t.Errorf("%s: got %d comparisons, want %d", email, counter.n, maxTriedAccounts)
		}
	}
}

// countingVerifier counts the password comparisons.
type countingVerifier struct {
	hasher *password.Hasher
	n      int
}

func (c *countingVerifier) Verify(ctx context.Context, stored, text string) (bool, error) {
	c.n++
	return c.hasher.Verify(ctx, stored, text)
}
