// Package identity implements the identity module: tenants, organisations, users, roles,
// sessions and API keys. It is the only writer of the database schema identity.
//
// Guarantees:
//   - A token is returned only by the operation that creates it. The database stores its
//     record, never the token.
//   - A failed login does not reveal whether an account exists, neither by its response nor
//     by its duration.
//   - A key for a SERVICE principal is issued only while the principal exactly matches its
//     registered profile.
//   - Only the user sets or knows the password of an existing account: a reset link is sent
//     to the account's own address, and only its digest is stored.
//   - integration_key is written once, by provisioning, and by nothing else.
//
// Files are named after nouns: session.go contains the rules for sessions,
// session_store.go the SQL, and so on.
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

// Policies is the part of the policy engine that the module uses.
type Policies interface {
	Evaluate(ctx context.Context, q authz.CustomDecision) (authz.Verdict, error)
	Catalogue() *authz.Catalogue
	Subject(ctx context.Context, in authz.SubjectInput) (*authz.Subject, error)
}

// Deps contains the dependencies and settings of the module.
type Deps struct {
	// Pool connects as parapet_identity.
	Pool *postgres.Pool
	// Auth connects as parapet_auth, because login searches accounts in every tenant.
	Auth      *postgres.Pool
	Executor  *executor.Module
	Policies  Policies
	Tokens    *token.Keyring
	Passwords *password.Hasher
	Clock     clock.Clock
	Log       *slog.Logger
	// Keys are the operator's settings for API keys.
	Keys authz.KeySettings
	// AuthProvider is the setting AUTH_PROVIDER: "local".
	AuthProvider string
	// AgentTenants are the tenants whose agents can be assigned work
	// (AGENT_EXECUTION_TENANT_ALLOWLIST).
	AgentTenants []op.UUID
	// DecisionLogOff means that decisions are not recorded (PT_DECISION_LOG).
	DecisionLogOff bool
	// Throttle limits failed logins; the zero value means DefaultThrottle.
	Throttle Throttle
	// Delegations reads the delegations that an account received.
	Delegations trackercontract.Delegations
	// EventModules are the contracts of all modules, for list-event-types.
	EventModules EventModules
	// Operations returns the operations of all modules, for explain-decision.
	Operations func() []op.Bound
	// Mail sends reset links; nil disables password resets.
	Mail mail.Sender
	// PublicURL is the public address of the service, without a trailing slash. Reset links
	// begin with it.
	PublicURL string
}

// DefaultMaxActivePersonal is the default for the maximum number of active personal keys of
// a user.
const DefaultMaxActivePersonal = 50

// Service is the identity module.
type Service struct {
	deps     Deps
	executor *executor.Module
	provider provider
	throttle *throttle
	// resets limits requests for reset links.
	resets *throttle
}

// New returns the module. An error names the invalid setting.
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
	if d.Operations == nil {
		d.Operations = func() []op.Bound { return nil }
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

// checkProvider checks AUTH_PROVIDER. Another provider would implement the interface
// provider.
func checkProvider(name string) error {
	switch name {
	case "local":
		return nil
	case "oidc":
		return errors.New("setting AUTH_PROVIDER: oidc is reserved and not available yet; set it to local")
	default:
		return fmt.Errorf("setting AUTH_PROVIDER: unknown provider %q; set it to local", name)
	}
}

// Operations returns the module's operations, bound to its executor.
func (s *Service) Operations() []op.Bound {
	var all []op.Bound
	all = append(all, s.sessionOperations()...)
	all = append(all, s.meOperations()...)
	all = append(all, s.keyOperations()...)
	all = append(all, s.directoryOperations()...)
	return all
}
