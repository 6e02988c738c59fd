package identity

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/principal"
	"parapet/internal/token"
	"parapet/internal/uid"
)

// sessionLifetime is the lifetime of a session.
const sessionLifetime = 12 * time.Hour

func (s *Service) sessionOperations() []op.Bound {
	return []op.Bound{
		executor.Public(s.executor, contract.Login, s.login),
		executor.Authenticated(s.executor, contract.Logout, s.logout),
		executor.Authenticated(s.executor, contract.ChangePassword, s.changePassword),
		executor.Authenticated(s.executor, contract.ChangeEmail, s.changeEmail),
		executor.Public(s.executor, contract.RequestPasswordReset, s.requestPasswordReset),
		executor.Public(s.executor, contract.ResetPassword, s.resetPassword),
	}
}

// login checks the password before anything else, so that it reveals the state of an account
// only to somebody who knows its password.
func (s *Service) login(ctx context.Context, in *contract.LoginIn) (*contract.LoginOut, error) {
	client := op.ClientAddr(ctx)
	if wait, ok := s.throttle.consume(in.Email, client, s.deps.Clock.Now()); !ok {
		return nil, fault.RateLimited(wait)
	}
	known, proven, err := s.provider.authenticate(ctx, in.Email, in.Password, in.TenantID)
	if err != nil {
		return nil, err
	}
	if len(proven) == 0 {
		s.auditRejectedLogin(ctx, known, "")
		return nil, fault.Unauthorized()
	}
	s.throttle.refund(in.Email, client, s.deps.Clock.Now())
	account, membership, err := s.chooseTenant(ctx, proven, in.TenantID)
	if err != nil {
		if f := fault.From(err); f.Code == fault.CodeUnauthorized {
			s.auditRejectedLogin(ctx, proven, f.Reason)
		}
		return nil, err
	}
	return s.createSession(ctx, account, membership)
}

// auditRejectedLogin records a failed login in the audit chain without a tenant, because no
// tenant is known yet. An unknown address is recorded too, so that it takes the same time;
// the entry does not contain the address.
func (s *Service) auditRejectedLogin(ctx context.Context, accounts []account, reason string) {
	users := []string{}
	for _, a := range accounts {
		users = append(users, string(a.ID))
	}
	err := s.deps.Auth.InTx(ctx, "", nil, func(tx *postgres.Tx) error {
		return queueAudit(ctx, tx.Final(), systemAuditEntry{
			ActorType: "anonymous", Action: contract.ActionSessionRefused, ResourceType: "session",
			Changes: map[string]any{"users": users, "reason": reason, "client": op.ClientAddr(ctx)},
		})
	})
	if err != nil {
		s.deps.Log.WarnContext(ctx, "could not audit the failed login", slog.String("requestId", op.RequestID(ctx)), slog.Any("error", err))
	}
}

// chooseTenant selects the account and the tenant of the new session. It returns the errors
// that the credential check would return for the session's token.
func (s *Service) chooseTenant(ctx context.Context, proven []account, tenant op.UUID) (account, loginTenant, error) {
	var users []op.UUID
	for _, a := range proven {
		if a.Status == "ACTIVE" {
			users = append(users, a.ID)
		}
	}
	if len(users) == 0 {
		reason := principal.ReasonSuspended
		if proven[0].Status == "DELETED" {
			reason = principal.ReasonNotInTenant
		}
		return account{}, loginTenant{}, fault.Unauthorized().WithReason(reason)
	}
	all, err := readLoginTenants(ctx, s.deps.Auth, users)
	if err != nil {
		return account{}, loginTenant{}, postgres.MapError(err)
	}
	rejection := fault.Unauthorized().WithReason(principal.ReasonNotInTenant)
	var candidates []loginTenant
	for _, p := range all {
		switch {
		case tenant != "" && p.TenantID != tenant, p.Membership != "ACTIVE":
		case !p.TenantEnabled:
			rejection = fault.Unauthorized().WithReason(principal.ReasonTenantDisabled)
		default:
			candidates = append(candidates, p)
		}
	}
	if len(candidates) == 0 {
		return account{}, loginTenant{}, rejection
	}
	if slices.ContainsFunc(candidates, func(p loginTenant) bool { return p.UserID != candidates[0].UserID }) {
		return account{}, loginTenant{}, ambiguousAccountError(candidates)
	}
	// The first candidate is the account's home tenant, if it may act in it.
	i := slices.IndexFunc(proven, func(a account) bool { return a.ID == candidates[0].UserID })
	return proven[i], candidates[0], nil
}

