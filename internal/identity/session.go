package identity

import (
	"context"
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

// sessionLifetime is how long a session lasts.
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

// login proves who it is before it looks at anything else, so that what it says
// about an account, it says to the one who knows its password.
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
	who, where, err := s.chooseTenant(ctx, proven, in.TenantID)
	if err != nil {
		if f := fault.From(err); f.Code == fault.CodeUnauthorized {
			s.auditRejectedLogin(ctx, proven, f.Reason)
		}
		return nil, err
	}
	return s.createSession(ctx, who, where)
}

// auditRejectedLogin writes a refused login to the audit chain without a tenant, since
// nobody's tenant is known yet. An address that nobody has is written down as
// well, so that it costs the same; the address itself is not.
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
		s.deps.Log.WarnContext(ctx, "refused login not audited", slog.String("requestId", op.RequestID(ctx)), slog.Any("error", err))
	}
}

// chooseTenant finds the account and the tenant that the session is for. Its refusals
// are those of the principal check, which the token would meet at once.
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
	refusal := fault.Unauthorized().WithReason(principal.ReasonNotInTenant)
	var fit []loginTenant
	for _, p := range all {
		switch {
		case tenant != "" && p.TenantID != tenant, p.Membership != "ACTIVE":
		case !p.TenantEnabled:
			refusal = fault.Unauthorized().WithReason(principal.ReasonTenantDisabled)
		default:
			fit = append(fit, p)
		}
	}
	if len(fit) == 0 {
		return account{}, loginTenant{}, refusal
	}
	if slices.ContainsFunc(fit, func(p loginTenant) bool { return p.UserID != fit[0].UserID }) {
		return account{}, loginTenant{}, ambiguousAccountError(fit)
	}
	// Of one account's places the first is its home, where it may act there.
	i := slices.IndexFunc(proven, func(a account) bool { return a.ID == fit[0].UserID })
	return proven[i], fit[0], nil
}

// ambiguousAccountError lists the tenants, to one who has just proven to be all of these
// accounts.
func ambiguousAccountError(fit []loginTenant) error {
	var tenants []string
	for _, p := range fit {
		if !slices.Contains(tenants, string(p.TenantID)) {
			tenants = append(tenants, string(p.TenantID))
		}
	}
	return fault.Conflict("This address has accounts in several tenants. Say which with tenantId.").
		WithDetails(map[string]any{"tenants": tenants})
}

// createSession records the session and signs its token, in one transaction with the
// audit entry.
func (s *Service) createSession(ctx context.Context, who account, where loginTenant) (*contract.LoginOut, error) {
	now := s.deps.Clock.Now()
	jti := uid.New()
	out := &contract.LoginOut{
		TenantID:  where.TenantID,
		ExpiresAt: now.Truncate(time.Second).Add(sessionLifetime),
		User: contract.Person{
			ID: who.ID, Email: who.Email, DisplayName: who.DisplayName, PrincipalKind: "HUMAN", Status: who.Status, Clearance: where.Clearance,
		},
	}
	err := s.deps.Auth.InTx(ctx, string(where.TenantID), nil, func(tx *postgres.Tx) error {
		held, err := readHeldRoles(ctx, tx, where.TenantID, who.ID)
		if err != nil {
			return err
		}
		roles, scopes := tokenRoles(held, nil)
		out.Token, err = s.deps.Tokens.Issue(token.Claims{
			ID: jti, Subject: who.ID, Tenant: where.TenantID, IssuedAt: now, ExpiresAt: out.ExpiresAt,
			Roles: roles, RoleScopes: scopes, PrincipalKind: "HUMAN", Clearance: where.Clearance, Email: who.Email,
		}, token.Session)
		if err != nil {
			return err
		}
		if err := insertSession(ctx, tx, where.TenantID, jti, who.ID, now, out.ExpiresAt); err != nil {
			return err
		}
		return queueAudit(ctx, tx.Final(), systemAuditEntry{
			Tenant: where.TenantID, Actor: who.ID, Action: contract.ActionSessionCreated, ResourceType: "session", ResourceID: jti,
			Changes: map[string]any{"expiry": out.ExpiresAt},
		})
	})
	if err != nil {
		return nil, postgres.MapError(err)
	}
	return out, nil
}

// tokenRoles gives the role names that a token carries, and for those that are
// held in narrower scopes only, these scopes. A nil keep keeps every role.
func tokenRoles(held []heldRole, keep []string) (roles []string, scopes map[string][]string) {
	roles = []string{}
	wide := map[string]bool{}
	for _, h := range held {
		if keep != nil && !slices.Contains(keep, h.Name) {
			continue
		}
		if !slices.Contains(roles, h.Name) {
			roles = append(roles, h.Name)
		}
		if h.Scope == "tenant" {
			wide[h.Name] = true
			delete(scopes, h.Name)
			continue
		}
		if !wide[h.Name] {
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
	c.Record(executor.AuditEntry{Action: contract.ActionSessionRevoked, ResourceType: "session", ResourceID: string(c.Actor.JTI)})
	return &contract.LogoutOut{}, nil
}

// verifyCurrentPassword asks whether the caller may change its own credentials here, and
// compares the password that it gives with the account's. A wrong one counts as
// an attempt to log in.
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
	same, err := s.deps.Passwords.Verify(ctx, hash, currentPassword)
	if err != nil {
		return account, fault.Unavailable(err)
	}
	if !same {
		return account, fault.Validation("currentPassword", "The current password is not this one.")
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
		return nil, fault.Validation("newPassword", "The new password is the current one.")
	}
	fresh, err := s.hashPassword(ctx, "newPassword", in.NewPassword, account.Email)
	if err != nil {
		return nil, err
	}
	if err := setPassword(ctx, c.DB, c.Tenant, c.Actor.UserID, fresh, c.Now); err != nil {
		return nil, err
	}
	if err := cancelResets(ctx, c.DB, c.Tenant, c.Actor.UserID, c.Now); err != nil {
		return nil, err
	}
	if err := revokeOtherSessions(ctx, c.DB, c.Tenant, c.Actor.UserID, c.Actor.JTI, c.Now); err != nil {
		return nil, err
	}
	// Sessions in other tenants are out of this transaction's reach. Should it not
	// commit after all, they have ended for nothing; the other way round would
	// leave a stolen session alive.
	if err := revokeOtherTenantSessions(ctx, s.deps.Auth, c.Tenant, c.Actor.UserID, c.Now); err != nil {
		return nil, err
	}
	c.Record(executor.AuditEntry{Action: contract.ActionPasswordChanged, ResourceType: "user", ResourceID: string(c.Actor.UserID), Critical: true})
	c.Emit(passwordChangedEvent(c.Actor.UserID))
	return &op.None{}, nil
}

func passwordChangedEvent(user op.UUID) executor.Event {
	return executor.Event{Type: contract.EventPasswordChanged, AggregateType: "user", AggregateID: user, Payload: map[string]any{"id": user}}
}

// changeEmail sets or confirms the caller's own address. The password proves that
// it is the holder's choice: a session alone may be stolen.
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
	c.Record(executor.AuditEntry{Action: contract.ActionAddressChanged, ResourceType: "user", ResourceID: string(c.Actor.UserID), Critical: true})
	u, err := selectUser(ctx, c.DB, c.Tenant, c.Actor.UserID, false)
	if err != nil {
		return nil, err
	}
	c.Emit(executor.Event{Type: contract.EventUserUpdated, AggregateType: "user", AggregateID: u.ID, Payload: u, Changed: []string{"email"}})
	return &op.None{}, nil
}
