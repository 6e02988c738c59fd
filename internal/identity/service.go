// Package identity is the identity module: tenants, organisations, people and
// integrations, roles, sessions and API keys. It is the only writer of the
// schema identity.
//
// It promises:
//   - A token leaves the module once, in the answer of the operation that made
//     it; what is kept is the record.
//   - Whether an account exists cannot be told from a login that fails: neither
//     by the answer nor by the work that it costs.
//   - A key for a SERVICE principal exists only if, at the moment of its issue,
//     the principal was exactly its registered profile.
//   - Nobody but its holder sets or learns the password of an account that exists:
//     a reset link goes to the account's own address, and only its digest is kept.
//   - integration_key is written once, by provisioning, and by nothing else.
//
// Files are named after nouns: the rules in session.go, the SQL in
// session_store.go, and so on.
package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"parapet/internal/authz"
	"parapet/internal/clock"
	trackercontract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/mail"
	"parapet/internal/op"
	"parapet/internal/password"
	"parapet/internal/postgres"
	"parapet/internal/token"
)

// Policies are what the module asks of the policy engine.
type Policies interface {
	Evaluate(ctx context.Context, q authz.CustomDecision) (authz.Verdict, error)
	Catalogue() *authz.Catalogue
}

// Deps is what the module works with.
type Deps struct {
	// Pool is parapet_identity's.
	Pool *postgres.Pool
	// Auth is parapet_auth's: login looks for accounts in every tenant.
	Auth      *postgres.Pool
	Executor  *executor.Module
	Policies  Policies
	Tokens    *token.Keyring
	Passwords *password.Hasher
	Clock     clock.Clock
	Log       *slog.Logger
	// Keys are the operator's settings for the life of API keys.
	Keys authz.KeySettings
	// AuthProvider is AUTH_PROVIDER: "local".
	AuthProvider string
	// AgentTenants are the tenants whose synthetic agents can be given work:
	// AGENT_EXECUTION_TENANT_ALLOWLIST.
	AgentTenants []op.UUID
	// Throttle bounds failed logins; the zero value is DefaultThrottle.
	Throttle Throttle
	// Delegations tells what was delegated to an account.
	Delegations trackercontract.Delegations
	// Mail sends reset links; without it no reset is started.
	Mail mail.Sender
	// PublicURL is where people reach the service, without a slash at the end: links
	// begin with it.
	PublicURL string
}

// DefaultMaxActivePersonal is how many active personal keys a user has at most
// where nobody set another number.
const DefaultMaxActivePersonal = 50

// Service is the identity module.
type Service struct {
	deps     Deps
	executor *executor.Module
	provider provider
	throttle *throttle
	// resets bounds requests for reset links.
	resets *throttle
}

// New makes the module. The error names the setting that is wrong.
func New(d Deps) (*Service, error) {
	if err := checkProvider(d.AuthProvider); err != nil {
		return nil, err
	}
	if d.Pool == nil || d.Auth == nil || d.Executor == nil || d.Policies == nil || d.Tokens == nil || d.Passwords == nil || d.Delegations == nil {
		return nil, errors.New("identity: pools, executor, policies, tokens, passwords and delegations are required")
	}
	if d.Clock == nil {
		d.Clock = clock.System{}
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Keys.MaxActivePersonal == 0 {
		d.Keys.MaxActivePersonal = DefaultMaxActivePersonal
	}
	if d.Throttle == (Throttle{}) {
		d.Throttle = DefaultThrottle()
	}
	return &Service{
		deps: d, executor: d.Executor, throttle: newThrottle(d.Throttle), resets: newThrottle(resetThrottle()),
		provider: &localProvider{accounts: d.Auth, passwords: d.Passwords},
	}, nil
}

// checkProvider refuses what AUTH_PROVIDER cannot be. The place of another
// provider is the interface of that name: what proves who a person is.
func checkProvider(name string) error {
	switch name {
	case "local":
		return nil
	case "oidc":
		return errors.New("setting AUTH_PROVIDER: oidc is reserved and not available yet; set it to local")
	default:
		return fmt.Errorf("setting AUTH_PROVIDER: %q is not a provider; set it to local", name)
	}
}

// Operations are the module's operations, bound to its executor.
func (s *Service) Operations() []op.Bound {
	var all []op.Bound
	all = append(all, s.sessionOperations()...)
	all = append(all, s.meOperations()...)
	all = append(all, s.keyOperations()...)
	all = append(all, s.directoryOperations()...)
	return all
}