// ambiguousAccountError returns an error with the tenants to choose from. The caller has
// proven that all these accounts are theirs.
func ambiguousAccountError(candidates []loginTenant) error {
	var tenants []string
	for _, p := range candidates {
		if !slices.Contains(tenants, string(p.TenantID)) {
			tenants = append(tenants, string(p.TenantID))
		}
	}
	return fault.Conflict("This address has accounts in several tenants. Set tenantId to one of them.").
		WithDetails(map[string]any{"tenants": tenants})
}

// createSession stores the session and signs its token, in one transaction with the audit
// entry.
func (s *Service) createSession(ctx context.Context, a account, membership loginTenant) (*contract.LoginOut, error) {
	now := s.deps.Clock.Now()
	jti := uid.New()
	out := &contract.LoginOut{
		TenantID:  membership.TenantID,
		ExpiresAt: now.Truncate(time.Second).Add(sessionLifetime),
		User: contract.Person{
			ID: a.ID, Email: a.Email, DisplayName: a.DisplayName, PrincipalKind: "HUMAN", Status: a.Status, Clearance: membership.Clearance,
		},
	}
	err := s.deps.Auth.InTx(ctx, string(membership.TenantID), nil, func(tx *postgres.Tx) error {
		held, err := readHeldRoles(ctx, tx, membership.TenantID, a.ID)
		if err != nil {
			return err
		}
		roles, scopes := tokenRoles(held, nil)
		out.Token, err = s.signSession(token.Claims{
			ID: jti, Subject: a.ID, Tenant: membership.TenantID, IssuedAt: now, ExpiresAt: out.ExpiresAt,
			Roles: roles, RoleScopes: scopes, PrincipalKind: "HUMAN", Clearance: membership.Clearance, Email: a.Email,
		})
		if err != nil {
			return err
		}
		if err := insertSession(ctx, tx, membership.TenantID, jti, a.ID, now, out.ExpiresAt); err != nil {
			return err
		}
		return queueAudit(ctx, tx.Final(), systemAuditEntry{
			Tenant: membership.TenantID, Actor: a.ID, Action: contract.ActionSessionCreated, ResourceType: "session", ResourceID: jti,
			Changes: map[string]any{"expiry": out.ExpiresAt},
		})
	})
	if err != nil {
		return nil, postgres.MapError(err)
	}
	return out, nil
}

// maxSessionToken is the maximum length of a session token with scopes. Browsers keep only
// cookies of at most 4,096 bytes, with name and attributes.
const maxSessionToken = 3800

// signSession signs the token of a session. It leaves out the scopes of the roles if the
// token would be too long: a session has a role only in the scopes on record in any case. A
// new scope of one of its roles then counts at once, without another login.
func (s *Service) signSession(claims token.Claims) (string, error) {
	text, err := s.deps.Tokens.Issue(claims, token.Session)
	if claims.RoleScopes != nil && (errors.Is(err, token.ErrTooLong) || len(text) > maxSessionToken) {
		claims.RoleScopes = nil
		text, err = s.deps.Tokens.Issue(claims, token.Session)
	}
	if errors.Is(err, token.ErrTooLong) {
		return "", fault.Conflict("You have too many roles for one session. Ask an administrator to remove some of your roles.")
	}
	return text, err
}

// tokenRoles returns the role names for a token, and the scopes of those roles that are not
// held in the whole tenant. keep limits the roles to these names; nil means all roles.
func tokenRoles(held []heldRole, keep []string) (roles []string, scopes map[string][]string) {
	roles = []string{}
	isTenantWide := map[string]bool{}
	for _, h := range held {
		if keep != nil && !slices.Contains(keep, h.Name) {
			continue
		}
		if !slices.Contains(roles, h.Name) {
			roles = append(roles, h.Name)
		}
		if h.Scope == "tenant" {
			isTenantWide[h.Name] = true
			delete(scopes, h.Name)
			continue
		}
		if !isTenantWide[h.Name] {
			if scopes == nil {
				scopes = map[string][]string{}
			}
			scopes[h.Name] = append(scopes[h.Name], h.Scope+":"+h.ScopeID)
		}
	}
	return roles, scopes
}

func (s *Service) logout(ctx context.Context, c *executor.Call, _ *contract.LogoutIn) (*contract.LogoutOut, error) {
	v, err := c.Evaluate(ctx, authz.EndSession{Actor: c.Actor.Subject, SessionTenant: string(c.Actor.TokenTenant)})
	if err := accountFault(v, err); err != nil {
		return nil, err
	}
	if err := revokeSession(ctx, c.DB, c.Actor.TokenTenant, c.Actor.JTI, c.Actor.UserID, c.Now); err != nil {
		return nil, err
	}
	c.Record(executor.Change{Action: contract.ActionSessionRevoked, Type: "session", ID: c.Actor.JTI})
	return &contract.LogoutOut{}, nil
}

