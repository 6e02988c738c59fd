package identity

import (
	"context"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// provider proves who a person is; what AUTH_PROVIDER chooses. It gives the
// accounts of the address and, of these, the ones that the proof is good for.
type provider interface {
	// tenant is the one to act in, or empty.
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

// maxTriedAccounts is how many passwords a login compares, however many accounts the
// address has: the time must not tell in how many tenants an address is known.
const maxTriedAccounts = 4

// localProvider proves by password.
type localProvider struct {
	accounts  postgres.Querier
	passwords verifier
}

// verifier compares a password with a stored hash; *password.Hasher is one.
type verifier interface {
	Verify(ctx context.Context, stored, password string) (bool, error)
}

// Members of the tenant that the login names come first, so accounts of the same
// address elsewhere, which anybody's administrator can create, keep nobody out.
const accountsSQL = `
SELECT u.id, u.home_tenant_id, u.email, u.display_name, u.status, coalesce(u.password_hash, '') AS password_hash
FROM identity.users u
WHERE lower(u.email) = lower(@email) AND u.principal_kind = 'HUMAN'
ORDER BY coalesce(u.home_tenant_id = nullif(@tenant, '')::uuid, false) DESC,
         EXISTS (SELECT 1 FROM identity.memberships m WHERE m.tenant_id = nullif(@tenant, '')::uuid AND m.user_id = u.id) DESC,
         u.status = 'ACTIVE' DESC, u.created_at, u.id
LIMIT @most`

// authenticate compares the password with the accounts of the address, and with nothing
// at the same cost where there are fewer.
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
