package identity

import (
	"context"

	"parapet/internal/contract/identity"
	"parapet/internal/postgres"
)

// FoldedName exports foldedName for tests.
func FoldedName(name string) string { return foldedName(name) }

// BeginSession starts a session as login does after it has verified the password.
func BeginSession(ctx context.Context, s *Service, auth postgres.Querier, email string) (*identity.LoginOut, error) {
	accounts, err := postgres.Collect[account](ctx, auth, accountsSQL, postgres.Args{"email": email, "tenant": "", "most": maxTriedAccounts})
	if err != nil {
		return nil, err
	}
	account, membership, err := s.chooseTenant(ctx, accounts, "")
	if err != nil {
		return nil, err
	}
	return s.createSession(ctx, account, membership)
}

// DelegatedOrigins calls delegatedOrigins.
var DelegatedOrigins = delegatedOrigins