// verifyCurrentPassword checks that the caller may change its own credentials and compares
// the given password with the account's. A wrong password counts as a failed login.
func (s *Service) verifyCurrentPassword(ctx context.Context, c *executor.Call, currentPassword string) (accountState, error) {
	account, err := readAccount(ctx, c.DB, c.Actor.UserID)
	if err != nil {
		return account, err
	}
	v, err := c.Evaluate(ctx, authz.ChangeOwnCredentials{Actor: c.Actor.Subject, Account: account.policyAccount()})
	if err := accountFault(v, err); err != nil {
		return account, err
	}
	hash, err := readPasswordHash(ctx, s.deps.Auth, c.Tenant, c.Actor.UserID)
	if err != nil {
		return account, err
	}
	client := op.ClientAddr(ctx)
	if wait, ok := s.throttle.consume(account.Email, client, c.Now); !ok {
		return account, fault.RateLimited(wait)
	}
	matches, err := s.deps.Passwords.Verify(ctx, hash, currentPassword)
	if err != nil {
		return account, fault.Unavailable(err)
	}
	if !matches {
		return account, fault.Validation("currentPassword", "The current password is wrong.")
	}
	s.throttle.refund(account.Email, client, c.Now)
	return account, nil
}

func (s *Service) changePassword(ctx context.Context, c *executor.Call, in *contract.ChangePasswordIn) (*op.None, error) {
	account, err := s.verifyCurrentPassword(ctx, c, in.CurrentPassword)
	if err != nil {
		return nil, err
	}
	if in.NewPassword == in.CurrentPassword {
		return nil, fault.Validation("newPassword", "The new password must differ from the current one.")
	}
	hash, err := s.hashPassword(ctx, "newPassword", in.NewPassword, account.Email)
	if err != nil {
		return nil, err
	}
	if err := setPassword(ctx, c.DB, c.Tenant, c.Actor.UserID, hash, c.Now); err != nil {
		return nil, err
	}
	if err := cancelResets(ctx, c.DB, c.Tenant, c.Actor.UserID, c.Now); err != nil {
		return nil, err
	}
	if err := revokeOtherSessions(ctx, c.DB, c.Tenant, c.Actor.UserID, c.Actor.JTI, c.Now); err != nil {
		return nil, err
	}
	// Sessions in other tenants cannot be revoked in this transaction. They are revoked
	// before the commit: if the commit fails, they are revoked needlessly, but the opposite
	// order could leave a stolen session active.
	if err := revokeOtherTenantSessions(ctx, s.deps.Auth, c.Tenant, c.Actor.UserID, c.Now); err != nil {
		return nil, err
	}
	recordPasswordChange(c, contract.ActionPasswordChanged, c.Actor.UserID, nil)
	return &op.None{}, nil
}

// recordPasswordChange records that a user's password changed. details is nil or auditChanges.
func recordPasswordChange(c *executor.Call, action string, user op.UUID, details any) {
	c.Record(executor.Change{
		Action: action, Type: "user", ID: user, Critical: true, Details: details,
		Event: contract.EventPasswordChanged, Payload: contract.ChangedPassword{ID: user},
	})
}

// changeEmail sets or confirms the caller's own address. It requires the password, because a
// session alone may be stolen.
func (s *Service) changeEmail(ctx context.Context, c *executor.Call, in *contract.ChangeEmailIn) (*op.None, error) {
	account, err := s.verifyCurrentPassword(ctx, c, in.CurrentPassword)
	if err != nil {
		return nil, err
	}
	if err := checkEmail("email", account.PrincipalKind, in.Email); err != nil {
		return nil, err
	}
	if err := setOwnAddress(ctx, c.DB, c.Tenant, c.Actor.UserID, in.Email, c.Now); err != nil {
		return nil, err
	}
	if err := cancelResets(ctx, c.DB, c.Tenant, c.Actor.UserID, c.Now); err != nil {
		return nil, err
	}
	u, err := selectUser(ctx, c.DB, c.Tenant, c.Actor.UserID, false)
	if err != nil {
		return nil, err
	}
	c.Record(executor.Change{
		Action: contract.ActionAddressChanged, Type: "user", ID: u.ID, Critical: true,
		Event: contract.EventUserUpdated, Payload: u, Fields: []string{"email"},
	})
	return &op.None{}, nil
}
