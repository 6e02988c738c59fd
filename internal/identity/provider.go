package identity

import (
	"context"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// provider authenticates a person at login; AUTH_PROVIDER selects one. authenticate returns
// the accounts of the e-mail address (known) and those whose credentials are correct (proven).
type provider interface {
	// tenant is the tenant to act in, or empty.
	authenticate(ctx context.Context, email, password string, tenant op.UUID) (known, proven []account, err error)
}

// account is one user record of an e-mail address.
type account struct {
	ID           op.UUID
	HomeTenantID op.UUID
	Email        string
	DisplayName  string
	Status       string
	PasswordHash string
}

// maxTriedAccounts is the number of password comparisons of a login. It is constant, so that
// the time does not reveal how many accounts an address has.
const maxTriedAccounts = 4

// localProvider authenticates with the stored password.
type localProvider struct {
	accounts  postgres.Querier
	passwords verifier
}

// verifier compares a password with a stored hash; implemented by *password.Hasher.
type verifier interface {
	Verify(ctx context.Context, stored, password string) (bool, error)
}

// Accounts with access to the requested tenant come first. Otherwise administrators of
// other tenants could lock a person out by creating accounts with the same address.
const accountsSQL = `
SELECT u.id, u.home_tenant_id, u.email, u.display_name, u.status, coalesce(u.password_hash, '') AS password_hash
FROM identity.users u
WHERE u.email_key = lower(@email) AND u.principal_kind = 'HUMAN'
ORDER BY coalesce(u.home_tenant_id = nullif(@tenant, '')::uuid, false) DESC,
         EXISTS (SELECT 1 FROM identity.memberships m WHERE m.tenant_id = nullif(@tenant, '')::uuid AND m.user_id = u.id) DESC,
         u.status = 'ACTIVE' DESC, u.created_at, u.id
LIMIT @most`

// authenticate compares the password with each account of the address. If there are fewer
// than maxTriedAccounts, it compares with a dummy hash at the same cost.
func (p *localProvider) authenticate(ctx context.Context, email, password string, tenant op.UUID) (known, proven []account, err error) {
	known, err = postgres.Collect[account](ctx, p.accounts, accountsSQL, postgres.Args{"email": email, "tenant": tenant, "most": maxTriedAccounts})
	if err != nil {
		return nil, nil, postgres.MapError(err)
	}
	for i := range maxTriedAccounts {
		var a account
		if i < len(known) {
			a = known[i]
		}
		ok, err := p.passwords.Verify(ctx, a.PasswordHash, password)
		if err != nil {
			return nil, nil, fault.Unavailable(err)
		}
		if ok {
			proven = append(proven, a)
		}
	}
	return known, proven, nil
}
