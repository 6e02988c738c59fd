package identity

import (
	"context"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/password"
	"parapet/internal/postgres"
)

// provider proves who a person is; what AUTH_PROVIDER chooses. It gives the
// accounts of the address and, of these, the ones that the proof is good for.
type provider interface {
	prove(ctx context.Context, email, password string) (known, proven []account, err error)
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

// maxAccounts bounds the accounts of one address that a login tries. An address
// is unique in a tenant, so only many tenants make many accounts.
const maxAccounts = 4

// localProvider proves by password.
type localProvider struct {
	accounts  postgres.Querier
	passwords *password.Hasher
}

const accountsSQL = `
SELECT id, home_tenant_id, email, display_name, status, coalesce(password_hash, '') AS password_hash
FROM identity.users
WHERE lower(email) = lower(@email) AND principal_kind = 'HUMAN'
ORDER BY status = 'ACTIVE' DESC, created_at, id
LIMIT @most`

// prove compares the password with every account of the address, and with
// nothing at the same cost where there is none.
func (p *localProvider) prove(ctx context.Context, email, password string) (known, proven []account, err error) {
	known, err = postgres.Collect[account](ctx, p.accounts, accountsSQL, postgres.Args{"email": email, "most": maxAccounts})
	if err != nil {
		return nil, nil, postgres.MapError(err)
	}
	tried := known
	if len(tried) == 0 {
		tried = []account{{}}
	}
	for _, a := range tried {
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
